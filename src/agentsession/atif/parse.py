"""Reading ATIF: from JSON text, a file or a JSON value to a document, lenient where it can be.

Spec: atif 4 and 5.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from agentsession import text
from agentsession.atif.model import TYPES, Trajectory, blank
from agentsession.atif.problems import InvalidDocument, Path, problem, shown
from agentsession.atif.shape import (
    SHAPES,
    Boolean,
    Choice,
    Content,
    Integer,
    Kind,
    Listed,
    Moment,
    Number,
    Object,
    Open,
    Text,
    TextOrNumber,
)
from agentsession.atif.values import copied
from agentsession.atif.vocabulary import VERSION_PREFIX
from agentsession.errors import NotJSON, UnsupportedFormat

_EMBEDDED: Final = "subagent_trajectories"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

Source = bytes | str | Mapping[str, Any] | os.PathLike[str]


def parse(source: Source) -> Trajectory:
    """The document in a JSON text, a mapping or a file, whatever later v1 version it is.

    Reading is lenient: unknown members are kept, closed sets are not checked, a missing or null
    required member is read as an empty value, ``NaN`` and a byte order mark are tolerated.
    ``parse(source).to_dict()`` is the JSON value that was read. Use `validate` for the rules.
    Spec: atif 4 and 5.

    Args:
        source: JSON text as bytes or str, a mapping, or the path of a file.

    Raises:
        NotJSON: the text is not JSON.
        UnsupportedFormat: the schema version is no ``ATIF-v1`` version.
        InvalidDocument: a known member has the wrong JSON type.
        OSError: the file cannot be read.
    """
    if isinstance(source, Mapping):
        return _document(source, copied)
    if isinstance(source, os.PathLike):
        source = FilePath(source).read_bytes()
    return _document(load(source), lambda value: value)


def load(source: bytes | str) -> Any:
    """The JSON value of a text as a lenient reader takes it: a BOM and ``NaN`` are tolerated.

    Raises:
        NotJSON: the text is not JSON all the same.
    """
    if isinstance(source, bytes):
        source = source.removeprefix(BYTE_ORDER_MARK)
    else:
        source = source.removeprefix("\ufeff")
    try:
        return text.parse(source)
    except NotJSON:
        # Python writes NaN and Infinity unless told not to, and Harbor is written in Python.
        written = source.decode(errors="replace") if isinstance(source, bytes) else source
        if "NaN" not in written and "Infinity" not in written:
            raise
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            pass
        raise


def _document(root: object, own: Callable[[Any], Any]) -> Trajectory:
    # Embedded documents may nest deeper than Python calls do: found first, built last to first.
    found: list[tuple[Mapping[str, Any], Path, list[int]]] = []
    pending: list[tuple[object, Path, list[int]]] = [(root, None, [])]
    while pending:
        value, path, siblings = pending.pop()
        if not isinstance(value, Mapping):
            raise _wrong(path, "an object", value)
        _check_version(value, path)
        children: list[int] = []
        siblings.append(len(found))
        found.append((value, path, children))
        embedded = value.get(_EMBEDDED)
        if embedded is not None:
            here = (path, _EMBEDDED)
            if not isinstance(embedded, list | tuple):
                raise _wrong(here, "a list", embedded)
            pending.extend(
                (child, (here, at), children) for at, child in reversed([*enumerate(embedded)])
            )
    built: list[Trajectory | None] = [None] * len(found)
    for at in range(len(found) - 1, -1, -1):
        value, path, children = found[at]
        members = _members("trajectory", value, path, own)
        if value.get(_EMBEDDED) is not None:
            members[_EMBEDDED] = tuple(built[child] for child in children)
        for child in children:
            built[child] = None
        built[at] = Trajectory(**members)
    document = built[0]
    assert document is not None
    return document


def _check_version(value: Mapping[str, Any], path: Path) -> None:
    version = value.get("schema_version")
    if isinstance(version, str) and not version.startswith(VERSION_PREFIX):
        found = problem((path, "schema_version"), "schema-version", "")
        raise UnsupportedFormat(
            f"{found.path}: {shown(version)} is no version this package reads; "
            f"it reads {VERSION_PREFIX}0 and every later v1 version",
            format=version,
        )


def _members(
    shape: str, value: Mapping[str, Any], path: Path, own: Callable[[Any], Any]
) -> dict[str, Any]:
    """The constructor's arguments for an object; embedded documents are left to the caller."""
    declared = SHAPES[shape]
    nulls, missing = set(), set()
    members: dict[str, Any] = {}
    for name, member in declared.items():
        found = value.get(name)
        if found is not None:
            if name != _EMBEDDED:
                members[name] = _read(member.kind, found, (path, name), own)
            continue
        if name in value:
            nulls.add(name)
        if member.required:
            members[name] = blank(member.kind)
            if name not in value:
                missing.add(name)
        elif name == "schema_version" and name not in value:
            missing.add(name)
    unknown = {name: own(found) for name, found in value.items() if name not in declared}
    for name, group in (("unknown", unknown), ("nulls", nulls), ("missing", missing)):
        if group:
            members[name] = group if name == "unknown" else frozenset(group)
    return members


def _read(kind: Kind, value: Any, path: Path, own: Callable[[Any], Any]) -> Any:
    match kind:
        case Object(shape) if isinstance(value, Mapping):
            return TYPES[shape](**_members(shape, value, path, own))
        case Listed(of) if isinstance(value, list | tuple):
            return tuple(_read(of, inner, (path, at), own) for at, inner in enumerate(value))
        case Open() if isinstance(value, Mapping):
            return own(value)
        case Content() if isinstance(value, list | tuple):
            return _read(Listed(Object("part")), value, path, own)
        case Text() | Moment() | Choice() | Content() | TextOrNumber() if isinstance(value, str):
            return value
        case Boolean() if isinstance(value, bool):
            return value
        case Integer() if _is_whole(value):
            return int(value)
        case Number() | TextOrNumber() if _is_number(value):
            return value
    raise _wrong(path, _EXPECTED[type(kind)], value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return _is_number(value) and (not isinstance(value, float) or value.is_integer())


_EXPECTED: Final[dict[type, str]] = {
    Text: "a string",
    Moment: "a string",
    Choice: "a string",
    Content: "a string or a list of parts",
    TextOrNumber: "a string or a number",
    Number: "a number",
    Integer: "an integer",
    Boolean: "true or false",
    Open: "an object",
    Object: "an object",
    Listed: "a list",
}


def _wrong(path: Path, expected: str, value: object) -> InvalidDocument:
    message = f"expected {expected}, found {shown(value)}"
    return InvalidDocument([problem(path, "type", message, value)])
