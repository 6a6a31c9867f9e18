"""Converting one V2 session: rows to entries.

Spec: opencode 5, 10; the mapping is docs/formats/opencode.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentsession.entries import ConfigEntry
from agentsession.importers.fold import continues
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.clock import is_plausible
from agentsession.importers.opencode.convert.draft import NAMESPACE, Draft
from agentsession.importers.opencode.convert.frame import unique
from agentsession.importers.opencode.convert.outcomes import finished
from agentsession.importers.opencode.convert.rows import (
    LoweredRow,
    is_completed,
    lower_row,
    provenance_of,
)
from agentsession.importers.opencode.convert.steps import response_members
from agentsession.importers.opencode.convert.turns import Turns, ends_turn
from agentsession.importers.opencode.convert.units import Unit
from agentsession.importers.opencode.convert.usage import Sum, usage_of
from agentsession.importers.opencode.records import Revert, Row2
from agentsession.record_entries import DispatchEntry, EnvEntry, LinkEntry

_OUTCOMES = {"failed": "error", "interrupted": "interrupted"}
_SWITCHES = frozenset({names.TYPE_AGENT_SWITCHED, names.TYPE_MODEL_SWITCHED})


class V2Conversion:
    """The conversion of one session's V2 rows into a draft.

    Args:
        draft: the session being written.
        rows: the rows in order.
        start: the session's own time, which stands in for a missing one.
        accounts: where records are accounted for.
        preview: the rows are of the preview engine in 1.17 to 1.19.
        native_from: the place of the first row that is not a copy of a V1 message.
        copies: how many rows at the beginning are copies from a fork's origin.
        origin: the session they were copied from; empty for none, or when it is not known.
        revert: the staged revert, if any.
        release: the release that wrote the rows.
    """

    def __init__(
        self,
        draft: Draft,
        rows: Sequence[Row2],
        start: int,
        accounts: Accounts,
        *,
        preview: bool = False,
        native_from: int = 0,
        copies: int = 0,
        origin: str = "",
        revert: Revert | None = None,
        release: str = "",
    ) -> None:
        self._draft = draft
        self._stored = rows
        taken: set[str] = set()
        rows = [
            replace(row, id=unique(row.id or f"row.{at}", taken)) for at, row in enumerate(rows)
        ]
        self._rows = rows
        self._start = start
        self._accounts = accounts
        self._native_from = native_from
        self._copies = copies
        self._fork_origin = origin
        self._revert = revert
        self._release = release
        self._lowered = [
            None if row.data is None else lower_row(row, preview=preview) for row in rows
        ]
        self._times = self._timed()
        self._numbers: list[int] = []
        self._sent: list[Unit] = []
        self._state: tuple[int, bool] | None = None
        self._upto = 0
        self._agreed = 0
        self._cwd = draft.header.cwd
        self._variant: dict[str, str] = {}
        self._turns = Turns(draft)
        self._has_idle = not preview
        self.reverted_at: str | None = None
        self.reverted = 0
        self.native, self.converted, self.copied = Sum(), Sum(), Sum()

    def _timed(self) -> list[int]:
        times, before = [], self._start
        for row in self._rows:
            made = row.data.time.created if row.data is not None and row.data.time else None
            at = values.millis(made)
            at = at if is_plausible(at) else row.created
            if at is None or not is_plausible(at):
                self._accounts.find("time-missing", row.id)
                at = before
            before = at
            times.append(at)
        return times

    def run(self) -> None:
        """Write the session's entries."""
        for row in self._stored:
            self._numbers.append(self._accounts.open("row", row.id or row.unit))
        for place, lowered in enumerate(self._lowered):
            if lowered is None:
                self._accounts.left_out(self._numbers[place], "unreadable-record")
            elif place < self._native_from:
                self._accounts.left_out(self._numbers[place], "other-copy")
            else:
                self._watch_revert(place)
                self._fork_at(place)
                self._row(place, lowered)
        self._fork_at(len(self._rows))

    def _watch_revert(self, place: int) -> None:
        if self._revert is None or self._draft.tip is None:
            return
        if self.reverted:
            self.reverted += 1
        elif self._rows[place].id == self._revert.message_id:
            self.reverted_at, self.reverted = self._draft.tip, 1

    def _fork_at(self, place: int) -> None:
        """Write the link to a fork's origin, where what was copied ends."""
        if self._fork_origin and place >= self._copies:
            link = LinkEntry("fork_of", self._fork_origin)
            self._draft.add(link, self._draft.header.id, "fork", self._start)
            self._fork_origin = ""

    # The context.

    def _history(self, upto: int, provider: str, model: str) -> list[Unit]:
        """Return what a request held that was made before the row at a place."""
        begin, window = 0, False
        for place in range(upto - 1, -1, -1):
            lowered = self._lowered[place]
            if (
                lowered is None
                or lowered.row.type != names.TYPE_COMPACTION
                or not is_completed(lowered.data)
            ):
                continue
            if lowered.data.provider_context is None:
                begin = place
                break
            if provenance_of(lowered.data) == (provider, model):
                begin, window = place, True
                break
        state = (begin, window)
        if state != self._state or upto < self._upto:
            self._state, self._sent, self._agreed = state, [], 0
            self._upto = begin
        for place in range(self._upto, upto):
            self._sent.extend(self._sent_of(place, window=window and place == begin))
        self._upto = upto
        return self._sent

    def _sent_of(self, place: int, *, window: bool) -> list[Unit]:
        lowered = self._lowered[place]
        if lowered is None:
            return []
        if lowered.window or lowered.data.provider_context is not None:
            return lowered.window if window else []
        return lowered.sent

    def _align(
        self,
        upto: int,
        cause: int,
        *,
        target: tuple[str, str] | None = None,
        usage: Mapping[str, Any] | None = None,
        native: Mapping[str, Any] | None = None,
    ) -> str:
        row, at = self._rows[cause], self._times[cause]
        provider, model = target or self._in_force()
        sent = self._history(upto, provider, model)
        keys = self._draft.keys
        if continues(keys[self._agreed :], [unit.key for unit in sent[self._agreed :]]):
            for unit in sent[len(keys) :]:
                self._draft.put(unit, at, role="late")
                self._accounts.find("late-item", row.id)
            self._agreed = len(sent)
            return ""
        self._agreed = len(sent)
        if not sent:
            self._draft.restart()
            self._accounts.find("context-emptied", row.id)
            return ""
        self._accounts.find("history-folded", row.id)
        return self._draft.fold(sent, row.id, at, usage=usage, native=native)

    def _in_force(self) -> tuple[str, str]:
        configured = self._draft.configured or {}
        if isinstance(configured, dict):
            return configured.get("provider", ""), configured.get("model", "")
        setting = configured[0]
        return setting.get("provider", ""), setting.get("model", "")

    def _configure(self, place: int, setting: Mapping[str, str]) -> str:
        wanted = {name: value for name, value in setting.items() if value}
        if not wanted.get("model") or self._draft.configured == wanted:
            return ""
        beside = {
            name: value for name, value in wanted.items() if name not in {"model", "provider"}
        }
        unknown: dict[str, Any] = {}
        if "provider" in wanted:
            unknown["provider"] = wanted["provider"]
        if beside:
            unknown[NAMESPACE] = self._draft.kept(beside)
        self._draft.configured = wanted
        entry = ConfigEntry(model=wanted["model"], unknown=unknown)
        return self._draft.configure(entry, self._rows[place].id, self._times[place])

    # Rows.

    def _row(self, place: int, lowered: LoweredRow) -> None:
        kind = lowered.row.type
        if kind == names.TYPE_ASSISTANT:
            self._assistant(place, lowered)
        elif kind in _SWITCHES:
            self._switch(place, lowered)
        elif kind == names.TYPE_COMPACTION:
            self._compaction(place, lowered)
        elif kind == names.TYPE_IDLE and self._turns.open:
            self._idle(place, lowered)
        else:
            self._said(place, lowered)

    def _note(self, place: int, lowered: LoweredRow, code: str = "") -> str:
        row = lowered.row
        data = {"row": row.id, "type": row.type, "data": lowered.data.value}
        entry_id = self._draft.note(data, row.id, "row", self._times[place])
        self._accounts.entry(self._numbers[place], entry_id, code=code)
        return entry_id

    def _said(self, place: int, lowered: LoweredRow) -> None:
        row, at = lowered.row, self._times[place]
        self._align(place, place)
        if not lowered.own:
            known = row.type in names.KNOWN_TYPES
            self._note(place, lowered, "" if known else "unknown-row")
            if not known:
                self._accounts.find("unknown-row", row.id)
            return
        if row.type == names.TYPE_USER and place >= self._copies:
            self._turns.begin(row.id, at)
        native = {"type": row.type, **lowered.beside}
        entry_id = self._draft.put(lowered.own[0], at, native=native)
        self._accounts.entry(self._numbers[place], entry_id)
        if row.type == names.TYPE_LOCATION_SWITCHED:
            cwd = values.location_directory(lowered.data.location)
            if cwd:
                self._cwd = cwd
                self._draft.add(EnvEntry(cwd=cwd), row.id, "env", at)

    def _idle(self, place: int, lowered: LoweredRow) -> None:
        """Write the end of a turn."""
        reason = _OUTCOMES.get(lowered.data.outcome, "")
        entry_id = self._turns.end(
            lowered.row.id, self._times[place], reason=reason, native=lowered.data.value
        )
        self._accounts.entry(self._numbers[place], entry_id)

    def _switch(self, place: int, lowered: LoweredRow) -> None:
        data = lowered.data
        provider, model = self._in_force()
        setting = {"model": model, "provider": provider, "release": self._release}
        setting |= self._variant
        if data.model is not None:
            setting["model"] = data.model.id or data.model.model_id
            setting["provider"] = data.model.provider_id
            self._variant["variant"] = setting["variant"] = data.model.variant
        if data.agent:
            self._variant["agent"] = setting["agent"] = data.agent
        entry_id = self._configure(place, setting)
        if entry_id:
            self._accounts.entry(self._numbers[place], entry_id)
        else:
            self._note(place, lowered)

    def _compaction(self, place: int, lowered: LoweredRow) -> None:
        row, data = lowered.row, lowered.data
        if not is_completed(data):
            self._note(place, lowered)
            return
        self.native.add(data.tokens, data.cost)
        usage = None if place < self._copies else usage_of(data.tokens)
        entry_id = self._align(place + 1, place, usage=usage, native=data.value)
        if not entry_id:
            entry_id = self._note(place, lowered)
            if data.provider_context is not None:
                self._accounts.find("native-window-skipped", row.id)
        elif data.provider_context is not None:
            self._accounts.find("native-window-opened", row.id)
        (self.copied if place < self._copies else self.converted).add(data.tokens, data.cost)
        self._accounts.entry(self._numbers[place], entry_id)

    def _assistant(self, place: int, lowered: LoweredRow) -> None:
        row, data = lowered.row, lowered.data
        model = data.model
        provider = model.provider_id if model else ""
        name = (model.id or model.model_id) if model else ""
        self._align(place, place, target=(provider, name))
        variant = model.variant if model else ""
        self._variant = {"agent": data.agent, "variant": variant}
        self._configure(
            place,
            {"model": name, "provider": provider, "release": self._release, **self._variant},
        )
        copied = place < self._copies
        self.native.add(data.tokens, data.cost)
        response = "" if copied else row.id
        calls = []
        entry_id = ""
        for unit in lowered.own:
            entry_id = self._put(place, unit, response)
            if unit.item["type"] == "function_call":
                calls.append((unit, entry_id))
        if copied:
            self.copied.add(data.tokens, data.cost)
            self._accounts.find("fork-copy", row.id)
            native = {"row": row.id, "type": row.type, "data": lowered.beside}
            entry_id = self._draft.note(native, row.id, "row", self._times[place])
        else:
            entry_id = self._respond(place, lowered, provider, name)
        self._dispatch(place, lowered, calls)
        for unit in lowered.outputs:
            self._put(place, unit, "")
        self._accounts.entry(self._numbers[place], entry_id)
        if not self._has_idle and ends_turn(data.finish, failed=data.error is not None):
            self._turns.end(row.id, self._times[place])

    def _put(self, place: int, unit: Unit, response: str) -> str:
        at = unit.time if is_plausible(unit.time) else None
        return self._draft.put(unit, self._times[place] if at is None else at, response=response)

    def _respond(self, place: int, lowered: LoweredRow, provider: str, model: str) -> str:
        row, data = lowered.row, lowered.data
        done = values.millis(data.time.completed) if data.time else None
        status, incomplete, error = finished(data.finish, done=done is not None)
        if data.error is not None:
            status = "failed"
            error = {"code": data.error.type, "message": data.error.message}
            if data.error.type in {"aborted", "tool.interrupted"}:
                status, incomplete, error = "incomplete", {"reason": "aborted"}, None
        native = {**without_model(lowered.beside), "engine": "rows", "release": self._release}
        members = response_members(row.id, model, status, usage_of(data.tokens))
        if incomplete is not None:
            members["incomplete"] = incomplete
        if error is not None:
            members["error"] = error
        members[NAMESPACE] = native
        if provider:
            members["provider"] = provider
        self.converted.add(data.tokens, data.cost)
        at = done if done is not None and is_plausible(done) else self._times[place]
        return self._draft.write("response", members, row.id, "response", at)

    def _dispatch(self, place: int, lowered: LoweredRow, calls: Sequence[tuple[Unit, str]]) -> None:
        contents = lowered.data.contents()
        for unit, target in calls:
            content = contents[unit.part] if unit.part is not None else None
            tool = content.tool() if content is not None else None
            if content is None or tool is None or tool.status in {"streaming", "pending"}:
                continue
            ran = values.millis(values.member(content.time, "ran"))
            at = ran if ran is not None and is_plausible(ran) else self._times[place]
            child = tool.task().session_id
            if child:
                link = LinkEntry.subsession(child, unit.call_id)
                self._draft.add(link, unit.key[0], "link", at)
            self._draft.add(DispatchEntry(unit.call_id, target), unit.key[0], "dispatch", at)


def without_model(beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's data without what the response entry says itself."""
    return {name: value for name, value in beside.items() if name != "model"}
