"""The work of a salvage: one pass over the lines of a file, one over the entries they gave.

Spec: design "Damage is data", format 7.
"""

from __future__ import annotations

import hashlib
import re
from itertools import count
from typing import Final

from agentsession import damage, text, timestamp, versions
from agentsession._fragments import (
    BOM,
    SPACE,
    Cutter,
    Line,
    Piece,
    lines,
    record_text,
    whole_members,
)
from agentsession._headers import find_header, session_id
from agentsession._mending import (
    EPOCH,
    MARK,
    Mended,
    Mender,
    as_utf8,
    header_version,
    lost_references,
    lowered_header,
    mended_header,
    remade,
    string,
)
from agentsession._ordering import Draft, in_order
from agentsession.codec import Undecodable, decode_entry, decode_header
from agentsession.damage import Damage
from agentsession.envelopes import envelopes
from agentsession.errors import UnsupportedFormat

_EXCERPT: Final = 200
_HEAD: Final = 1 << 16
"""The id of a torn record is looked for in so many bytes."""

_BLOCK: Final = 1 << 18
_FREE_IDS: Final = (0, 4)
_LINE: Final = re.compile(r"^line [0-9]+: ")


class Salvage:
    """The salvage of one file; :meth:`clean` does the work.

    Args:
        data: the file.
        name: its name, where it has one.
        allow_newer: whether minor versions that are not known are taken as they are.

    Attributes:
        kept: the byte ranges that stand in the session.
    """

    def __init__(self, data: bytes, name: str, *, allow_newer: bool) -> None:
        self.kept: list[tuple[int, int]] = []
        self._data = data
        self._name = name
        self._allow_newer = allow_newer
        self._damages: list[Damage] = []
        self._drafts: list[Draft] = []
        self._order: list[Draft] = []
        self._line = b""
        self._by_id: dict[str, Draft] = {}
        self._lost_ids: dict[str, int] = {}
        self._made: dict[str, int] = {}
        self._reached = 0
        self._cutter = Cutter(data)
        self._header = find_header(data)
        members = self._header.members
        self._version, self._unsupported = header_version(members, allow_newer=allow_newer)
        created = string(members.get("created_at"))
        time = created if timestamp.valid(created) else EPOCH
        self._mender = Mender(self._version, self._fresh_id, time)

    def clean(self) -> bytes:
        """Return the bytes of the salvaged session."""
        self._read_all()
        self._tell_returns()
        self._line = self._header_line()
        self._order = self._ordered()
        if versions.has_convergence(self._version):
            self._check_references(string(text.split_members(self._line).get("id")))
        return self._joined()

    def lowered(self, reason: str) -> bytes:
        """Return the same under a version in which ids are free, told with the reason.

        From 0.5 on an id is the hash of its entry and of what is above it: an entry that
        had to be changed, or lost what was above it, cannot keep its id there.
        """
        name = versions.format_name(_FREE_IDS)
        self._line = lowered_header(self._line, name)
        own = versions.format_name(self._version)
        reason = _LINE.sub("", reason)  # it counts the lines of the salvaged session
        sentence = f"{own} refuses what there is ({reason}); it is written as {name}"
        self._tell(damage.FORMAT_LOWERED, *self._header.place, sentence)
        return self._joined()

    def _joined(self) -> bytes:
        return b"\n".join([self._line, *map(self._text, self._order), b""])

    def told(self) -> tuple[Damage, ...]:
        """Return the damages in file order."""
        return tuple(sorted(self._damages, key=lambda found: (found.start, found.end, found.code)))

    # Lines.

    def _read_all(self) -> None:
        """Read block by block; a block that is not as a writer writes it, line by line."""
        data, start, number = self._data, 0, 0
        while start < len(data):
            found = data.find(b"\n", start + _BLOCK)
            stop = len(data) if found < 0 else found + 1
            if start < self._reached or not self._read_block(number, start, stop):
                for line in lines(data, number, start, stop):
                    if line.end > self._reached:
                        after = max(line.start, self._reached)
                        self._read(self._without_mark(line._replace(start=after)))
            number += data.count(b"\n", start, stop)
            start = stop

    def _read_block(self, number: int, start: int, stop: int) -> bool:
        """Take the lines of a block in when there is nothing to say about any of them."""
        if start <= self._header.start < stop:
            return False
        block = self._data[start:stop]
        found = None if b"\r" in block else envelopes(block, self._version)
        if found is None:
            return False
        ids, parents, _ = found
        if len(set(ids)) < len(ids) or not self._by_id.keys().isdisjoint(ids):
            return False
        self._keep(Piece("", start, stop - 1))
        rows = zip(ids, parents, block.split(b"\n"), strict=False)
        position = start
        for at, (entry_id, parent, line) in enumerate(rows, number + 1):
            end = position + len(line)
            draft = Draft((at, position, end), entry_id, parent, None)
            self._by_id[entry_id] = draft
            self._drafts.append(draft)
            position = end + 1
        return True

    def _without_mark(self, line: Line) -> Line:
        if not self._data.startswith(BOM, line.start, line.end):
            return line
        at = line.start
        sentence = "the line starts with a byte order mark; it is left out"
        self._tell(damage.BYTE_ORDER_MARK, line.number, at, at + len(BOM), sentence)
        return line._replace(start=at + len(BOM))

    def _tell_returns(self) -> None:
        """Tell of line ends with a carriage return once, however many there are."""
        if b"\r" not in self._data:
            return
        first = re.search(rb"(?<!\r)\r+(?=\n|\Z)", self._data)
        if first is None:
            return
        times = self._data.count(b"\r\n") + self._data.endswith(b"\r")
        line = self._data.count(b"\n", 0, first.start()) + 1
        sentence = "lines end with a carriage return; they get a line feed alone"
        self._tell(damage.CRLF, line, first.start(), first.end(), sentence, times=times)

    # The header.

    def _header_line(self) -> bytes:
        header, line = self._header, self._header.raw
        if not line or not self._reads(line):
            made = {} if line else {MARK + "header": text.encode(header.state)}
            line, problems = mended_header(
                {**header.members, **made},
                id=session_id(self._data, self._name),
                created_at=self._time_of(self._drafts[0]) if self._drafts else EPOCH,
                allow_newer=self._allow_newer,
            )
            self._tell_header(problems)
        return line if text.is_utf8(line) else self._told_utf8(line)

    def _reads(self, line: bytes) -> bool:
        try:
            decode_header(line, allow_newer=self._allow_newer)
        except (Undecodable, UnsupportedFormat):
            return False
        return True

    def _tell_header(self, problems: list[str]) -> None:
        header = self._header
        place = header.place
        if header.state == "missing":
            sentence = "there is no header; one is made from the name and the first entry"
            self._tell(damage.HEADER_MISSING, *place, sentence)
        elif header.state == "whole":
            if self._unsupported:
                name = versions.format_name(self._version)
                sentence = f"{self._unsupported}; it is read as {name}"
                self._tell(damage.UNSUPPORTED_FORMAT, *place, sentence)
            if problems:
                sentence = "; ".join(problems) + ": it is mended"
                self._tell(damage.HEADER_REFUSED, *place, sentence)

    # Entries.

    def _read(self, line: Line) -> None:
        if line.start == line.end:
            return
        raw = self._data[line.start : line.end]
        # Telling at once what cannot be an entry saves reading a torn line several times.
        if line.start != self._header.start and raw.rstrip(SPACE).endswith(b"}"):
            try:
                entry = decode_entry(raw, self._version)
            except Undecodable:
                pass
            else:
                mended = Mended(raw, entry.id, entry.parent, ())
                self._take(line, Piece("", line.start, line.end), mended, verbatim=True)
                return
        ids = []
        pieces = self._cutter.pieces(line.start, line.end)
        for piece in pieces:
            if piece.start == self._header.start:
                self._take_header(line, piece)
            elif piece.code:
                self._leave(line, piece)
            else:
                ids.append(self._record(line, piece))
        self._reached = pieces[-1].end
        if sum(not piece.code for piece in pieces) > 1:
            end = pieces[-1].end
            sentence = "the line holds several records; each gets its own"
            self._tell(
                damage.TWO_RECORDS, line.number, line.start, end, sentence, *filter(None, ids)
            )

    def _take_header(self, line: Line, piece: Piece) -> None:
        at = (line.number, piece.start, piece.end)
        if self._header.state == "torn":
            sentence = "the header is cut; one is made from what there is of it"
            self._tell(damage.HEADER_TORN, *at, sentence, lost=True)
            return
        if self._drafts or any(found.lost for found in self._damages):
            sentence = "the header stands behind other lines; it is moved to the top"
            self._tell(damage.HEADER_NOT_FIRST, *at, sentence)
        self._keep(piece)

    def _leave(self, line: Line, piece: Piece) -> None:
        """Leave a piece out, and tell."""
        size = piece.end - piece.start
        known = whole_members(self._data, piece.start, min(piece.end, piece.start + _HEAD))
        entry_id = string(known.get("id"))
        named = f" (entry {entry_id})" if entry_id else ""
        sentences = {
            damage.NUL_RUN: f"{size} NUL bytes, as a crash or a failing disk leaves them",
            damage.CUT_LINE: f"the record{named} ends before it is whole",
            damage.NOT_JSON: f"{size} bytes are no JSON object",
            damage.GLUED_STUB: f"a piece of a torn record{named} shares the line with a whole one",
            damage.NOT_AN_ENTRY: "the line is no entry: expected a JSON object",
        }
        if entry_id:
            self._lost_ids[entry_id] = line.number
        sentence = sentences[piece.code] + "; left out"
        self._tell(piece.code, line.number, piece.start, piece.end, sentence, lost=True)

    def _record(self, line: Line, piece: Piece) -> str:
        """Take the object of a piece in, as an entry or in one; return the entry's id."""
        raw = record_text(self._data, piece)
        mended: Mended | None
        try:
            entry = decode_entry(raw, self._version)
            mended = Mended(raw, entry.id, entry.parent, ())
        except Undecodable:
            if self._drafts:
                self._mender.previous = self._drafts[-1].id
                self._mender.time = self._time_of(self._drafts[-1])
            mended = self._mender.mend(raw)
        at = (line.number, piece.start, piece.end)
        if mended is None:
            self._tell(damage.NOT_AN_ENTRY, *at, "the object is empty; left out", lost=True)
            return ""
        if raw == self._header.raw:
            sentence = "the header stands in the file before; it is kept once"
            self._tell(damage.REPEATED_ENTRY, *at, sentence)
            return ""
        entry_id = self._take(line, piece, mended, verbatim=False)
        if piece.end > line.end:
            sentence = f"entry {entry_id} is spread over several lines; it is put on one"
            self._tell(damage.SPREAD_RECORD, *at, sentence, entry_id)
        return entry_id

    def _take(self, at: Line, piece: Piece, mended: Mended, *, verbatim: bool) -> str:
        """Take an entry in and tell what was wrong with it; return its id."""
        place = (at.number, piece.start, piece.end)
        line = mended.line
        draft = Draft(place, mended.id, mended.parent, None if verbatim else line)
        if not text.is_utf8(line):
            draft.line, bad = as_utf8(line)
            sentence = f"{bad} bytes of entry {mended.id} are not UTF-8; U+FFFD stands for each"
            self._tell(damage.NOT_UTF8, *place, sentence, mended.id)
        earlier = self._by_id.get(draft.id)
        if earlier is not None:
            written = self._text(draft)
            if self._text(earlier) == written or self._digest(written) in self._by_id:
                sentence = f"entry {draft.id} stands in the file before; it is kept once"
                self._tell(damage.REPEATED_ENTRY, *place, sentence, draft.id)
                return draft.id
            self._rename(draft, written)
        self._tell_mended(draft, mended, place)
        self._by_id[draft.id] = draft
        self._drafts.append(draft)
        self._keep(piece)
        return draft.id

    def _rename(self, draft: Draft, written: bytes) -> None:
        old, draft.id = draft.id, self._fresh_id(written)
        draft.line = remade(written, {"id": text.encode(draft.id)})
        sentence = (
            f"the id {old} is used before (line {self._by_id[old].number}): "
            f"this entry got {draft.id}, and entries below {old} stay with the first"
        )
        self._tell(damage.REPEATED_ID, *draft.place, sentence, old, draft.id)

    def _tell_mended(self, draft: Draft, mended: Mended, place: tuple[int, int, int]) -> None:
        endings = {
            damage.NO_ID: f"it got {draft.id}",
            damage.LOST_PARENT: f"entry {draft.id} became a root",
        }
        for code, problem in mended.problems:
            ending = endings.get(code, f"kept as custom entry {draft.id}")
            if code == damage.BAD_TIME:
                ending = f"entry {draft.id} got {self._time_of(draft)}"
            self._tell(code, *place, f"{problem}: {ending}", draft.id)

    # The tree.

    def _ordered(self) -> list[Draft]:
        order = in_order(self._drafts, self._by_id)
        for draft in order.orphans:
            parent = draft.parent or ""
            why = "is not in the file"
            if parent in self._lost_ids:
                why = f"was lost on line {self._lost_ids[parent]}"
            sentence = f"the parent {parent} of entry {draft.id} {why}; the entry became a root"
            self._uproot(draft, damage.LOST_PARENT, sentence)
        for draft in order.circular:
            sentence = f"entry {draft.id} is its own ancestor; it became a root"
            self._uproot(draft, damage.PARENT_CYCLE, sentence)
        for draft in order.late:
            sentence = f"entry {draft.id} stands before its parent {draft.parent}; it is moved"
            self._tell(damage.LATE_PARENT, *draft.place, sentence, draft.id)
        return order.drafts

    def _check_references(self, session_id: str) -> None:
        earlier: set[str] = set()
        for draft in self._order:
            line = self._text(draft)
            if b"parents" in line or b"\\u" in line:
                kept, lost = lost_references(line, self._version, session_id, earlier)
                if lost:
                    draft.line = remade(line, {"parents": kept})
                    names = ", ".join(lost)
                    sentence = f"entry {draft.id} converges from {names}, not before it; left out"
                    self._tell(damage.LOST_REFERENCE, *draft.place, sentence, draft.id)
            earlier.add(draft.id)

    def _uproot(self, draft: Draft, code: str, sentence: str) -> None:
        draft.line = remade(self._text(draft), {"parent": b"null"})
        draft.parent = None
        self._tell(code, *draft.place, sentence, draft.id)

    # Small things.

    def _text(self, draft: Draft) -> bytes:
        return self._data[draft.start : draft.end] if draft.line is None else draft.line

    def _time_of(self, draft: Draft) -> str:
        return string(text.split_members(self._text(draft)).get("ts"))

    @staticmethod
    def _digest(line: bytes, number: int = 0) -> str:
        return hashlib.sha256(b"agentsession salvage %d\n" % number + line).hexdigest()[:16]

    def _fresh_id(self, line: bytes) -> str:
        base = self._digest(line)
        for number in count(self._made.get(base, 0)):
            entry_id = self._digest(line, number)
            if entry_id not in self._by_id:
                break
        self._made[base] = number
        return entry_id

    def _told_utf8(self, line: bytes) -> bytes:
        replaced, bad = as_utf8(line)
        sentence = f"{bad} bytes of the header are not UTF-8; U+FFFD stands for each"
        self._tell(damage.NOT_UTF8, *self._header.place, sentence)
        return replaced

    def _keep(self, piece: Piece) -> None:
        if self.kept:
            first, last = self.kept[-1]
            if not self._data[last : piece.start].strip(b"\r\n"):
                self.kept[-1] = (first, piece.end)
                return
        self.kept.append((piece.start, piece.end))

    def _tell(
        self,
        code: str,
        number: int,
        start: int,
        end: int,
        sentence: str,
        *entries: str,
        lost: bool = False,
        times: int = 1,
    ) -> None:
        shown = self._data[start : min(end, start + _EXCERPT)].strip(b"\0") if lost else b""
        found = Damage(
            code=code,
            line=number,
            start=start,
            end=end,
            sentence=sentence,
            entries=entries,
            lost=end - start if lost else 0,
            excerpt=shown.decode("utf-8", "replace"),
            count=times,
        )
        self._damages.append(found)
