"""Converting one V1 session: messages and parts to entries.

Spec: opencode 4, 6 to 9; the mapping is docs/formats/opencode.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsession.canonical import sha256
from agentsession.entries import ConfigEntry, ResponseEntry
from agentsession.importers.fold import continues
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.draft import NAMESPACE, Draft
from agentsession.importers.opencode.convert.history import History
from agentsession.importers.opencode.convert.lowering import Lowered, without
from agentsession.importers.opencode.convert.outcomes import status_of
from agentsession.importers.opencode.convert.rules import Rules, release_of
from agentsession.importers.opencode.convert.timeline import Timeline
from agentsession.importers.opencode.convert.units import FULL, Unit
from agentsession.importers.opencode.convert.usage import Sum, usage_of
from agentsession.importers.opencode.records import MessageRecord, Revert
from agentsession.importers.opencode.v1 import Message
from agentsession.parts import InstructionsPart
from agentsession.record_entries import DispatchEntry, EnvEntry, LinkEntry, QueuedEntry

_MESSAGE_IDS: Final = frozenset({"id", "sessionID", "role"})
_IN_RESPONSE: Final = _MESSAGE_IDS | {"modelID", "providerID", "system"}


class V1Conversion:
    """The conversion of one V1 session's messages into a draft.

    Args:
        draft: the session being written.
        records: the messages in order.
        timeline: when each message was made, and by which release.
        accounts: where records are accounted for.
        copies: how many messages at the beginning are copies from a fork's origin.
        revert: the staged revert, if any.
    """

    def __init__(
        self,
        draft: Draft,
        records: Sequence[MessageRecord],
        timeline: Timeline,
        accounts: Accounts,
        *,
        copies: int = 0,
        revert: Revert | None = None,
    ) -> None:
        self._draft = draft
        self._records = records
        self._timeline = timeline
        self._accounts = accounts
        self._copies = copies
        self._revert = revert
        self._history = History(records)
        self._agreed = 0
        self._renewed = -1
        self._numbers: list[int] = []
        self._part_numbers: list[list[int]] = []
        self._cwd = draft.session.header.cwd
        self._planned = False
        self.reverted_at: str | None = None
        self.reverted = 0
        self.summaries: dict[str, Any] = {}
        self.unsettled: list[dict[str, Any]] = []
        self.native, self.converted, self.copied = Sum(), Sum(), Sum()

    def run(self) -> None:
        """Write the session's entries."""
        self._open()
        if not any(record.info is not None for record in self._records):
            return
        self._configure_first()
        for place, record in enumerate(self._records):
            self._watch_revert(place)
            if record.info is None:
                continue
            if record.info.role == names.ROLE_USER:
                self._user(place)
            elif record.info.role == names.ROLE_ASSISTANT:
                self._assistant(place)
            else:
                self._unknown(place)

    # Accounting.

    def _open(self) -> None:
        for record in self._records:
            number = self._accounts.open("message", record.id or record.unit)
            parts = [self._accounts.open("part", part.id or part.unit) for part in record.parts]
            self._numbers.append(number)
            self._part_numbers.append(parts)
            if record.problem or record.info is None:
                self._accounts.left_out(number, "unreadable-record")
            for part, part_number in zip(record.parts, parts, strict=True):
                if part.problem or part.part is None:
                    self._accounts.left_out(part_number, "unreadable-record")
                elif record.info is None:
                    self._accounts.left_out(part_number, "unreadable-message")

    def _settle(self, place: int, lowered: Lowered, entry_id: str, code: str = "") -> None:
        """Account for a message, and for its parts that are no entry of their own."""
        self._accounts.entry(self._numbers[place], entry_id, code=code)
        for part in lowered.beside:
            self._fold_part(place, part, entry_id)

    def _fold_part(self, place: int, part: int, entry_id: str) -> None:
        found = self._records[place].parts[part].part
        known = found is not None and found.type in names.KNOWN_PARTS
        code = "" if known else "unknown-part"
        self._accounts.folded(self._part_numbers[place][part], entry_id, code=code)
        if code:
            self._accounts.find(code, self._records[place].id)

    def _watch_revert(self, place: int) -> None:
        if self._revert is None or self._draft.tip is None:
            return
        if self.reverted:
            self.reverted += 1
        elif self._records[place].id == self._revert.message_id:
            self.reverted_at = self._draft.tip
            self.reverted = 1

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
            usage: the usage of a summary call. native: what OpenCode recorded of it.
        """
        at, rules = self._timeline.at(cause), self._timeline.rules(cause)
        sent = self._history.sent(upto, at, rules)
        if self._history.renewed != self._renewed:
            self._renewed, self._agreed = self._history.renewed, 0
        keys = self._draft.keys
        sent_keys = [unit.key for unit in sent[self._agreed :]]
        if continues(keys[self._agreed :], sent_keys):
            for unit in sent[len(keys) :]:
                self._late(unit, at)
            self._agreed = len(sent)
            return ""
        entry_id = ""
        if sent:
            entry_id = self._draft.fold(
                sent, self._records[cause].id, at, usage=usage, native=native
            )
            self._accounts.find("history-folded", self._records[cause].id)
        else:
            self._draft.restart()
            self._accounts.find("context-emptied", self._records[cause].id)
            self._configure(cause)
        self._agreed = len(sent)
        return entry_id

    def _late(self, unit: Unit, at: int) -> None:
        """Append an item that was first sent after its place in the store."""
        entry_id = self._draft.put(unit, at, role="late")
        noticed = unit.item["type"] == "function_call_output"
        self._accounts.find(
            "interrupted-call-noticed" if noticed else "late-item", unit.origin.message
        )
        for place, record in enumerate(self._records):
            if record.id != (unit.origin.message or unit.key[0]):
                continue
            if unit.part is not None and unit.part < len(record.parts):
                self._accounts.entry(self._part_numbers[place][unit.part], entry_id)
            elif unit.part is None:
                self._settle(place, self._lowered(place), entry_id)

    def _lowered(self, place: int) -> Lowered:
        return self._history.lowered(place, self._timeline.rules(place))

    # Settings.

    def _configure_first(self) -> None:
        for place, record in enumerate(self._records):
            if record.info is not None and self._setting(place).get("model"):
                self._configure(place)
                return

    def _setting(self, place: int) -> dict[str, Any]:
        info = self._records[place].info
        assert info is not None
        model, provider, variant = info.model_id, info.provider_id, info.variant
        if info.role == names.ROLE_USER:
            model = provider = ""
            if info.model is not None:
                model, provider = info.model.model_id, info.model.provider_id
                variant = info.model.variant or variant
        release = release_of(self._timeline.rules(place).version)
        setting = {
            "model": model,
            "provider": provider,
            "agent": info.agent or info.mode,
            "variant": variant,
            "release": release,
        }
        return {name: value for name, value in setting.items() if value}

    def _configure(self, place: int) -> None:
        """Write a config entry when a message's settings are not those in force."""
        info = self._records[place].info
        assert info is not None
        setting = self._setting(place)
        if not setting.get("model"):
            return
        prompt: dict[str, Any] = {}
        if info.role == names.ROLE_USER:
            prompt = {
                name: info.value[name]
                for name in ("tools", "system", "format")
                if values.truthy(info.value.get(name))
            }
        elif self._draft.configured is not None:
            prompt = self._draft.configured[1]
        system = info.system if isinstance(info.system, list) else None
        texts = [part for part in system or () if isinstance(part, str)]
        in_force = self._draft.configured
        spoken = texts or (in_force[2] if in_force else [])
        wanted = (setting, prompt, spoken)
        if in_force == wanted:
            return
        parts = _instructions(texts, in_force[2] if in_force else [])
        unknown: dict[str, Any] = {}
        if "provider" in setting:
            unknown["provider"] = setting["provider"]
        beside = {**without(setting, {"model", "provider"}), **prompt}
        if beside:
            unknown[NAMESPACE] = self._draft.kept(beside)
        entry = ConfigEntry(
            model=setting["model"], instructions_parts=parts, unknown=unknown
        )
        self._draft.configured = wanted
        self._draft.configure(entry, self._records[place].id, self._timeline.at(place))

    def _move(self, place: int, info: Message) -> None:
        cwd = values.metadata_string(info.path, "cwd")
        if cwd and cwd != self._cwd:
            self._cwd = cwd
            entry = EnvEntry(cwd=cwd)
            self._draft.add(entry, self._records[place].id, "env", self._timeline.at(place))

    # Messages.

    def _user(self, place: int) -> None:
        record, at = self._records[place], self._timeline.at(place)
        lowered = self._lowered(place)
        info = lowered.info
        if values.truthy(info.value.get("summary")):
            self.summaries[record.id] = info.value["summary"]
        self._align(place, place)
        self._configure(place)
        if self._is_folded(place):
            return
        rest = without(info.value, _MESSAGE_IDS | {"summary"})
        native = {"info": rest, "parts": [*lowered.beside.values()]}
        if lowered.dropped:
            entry_id = self._draft.note({"message": record.id, **native}, record.id, "user", at)
            self._settle(place, lowered, entry_id, code="message-lowers-to-nothing")
            return
        unit = lowered.steps[0][0]
        queued = self._queue(place, unit, at)
        entry_id = self._draft.put(unit, at, native=native, queued_from=queued)
        self._settle(place, lowered, entry_id)

    def _queue(self, place: int, unit: Unit, at: int) -> str:
        """Write that a message waited while the model was at work; return the entry's id."""
        before = next(
            (r.info for r in reversed(self._records[:place]) if r.info is not None), None
        )
        if before is None or before.role != names.ROLE_ASSISTANT or place < self._copies:
            return ""
        done = values.millis(before.time.completed) if before.time else None
        if done is None or done <= at or unit.hidden:
            return ""
        if self._timeline.rules(place).busy_wrapped:
            self._accounts.find("busy-wrapper-not-stored", self._records[place].id)
        entry = QueuedEntry(dict(unit.item), "steer")
        return self._draft.add(entry, unit.key[0], "queued", at)

    def _is_folded(self, question: int) -> bool:
        """Return whether a message is the question of a compaction that a later summary ends."""
        if self._history.compaction(question) is None:
            return False
        return any(
            self._history.question_of(place, self._timeline.rules(place)) == question
            for place in range(question + 1, len(self._records))
        )

    def _assistant(self, place: int) -> None:
        record, rules = self._records[place], self._timeline.rules(place)
        info = record.info
        assert info is not None
        lowered = self._lowered(place)
        copied = place < self._copies
        self.native.add(info.tokens, info.cost)
        if copied:
            self.copied.add(info.tokens, info.cost)
            self._accounts.find("fork-copy", record.id)
        if self._history.question_of(place, rules) is not None:
            self._summary(place, lowered)
            return
        request = lowered.made_request and not copied
        self._align(place, place)
        self._configure(place)
        self._move(place, info)
        self._remind(info, request=request)
        if lowered.dropped:
            with self._draft.aside():
                self._emit(place, lowered, request=request)
            self._accounts.find("failed-message-branched", record.id)
        elif self._splits(place, lowered):
            self._emit_split(place, lowered, request=request)
        else:
            self._emit(place, lowered, request=request)

    def _summary(self, place: int, lowered: Lowered) -> None:
        """Write a finished summary: its compaction holds it and its question."""
        record, info = self._records[place], lowered.info
        question = self._history.question_of(place, self._timeline.rules(place))
        assert question is not None
        asked = self._records[question]
        native: dict[str, Any] = {
            "summary": {
                "message": record.id,
                "info": without(info.value, _MESSAGE_IDS),
                "parts": [*lowered.beside.values()],
            }
        }
        if question != place and asked.info is not None:
            beside = self._lowered(question).beside
            native["question"] = {
                "message": asked.id,
                "info": without(asked.info.value, _MESSAGE_IDS | {"summary"}),
                "parts": [*beside.values()],
            }
        usage = None if place < self._copies else usage_of(info.tokens)
        entry_id = self._align(place + 1, place, usage=usage, native=native)
        if not entry_id:
            entry_id = self._draft.note(native, record.id, "summary", self._timeline.at(place))
        if place >= self._copies:
            self.converted.add(info.tokens, info.cost)
        self._accounts.find("summary-pinned", record.id)
        for folded in {question, place}:
            self._accounts.folded(self._numbers[folded], entry_id)
            for part, number in enumerate(self._part_numbers[folded]):
                if self._records[folded].parts[part].part is not None:
                    self._accounts.folded(number, entry_id)

    def _splits(self, place: int, lowered: Lowered) -> bool:
        """Return whether a later request left out some of a message's own items."""
        later = next(
            (p for p in range(place + 1, len(self._records)) if self._records[p].info), None
        )
        if later is None:
            return False
        rules = self._timeline.rules(later)
        sent = {unit.key for unit in lowered.sent(self._timeline.at(place), rules)}
        return any(unit.key not in sent for unit in lowered.own)

    def _emit_split(self, place: int, lowered: Lowered, *, request: bool) -> None:
        """Write a message of which later requests held only a part.

        What they held stays on the path; what they did not is a branch, with the response.
        """
        at, rules = self._timeline.at(place), self._timeline.rules(place + 1)
        sent = list(lowered.sent(at, rules))
        own = lowered.own
        shared = 0
        while shared < min(len(own), len(sent)) and own[shared].key == sent[shared].key:
            shared += 1
        response = self._records[place].id if request else ""
        for unit in own[:shared]:
            self._put(place, unit, response)
        with self._draft.aside():
            self._emit(place, lowered, request=request, skip=shared)
        for unit in sent[shared:]:
            self._put(place, unit, response, role="copy")
        self._accounts.find("interrupted-call-unsent", self._records[place].id)

    def _emit(self, place: int, lowered: Lowered, *, request: bool, skip: int = 0) -> None:
        """Write a message: its items, the response, and what its calls returned."""
        record, at = self._records[place], self._timeline.at(place)
        response = record.id if request else ""
        first = ""
        for step, units in enumerate(lowered.steps):
            calls: list[tuple[Unit, str]] = []
            for unit in units[skip:] if step == 0 else units:
                entry_id = self._put(place, unit, response)
                first = first or entry_id
                if unit.item["type"] == "function_call":
                    calls.append((unit, entry_id))
            if request and step == len(lowered.steps) - 1:
                first = self._respond(place, lowered)
            self._dispatch(place, calls)
            for unit in lowered.outputs[step]:
                self._put(place, unit, "")
        if not request:
            first = self._beside(place, lowered, at)
        self._settle(place, lowered, first)
        self.unsettled += lowered.unsettled.values()

    def _put(self, place: int, unit: Unit, response: str, role: str = "item") -> str:
        at = unit.time if unit.time is not None else self._timeline.at(place)
        at = self._timeline.within(place, at)
        entry_id = self._draft.put(unit, at, response=response, role=role)
        if unit.part is not None:
            self._accounts.entry(self._part_numbers[place][unit.part], entry_id)
        if unit.item.get("name") == "invalid":
            self._accounts.find("invalid-call-arguments-lost", self._records[place].id)
        return entry_id

    def _beside(self, place: int, lowered: Lowered, at: int) -> str:
        """Keep what OpenCode recorded of a message that no model call made."""
        info = lowered.info
        data = {
            "message": self._records[place].id,
            "info": without(info.value, _MESSAGE_IDS),
            "parts": [*lowered.beside.values()],
        }
        entry_id = self._draft.note(data, self._records[place].id, "message", at)
        if place >= self._copies:
            self.converted.add(info.tokens, info.cost)
        return entry_id

    def _respond(self, place: int, lowered: Lowered) -> str:
        info, record = lowered.info, self._records[place]
        status, incomplete, error = status_of(info)
        native: dict[str, Any] = {
            **without(info.value, _IN_RESPONSE),
            "release": release_of(self._timeline.rules(place).version),
        }
        if lowered.beside:
            native["parts"] = [*lowered.beside.values()]
        unknown: dict[str, Any] = {NAMESPACE: self._draft.kept(native)}
        if info.provider_id:
            unknown["provider"] = info.provider_id
        entry = ResponseEntry(
            record.id,
            model=info.model_id,
            status=status,
            usage=usage_of(info.tokens),
            incomplete=incomplete,
            error=error,
            unknown=unknown,
        )
        done = values.millis(info.time.completed) if info.time else None
        at = self._timeline.at(place)
        self.converted.add(info.tokens, info.cost)
        return self._draft.add(
            entry, record.id, "response", self._timeline.within(place, done or at)
        )

    def _dispatch(self, place: int, calls: Sequence[tuple[Unit, str]]) -> None:
        """Write, for each call whose tool began, its child session and its dispatch."""
        for unit, target in calls:
            if unit.part is None:
                continue
            part = self._records[place].parts[unit.part].part
            state = part.state if part is not None else None
            if state is None or state.status == names.TOOL_PENDING or unit.time is None:
                continue
            at = self._timeline.within(place, unit.time)
            child = state.task().session_id
            if child:
                link = LinkEntry.subsession(child, unit.call_id)
                self._draft.add(link, unit.key[0], "link", at)
            entry = DispatchEntry(unit.call_id, target)
            self._draft.add(entry, unit.key[0], f"dispatch{FULL}", at)

    def _unknown(self, place: int) -> None:
        record, at = self._records[place], self._timeline.at(place)
        assert record.info is not None
        parts = [part.part.value for part in record.parts if part.part is not None]
        data = {"message": record.id, "info": record.info.value, "parts": parts}
        entry_id = self._draft.note(data, record.id, "unknown", at)
        self._accounts.entry(self._numbers[place], entry_id, code="unknown-role")
        self._accounts.find("unknown-role", record.id)
        for part, number in zip(record.parts, self._part_numbers[place], strict=True):
            if part.part is not None:
                self._accounts.folded(number, entry_id)

    def _remind(self, info: Message, *, request: bool) -> None:
        """Note a reminder that stood on the wire alone. Spec: opencode 6.2."""
        agent = info.agent or info.mode
        if request and (agent == "plan" or (agent == "build" and self._planned)):
            self._accounts.find("plan-reminder-not-stored", self._draft.session.id)
        self._planned = self._planned or agent == "plan"


def _instructions(texts: Sequence[str], in_force: Sequence[str]) -> list[InstructionsPart]:
    """Return the system prompt's parts; one that stays is named by hash."""
    parts = []
    if list(texts) == list(in_force):
        return []
    for place, text in enumerate(texts):
        name = f"system.{place}"
        if place < len(in_force) and in_force[place] == text and text:
            parts.append(InstructionsPart(name, hash=sha256(text.encode("utf-8", "replace"))))
        else:
            parts.append(InstructionsPart(name, text))
    return parts
