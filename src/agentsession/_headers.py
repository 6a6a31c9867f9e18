"""The header of a damaged file: where it stands, and how much of it there is.

Spec: design "Damage is data", format 2.1.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final, NamedTuple

from agentsession import text
from agentsession._fragments import BOM, Cutter, Piece, lines, record_text, whole_members
from agentsession._mending import string

_TORN: Final = re.compile(rb'\{[ \t]*"type"[ \t]*:[ \t]*"ses')
_STAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]{8}\.[0-9]{3}Z_(?=.)")


class Header(NamedTuple):
    """What a file says about itself.

    Attributes:
        line, start, end: where it stands in the file; a start of -1 when there is none.
        state: ``whole``, ``torn`` or ``missing``.
        raw: its text; empty unless whole.
        members: the members there are.
    """

    line: int
    start: int
    end: int
    state: str
    raw: bytes
    members: dict[str, bytes]

    @property
    def place(self) -> tuple[int, int, int]:
        """Line number and byte range, for a damage."""
        return self.line, max(self.start, 0), max(self.end, 0)


def find_header(data: bytes) -> Header:
    """Return the first header of a file, whole or torn; a torn one only where the file starts."""
    cutter = Cutter(data)
    first = True
    for line in lines(data):
        start = line.start + len(BOM) if data.startswith(BOM, line.start) else line.start
        raw = data[start : line.end]
        if first or b"session" in raw or b"\\u" in raw:
            for piece in cutter.pieces(start, line.end):
                found = _as_header(data, line.number, piece, may_be_torn=first)
                if found is not None:
                    return found
        first = False
    return Header(int(bool(data)), -1, -1, "missing", b"", {})


def _as_header(data: bytes, number: int, piece: Piece, *, may_be_torn: bool) -> Header | None:
    place = (number, piece.start, piece.end)
    if not piece.code:
        raw = record_text(data, piece)
        members = text.split_members(raw)
        is_entry = "parent" in members and "ts" in members
        if string(members.get("type")) != "session" or is_entry:
            return None
        return Header(*place, "whole", raw, members)
    if may_be_torn and _TORN.match(data, piece.start, piece.end):
        return Header(*place, "torn", b"", whole_members(data, piece.start, piece.end))
    return None


def session_id(data: bytes, name: str) -> str:
    """Return an id for the session of a file: its name, or what its bytes give."""
    stem = _STAMP.sub("", Path(name).stem if name else "", count=1)
    return stem or "salvaged-" + hashlib.sha256(data).hexdigest()[:16]
