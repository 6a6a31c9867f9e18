"""Damage: what is wrong with a session file, as values with stable codes.

Spec: design "Damage is data", decision D11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from agentsession.findings import Finding

BYTE_ORDER_MARK: Final = "byte-order-mark"
CRLF: Final = "crlf"
CUT_LINE: Final = "cut-line"
NUL_RUN: Final = "nul-run"
NOT_JSON: Final = "not-json"
GLUED_STUB: Final = "glued-stub"
TWO_RECORDS: Final = "two-records"
SPREAD_RECORD: Final = "spread-record"
NOT_UTF8: Final = "not-utf8"
NOT_AN_ENTRY: Final = "not-an-entry"
REFUSED_ENTRY: Final = "refused-entry"
NO_ID: Final = "no-id"
BAD_TIME: Final = "bad-time"
REPEATED_ENTRY: Final = "repeated-entry"
REPEATED_ID: Final = "repeated-id"
LOST_PARENT: Final = "lost-parent"
LATE_PARENT: Final = "late-parent"
PARENT_CYCLE: Final = "parent-cycle"
LOST_REFERENCE: Final = "lost-reference"
HEADER_MISSING: Final = "header-missing"
HEADER_TORN: Final = "header-torn"
HEADER_REFUSED: Final = "header-refused"
HEADER_NOT_FIRST: Final = "header-not-first"
SECOND_HEADER: Final = "second-header"
FORMAT_LOWERED: Final = "format-lowered"
UNSUPPORTED_FORMAT: Final = "unsupported-format"

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        BYTE_ORDER_MARK: "a line starts with a byte order mark; it is left out",
        CRLF: "lines end with a carriage return; they are written with a line feed alone",
        CUT_LINE: "a record ends before it is whole; what there is of it is left out",
        NUL_RUN: "NUL bytes stand where text should be; they are left out",
        NOT_JSON: "bytes that are no JSON object; they are left out",
        GLUED_STUB: "a piece of a torn record shares a line with a whole one; it is left out",
        TWO_RECORDS: "a line holds several records; each gets its own",
        SPREAD_RECORD: "a record is spread over several lines; it is put on one",
        NOT_UTF8: "a record has bytes that are not UTF-8; U+FFFD stands for each",
        NOT_AN_ENTRY: "JSON that is no entry; objects are kept as custom entries",
        REFUSED_ENTRY: "an entry that breaks a rule of its type; it is kept as a custom entry",
        NO_ID: "an entry without an id; it gets one",
        BAD_TIME: "an entry whose time cannot be read; it gets one",
        REPEATED_ENTRY: "a record that stands in the file before; it is kept once",
        REPEATED_ID: "two entries with one id; both are kept, the second under a new id",
        LOST_PARENT: "an entry whose parent is not in the file; it becomes a root",
        LATE_PARENT: "an entry that stands before its parent; it is moved behind it",
        PARENT_CYCLE: "entries that are each other's parents; the first becomes a root",
        LOST_REFERENCE: "an entry converges from one that is not before it; that is left out",
        HEADER_MISSING: "no header; one is made",
        HEADER_TORN: "the header is cut; one is made from what there is",
        HEADER_REFUSED: "the header breaks a rule; it is mended",
        HEADER_NOT_FIRST: "the header stands behind other lines; it is moved to the top",
        SECOND_HEADER: "another header; it is kept as a custom entry",
        FORMAT_LOWERED: "entries that the format of the file refuses; an older one is written",
        UNSUPPORTED_FORMAT: "a format that is not read here; it is read as agentsession/0.3",
    }
)
"""Every kind of damage by its code, with what is done about it; `docs/damage.md` has more."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong with a file.

    Attributes:
        code: the kind, one of :data:`CODES`.
        line: 1-based line number, blank lines counted; 0 for the file as a whole.
        start, end: byte range in the file.
        sentence: what is wrong there and what was done about it.
        entries: the ids of the entries concerned, as they are in the salvaged session.
        lost: how many bytes of the range are left out of the salvaged session.
        excerpt: the beginning of what is left out, for people.
        count: how many lines it concerns; the range is that of the first.
    """

    code: str
    line: int
    start: int
    end: int
    sentence: str
    entries: tuple[str, ...] = ()
    lost: int = 0
    excerpt: str = ""
    count: int = 1

    @property
    def where(self) -> str:
        """The place, for people."""
        return f"line {self.line}, bytes {self.start} to {self.end}" if self.line else ""

    @property
    def finding(self) -> Finding:
        """The damage in the shape all reports share."""
        return Finding(self.code, self.sentence, self.where, self.count)

    def __str__(self) -> str:
        return str(self.finding)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, with line, byte range and entries."""
        return {
            **self.finding.to_dict(),
            "line": self.line,
            "start": self.start,
            "end": self.end,
            "entries": list(self.entries),
            "lost": self.lost,
            "excerpt": self.excerpt,
        }
