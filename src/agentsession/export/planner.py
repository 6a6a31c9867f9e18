"""From the entries of a path to the plan of its document.

Spec: export 3 to 5, 7 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentsession import versions
from agentsession.context import left_out, settings_at
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.export import records
from agentsession.export.order import item_order, not_among
from agentsession.export.plan import Kind, Pending, Plan, Result, Step
from agentsession.export.usage import view
from agentsession.record_entries import (
    CustomEntry,
    DecisionEntry,
    DispatchEntry,
    EnvEntry,
    InfoEntry,
    LabelEntry,
    LinkEntry,
    OutcomeEntry,
    QueuedEntry,
    RunEntry,
)
from agentsession.settings import Settings

_OUTPUT_TYPES: Final = frozenset({"reasoning", "function_call"})


class Planner:
    """Walks the entries of a document once.

    Args:
        entries: the context entries, or the whole path for ``history="path"``.
        path: the whole path.
        whole: whether they are the whole path.
        drop_failed: whether failed model calls are left out.

    Attributes:
        plan: the plan so far.
        links: the links met, in order.
        lost_environments: environments that a later one replaced before any step took them.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        path: Sequence[Entry],
        *,
        whole: bool,
        drop_failed: bool,
    ) -> None:
        self.entries = entries
        self.path = path
        self.whole = whole
        self.drop_failed = drop_failed
        self.plan = Plan()
        self.links: list[LinkEntry] = []
        self.lost_environments = 0
        self.settings = Settings()
        self._pending = Pending()
        self._group: Step | None = None
        self._unanswered: dict[str, Step] = {}
        self._by_entry: dict[str, Step] = {}
        self._by_call: dict[str, Step] = {}
        self._runs: dict[str, dict[str, Any]] = {}
        self._copied = False
        self._answered_at = {
            view(entry).response_id: position
            for position, entry in enumerate(entries)
            if isinstance(entry, ResponseEntry)
        }
        self._position = 0

    def run(self) -> Plan:
        """Return the plan of the whole document."""
        fold = self.entries[0].id if self._starts_folded() else None
        for position, entry in enumerate(self.entries):
            self._position = position
            if self._copied and entry.parent == fold:
                self._close()
                self._copied = False
            _handler(entry)(self, view(entry), entry)
            if position == 0 and fold is not None:
                self._copied = True
        self._close()
        self._take_out_dropped()
        self.plan.pending = self._pending
        if not self.whole:
            self.plan.omitted = _left_out(self.path)
        self.plan.item_order = item_order(self.plan.steps, self.entries, self.plan.omitted)
        return self.plan

    def _starts_folded(self) -> bool:
        return not self.whole and bool(self.entries) and _is_fold(self.entries[0])

    def step_of_call(self, call_id: str) -> Step | None:
        """Return the step that made a call, the last one when several did."""
        step = self._by_call.get(call_id)
        return None if step is None or step.dropped else step

    # Items and responses.

    def _item(self, seen: ItemEntry, entry: ItemEntry) -> None:
        item = seen.item
        kind, role = item.type, item.role
        if seen.response or kind in _OUTPUT_TYPES or (kind == "message" and role == "assistant"):
            self._output(seen.response, item.call_id if kind == "function_call" else "", entry)
        elif kind == "function_call_output":
            self._result(item.call_id, entry)
        elif kind == "message" and role in {"system", "developer"}:
            self._add(Step(Kind.SYSTEM, entry))
        elif kind == "message" and role == "user":
            self._add(Step(Kind.USER, entry))
        else:
            self._add(Step(Kind.OTHER, entry))

    def _output(self, response_id: str, call_id: str, entry: ItemEntry) -> None:
        step = self._unanswered.get(response_id) if response_id else None
        if step is None:
            group = self._group
            if group and response_id and group.response_id not in {"", response_id}:
                self._close()
            if self._group is None:
                self._group = Step(Kind.AGENT)
            step = self._group
            step.response_id = step.response_id or response_id
        else:
            self._by_entry[entry.id] = step
        step.items.append(entry)
        if call_id:
            step.call_ids.append(call_id)
            if step is not self._group:
                self._by_call[call_id] = step

    def _result(self, call_id: str, entry: ItemEntry) -> None:
        # An output recorded before its response must not cut the model call in two.
        self._close()
        step = self._by_call.get(call_id)
        if step is None:
            self._add(Step(Kind.ORPHAN, entry))
            return
        step.results.append(Result(call_id, entry))
        self._by_entry[entry.id] = step

    def _response(self, seen: ResponseEntry, entry: ResponseEntry) -> None:
        waiting = self._unanswered.pop(seen.response_id, None)
        if waiting is not None:
            self._answer(waiting, seen, entry)
            self._by_entry[entry.id] = waiting
            return
        group = self._group
        if group is not None and group.response_id not in {"", seen.response_id}:
            self._close()
        step = self._group or Step(Kind.AGENT)
        self._group = None
        self._answer(step, seen, entry)
        self._add_agent(step)

    def _answer(self, step: Step, seen: ResponseEntry, entry: ResponseEntry) -> None:
        step.response = entry
        step.failed = seen.error is not None or seen.status not in {"", "completed"}
        step.dropped = step.failed and self.drop_failed

    def _close(self) -> None:
        """Write the open group as a step; one whose response is to come stays open for it."""
        step, self._group = self._group, None
        if step is None:
            return
        if step.response_id and self._answered_at.get(step.response_id, -1) >= self._position:
            self._unanswered[step.response_id] = step
        self._add_agent(step)

    def _add_agent(self, step: Step) -> None:
        step.model = self.settings.model
        effort = (self.settings.reasoning or {}).get("effort")
        step.effort = effort if isinstance(effort, str) else ""
        self._put(step)
        self._by_call.update(dict.fromkeys(step.call_ids, step))

    def _add(self, step: Step) -> None:
        self._close()
        self._put(step)

    def _put(self, step: Step) -> None:
        step.copied = step.copied or self._copied
        step.pending, self._pending = self._pending, Pending()
        self.plan.steps.append(step)
        for entry in step.members():
            self._by_entry[entry.id] = step

    def _take_out_dropped(self) -> None:
        """Leave out the steps of dropped calls; what was pending there goes to the next one."""
        carried = Pending()
        kept = []
        for step in self.plan.steps:
            step.pending.absorb(carried)
            carried = step.pending if step.dropped else Pending()
            if not step.dropped:
                kept.append(step)
                continue
            self.plan.dropped.append(step)
            if step.calls:
                self.plan.root.setdefault("calls", {}).update(step.calls)
        self._pending.absorb(carried)
        self.plan.steps = kept

    # Folds and branches.

    def _compaction(self, seen: CompactionEntry, entry: CompactionEntry) -> None:
        first = self._position == 0
        boundary = self.whole or first
        step = Step(Kind.COMPACTION, entry, copied=True, boundary=boundary)
        if boundary and seen.pinned:
            step.pinned_shown = self._pins_shown(seen)
        self._add(step)
        if boundary:
            self.settings = seen.config

    def _pins_shown(self, fold: CompactionEntry) -> tuple[int, ...]:
        """The pinned items whose text is nowhere else; all of them where steps precede."""
        if self.whole:
            return tuple(range(len(fold.pinned)))
        return not_among(fold.pinned, self.path)

    def _branch_summary(self, seen: BranchSummaryEntry, entry: BranchSummaryEntry) -> None:
        del seen
        self._add(Step(Kind.BRANCH_SUMMARY, entry, copied=True))

    # Entries without a step.

    def _config(self, seen: ConfigEntry, entry: ConfigEntry) -> None:
        del entry
        after = self.settings.apply(seen)
        self._pending.add("config_entries", seen.id)
        changes = records.tool_changes(self.settings, after)
        if changes:
            self._pending.members["tool_changes"] = changes
        extension = records.config_extension(seen)
        if extension is not None:
            self._pending.add("config_extensions", extension)
        self.settings = after

    def _label(self, seen: LabelEntry, entry: LabelEntry) -> None:
        del entry
        self._pending.add("labels", records.label(seen))

    def _info(self, seen: InfoEntry, entry: InfoEntry) -> None:
        del entry
        self._pending.add("info", records.info(seen))

    def _custom(self, seen: CustomEntry, entry: CustomEntry) -> None:
        del seen
        self._pending.keep("custom", entry)

    def _queued(self, seen: QueuedEntry, entry: QueuedEntry) -> None:
        del seen
        self._pending.keep("queued", entry)

    def _extension(self, seen: Entry, entry: Entry) -> None:
        del seen
        self._pending.keep("extensions", entry)

    def _env(self, seen: EnvEntry, entry: EnvEntry) -> None:
        del entry
        record = records.environment(seen)
        if "environment" not in self.plan.root:
            self.plan.root["environment"] = record
            return
        if "environment" in self._pending.members:
            self.lost_environments += 1
        self._pending.members["environment"] = record

    def _run(self, seen: RunEntry, entry: RunEntry) -> None:
        del entry
        if seen.is_start:
            record = records.run_start(seen)
            self._runs[seen.run_id] = record
            self._pending.add("run", record)
            return
        started = self._runs.pop(seen.run_id, None)
        if started is None:
            started = {"run_id": seen.run_id}
            self._pending.add("run", started)
        records.add_run_end(started, seen)

    def _about(self, call_id: str) -> dict[str, Any]:
        """Where the records about a call go: to the step that made it, else to the root."""
        step = self._by_call.get(call_id)
        calls = self.plan.root.setdefault("calls", {}) if step is None else step.calls
        found: dict[str, Any] = calls.setdefault(call_id, {})
        return found

    def _dispatch(self, seen: DispatchEntry, entry: DispatchEntry) -> None:
        del entry
        self._about(seen.call_id)["dispatch"] = records.dispatch(seen)

    def _decision(self, seen: DecisionEntry, entry: DecisionEntry) -> None:
        del entry
        self._about(seen.call_id).setdefault("decisions", []).append(records.decision(seen))

    def _outcome(self, seen: OutcomeEntry, entry: OutcomeEntry) -> None:
        del entry
        record = records.outcome(seen)
        self.plan.outcomes.append(record)
        step = self._by_entry.get(seen.target)
        if step is not None:
            step.outcomes.append(record)

    def _link(self, seen: LinkEntry, entry: LinkEntry) -> None:
        del entry
        self.links.append(seen)


def _left_out(path: Sequence[Entry]) -> Mapping[str, str]:
    later = path and versions.has_later_settings(path[-1].version)
    return left_out(path, settings_at(path)) if later else {}


def _is_fold(entry: Entry) -> bool:
    return isinstance(entry, CompactionEntry)


_HANDLERS: Final[dict[type[Entry], Callable[[Planner, Any, Any], None]]] = {
    ItemEntry: Planner._item,
    ResponseEntry: Planner._response,
    ConfigEntry: Planner._config,
    CompactionEntry: Planner._compaction,
    BranchSummaryEntry: Planner._branch_summary,
    LabelEntry: Planner._label,
    InfoEntry: Planner._info,
    CustomEntry: Planner._custom,
    QueuedEntry: Planner._queued,
    EnvEntry: Planner._env,
    RunEntry: Planner._run,
    DispatchEntry: Planner._dispatch,
    DecisionEntry: Planner._decision,
    OutcomeEntry: Planner._outcome,
    LinkEntry: Planner._link,
}


def _handler(entry: Entry) -> Callable[[Planner, Any, Any], None]:
    return _HANDLERS.get(type(entry), Planner._extension)
