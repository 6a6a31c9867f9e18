"""``--json``: one object on standard output, written piece by piece.

The object is ``{"schema": 1, "command": …}`` and the members of the command, which
``docs/cli.md`` lists. Payloads stand in it as they are spelled in the session.

Spec: decision C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import msgspec

from agentsession import text
from agentsession.cli.output import Output
from agentsession.header import Header
from agentsession.session import Session, TruncatedLine

SCHEMA = 1

# Ordinary JSON readers stop somewhere near 1,000.
_DEEPEST = 500
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PIECE = 65_536


class Report:
    """One JSON object; use it as a context manager, which writes its ends."""

    def __init__(self, out: Output, command: str) -> None:
        self._out = out
        self._pieces: list[bytes] = []
        self._size = 0
        self._put(b'{"schema":%d,"command":%s' % (SCHEMA, text.encode(command)))

    def member(self, name: str, value: Any) -> None:
        """Write a member. A value may hold the raw JSON text that :func:`payload` returns."""
        self._put(b"," + text.encode(name) + b":" + printable(text.encode(value)))

    def elements(self, name: str, values: Iterable[Any]) -> None:
        """Write a member that is a list, element by element."""
        self._put(b"," + text.encode(name) + b":[")
        for position, value in enumerate(values):
            if self._out.closed:
                return
            self._put((b"," if position else b"") + printable(text.encode(value)))
        self._put(b"]")

    def _put(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= _PIECE:
            self._hand_over()

    def _hand_over(self) -> None:
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._out.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._put(b"}\n")
            self._hand_over()


def payload(json_text: bytes | None) -> msgspec.Raw | str | None:
    """Return a payload for a report: its own text, or that as a string.

    It is a string when it nests deeper than ordinary JSON readers go.
    """
    if json_text is None:
        return None
    if nests_deeper(json_text, _DEEPEST):
        return json_text.decode("utf-8", "replace")
    return msgspec.Raw(json_text)


def nests_deeper(json_text: bytes, limit: int) -> bool:
    """Return whether JSON text nests deeper than a number of levels."""
    if json_text.count(b"{") + json_text.count(b"[") <= limit:
        return False
    depth = 0
    for char in _STRING.sub(b"", json_text):
        if char in b"{[":
            depth += 1
            if depth > limit:
                return True
        elif char in b"}]":
            depth -= 1
    return False


def printable(json_text: bytes) -> bytes:
    r"""Return compact JSON text in which everything a terminal would act on is ``\uxxxx``."""
    if json_text.isascii() and b"\x7f" not in json_text:
        return json_text
    shown = json_text.decode("utf-8", "replace")
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else _escaped(char) for char in shown)
    return shown.encode()


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def header_fields(header: Header) -> dict[str, Any]:
    """Return the members of a header for a report; what is not set is empty or ``null``."""
    harness = header.harness
    return {
        "id": header.id,
        "created_at": header.created,
        "format": header.format,
        "payload": header.payload,
        "harness": {"name": harness.name, "version": harness.version} if harness else None,
        "cwd": header.cwd,
        "parent_session": header.parent_session,
        "spawned_by": header.spawned_by,
        "records": list(header.records),
        "media": header.media,
    }


def session_fields(session: Session) -> dict[str, Any]:
    """Return a header's members, with the display name."""
    return {**header_fields(session.header), "name": session.name}


def truncated_fields(truncated: TruncatedLine | None) -> dict[str, Any] | None:
    """Return what there is to say about a last line that was cut short."""
    if truncated is None:
        return None
    return {
        "line": truncated.line,
        "start": truncated.start,
        "bytes": len(truncated.data),
        "error": str(truncated.error),
    }
