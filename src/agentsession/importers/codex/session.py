"""Converting one thread: its files in order, their branches, and what is said afterwards.

Spec: codex 5 and 10, decisions D5 to D8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from agentsession import text
from agentsession.header import Header
from agentsession.importers.accounts import Accounts
from agentsession.importers.base import UNKNOWN_CONTENT, Converted
from agentsession.importers.codex import lines, tools
from agentsession.importers.codex.codes import CODES
from agentsession.importers.codex.copies import copied_lines
from agentsession.importers.codex.lines import Line
from agentsession.importers.codex.reading import Reading
from agentsession.importers.codex.releases import version_of
from agentsession.importers.codex.rollouts import Index, Rollout
from agentsession.importers.codex.state import State
from agentsession.importers.codex.usage import usage_of
from agentsession.importers.codex.writer import NAMESPACE, Mark, Writer
from agentsession.parts import Harness
from agentsession.record_entries import InfoEntry, LinkEntry, QueuedEntry

FORMAT: Final = "agentsession/0.3"

_NONE: Final = -1
_FALLBACK: Final = "2025-01-01T00:00:00Z"
_WITH_INSTRUCTIONS: Final = (0, 160)


class Ledger(Accounts):
    """An account that passes over what belongs to another session."""

    def entry(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record became entries of its own."""
        if number >= 0:
            super().entry(number, *entries, code=code)

    def folded(self, number: int, *entries: str, code: str = "") -> None:
        """Say that a record is part of an entry that stands for more."""
        if number >= 0:
            super().folded(number, *entries, code=code)

    def left_out(self, number: int, code: str) -> None:
        """Say that a record is in no entry, and why."""
        if number >= 0:
            super().left_out(number, code)


class Conversion:
    """Converts one thread of a source.

    Args:
        index: the source.
        thread: the thread's id.
    """

    def __init__(self, index: Index, thread: str) -> None:
        self._index = index
        self._thread = thread
        self._files = _ordered(index, thread)
        self._current = _current(index, thread, self._files)
        self._accounts = Ledger(CODES)
        first = index.threads[thread][0]
        self._first = first
        self._writer = Writer.of(self._header(first))
        # What a file goes on from holds items, also where it has none of its own yet.
        display = not any(rollout.base[0] or rollout.holds_items() for rollout in self._files)
        self._reading = Reading(self._writer, self._accounts, display=display)
        self._wanted: dict[str, set[int]] = {}
        self._places: dict[tuple[str, int], tuple[State, Mark, str | None]] = {}
        self._loud: list[Rollout] = []

    def run(self) -> Converted:
        """Return the thread converted, with the account of all its lines."""
        for rollout in self._files:
            base, end = rollout.base
            known = self._index.file(base)
            if known is not None and end is not None and known in self._files:
                self._wanted.setdefault(known.path, set()).add(end)
        ended: Mark | None = None
        for rollout in self._files:
            self._read(rollout)
            if rollout is self._current:
                ended = self._writer.mark()
        if ended is not None and self._current is not self._files[-1]:
            # Others go on from the current file, and so could not be read before it.
            self._writer.back(ended)
        for copy in self._index.copies.get(self._thread, ()):
            for line in copy.lines():
                self._accounts.left_out(self._accounts.open(_kind(line), line.place), "other-copy")
        self._finish()
        return self._converted()

    def _header(self, first: Rollout) -> Header:
        meta, parent, call = first.meta, first.parent, ""
        if parent and parent not in self._index.threads:
            code = "child-without-parent" if first.started_by else "fork-origin-unknown"
            self._accounts.find(code, first.thread)
        elif first.started_by:
            call = self._index.spawning_call(parent, first.thread)
            if not call and "thread_spawn" in lines.mapping(
                lines.mapping(meta.get("source")).get("subagent")
            ):
                self._accounts.find("child-without-call", first.thread)
        return Header(
            format=FORMAT,
            id=first.thread,
            created_at=first.created or _FALLBACK,
            harness=Harness(NAMESPACE, lines.string(meta.get("cli_version"))),
            cwd=lines.string(meta.get("cwd")),
            parent_session=parent,
            spawned_by=call,
        )

    # Files.

    def _read(self, rollout: Rollout) -> None:
        reading, writer = self._reading, self._writer
        base, end = rollout.base
        known = self._index.file(base)
        place = self._places.get((known.path, end or 0)) if known is not None else None
        if place is not None:
            state, mark, instructions = place
            reading.state = state.copy()
            writer.back(mark)
            reading.settings.instructions = instructions
            self._own(rollout, 0)
            return
        if writer.node is not writer.draft.root:
            # A file of the thread that goes on from none of the others.
            writer.empty()
        reading.state = State()
        writer.at = rollout.created or writer.at
        if not base:
            self._own(rollout, copied_lines(self._index, rollout))
            return
        if known is None:
            self._accounts.find("base-missing", rollout.name)
        self._own(rollout, 0, before=self._chain(known, end, frozenset()))

    def _chain(
        self, rollout: Rollout | None, end: int | None, above: frozenset[str]
    ) -> Iterator[Line]:
        """The lines of other files that a file goes on from, oldest first."""
        if rollout is None or rollout.path in above:
            return
        base, before = rollout.base
        if base:
            yield from self._chain(self._index.file(base), before, above | {rollout.path})
        for line in rollout.lines():
            if line.ordinal is not None and end is not None and line.ordinal >= end:
                return
            if not line.repeated:
                yield line

    def _own(self, rollout: Rollout, copied: int, before: Iterable[Line] = ()) -> None:
        """Read a file: its first line, then what it goes on from, then the rest."""
        reading = self._reading
        wanted = sorted(self._wanted.get(rollout.path, ()))
        began = forked = False
        size, known = 0, reading.unknown.size
        for at, line in enumerate(rollout.lines()):
            if line.repeated:
                self._accounts.left_out(self._open(line), "repeated-record")
                continue
            size += line.size
            while wanted and line.ordinal is not None and line.ordinal >= wanted[0]:
                self._remember(rollout, wanted.pop(0))
            reading.feed(line, self._open(line), copied=0 < at <= copied)
            if not began:
                began, mine = True, reading.unknown.size
                for other in before:
                    forked = True
                    reading.feed(other, _NONE, copied=True)
                # What others wrote counts in their own files.
                reading.unknown.size = mine
                self._forked(rollout, now=not copied)
            elif at == copied:
                self._forked(rollout, now=True)
        if reading.unknown.is_loud(size, -known):
            self._loud.append(rollout)
        reading.end(final=rollout is self._current)
        for end in wanted:
            self._remember(rollout, end)
        if forked and not began:
            self._accounts.find("base-missing", rollout.name)

    def _open(self, line: Line) -> int:
        return self._accounts.open(_kind(line), line.place)

    def _forked(self, rollout: Rollout, *, now: bool) -> None:
        """Link a fork to its origin, where what it shares with it ends."""
        origin = rollout.forked_from or ("" if rollout.started_by else rollout.copied_from)
        if now and origin and rollout is self._first:
            self._writer.add(LinkEntry("fork_of", origin), origin, "link", "")

    def _remember(self, rollout: Rollout, end: int) -> None:
        self._reading.calling.flush()
        state = self._reading.state.copy()
        mark = self._writer.mark()
        instructions = self._reading.settings.instructions
        self._places[rollout.path, end] = (state, mark, instructions)

    # What is said afterwards.

    def _finish(self) -> None:
        accounts, writer, told = self._accounts, self._writer, self._index.told
        self._in_flight()
        for number in accounts.unsettled:
            accounts.left_out(number, "display-copy")
        if len(self._files) > 1:
            accounts.find("older-segment", self._thread, len(self._files) - 1)
        for waiting in told.queued.get(self._thread, ()):
            entry = QueuedEntry(dict(waiting.item), "followup", ref=waiting.id)
            writer.add(entry, waiting.id, "queued", tools.millis(waiting.millis))
            accounts.find("queued-input", self._thread)
        names = self._reading.names
        name = told.names.get(self._thread) or (names[-1] if names else "")
        if name:
            writer.add(InfoEntry(name), self._thread, "title", "")
        files: dict[str, Any] = {"files": [rollout.name for rollout in self._files]}
        if self._current.archived:
            files["archived"] = True
        writer.note({"thread": files}, self._thread, "thread", "")
        unknown = self._reading.unknown
        if unknown.note:
            unknown.noted(writer.note(unknown.note, self._thread, "unknown", ""))

    def _in_flight(self) -> None:
        """Keep what was on its way below the last entry: it becomes items when it goes on."""
        elements = self._reading.calling.in_flight
        if not elements:
            return
        data: dict[str, Any] = {
            "in_flight": [text.parse(element.unit.text) for element in elements]
        }
        counts = self._reading.calling.in_flight_usage
        if counts is not None:
            data["usage"] = usage_of(counts)
            self._reading.calling.converted.add(counts)
        entry_id = self._writer.note(data, "", "in-flight", elements[-1].time)
        self._accounts.find("answer-in-flight", self._thread)
        for element in elements:
            self._accounts.folded(element.number, entry_id, code="answer-in-flight")
            for number in element.beside:
                self._accounts.folded(number, entry_id)

    def _converted(self) -> Converted:
        accounts, calling = self._accounts, self._reading.calling
        if calling.converted.calls or self._reading.state.calls:
            release = version_of(lines.string(self._first.meta.get("cli_version")))
            accounts.find("tools-not-stored", self._thread)
            if self._reading.settings.instructions is None:
                accounts.find("instructions-not-stored", self._thread)
            elif release >= _WITH_INSTRUCTIONS:
                accounts.find("instructions-approximate", self._thread)
            told = self._reading.state.environment
            if not self._first.meta.get("cli_version") and not told:
                accounts.find("environment-not-stored", self._thread)
        for rollout in self._loud:
            where = self._thread if len(self._files) == 1 else f"{self._thread}: {rollout.name}"
            accounts.find(UNKNOWN_CONTENT, where)
        totals = {
            "native": calling.native.to_dict(),
            "converted": calling.converted.to_dict(),
        }
        return Converted(
            self._writer.draft.finished(), accounts.dispositions(), accounts.findings, totals
        )


def _kind(line: Line) -> str:
    return f"{line.kind}:{line.name}" if line.name else line.kind


def _current(index: Index, thread: str, files: Sequence[Rollout]) -> Rollout:
    """The file that the thread goes on in: by the database, or the last."""
    named = index.told.current.get(thread, "")
    return next((rollout for rollout in files if rollout.name == named), files[-1])


def _ordered(index: Index, thread: str) -> list[Rollout]:
    """A thread's files, each behind those it goes on from; the current one last, if it can be."""
    files = index.threads[thread]
    current = index.told.current.get(thread, "")
    ordered = sorted(files, key=lambda rollout: rollout.name == current)
    found: dict[str, Rollout] = {}

    def place(rollout: Rollout) -> None:
        base = index.file(rollout.base[0])
        if base is not None and base in files and base.path not in found and base is not rollout:
            if len(waiting) > len(files):
                return
            waiting.append(base.path)
            place(base)
        found.setdefault(rollout.path, rollout)

    for rollout in ordered:
        waiting: list[str] = []
        place(rollout)
    return list(found.values())
