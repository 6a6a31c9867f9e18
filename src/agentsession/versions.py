"""The versions of the format: what each is called, and what a version allows.

What a version lacks is written on the members themselves (``since``); what differs
otherwise is a question answered here, so that the rooms above never compare numbers.

Spec: format 2.1 and 10, later drafts 1 and 2, decision A11.
"""

from __future__ import annotations

import re

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
WRITABLE: tuple[Version, ...] = ((0, 1), (0, 2), (0, 3))

_DECIMAL = re.compile(r"[0-9]{1,9}\Z")


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
            "here; read it with allow_newer=True (--allow-newer) to keep what is unknown as it is",
            format=format_string,
        )
    return version


def check_writable(format_string: str) -> Version:
    """Return the version of a header's format when entries may be appended under it.

    Spec: decision A11.

    Raises:
        UnsupportedFormat: for every version this release only reads.
    """
    version = parse_format(format_string)
    if version not in WRITABLE:
        writable = ", ".join(format_name(known) for known in WRITABLE)
        raise UnsupportedFormat(
            f"{format_string} can be read but not written; this release writes {writable}",
            format=format_string,
        )
    return version


def has_content_ids(version: Version) -> bool:
    """Return whether entry ids are content hashes (later drafts 3)."""
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


def not_judged(version: Version) -> tuple[str, ...]:
    """Return what this release does not check in files of a version, as sentences."""
    if version <= (0, 3):
        return ()
    name = format_name(version)
    notes = [f"{name} is a later draft: of convergence (parents) only the names were checked"]
    if has_content_ids(version):
        notes.append("entry ids are content hashes in this draft and were not recomputed")
    if version >= (0, 7):
        notes.append(
            "parts kept by number, omitted items and the call and run rules of this draft "
            "were not applied; a hash that depends on them cannot be judged"
        )
    if version > NEWEST_READ:
        notes.append("this version is unknown here: whatever it adds was kept and not understood")
    return tuple(notes)
