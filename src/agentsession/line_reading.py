"""The rules of reading: one pass over the lines of a file, at once or one by one.

Spec: format 7, later drafts 3, decisions A2 to A6.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentsession import convergence, id_blocks, ijson, strictness, text, versions
from agentsession.codec import Undecodable, WrongID, WrongParents, decode_entry, decode_header
from agentsession.entries import Entry
from agentsession.entry_ids import id_problem
from agentsession.envelopes import envelopes_of, is_utf8, verified
from agentsession.errors import (
    AgentSessionError,
    BadConvergence,
    BadID,
    BadNormalisation,
    DamagedFile,
    DuplicateEntry,
    NoEntry,
    ReservedMember,
    UnsupportedFormat,
)
from agentsession.forks import check_base
from agentsession.header import Header
from agentsession.members import Version
from agentsession.normalising import normalised_problem
from agentsession.rows import Buffer, Rows, lines_of
from agentsession.session import Session, TruncatedLine

BLOCK: Final = 1 << 18
"""Bytes that are read at once; as many as stay in the cache."""
VERIFIED_BLOCK: Final = 1 << 16
"""The same where ids are computed."""

_FIRST_BLOCK: Final = 1 << 12
_LINES_READ_EXACTLY: Final = 64


class LineReader:
    """One pass over the lines of a file, block by block.

    Args:
        data: the file.
        path: its name in messages.
        allow_newer, verify_ids, strict: as :func:`agentsession.read` has them.

    Attributes:
        block: the bytes being read, whole lines.
        offset: where the block starts in the file.
        position: what is read so far, in the file; ``start`` and ``end``, the last line there.
    """

    def __init__(
        self,
        data: Buffer,
        path: str | Path | None,
        *,
        allow_newer: bool,
        verify_ids: bool,
        strict: bool = False,
    ) -> None:
        self.data = data
        self.path = path
        self.allow_newer = allow_newer
        self.verify_ids = verify_ids
        self.strict = strict
        self.block = b""
        self.offset = 0
        self.position = 0
        self.number = 0
        self.start = 0
        self.end = 0
        self.regular = True
        self.rows = Rows()
        self.notes: list[str] = []
        self.truncated: TruncatedLine | None = None
        self.session_id = ""
        self.unjudged = 0

    def session(self) -> Session:
        """Read all of it, and return the session.

        Raises:
            AgentSessionError: as :func:`agentsession.read`.
        """
        header = self._header()
        self.session_id = header.id
        version = header.version
        self.rows = Rows(version)
        if not versions.has_content_ids(version):
            self.verify_ids = False
        elif not self.verify_ids:
            self.notes.append("entry ids were not verified: it was read with verify_ids=False")
        self._read_entries(version)
        if self.unjudged:
            self.notes.append(
                f"{self.unjudged} entry ids are not the hashes this release computes and were "
                f"not judged, for {header.format} may compute them in another way"
            )
        if header.base and versions.has_base(version):
            check_base(header.base, self.rows, f"{self.path}: " if self.path else "")
        return Session.restored(
            header, self.rows, truncated=self.truncated, notes=self.notes, source=self._source()
        )

    def follow(self, header: Header, rows: Rows, number: int) -> None:
        """Read what follows the lines that a session has already, line by line.

        Args:
            header: the session's header.
            rows: its entries; those that are read are put behind them.
            number: the number of the next line.

        Raises:
            AgentSessionError: as :func:`agentsession.read`.
        """
        self.session_id = header.id
        self.rows = rows
        self.number = number - 1
        self.block = self.data[:]
        self._read_lines(header.version)

    def _source(self) -> bytes | None:
        """The whole file where it is more than the lines of its entries."""
        if self.regular:
            return None
        source = self.data if isinstance(self.data, bytes) else self.data[:]
        self.rows.rest_on(source)
        return source

    def _next_block(self, size: int) -> bool:
        """Go on to the lines that follow, of about so many bytes; whether there are any."""
        whole = len(self.data)
        if self.position >= whole:
            return False
        self.offset = self.position
        length = 0
        while not length:
            # Every slice is looked at while it is in the cache.
            self.block = self.data[self.offset : self.offset + size]
            at_end = self.offset + size >= whole
            length = len(self.block) if at_end else self.block.rfind(b"\n") + 1
            size *= 4
        if length < len(self.block):
            self.block = self.block[:length]
        return True

    def _line(self) -> bytes | None:
        """The next line of the block that is not empty, without its line end; None at its end."""
        block = self.block
        while (at := self.position - self.offset) < len(block):
            self.start = self.position
            self.number += 1
            found = block.find(b"\n", at)
            end = len(block) if found < 0 else found
            self.position = self.offset + (end if found < 0 else found + 1)
            line = block[at:end]
            if found < 0:
                self.regular = False
            if line.endswith(b"\r"):
                self.regular = False
                line = line.rstrip(b"\r")
            self.end = self.start + len(line)
            if line:
                return line
            self.regular = False
        return None

    def _damaged(self, problem: str) -> DamagedFile:
        return DamagedFile(
            problem, path=self.path, line=self.number, start=self.start, end=self.end
        )

    def _place(self) -> str:
        return f"{self.path}: line {self.number}" if self.path else f"line {self.number}"

    def _header(self) -> Header:
        line = None
        while line is None and self._next_block(_FIRST_BLOCK):
            line = self._line()
        if line is None:
            problem = "the file has only blank lines" if len(self.data) else "the file is empty"
            raise DamagedFile(f"{problem}: expected a session header", path=self.path)
        try:
            header = decode_header(line, allow_newer=self.allow_newer)
        except Undecodable as error:
            raise self._damaged(str(error)) from error
        except UnsupportedFormat as error:
            raise UnsupportedFormat(f"{self._place()}: {error}", format=error.format) from error
        self._check_utf8(line, header.version)
        self._check_strictly(line)
        return header

    def _check_strictly(self, line: bytes) -> None:
        problem = strictness.problem(line) if self.strict else ""
        if problem:
            raise self._damaged(f"{problem}, and the reading is strict")

    def _check_utf8(self, line: bytes, version: Version) -> None:
        if text.is_utf8(line):
            return
        if not versions.repairs_utf8(version):
            raise self._damaged("the line is not valid UTF-8")
        self.notes.append(
            f"line {self.number} is not valid UTF-8; bytes that are not read as U+FFFD"
        )

    def _read_entries(self, version: Version) -> None:
        # What is verified is decoded whole, which is quicker while it stays in the cache.
        size = VERIFIED_BLOCK if self.verify_ids else BLOCK
        while self.truncated is None and self._next_block(size):
            self._read_block(version)

    def _read_block(self, version: Version) -> None:
        """Read the lines of the block: at once where that is certain, else in halves."""
        if self._take_block(version):
            return
        block, offset = self.block, self.offset
        middle = block.find(b"\n", len(block) // 2) + 1
        if block.count(b"\n") <= _LINES_READ_EXACTLY or not middle or middle == len(block):
            self._read_lines(version)
            return
        self.block = block[:middle]
        self._read_block(version)
        self.block, self.offset = block[middle:], offset + middle
        if self.truncated is None:
            self._read_block(version)

    def _take_block(self, version: Version) -> bool:
        block = self.block
        end = self.offset + len(block)
        if self.verify_ids:
            found = verified(block, version)
            count = len(found.ids) if found is not None else 0
        else:
            lines, count = _lines_in(block)
            found = envelopes_of(lines, version) if is_utf8(block) else None
        if found is None:
            return False
        # Lines whose ids are certain are plain already.
        if self.strict and not self.verify_ids and any(map(strictness.problem, lines_of(block)[0])):
            return False
        if found.ids and not self.rows.extended(*found, (self.data, self.offset, end)):
            return False
        if count != len(found.ids) or b"\r" in block or not block.endswith(b"\n"):
            self.regular = False
        self.number += count
        self.position = end
        return True

    def _read_lines(self, version: Version) -> None:
        rows = self.rows
        while (line := self._line()) is not None:
            try:
                entry = decode_entry(line, version)
            except Undecodable as error:
                if self.position < len(self.data) or not self._is_cut(error, version):
                    raise self.refusal(error) from error
                if self.strict:
                    raise self._damaged(f"{error}, and the reading is strict") from error
                self.truncated = TruncatedLine(
                    self.number, line, error, self.start, is_json=error.is_json
                )
                self.regular = False
                return
            self._check_utf8(line, version)
            self._check_strictly(line)
            if versions.has_content_ids(version):
                self._check_identity(line, entry)
            if entry.id in rows.index:
                self._repeated(entry, version)
                continue
            if entry.parent is not None and entry.parent not in rows.index:
                raise NoEntry(
                    f'{self._place()}: entry {entry.id} has parent "{entry.parent}", '
                    "which is not an earlier entry of the file",
                    entry_id=entry.parent,
                )
            if versions.has_convergence(version):
                self._check_convergence(entry, version)
            rows.append(entry)

    def refusal(self, error: Undecodable) -> AgentSessionError:
        """Return the error for the last line, when it cannot be read."""
        sentence = f"{self._place()}: {error}"
        if isinstance(error, WrongID):
            return BadID(sentence, entry_id=error.entry_id)
        if isinstance(error, WrongParents):
            return BadConvergence(sentence)
        return self._damaged(str(error))

    def _check_identity(self, line: bytes, entry: Entry) -> None:
        """Refuse an entry whose id is not the hash of its line (later drafts 3.5)."""
        if entry.text_of("normalised") is not None:
            problem = normalised_problem(entry.text_of("normalised") or b"null")
            if problem:
                raise BadNormalisation(f"{self._place()}: entry {entry.id}: {problem}")
        if not self.verify_ids or id_blocks.holds(line, entry.id, entry.ts_text):
            return
        if not versions.judges_ids(entry.version):
            self.unjudged += 1
            return
        problem = ijson.problem(line)
        if problem:
            raise self._damaged(f"entry {entry.id} is not I-JSON, so it has no id: {problem}")
        try:
            problem, expected = id_problem(line, entry.id, entry.ts_text)
        except ReservedMember as error:
            sentence = f"{self._place()}: entry {entry.id}: {error}"
            raise ReservedMember(sentence, type=entry.type, member=error.member) from error
        if problem:
            sentence = f"{self._place()}: {problem}; it was changed after it was written"
            raise BadID(sentence, entry_id=entry.id, expected=expected)

    def _check_convergence(self, entry: Entry, version: Version) -> None:
        """Refuse ``parents`` that break the rules (later drafts 6)."""
        if entry.text_of("parents") is None:
            return
        try:
            convergence.check(entry, entry.parent, self.session_id, self.rows.index, version)
        except BadConvergence as error:
            sentence = f"{self._place()}: entry {entry.id}: {error}"
            raise BadConvergence(sentence, entry_id=error.entry_id) from error

    @staticmethod
    def _is_cut(error: Undecodable, version: Version) -> bool:
        return not error.is_json or versions.cut_tail_may_be_json(version)

    def _repeated(self, entry: Entry, version: Version) -> None:
        if not versions.has_content_ids(version):
            raise DuplicateEntry(
                f'{self._place()}: entry id "{entry.id}" is already used by an earlier entry',
                entry_id=entry.id,
            )
        self.regular = False
        self.notes.append(f"line {self.number} repeats entry {entry.id}; it is kept once")


def _lines_in(block: bytes) -> tuple[Sequence[bytes | memoryview], int]:
    """What :func:`lines_of` gives; long lines are not copied."""
    if block.count(b"\n", 0, _FIRST_BLOCK) or b"\r" in block:
        return lines_of(block)
    view = memoryview(block)
    lines = []
    count = start = 0
    while start < len(block):
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        if end > start:
            lines.append(view[start:end])
        count += 1
        start = end + 1
    return lines, count
