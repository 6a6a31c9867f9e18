"""The lines of a file, and what is whole in one that is not: objects among torn pieces.

Every search goes forward and never reads a byte more than a few times, however the
line is damaged.

Spec: design "Damage is data", format 7.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentsession import text
from agentsession.damage import CUT_LINE, GLUED_STUB, NOT_AN_ENTRY, NOT_JSON, NUL_RUN
from agentsession.errors import NotJSON

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark."""

SPACE: Final = b" \t\r\n"

_SPACES: Final = re.compile(rb"[ \t\r\n]*")
_NULS: Final = re.compile(rb"[\x00 \t\r]+")
_OPENING: Final = re.compile(rb'\{[ \t\r\n]*"')
_CHARS: Final = rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
_TOKEN: Final = re.compile(
    rb"(?P<text>" + _CHARS + rb'")'
    rb"|(?P<atom>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)"
    rb"|(?P<mark>[{}\[\]:,])"
)
_CUT_TOKEN: Final = re.compile(
    _CHARS + rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?|-|t|tr|tru|f|fa|fal|fals|n|nu|nul"
)
_FOLLOWS_A_VALUE: Final = b",]}:"

_MANY: Final = 64
"""Beyond so many pieces on one line, what is lost is told as one."""

# What may come when, and what then: the name of the next state, or a word in capitals.
_VALUE: Final = {"text": "DONE", "atom": "DONE", "{": "OPEN", "[": "OPEN"}
_STEPS: Final[dict[str, dict[str, str]]] = {
    "value": _VALUE,
    "value or ]": {**_VALUE, "]": "CLOSE"},
    "name or }": {"text": "colon", "}": "CLOSE"},
    "name": {"text": "colon"},
    "colon": {":": "value"},
    "after member": {",": "name", "}": "CLOSE"},
    "after element": {",": "value", "]": "CLOSE"},
}


class Scan(NamedTuple):
    """How far a JSON object reads.

    Attributes:
        end: where it ends; -1 when it is not whole.
        failed: where it stopped being JSON.
        last: where the last token before that starts.
        inner: the range of an object inside it that was closed right before that.
        comma: the last comma between two of its own members; 0 when there is none.
        cut: whether it was JSON until the text ended.
    """

    end: int
    failed: int = 0
    last: int = 0
    inner: tuple[int, int] = (0, 0)
    comma: int = 0
    cut: bool = False


def scan_object(data: bytes, start: int, stop: int) -> Scan:
    """Return how far the JSON object that may start at ``start`` reads, up to ``stop``."""
    opened: list[int] = []
    state, position, last, comma = "value", start, start, 0
    closed = (0, 0)
    while True:
        position = _after_spaces(data, position, stop)
        token = _TOKEN.match(data, position, stop)
        kind = token.lastgroup if token else ""
        if kind == "mark":
            kind = chr(data[position])
        step = _STEPS[state].get(kind or "", "")
        if token is None or not step or (not opened and kind != "{"):
            break
        if step == "OPEN":
            opened.append(position)
            state = "name or }" if kind == "{" else "value or ]"
            if len(opened) > text.MAX_DEPTH:
                break
        elif step == "CLOSE":
            closed = (opened.pop(), position + 1)
            if not opened:
                return Scan(position + 1)
            state = _after_value(data, opened)
        elif step == "DONE":
            state = _after_value(data, opened)
        else:
            if kind == "," and len(opened) == 1:
                comma = position
            state = step
        last, position = position, token.end()
    cut = position >= stop or _CUT_TOKEN.fullmatch(data, position, stop) is not None
    inner = closed if data[last : last + 1] == b"}" and closed[1] == last + 1 else (0, 0)
    return Scan(-1, position, last, inner, comma, cut)


def _after_spaces(data: bytes, position: int, stop: int) -> int:
    found = _SPACES.match(data, position, stop)
    return found.end() if found else position


def _after_value(data: bytes, opened: list[int]) -> str:
    return "after member" if data[opened[-1]] == 0x7B else "after element"


def whole_members(data: bytes, start: int, stop: int) -> dict[str, bytes]:
    """Return the members of a torn object that are whole, as :func:`text.split_members`."""
    scan = scan_object(data, start, stop)
    if scan.end < 0 and not scan.comma:
        return {}
    known = data[start : scan.end] if scan.end >= 0 else data[start : scan.comma] + b"}"
    try:
        return text.split_members(known)
    except NotJSON:
        return {}


def is_text(member_text: bytes | None) -> bool:
    """Return whether a member's text is a string that is not empty."""
    return member_text is not None and member_text.startswith(b'"') and member_text != b'""'


def looks_like_record(data: bytes) -> bool:
    """Return whether an object is an entry or a header by its own members."""
    try:
        members = text.split_members(data)
    except NotJSON:
        return False
    if members.get("type") == b'"session"' and is_text(members.get("format")):
        return True
    return "parent" in members and all(is_text(members.get(name)) for name in ("type", "id", "ts"))


class Line(NamedTuple):
    """A line without its line end."""

    number: int
    start: int
    end: int


def lines(data: bytes, number: int = 0, start: int = 0, stop: int | None = None) -> Iterator[Line]:
    """Yield the lines from a line start on, up to ``stop``; blank ones only count.

    Args:
        data: the file.
        number: how many lines stand before.
        start: where to begin.
        stop: where to end; at the end of the file when not given.
    """
    stop = len(data) if stop is None else stop
    while start < stop:
        number += 1
        found = data.find(b"\n", start, stop)
        after = stop if found < 0 else found
        end = after
        if data[after - 1] == 0x0D:
            end = start + len(data[start:after].rstrip(b"\r"))
        if start < end:
            yield Line(number, start, end)
        start = after + 1


class Piece(NamedTuple):
    """A part of a line.

    Attributes:
        code: the damage it is; empty for a whole JSON object, white space around it included.
        start, end: its byte range.
    """

    code: str
    start: int
    end: int


def record_text(data: bytes, piece: Piece) -> bytes:
    """Return the text of a whole object, on one line and without white space around it."""
    raw = data[piece.start : piece.end].strip(SPACE)
    return text.compact(raw) if b"\n" in raw else raw


class Cutter:
    """Cuts lines into pieces, in file order.

    Args:
        data: the whole file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._barren = 0  # no object that starts before this ends on a later line
        self._pieces: list[Piece] = []

    def pieces(self, start: int, end: int) -> list[Piece]:
        """Return the pieces of a line; they leave no byte of it out.

        The last piece ends beyond the line when its object goes on over the lines below;
        what follows that object on its last line is then cut as well.
        """
        whole = self._data[start:end].lstrip(SPACE)
        if not whole:
            return [Piece(NOT_AN_ENTRY, start, end)]
        if not whole.startswith(b"{"):
            try:
                text.check(whole)
            except NotJSON:
                pass
            else:
                return [Piece(NOT_AN_ENTRY, start, end)]
        return self._cut(start, end)

    def _cut(self, start: int, stop: int) -> list[Piece]:
        self._pieces = []
        while start < stop:
            nul = self._data.find(b"\0", start, stop)
            edge = stop if nul < 0 else nul
            if edge > start:
                reached = self._objects(start, edge, may_go_on=nul < 0)
                if reached > edge:
                    start, stop = reached, self._line_end(reached)
                    continue
            if nul < 0:
                break
            run = _NULS.match(self._data, nul, stop)
            start = run.end() if run else nul + 1
            self._lost(NUL_RUN, nul, start)
        return self._told()

    def _told(self) -> list[Piece]:
        """The pieces; what is torn beside a whole object is a stub glued to it."""
        if all(piece.code for piece in self._pieces):
            return self._pieces
        torn = (CUT_LINE, NOT_JSON)
        return [p._replace(code=GLUED_STUB) if p.code in torn else p for p in self._pieces]

    def _line_end(self, position: int) -> int:
        found = self._data.find(b"\n", position)
        end = len(self._data) if found < 0 else found
        return position + len(self._data[position:end].rstrip(b"\r"))

    def _objects(self, start: int, stop: int, *, may_go_on: bool) -> int:
        """Add the pieces of a fragment without NUL; return where they end."""
        data = self._data
        position = fresh = _after_spaces(data, start, stop)
        if position == stop:
            self._lost(NUL_RUN, start, stop)
            return stop
        torn = NOT_JSON
        while position < stop:
            scan = scan_object(data, position, stop)
            if scan.cut and position == fresh and data[position] == 0x7B:
                torn = CUT_LINE
                end = self._end_below(position, stop, scan) if may_go_on else -1
                if end > stop:
                    end = _after_spaces(data, end, self._line_end(end))
                    self._whole(start, end)
                    return end
            found = self._accepted(position, scan, stop, whole=position == fresh)
            if found is not None:
                begin = start if found[0] == fresh else found[0]
                self._lost(NOT_JSON, start, begin)
                start = _after_spaces(data, found[1], stop)
                self._whole(begin, start)
                position = fresh = start
                torn = NOT_JSON
            else:
                after = max(scan.end, scan.last, position + 1)
                opening = _OPENING.search(data, after, stop)
                position = opening.start() if opening else stop
        self._lost(torn, start, stop)
        return stop

    def _end_below(self, position: int, stop: int, scan: Scan) -> int:
        size = len(self._data)
        if position < self._barren or scan.failed < stop:
            return -1
        if _after_spaces(self._data, stop, size) == size:
            return -1
        further = scan_object(self._data, position, size)
        if further.end < 0:
            self._barren = further.failed
        return further.end

    def _accepted(
        self, position: int, scan: Scan, stop: int, *, whole: bool
    ) -> tuple[int, int] | None:
        """The range of the object that counts as whole, when there is one."""
        if scan.end >= 0 and whole:
            return position, scan.end
        start, end = (position, scan.end) if scan.end >= 0 else scan.inner
        if not end:
            return None
        # An object with a comma or a bracket behind it is a part of the torn record.
        after = _after_spaces(self._data, end, stop)
        follower = self._data[after : min(after + 1, stop)]
        if follower and follower in _FOLLOWS_A_VALUE:
            return None
        return (start, end) if looks_like_record(self._data[start:end]) else None

    def _whole(self, start: int, end: int) -> None:
        self._pieces.append(Piece("", start, end))

    def _lost(self, code: str, start: int, end: int) -> None:
        if start >= end:
            return
        if self._pieces and (last := self._pieces[-1]).code and last.end == start:
            if last.code == code:
                self._pieces[-1] = last._replace(end=end)
                return
            if len(self._pieces) >= _MANY:
                self._pieces[-1] = Piece(NOT_JSON, last.start, end)
                return
        self._pieces.append(Piece(code, start, end))
