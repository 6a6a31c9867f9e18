"""Converting one conversation: each answer below what was sent, and the account of it all.

Spec: claude-code, decisions D3 to D8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentsession import text
from agentsession.header import Header
from agentsession.importers.accounts import Accounts
from agentsession.importers.base import Converted
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.asking import Asking
from agentsession.importers.claude_code.codes import CODES
from agentsession.importers.claude_code.compacting import Compacting
from agentsession.importers.claude_code.continuing import Continuing
from agentsession.importers.claude_code.ending import Ending
from agentsession.importers.claude_code.history import Stretch
from agentsession.importers.claude_code.joining import asides
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.requestlog import CannotRebuild, Request, RequestLog
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.sending import Sending, Tail
from agentsession.importers.claude_code.source import Conversation, Sources
from agentsession.importers.claude_code.splitting import own_records
from agentsession.importers.claude_code.transcript import Answer, Transcript
from agentsession.importers.claude_code.units import Times, Units, replaced_in
from agentsession.importers.claude_code.writing import Writer
from agentsession.importers.drafting import Node, TreeDraft
from agentsession.importers.origin import Origin
from agentsession.parts import Harness
from agentsession.record_entries import LinkEntry

FORMAT: Final = "agentsession/0.3"
_NO_TIME: Final = "2025-01-01T00:00:00Z"


def convert(source: Sources, conversation: Conversation, stored: Origin | None = None) -> Converted:
    """Return a conversation converted, with the account of its files' records.

    Args:
        source: the source.
        conversation: which one.
        stored: where it comes from, as an earlier import found it.
    """
    if stored is None or conversation.is_agent:
        return Conversion(source, conversation).run()
    older = conversation.older if stored.session else ()
    was = replace(conversation, origin=stored.session, parent=stored.session, older=older)
    copied = set(stored.answers) if stored.session else set()
    return Conversion(source, was, copied).run()


class Conversion:
    """One conversation being converted.

    Args:
        source: the source.
        conversation: which one.
        copied: its answers that were asked for in another session; ``None`` to look for them.
    """

    def __init__(
        self, source: Sources, conversation: Conversation, copied: set[str] | None = None
    ) -> None:
        self._conversation = conversation
        logs = conversation.logs
        self._has_copies = len({log.name for log in logs}) < len(logs)
        self.accounts = Accounts(CODES)
        every = source.records(conversation)
        mine = own_records(every, conversation)
        self._open(mine)
        self.records = mine
        self.transcript = Transcript(mine)
        logged = [*mine]
        if conversation.older:
            for name in conversation.older:
                logged += source.records(source.conversations[name])
        self.log = RequestLog(logged)
        self.start = next((r.time for r in mine if r.time), _NO_TIME)
        self.times = Times(mine, self.start)
        self.units = Units(self.times, replaced_in(mine))
        own = len(logs) - conversation.joined
        self.sending = Sending(
            self.transcript, self.units, self._prompt(), conversation.starts, own
        )
        self.compacting = Compacting(self)
        self.continuing = Continuing(self)
        self._asking = Asking(self, self.log)
        size = sum(record.size for record in mine)
        self.draft = TreeDraft(self._header(self.start), names.NAMESPACE, size + size // 4)
        held = source.copied(conversation) if conversation.older else set()
        self.copied = held if copied is None else copied
        lost = self.copied - held
        self._is_cut = any(answer.id in lost for answer in self.transcript.answers)
        self.writer = Writer(
            self.draft,
            self.transcript,
            self.units,
            self.times,
            self.accounts,
            log=self.log,
            children=source.children(conversation),
            copied=self.copied,
        )
        self.asides = asides(mine, len(conversation.logs), conversation.joined)
        self._asked: dict[str, Node] = {}
        self._done: dict[str, Node] = {}
        self._whole: set[str] = set()
        self._linked = False

    @property
    def id(self) -> str:
        """The session's id."""
        return self._conversation.id

    @property
    def title(self) -> str:
        """What the agent calls it; empty for nothing."""
        return self._conversation.title

    @property
    def orphans(self) -> list[Record]:
        """Records that are part of a copy and have no counterpart."""
        return self.transcript.orphans

    def path(self, file: int) -> Path:
        """Return the path of a file."""
        return self._conversation.logs[file].path

    def asked(self, answer: Answer) -> Node:
        """Return the node whose context an answer's request had."""
        return self._asked.get(answer.id, self.draft.root)

    def was_asked(self, answer: Answer) -> bool:
        """Return whether an answer's request has its place already."""
        return answer.id in self._asked

    def done(self, answer: Answer) -> Node:
        """Return the last node that was written of an answer and its results."""
        return self._done.get(answer.id, self.draft.root)

    # The beginning.

    def _open(self, records: Sequence[Record]) -> None:
        kinds = [record.type or "line" for record in records]
        numbers = self.accounts.open_each(kinds, [self._name(record) for record in records])
        for record, number in zip(records, numbers, strict=True):
            record.number = number

    def _name(self, record: Record) -> str:
        logs = self._conversation.logs
        if len(logs) == 1:
            return record.where
        log = logs[record.file]
        return f"{log.path if self._has_copies else log.name}: {record.where}"

    def _header(self, start: str) -> Header:
        conversation = self._conversation
        first = next((r for r in self.records if r.is_tree), None)
        release = first.version if first is not None else ""
        if conversation.is_agent:
            if not conversation.known_parent:
                self.accounts.find("child-without-parent", conversation.id)
            elif not conversation.call and not conversation.warmup:
                self.accounts.find("child-without-call", conversation.id)
            if conversation.warmup:
                self.accounts.find("warmup-agent", conversation.id)
        cwd = first.cwd if first is not None else ""
        if "\0" in cwd:
            # No folder of a store can have its name; the surroundings still tell of it.
            self.accounts.find("cwd-impossible", conversation.id)
            cwd = ""
        return Header(
            format=FORMAT,
            id=conversation.id,
            created_at=start,
            harness=Harness(names.HARNESS, release),
            cwd=cwd,
            parent_session=conversation.parent,
            spawned_by=conversation.call,
        )

    def _prompt(self) -> Piece | None:
        """What an agent was asked, of releases that did not write it into the agent's log."""
        words = self._conversation.prompt
        if not words:
            return None
        self.accounts.find("prompt-from-call", self.id)
        return self.units.prompt(words, self.id, self.start)

    def run(self) -> Converted:
        """Convert it."""
        answered = self._answered()
        for place, request, answer in self._events(answered):
            if answer is not None:
                self._answer(answer, request)
            elif request is not None:
                self._asking.attempt(request, place)
        self._left_out()
        ending = Ending(self)
        ending.write()
        totals = ending.totals()
        records, findings = self.accounts.dispositions(), self.accounts.findings
        draft, is_cut = self.draft, self._is_cut
        # Nothing of the source is needed any more, and the session is about to be read.
        for record in self.records:
            record.leave()
        self.__dict__.clear()
        del ending
        return Converted(
            draft.finished(),
            records,
            findings,
            totals,
            is_cut,
        )

    def _left_out(self) -> None:
        """Account for the other copies of the logs."""
        conversation = self._conversation
        for log in conversation.copies:
            names_of = [f"{log.path}: line {line + 1}" for line in range(log.records)]
            for number in self.accounts.open_all("record", names_of):
                self.accounts.left_out(number, "other-copy")
            self.accounts.find("other-copy", str(log.path), log.records)
        for log in conversation.diverged:
            self.accounts.find("diverged-copy", str(log.path))

    def _answered(self) -> dict[str, Request]:
        """The logged request of each answer that has one."""
        found = {}
        for answer in self.transcript.answers:
            request = self.log.requests.get(answer.first.request)
            if request is not None:
                found[answer.id] = request
        return found

    def _events(
        self, answered: dict[str, Request]
    ) -> list[tuple[int, Request | None, Answer | None]]:
        """Answers and unanswered requests, in the order of their requests."""
        taken = {request.id for request in answered.values()}
        found: list[tuple[int, Request | None, Answer | None]] = []
        last = -1
        for answer in self.transcript.answers:
            found.append((answer.first.index, answered.get(answer.id), answer))
            last = max(last, answer.first.index)
        mine = [r for r in self.log.requests.values() if r.record.index >= 0]
        last = max([last, *(r.record.index for r in mine)])
        # The last request may be answered yet, after the file was read.
        left = [r for r in mine if r.id not in taken and r.record.index < last]
        found += [(request.record.index, request, None) for request in left]
        return sorted(found, key=lambda event: event[0])

    # Answers.

    def _answer(self, answer: Answer, request: Request | None) -> None:
        stretch = self.sending.stretch(answer)
        rules = self.sending.rules(answer.first)
        node: Node | None = None
        if request is not None:
            try:
                node = self._asking.sent(request, stretch, answer.first, answer.first)
            except CannotRebuild as problem:
                self.accounts.find("request-not-rebuilt", f"{answer.id}: {problem}")
                request = None
        if node is None:
            node = self._went_on(stretch, answer, rules)
        if node is None:
            node = self._sent_by_rules(stretch, answer, rules)
        self.continuing.rest(stretch, answer)
        if stretch.through_progress:
            self.accounts.find("progress-in-chain", answer.id)
        node = self.writer.configure(node, answer.first, answer.first.model, request)
        self._asked[answer.id] = node
        node = self.writer.answer(node, answer, request)
        node, is_whole = self._results(node, answer)
        self._done[answer.id] = node
        if is_whole:
            self._whole.add(answer.id)

    def _went_on(self, stretch: Stretch, answer: Answer, rules: Rules) -> Node | None:
        """The node of a request that added nothing to an answer but the results of its calls.

        Most requests are like that, and what they held stands in its place already. For any
        other one ``None``, and the rules have to tell.
        """
        before = stretch.before
        if before is None or before.id not in self._whole or rules.loader_follows_parents:
            return None
        if not self._speaks_alike(stretch, answer):
            return None
        results = before.results
        if results[-1].index >= answer.first.index or self._conversation.origin:
            return None
        for record in stretch.chain:
            if record not in results:
                return None
        for record in results:
            if record.is_shown_only or self.transcript.beside(record):
                return None
        keys = [p.key for r in (*before.records, *results) for p in self.units.of(r)]
        node, found = self.draft.walk(self.asked(before), keys)
        if found < len(keys):
            return None
        if not rules.stores_attachments:
            self.accounts.find("not-stored-injection", self._conversation.id)
        return node

    def _results(self, node: Node, answer: Answer) -> tuple[Node, bool]:
        """Append the results that stand right behind an answer: they were next to be sent.

        Returns the last node, and whether each of the answer's calls has its result there.
        """
        last = answer.last.index
        waiting = dict.fromkeys(answer.first_results)
        for record in [*waiting]:
            # Tools start while the answer still streams. Spec: claude-code 3.
            if record.index < last:
                del waiting[record]
                node = self.writer.result(node, record)
        for place in range(last + 1, len(self.records) if waiting else 0):
            record = self.records[place]
            if record.original is not None or not record.is_tree:
                continue
            if record.is_answer or record.is_boundary:
                break
            if record.type == names.USER:
                if record not in waiting:
                    break
                del waiting[record]
                node = self.writer.result(node, record)
                if not waiting:
                    break
        settled = {call for record in answer.results for call in record.results}
        return node, not waiting and bool(settled) and settled.issuperset(answer.calls)

    def base(self, stretch: Stretch) -> Node:
        """Return the node whose context is that of the request before a stretch."""
        if stretch.before is None:
            return self.draft.root
        return self.continuing.base(stretch) or self.asked(stretch.before)

    def _sent_by_rules(self, stretch: Stretch, answer: Answer, rules: Rules) -> Node:
        until, file = answer.first.index, answer.first.file
        turns = self.sending.turns(answer.first.model)
        tail = self.sending.tail(stretch, until, rules, file, turns=turns)
        self._tell(stretch, tail, rules)
        if stretch.boundary is not None:
            node, pieces = self.compacting.node(stretch.boundary)
            return self.compacting.after(node, pieces, stretch, tail, answer.first)
        node = self.extend(self.base(stretch), tail, answer.first)
        resumed = self.sending.resumed(stretch, rules, answer)
        if resumed or not self._speaks_alike(stretch, answer) or self._tells_more(stretch, answer):
            if resumed:
                stretch = self.sending.stretch(answer, loaded=True)
            how = {"turns": turns, "loaded": resumed}
            keys = self.sending.whole_keys(stretch, until, rules, file, **how)
            if keys and keys != self.draft.keys_at(node)[0]:
                # A resume lost some, took a notice for an answer, or another kind of model is
                # told in another way. Spec: claude-code 5.1, 5.2, 5.4.
                if resumed and rules.loads_chain:
                    self.accounts.find("lost-by-loader", answer.first.where)
                whole = self.sending.whole(stretch, until, rules, file, **how)
                node = self.fold(node, whole, answer.first)
        copied = self.sending.copied(stretch, rules, answer)
        if copied is not None:
            whole = self.sending.whole_of_copy(copied, until, rules, file)
            if [piece.key for piece in whole] != self.draft.keys_at(node)[0]:
                self.accounts.find("prompts-forgotten", answer.first.where)
                node = self.fold(node, whole, answer.first)
        return self.continuing.asked(node, stretch, answer, rules)

    def _speaks_alike(self, stretch: Stretch, answer: Answer) -> bool:
        """Whether a request's model is told the history like that of the request before."""
        before, turns = stretch.before, self.sending.turns
        return before is None or turns(before.first.model) == turns(answer.first.model)

    def _tells_more(self, stretch: Stretch, answer: Answer) -> bool:
        """Whether the request is the first of a copy that takes an older notice for an answer."""
        before, file = stretch.before, answer.first.file
        if before is None or before.first.file == file:
            return False
        return any(
            record.index < before.first.index
            and before.first.file < (record.unflagged_from or 0) <= file
            for record in self.transcript.unflagged
        )

    def extend(self, base: Node, tail: Tail, record: Record) -> Node:
        """Go on from a node with what was sent beyond it, and note what was not."""
        node, found = self.draft.walk(base, [piece.key for piece in tail.pieces])
        node = self._link(node, record)
        for snapshot in tail.snapshots:
            node = self.writer.snapshot(node, snapshot)
        for piece in tail.pieces[found:]:
            node = self._put(node, piece)
        return self._beside(node, tail, record)

    def _put(self, node: Node, piece: Piece) -> Node:
        record = self._record(piece)
        if record is not None and record.results and self.accounts.is_open(record.number):
            return self.writer.result(node, record)
        return self.writer.put(node, piece)

    def _record(self, piece: Piece) -> Record | None:
        return self.transcript.by_uuid.get(piece.native_id)

    def _beside(self, node: Node, tail: Tail, record: Record) -> Node:
        """Account for what was sent as part of something else, and for what was not sent."""
        for sent in tail.sent:
            if self.accounts.is_open(sent.number):
                self.accounts.folded(sent.number, node.entry_id)
        fresh = [r for r in tail.beside if self.accounts.is_open(r.number)]
        if not fresh:
            return node
        told = [_told(r) for r in fresh]
        node = self.draft.note(
            node, {"records": told}, record.where, "beside", self.times.of(fresh[-1])
        )
        for one in fresh:
            self.accounts.folded(one.number, node.entry_id, code=_code_beside(one))
        return node

    def _link(self, node: Node, record: Record) -> Node:
        """Link a fork to its origin where its own part begins."""
        origin = self._conversation.origin
        if not origin or self._linked or record.message_id in self.copied:
            return node
        self._linked = True
        entry = LinkEntry("fork_of", origin)
        return self.draft.add(node, entry, origin, "fork", self.times.of(record))

    def _tell(self, stretch: Stretch, tail: Tail, rules: Rules) -> None:
        before = stretch.before
        if before is not None:
            gone = [r for r in before.records if r not in tail.sent]
            if gone:
                calls = any(record.calls for record in gone)
                code = "interrupted-call-unsent" if calls else "thinking-only-unsent"
                self.accounts.find(code, before.id)
        if any(piece.derived for piece in tail.pieces):
            self.accounts.find("derived-injection", self._conversation.id)
        if not rules.stores_attachments:
            self.accounts.find("not-stored-injection", self._conversation.id)

    def fold(self, node: Node, pieces: Sequence[Piece], record: Record) -> Node:
        """Write the compaction after which the context is what was sent."""
        self.accounts.find("history-folded", record.where)
        units = [piece.unit for piece in pieces]
        return self.draft.fold(node, units, record.where, self.times.of(record))


def _told(record: Record) -> dict[str, object]:
    value = text.parse(record.beside(names.ENVELOPE - {"message", "timestamp", "uuid"}) or b"{}")
    return {"type": record.type, **(value if isinstance(value, dict) else {})}


def _code_beside(record: Record) -> str:
    if record.is_synthetic:
        return "synthetic-reply"
    if record.type == names.SYSTEM and record.text("subtype") == "api_error":
        return "failed-attempt"
    if record.type == names.ATTACHMENT:
        return "not-stored-injection"
    return "not-sent"
