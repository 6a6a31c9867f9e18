"""The versions of the format: what each is called, and what a version allows.

What a version lacks is written on the members themselves (``since``); what differs
otherwise is a question answered here, so that the rooms above never compare numbers.

Spec: format 2.1 and 10, later drafts 1 and 2.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentsession.errors import UnsupportedFormat
from agentsession.members import Version

FORMAT = "agentsession/0.2"
"""The format of a new session whose header asks for no other."""

FORMAT_MAJOR = 0
"""The major version this release reads."""

PAYLOAD = "openresponses/2026-04-24"
"""The payload profile of a new session."""

PAYLOAD_PREFIX = "openresponses/"

NEWEST_READ: Version = (0, 11)
"""The newest minor version known here."""

NEWEST_SHORT: Version = (0, 3)
"""The newest version written here whose entries have short ids."""

NEWEST_HASHED: Version = (0, 11)
"""The version written here whose entry ids are content hashes."""

WRITABLE: tuple[Version, ...] = ((0, 1), (0, 2), (0, 3), NEWEST_HASHED)
"""The versions a new session may have."""

_DECIMAL = re.compile(r"[0-9]{1,9}\Z")


@lru_cache(maxsize=64)
def parse_format(format_name: str) -> Version:
    """Return the major and minor version of a format string such as ``agentsession/0.2``.

    Spec: format 2.1.

    Raises:
        UnsupportedFormat: when it is not of that form.
    """
    name, slash, version = format_name.partition("/")
    major, dot, minor = version.partition(".")
    if name == "agentsession" and slash and dot and _DECIMAL.match(major) and _DECIMAL.match(minor):
        return int(major), int(minor)
    raise UnsupportedFormat(
        f'"{format_name}" is not a format this reader knows: expected agentsession/<major>.<minor>',
        format=format_name,
    )


def format_name(version: Version) -> str:
    """Return the format string of a version."""
    return f"agentsession/{version[0]}.{version[1]}"


def check_readable(format_string: str, *, allow_newer: bool = False) -> Version:
    """Return the version of a header's format when its files can be read.

    Spec: format 2.1, decision A11.

    Raises:
        UnsupportedFormat: for another major version, or a minor above the newest known one
            unless ``allow_newer`` is set.
    """
    version = parse_format(format_string)
    if version[0] != FORMAT_MAJOR:
        raise UnsupportedFormat(
            f"{format_string} has major version {version[0]}; this reader handles {FORMAT_MAJOR}.x",
            format=format_string,
        )
    if version > NEWEST_READ and not allow_newer:
        raise UnsupportedFormat(
            f"{format_string} is newer than {format_name(NEWEST_READ)}, the newest version known "
            "here; read it with allow_newer=True, or show it with --allow-newer, which keeps "
            "what is unknown as it is",
            format=format_string,
        )
    return version


def check_writable(format_string: str) -> Version:
    """Return the version of a header's format when a new session may have it.

    Raises:
        UnsupportedFormat: for every version this release only reads, or only continues.
    """
    version = parse_format(format_string)
    if version not in WRITABLE:
        writable = ", ".join(format_name(known) for known in WRITABLE)
        raise UnsupportedFormat(
            f"{format_string} can be read but not written; this release writes {writable}",
            format=format_string,
        )
    return version


@lru_cache(maxsize=64)
def continued(format_string: str) -> Version:
    """Return the version a session has once an entry is appended to it.

    That is its own where we write it; a session of 0.5 to 0.10 is raised to the version
    written here. One of 0.4 is read only, and never raised (later drafts 12 and 13).

    Raises:
        UnsupportedFormat: for a version that takes no entries here.
    """
    version = parse_format(format_string)
    if has_content_ids(version) and version < NEWEST_HASHED and version[0] == FORMAT_MAJOR:
        return NEWEST_HASHED
    return check_writable(format_string)


def migration_target(format_string: str) -> Version:
    """Return the version to migrate to, for ``agentsession/0.11`` or ``0.11``.

    Raises:
        UnsupportedFormat: for any version but the one written here with content hashes.
    """
    name = format_string if "/" in format_string else f"agentsession/{format_string}"
    if parse_format(name) != NEWEST_HASHED:
        raise UnsupportedFormat(
            f"cannot migrate to {name}; {format_name(NEWEST_HASHED)} is the version written here",
            format=name,
        )
    return NEWEST_HASHED


# What differs between versions. A reader of the newest version reads everything from 0.5 on
# by that version's rules (later drafts 2), so most questions have one boundary.


def has_content_ids(version: Version) -> bool:
    """Return whether entry ids are content hashes (later drafts 3)."""
    return version >= (0, 5)


def judges_ids(version: Version) -> bool:
    """Return whether an id that is not its entry's hash is certainly wrong.

    A draft that is not known here may hash in another way.
    """
    return has_content_ids(version) and version <= NEWEST_READ


def has_convergence(version: Version) -> bool:
    """Return whether ``parents`` belongs to the envelope and has rules (later drafts 6)."""
    return version >= (0, 4)


def has_base(version: Version) -> bool:
    """Return whether a file may continue from an entry of another (later drafts 5)."""
    return version >= (0, 5)


def cut_tail_may_be_json(version: Version) -> bool:
    """Return whether a refused last line counts as cut though it is JSON (format 7.3)."""
    return version < (0, 5)


def repairs_utf8(version: Version) -> bool:
    """Return whether invalid UTF-8 is read with a note (decision A6)."""
    return version < (0, 5)


def append_always_moves_leaf(version: Version) -> bool:
    """Return whether an append on a branch moves the leaf (format 8.3, later drafts 7)."""
    return version < (0, 5)


def leaf_rests_on_labels(version: Version) -> bool:
    """Return whether the leaf may be a ``leaf`` label (format 8.4, later drafts 7)."""
    return version < (0, 5)


def clearing_uncovers_marks(version: Version) -> bool:
    """Return whether a cleared ``leaf`` label gives way to an earlier one (later drafts 7).

    Up to 0.4 there is then no label in force (format 8.4).
    """
    return version >= (0, 5)


def has_later_settings(version: Version) -> bool:
    """Return whether config entries follow the rules of later drafts 8.

    A part named by hash must have that hash, ``keep`` is known, omitted parts stay in force,
    and items may be left out of requests.
    """
    return version >= (0, 5)


def has_later_calls(version: Version) -> bool:
    """Return whether calls and runs follow the rules of later drafts 10."""
    return version >= (0, 5)


def requires_later_records(version: Version) -> bool:
    """Return whether breaking the record rules of 0.9 is an error and not a note."""
    return version >= (0, 9)


def is_loosely_recorded(version: Version) -> bool:
    """Return whether early writers of a version broke its record rules (later drafts 11)."""
    return version == (0, 9)


def not_judged(version: Version) -> tuple[str, ...]:
    """Return what this release does not check in files of a version, as sentences."""
    if version > NEWEST_READ:
        note = (
            f"{format_name(version)} is unknown here: whatever it adds was kept and not "
            f"understood, and was judged by the rules of {format_name(NEWEST_READ)}"
        )
        return (note,)
    return ()
