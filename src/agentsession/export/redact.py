"""Redactors: what must not travel is taken out of a document when it is exported.

A redactor is a function from text to text; applied to a document it sees every string there
is, names of members included, but not what ATIF itself fixes. The few that know about
documents are here too.

>>> redact = secrets("hunter2-hunter2")
>>> redact('{"password": "hunter2-hunter2"}')
'{"password": "[REDACTED]"}'

Spec: export 11, decision E5.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from agentsession import atif
from agentsession.export import detection, embedded
from agentsession.export.adapter import Stepwise, Whole, redacted
from agentsession.export.errors import RefusedSecret
from agentsession.export.escapes import Condensed, Form, forms
from agentsession.export.names import REPLACEMENT
from agentsession.export.structure import is_structural

Redactor = Callable[[str], str] | Stepwise | Whole
"""A function from text to text, or one of the document redactors of this module."""

_SHORTEST: Final = 8


class Secrets:
    """Replaces given values, in whatever escape form they stand.

    Made by `secrets`.
    """

    def __init__(self, values: Iterable[str]) -> None:
        ordered = sorted(values, key=lambda value: (-len(value), value))
        self._forms: list[tuple[str, list[Form]]] = [(value, forms(value)) for value in ordered]
        self.numbers = any(value.strip("-+.eE0123456789") == "" for value in ordered)
        """Whether a value could be the text of a number."""

    def __call__(self, text: str) -> str:
        """Return the text without the values."""
        if len(text) < _SHORTEST:
            return text
        for value, _ in self._forms:
            text = text.replace(value, REPLACEMENT)
        condensed = Condensed(text)
        for _, shapes in self._forms:
            for shape in shapes:
                if shape.may_stand_in(text, condensed):
                    changed = _without(text, shape)
                    if changed is not text:
                        text, condensed = changed, Condensed(changed)
        return self._without_files(text)

    def _without_files(self, text: str) -> str:
        """The text without the files in it that hold a value in whatever form."""
        pieces: list[str] = []
        done = 0
        found = [*embedded.files(text), *embedded.bare(text)]
        for file in sorted(found, key=lambda file: file.start):
            if file.start >= done and self._is_in(file):
                pieces += [text[done : file.start], REPLACEMENT]
                done = file.end
        return "".join([*pieces, text[done:]]) if pieces else text

    def _is_in(self, file: embedded.Embedded) -> bool:
        inner = file.text
        if inner is not None:
            return self(inner) != inner
        # Escapes are a matter of texts; in other bytes they would be found everywhere.
        return any(
            shape.spelling.encode("utf-8", "surrogatepass") in file.data
            for _, shapes in self._forms
            for shape in shapes
        )

    def may_hold(self, text: str) -> bool:
        """Return whether a text can hold one of the values; ``False`` is certain."""
        if any(value in text for value, _ in self._forms):
            return True
        condensed = Condensed(text)
        return (
            any(
                shape.may_stand_in(text, condensed) for _, shapes in self._forms for shape in shapes
            )
            or embedded.has_files(text)
            or any(self._is_in(file) for file in embedded.bare(text))
        )


def _without(text: str, shape: Form) -> str:
    found = shape.find(text)
    if found is None:
        return text
    pieces = []
    done = 0
    while found is not None:
        start, end = found
        pieces += [text[done:start], REPLACEMENT]
        done = end
        found = shape.find(text, end)
    return "".join([*pieces, text[done:]])


def secrets(*values: str) -> Secrets:
    """Return a redactor that replaces these values.

    They are found plain, JSON-escaped any number of times, percent-encoded, as HTML entities,
    in base64 (also inside something larger) and hexadecimal, and across line breaks. Empty
    values are ignored; longer ones go first.

    Spec: export 11 and 13, decision E5.

    Raises:
        RefusedSecret: when a value is shorter than 8 characters, or part of what every
            document consists of.
    """
    for number, value in enumerate(values, 1):
        if not value:
            continue
        if len(value) < _SHORTEST:
            raise RefusedSecret(
                f"secret number {number} has {len(value)} characters; fewer than {_SHORTEST} "
                "cannot be told from ordinary text"
            )
        if is_structural(value):
            raise RefusedSecret(
                f"secret number {number} is part of what every document consists of, such as a "
                "member name or a time, and cannot be taken out"
            )
    return Secrets(value for value in values if value)


def home_paths(home: str) -> Callable[[str], str]:
    r"""Return a redactor that writes a home directory as ``~``.

    Both kinds of separator, escaped ones included; only at the ends of path names, so that
    ``/home/u`` leaves ``/home/user`` alone. An empty home, ``.`` and ``/`` change nothing.

    Spec: export 11 and 13.

    >>> home_paths("/home/u/")('ls /home/u/src /home/user "C:\\home"')
    'ls ~/src /home/user "C:\\home"'
    """
    return _HomePaths(home)


class _HomePaths:
    def __init__(self, home: str) -> None:
        self._home = home
        parts = [part for part in re.split(r"[\\/]+", _cleaned(home)) if part]
        self._pattern = None if not parts or parts == ["."] else _home_pattern(parts)
        self._probe = parts[-1] if parts else ""

    def __call__(self, text: str) -> str:
        if self._pattern is None or not _may_hold(text, self._probe):
            return text
        return self._pattern.sub("~", text)


def _home_pattern(parts: list[str]) -> re.Pattern[str]:
    separator = r"(?:\\*/|\\+|%(?:25)*2[Ff]|%(?:25)*5[Cc])"
    start = "" if re.match(r"[A-Za-z]:$", parts[0]) else separator
    names = separator.join(f"(?:{''.join(map(_name_character, part))})" for part in parts)
    before = r"(?:(?<![\w.~%-])|(?<=\\[nrtf])|(?<=[\s\"'=]-[A-Za-z]))"
    after = r"(?![\w~-]|\.\w)"
    return re.compile(before + start + names + after)


def _may_hold(text: str, probe: str) -> bool:
    return probe in text or "%" in text or "\\u" in text


def _name_character(char: str) -> str:
    if char.isascii() and char.isalnum():
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(rf"\\+u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    percent = "".join(f"%(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    return f"(?:{re.escape(char)}|{escaped}|{percent})"


def _cleaned(home: str) -> str:
    return posixpath.normpath(home) if home else ""


class _Environment(Stepwise):
    def head(self, head: dict[str, Any]) -> dict[str, Any]:
        return _with_extra(head, self._bare)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        return _with_extra(step, self._bare)

    def _bare(self, extra: dict[str, Any]) -> dict[str, Any]:
        for name in ("environment", "environment_at_end"):
            extra.pop(name, None)
        own = extra.get("agentsession")
        if isinstance(own, Mapping):
            extra["agentsession"] = {name: own[name] for name in own if name != "cwd"}
        return extra


class _NoPassthrough(Stepwise):
    def head(self, head: dict[str, Any]) -> dict[str, Any]:
        own = (head.get("extra") or {}).get("agentsession")
        if not isinstance(own, Mapping) or "item_order" not in own:
            return head
        kept = {name: own[name] for name in own if name != "item_order"}
        return {**head, "extra": {**head["extra"], "agentsession": kept}}

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        step = _with_extra(step, self._bare)
        observation = step.get("observation")
        if not observation:
            return step
        results = [_with_extra(result, self._bare) for result in observation["results"]]
        return {**step, "observation": {**observation, "results": results}}

    def _bare(self, extra: dict[str, Any]) -> dict[str, Any]:
        extra.pop("openresponses", None)
        return extra


def _with_extra(
    value: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """The object with its ``extra`` changed, left out when nothing is left of it."""
    extra = value.get("extra")
    if not isinstance(extra, Mapping):
        return value
    changed = change(dict(extra))
    if changed:
        return {**value, "extra": changed}
    return {name: found for name, found in value.items() if name != "extra"}


def environment() -> Stepwise:
    """Return a redactor that takes out environments and the working directory.

    They name machines, paths and file hashes. What the raw items and extension entries say is
    not touched.

    Spec: export 11.
    """
    return _Environment()


def no_passthrough() -> Stepwise:
    """Return a redactor that takes out the raw items and responses.

    They are about half of a document and say nothing its own members do not; without them
    :func:`~agentsession.export.items` has nothing to go by. Queued inputs stay.

    Spec: export 11.
    """
    return _NoPassthrough()


def document_redactor(change: Callable[[atif.Trajectory], atif.Trajectory]) -> Whole:
    """Return a redactor that hands the whole document to a function."""
    return Whole(change)


def detect_secrets(patterns: Mapping[str, str] | None = None) -> detection.Detector:
    """Return a redactor that takes out what looks like a credential.

    Args:
        patterns: further kinds by name, as regular expressions. What their group ``secret``
            matches is taken out, or the whole match without one.

    Spec: export 11.

    Raises:
        BadPattern: when a pattern is no regular expression, or matches the empty text.
    """
    return detection.Detector(patterns)


def redact(document: atif.Trajectory, *redactors: Redactor) -> atif.Trajectory:
    """Return a document with redactors applied in order, embedded documents included.

    What ATIF fixes (versions, sources, part types, media types, times) is left alone. Ids
    become stand-ins that are the same wherever the id stood.

    Spec: export 11, decision E5.
    """
    return atif.parse(redacted(document.to_dict(), redactors))


def redact_attributes(
    attributes: Mapping[str, Any], redactors: Iterable[Callable[[str], str]]
) -> dict[str, Any]:
    """Return a span's attributes with every string changed by redactors in order."""
    changed = dict(attributes)
    for redactor in redactors:
        for name, value in changed.items():
            if isinstance(value, str):
                changed[name] = redactor(value)
            elif isinstance(value, list | tuple):
                changed[name] = type(value)(
                    redactor(one) if isinstance(one, str) else one for one in value
                )
    return changed
