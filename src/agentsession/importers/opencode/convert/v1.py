"""Converting one V1 session: messages and parts to entries.

Spec: opencode 4, 6 to 9; the mapping is docs/formats/opencode.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsession.importers.fold import continues
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.asking import SUBTASK_QUESTION
from agentsession.importers.opencode.convert.configuring import Configuration
from agentsession.importers.opencode.convert.draft import Draft
from agentsession.importers.opencode.convert.frame import Frame, named
from agentsession.importers.opencode.convert.history import History
from agentsession.importers.opencode.convert.leaving import Alignment, Leaf
from agentsession.importers.opencode.convert.lowering import Lowered
from agentsession.importers.opencode.convert.ordinary import ordinary
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.steps import Steps
from agentsession.importers.opencode.convert.timeline import Timeline
from agentsession.importers.opencode.convert.turns import Turns, ends_turn
from agentsession.importers.opencode.convert.units import NOTICED, PRUNED, Unit
from agentsession.importers.opencode.convert.usage import usage_of
from agentsession.importers.opencode.records import MessageRecord, Revert
from agentsession.importers.opencode.v1 import Message
from agentsession.record_entries import LinkEntry, QueuedEntry

_VARIANTS: Final = {PRUNED: "output-pruned", NOTICED: "interrupted-call-noticed"}
"""What an item sent in another form than it was first is told as."""


class V1Conversion:
    """The conversion of one V1 session's messages into a draft.

    Args:
        draft: the session being written.
        records: the messages in order.
        timeline: when each message was made, and by which release.
        accounts: where records are accounted for.
        copies: how many messages at the beginning are copies from a fork's origin.
        origin: the session they were copied from; empty for none, or when it is not known.
        revert: the staged revert, if any.
        gone: the places of messages that only another copy holds: they are branches.
        parts_lost: the store lost parts without a trace.

    Attributes:
        frame: what its parts share; the sums among it.
        steps: what was written of assistants; where a staged revert goes back to.
        summaries: what was written after the fact into users' messages, by message.
        waiting: compaction questions that nothing followed, by place.
    """

    def __init__(
        self,
        draft: Draft,
        records: Sequence[MessageRecord],
        timeline: Timeline,
        accounts: Accounts,
        *,
        copies: int = 0,
        origin: str = "",
        revert: Revert | None = None,
        gone: frozenset[int] = frozenset(),
        parts_lost: bool = False,
    ) -> None:
        whole = named(records)
        self.frame = Frame(
            draft, whole, timeline, accounts, copies, History(whole), gone, parts_lost
        )
        self._alignment = Alignment()
        self.steps = Steps(self.frame, revert, Leaf(self.frame, self._alignment))
        self._stored = records
        self._draft = draft
        self._accounts = accounts
        self._configuration = Configuration(self.frame)
        self._turns = Turns(draft)
        self._fork_origin = origin
        self.summaries: dict[str, Any] = {}
        self.waiting: dict[int, dict[str, Any]] = {}

    def run(self) -> None:
        """Write the session's entries."""
        frame = self.frame
        frame.open(self._stored)
        if not any(record.info is not None for record in frame.records):
            return
        self._configuration.first()
        place = 0
        while place < len(frame.records):
            if place in frame.gone:
                place = self._branch(place)
                continue
            self.steps.watch(place)
            self._fork_at(place)
            self._message(place)
            place += 1
        self._fork_at(len(frame.records))
        self._wait()

    def _message(self, place: int) -> None:
        info = self.frame.records[place].info
        if info is None:
            return
        if info.role == names.ROLE_ASSISTANT and self._ordinary(place, info):
            return
        self.frame.note_lost(place)
        if info.role == names.ROLE_USER:
            self._user(place)
        elif info.role == names.ROLE_ASSISTANT:
            self._assistant(place)
        else:
            self.frame.note_unknown(place)

    def _branch(self, place: int) -> int:
        """Write turns that only another copy holds as a branch; return the place after them."""
        frame, begin = self.frame, place
        with self._draft.aside():
            self._turns.leave()
            while place in frame.gone:
                self._message(place)
                place += 1
            self._turns.leave()
        frame.history.delete(range(begin, place))
        name = frame.records[begin].id
        self._accounts.find("turns-only-in-other-copy", name, place - begin)
        return place

    def _fork_at(self, place: int) -> None:
        """Write the link to a fork's origin, where what was copied ends."""
        if self._fork_origin and place == self.frame.copies:
            link = LinkEntry("fork_of", self._fork_origin)
            self._draft.add(link, self._draft.header.id, "fork", self.frame.timeline.start)

    def _wait(self) -> None:
        """Keep compaction questions that nothing followed, for the session's last entries."""
        frame = self.frame
        for place, record in enumerate(frame.records):
            if record.info is None or frame.history.compaction(place) is None:
                continue
            if frame.is_open(place):
                self.waiting[place] = frame.told(place, frame.lowered(place))

    def settle_waiting(self, entry_id: str) -> None:
        """Account for what :attr:`waiting` holds: it went to an entry."""
        for place in self.waiting:
            self.frame.fold_message(place, entry_id)

    # The context.

    def _align(
        self,
        upto: int,
        cause: int,
        *,
        usage: Mapping[str, Any] | None = None,
        native: Mapping[str, Any] | None = None,
    ) -> str:
        """Make the tip's context what a request held; return the compaction's id, if one was.

        Args:
            upto: the request held the messages before this place.
            cause: the message that is about to follow, or that caused the change.
            usage: the usage of a summary call.
            native: what OpenCode recorded of it.
        """
        frame, at, alignment = self.frame, self.frame.at(cause), self._alignment
        rules = frame.timeline.rules(cause)
        if self._is_aligned(upto, rules):
            return ""
        sent = frame.history.sent(upto, at, rules)
        keys = self._draft.keys
        alignment.upto, alignment.rules = upto, rules
        agreed = alignment.agreed_with(frame.history)
        alignment.agreed = len(sent)
        if continues(keys[agreed:], [unit.key for unit in sent[agreed:]]):
            for unit in sent[len(keys) :]:
                self._late(unit, at)
            return ""
        name = frame.records[cause].id
        if not sent:
            self._draft.restart()
            self._accounts.find("context-emptied", name)
            self._configuration.configure(cause)
            return ""
        known = set(keys)
        for variant, code in _VARIANTS.items():
            new = sum(unit.key[1] == variant and unit.key not in known for unit in sent)
            if new:
                self._accounts.find(code, name, new)
        self._accounts.find("history-folded", name)
        return self._draft.fold(sent, name, at, usage=usage, native=native)

    def _is_aligned(self, upto: int, rules: Rules) -> bool:
        """Return whether the context is known to be what a request by some rules held."""
        alignment = self._alignment
        known = alignment.upto == upto and alignment.rules is rules
        return known and self.frame.history.only_grows(upto)

    def _late(self, unit: Unit, at: int) -> None:
        """Append an item that was first sent after its place in the store."""
        frame = self.frame
        place = frame.history.place_of(_message_of(unit) or unit.key[0])
        if unit.part is None and place is not None:
            self._put_user(place, frame.lowered(place), at, role="late")
            self._accounts.find("late-item", unit.key[0])
            return
        entry_id = self._draft.put(unit, at, role="late")
        noticed = unit.item["type"] == "function_call_output"
        code = "interrupted-call-noticed" if noticed else "late-item"
        self._accounts.find(code, _message_of(unit))
        if place is not None and unit.part is not None:
            frame.settle_part(place, unit.part, entry_id)

    # Messages.

    def _user(self, place: int) -> None:
        frame, at = self.frame, self.frame.at(place)
        lowered, name = frame.lowered(place), frame.records[place].id
        summary = lowered.info.value.get("summary")
        if values.truthy(summary):
            self.summaries[name] = summary
        self._align(place, place)
        if frame.history.compaction(place) is not None:
            # It comes with the compaction, or with the first request that held it.
            return
        if self._follows_a_kill(place):
            self._turns.leave()
        if place >= frame.copies and not _is_the_shells(lowered):
            self._turns.begin(name, at)
        self._configuration.configure(place)
        if lowered.dropped:
            entry_id = self._draft.note(frame.told(place, lowered), name, "user", at)
            lost = frame.lost(place) is not None
            code = "parts-lost" if lost else "message-lowers-to-nothing"
            frame.settle(place, lowered.beside, entry_id, code=code)
        else:
            self._put_user(place, lowered, at)
        self._alignment.wrote(place)

    def _put_user(self, place: int, lowered: Lowered, at: int, role: str = "item") -> None:
        unit = lowered.steps[0][0]
        told = self.frame.told(place, lowered)
        del told["message"]
        queued = self._queue(place, unit, at)
        entry_id = self._draft.put(
            unit, at, role=role, native=told, plain=lowered.plain, queued_from=queued
        )
        self.frame.settle(place, lowered.beside, entry_id)

    def _follows_a_kill(self, place: int) -> bool:
        """Return whether the step before a message was killed: its turn is then over."""
        before = self.frame.before(place)
        if before is None or before.role != names.ROLE_ASSISTANT:
            return False
        done = before.time is not None and before.time.completed is not None
        return not done and not before.finish

    def _queue(self, place: int, unit: Unit, at: int) -> str:
        """Write that a message waited while the model was at work; return the entry's id."""
        before = self.frame.before(place)
        if before is None or before.role != names.ROLE_ASSISTANT or place < self.frame.copies:
            return ""
        done = values.millis(before.time.completed) if before.time else None
        if done is None or done <= at or unit.hidden:
            return ""
        if self.frame.timeline.rules(place).busy_wrapped:
            self._accounts.find("busy-wrapper-not-stored", unit.key[0])
        return self._draft.add(QueuedEntry(dict(unit.item), "steer"), unit.key[0], "queued", at)

    def _assistant(self, place: int) -> None:
        frame, info, lowered = self.frame, self.frame.info(place), self.frame.lowered(place)
        copied = place < frame.copies
        cost = info.value.get("cost")
        frame.native.count(lowered.counts, cost)
        if copied:
            frame.copied.count(lowered.counts, cost)
            self._accounts.find("fork-copy", frame.records[place].id)
        question = frame.history.question_of(place, frame.timeline.rules(place))
        if question is not None:
            self._summary(place, question, lowered)
            return
        request = lowered.made_request and not copied
        self._align(place, place)
        self._configuration.configure(place)
        self._configuration.move(place, info)
        if request:
            self._configuration.remind(info)
        if lowered.dropped and not self._only_lost(place, lowered):
            with self._draft.aside():
                self.steps.write(place, lowered, request=request)
                self._end_turn(place, info, request=request)
            self._turns.leave()
            self._accounts.find("failed-message-branched", frame.records[place].id)
        elif self.steps.splits(place, lowered):
            self.steps.write_split(place, lowered, request=request)
        else:
            self.steps.write(place, lowered, request=request)
            self._end_turn(place, info, request=request)
            if not lowered.later:
                self._alignment.wrote(place)

    def _ordinary(self, place: int, info: Message) -> bool:
        """Write an assistant's message if it is an ordinary step; return whether it is."""
        frame = self.frame
        if place < frame.copies:
            return False
        rules = frame.timeline.rules(place)
        step = ordinary(frame.records[place])
        response = None if step is None else self.steps.response_of(place, step, info, rules)
        if step is None or response is None:
            return False
        frame.native.count(step.counts, info.value.get("cost"))
        if not self._is_aligned(place, rules):
            self._align(place, place)
        self._configuration.follow(place, info, rules)
        self.steps.write_ordinary(place, step, *response)
        self._end_turn(place, info, request=True)
        self._alignment.wrote(place)
        return True

    def _only_lost(self, place: int, lowered: Lowered) -> bool:
        """Return whether a message holds nothing only because its parts cannot be read.

        Nobody knows whether later requests held it: it is no branch. A failed one is.
        """
        error = lowered.info.error
        aborted = error is not None and error.name == names.ERROR_ABORTED
        failed = values.truthy(lowered.info.value.get("error")) and not aborted
        return self.frame.lost(place) is not None and not lowered.own and not failed

    def _end_turn(self, place: int, info: Message, *, request: bool) -> None:
        failed = values.truthy(info.value.get("error"))
        if request and ends_turn(values.string(info.value.get("finish")), failed=failed):
            self._turns.end(self.frame.records[place].id, self.steps.done(place, info))

    def _summary(self, place: int, question: int, lowered: Lowered) -> None:
        """Write a finished summary: its compaction holds it and its question."""
        frame, info = self.frame, lowered.info
        native: dict[str, Any] = {"summary": frame.told(place, lowered)}
        if question != place:
            native["question"] = frame.told(question, frame.lowered(question))
        twice = place in frame.twice_read
        usage = None if place < frame.copies else usage_of(info.tokens, twice=twice)
        entry_id = self._align(place + 1, place, usage=usage, native=native)
        if not entry_id:
            name = frame.records[place].id
            entry_id = self._draft.note(native, name, "summary", frame.at(place))
        if place >= frame.copies:
            frame.converted.add(info.tokens, info.cost)
        self._accounts.find("summary-pinned", frame.records[place].id)
        for folded in {question, place}:
            frame.fold_message(folded, entry_id)


def _message_of(unit: Unit) -> str:
    return values.string(unit.origin.get("message"))


def _is_the_shells(lowered: Lowered) -> bool:
    """Return whether a message stands for a shell command or subtask that no model ran."""
    if not lowered.steps:
        return True
    content = lowered.steps[0][0].item["content"]
    return len(content) == 1 and content[0].get("text") == SUBTASK_QUESTION
