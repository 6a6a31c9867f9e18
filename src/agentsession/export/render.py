"""From the plan of a step to its JSON value.

Spec: export 3 to 7 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentsession import text
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.errors import InvalidEntry, NotJSON
from agentsession.export import records
from agentsession.export.bare import without_media
from agentsession.export.content import Content, Reader, as_parts, as_text, reasoning_text
from agentsession.export.names import EXTRA_OPENRESPONSES, RESERVED, with_unknown
from agentsession.export.plan import Kind, Result, Step
from agentsession.export.usage import Tokens, view

_RECORDS: Final = {
    "custom": lambda entry: records.custom(view(entry)),
    "queued": lambda entry: records.queued(view(entry)),
    "extensions": records.raw,
}


class Renderer:
    """Renders the steps of one document; a step can be rendered any number of times.

    Args:
        model_name: reported instead of the models that were sent; empty for those.
        text_only: whether media are degraded.
        mark_failed: whether failed model calls are marked.
        costs: prices by entry id.
        omitted: why item entries are left out of requests, by id.

    Attributes:
        reader: reads content, and counts what it degrades.
    """

    def __init__(
        self,
        *,
        model_name: str,
        text_only: bool,
        mark_failed: bool,
        costs: Mapping[str, float],
        omitted: Mapping[str, str],
    ) -> None:
        self.model_name = model_name
        self.text_only = text_only
        self.mark_failed = mark_failed
        self.costs = costs
        self.omitted = omitted
        self.reader = Reader(text_only=text_only)

    def step(self, plan: Step, number: int) -> dict[str, Any]:
        """Return a step as a JSON value."""
        if plan.kind is Kind.AGENT:
            step, extra = self._agent(plan)
        elif plan.kind is Kind.INSTRUCTIONS:
            step, extra = self._instructions(plan)
        elif plan.kind in {Kind.COMPACTION, Kind.BRANCH_SUMMARY}:
            step, extra = self._summary(plan)
        else:
            step, extra = self._item(plan)
        self._add_pending(plan, extra)
        extra = dict(sorted(extra.items()))
        if plan.copied:
            step["is_copied_context"] = True
        if plan.kind is Kind.AGENT:
            step["llm_call_count"] = 1
        if step["timestamp"] is None:
            del step["timestamp"]
        return {"step_id": number, **step, "extra": extra}

    def _add_pending(self, plan: Step, extra: dict[str, Any]) -> None:
        own = {**plan.pending.members, **self.listed(plan.pending.listed)}
        if plan.calls:
            own["calls"] = plan.calls
        if plan.outcomes:
            own["outcome"] = plan.outcomes
        if self.omitted:
            ids = [entry.id for entry in plan.members()]
            omitted = {one: self.omitted[one] for one in ids if one in self.omitted}
            own |= {"omitted": omitted} if omitted else {}
        extra.update(own)

    def listed(self, entries: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
        """Return the members of ``extra`` that list records, rendered from their entries."""
        return {
            name: [self._bare(_RECORDS[name](entry)) for entry in found]
            for name, found in entries.items()
        }

    def _bare(self, value: Any) -> Any:
        return without_media(value) if self.text_only else value

    def _raw(self, item: Mapping[str, Any]) -> Any:
        return self._bare(item)

    # Steps from one item.

    def _item(self, plan: Step) -> tuple[dict[str, Any], dict[str, Any]]:
        assert isinstance(plan.entry, ItemEntry)
        seen = view(plan.entry)
        item = seen.item.to_dict()
        extra = self._item_extra(seen, item)
        extra["agentsession"] = {"entry_id": seen.id}
        step: dict[str, Any] = {"timestamp": _time(seen)}
        if plan.kind is Kind.ORPHAN:
            content = self.reader.content(item.get("output"))
            extra["orphan_call_id"] = seen.item.call_id
            step |= {"source": "system", "message": "", "observation": _observed([content])}
            return step, extra
        if plan.kind is Kind.SYSTEM:
            extra["role"] = item["role"]
        elif plan.kind is Kind.OTHER:
            extra["item_type"] = seen.item.type
        user = item.get("role") == "user"
        step["source"] = "user" if user else "system"
        step["message"] = self.reader.item_text(item)
        return step, extra

    def _item_extra(self, seen: ItemEntry, item: dict[str, Any]) -> dict[str, Any]:
        extra: dict[str, Any] = {EXTRA_OPENRESPONSES: {"item": self._raw(item)}}
        if seen.visible is False:
            extra["visible"] = False
        if seen.source is not None:
            extra["source"] = seen.source.to_dict()
        if seen.queued_from:
            extra["queued_from"] = seen.queued_from
        return with_unknown(extra, records.others(seen), RESERVED)

    # Folds, branches, instructions.

    def _summary(self, plan: Step) -> tuple[dict[str, Any], dict[str, Any]]:
        assert isinstance(plan.entry, CompactionEntry | BranchSummaryEntry)
        seen = view(plan.entry)
        summary = seen.summary.to_dict()
        message = self.reader.item_text(summary)
        extra: dict[str, Any] = {"agentsession": {"entry_id": seen.id}}
        step = {"timestamp": _time(seen), "source": "system", "message": message}
        if isinstance(seen, BranchSummaryEntry):
            extra["branch_from"] = seen.from_
            extra[EXTRA_OPENRESPONSES] = {"item": self._raw(summary)}
        else:
            self._fold(plan, seen, step, extra)
        if seen.usage is not None:
            extra["usage"] = seen.usage
        if seen.id in self.costs:
            extra["cost_usd"] = self.costs[seen.id]
        return step, with_unknown(extra, records.others(seen), RESERVED)

    def _fold(
        self, plan: Step, seen: CompactionEntry, step: dict[str, Any], extra: dict[str, Any]
    ) -> None:
        extra["first_kept"] = seen.first_kept
        if seen.tokens_before > 0:
            extra["tokens_before"] = seen.tokens_before
        if not plan.boundary:
            return
        extra["context_management"] = {"type": "compaction", "boundary": "replace"}
        pinned = [item.to_dict() for item in seen.pinned]
        shown = [self.reader.item_text(pinned[position]) for position in plan.pinned_shown]
        step["observation"] = _observed([step["message"], *shown])
        extra[EXTRA_OPENRESPONSES] = {"item": self._raw(seen.summary.to_dict())}
        if pinned:
            extra[EXTRA_OPENRESPONSES]["pinned"] = [self._raw(item) for item in pinned]

    def _instructions(self, plan: Step) -> tuple[dict[str, Any], dict[str, Any]]:
        ts = None if plan.entry is None else _time(view(plan.entry))
        step = {"timestamp": ts, "source": "system", "message": plan.instructions}
        return step, {"agentsession": {"instructions": True}}

    # Agent steps.

    def _agent(self, plan: Step) -> tuple[dict[str, Any], dict[str, Any]]:
        seen = [view(entry) for entry in plan.items]
        items = [entry.item.to_dict() for entry in seen]
        response = view(plan.response) if plan.response is not None else None
        head = response or seen[0]
        step: dict[str, Any] = {"timestamp": _time(head), "source": "agent"}
        model = self.model_name or (response.model if response else "") or plan.model
        if model:
            step["model_name"] = model
        if plan.effort:
            step["reasoning_effort"] = plan.effort
        step["message"] = self._message(items)
        reasoning = [reasoning_text(item) for item in items if item.get("type") == "reasoning"]
        if any(reasoning):
            step["reasoning_content"] = "\n".join(filter(None, reasoning))
        calls = [
            _call(item, entry.id)
            for entry, item in zip(seen, items, strict=True)
            if item.get("type") == "function_call"
        ]
        if calls:
            step["tool_calls"] = calls
        results = [self._result(result) for result in plan.results]
        if results:
            step["observation"] = {"results": results}
        if response is not None and response.usage is not None:
            step["metrics"] = self._metrics(response)
        return step, self._agent_extra(plan, seen, items, response)

    def _message(self, items: Sequence[Mapping[str, Any]]) -> Content:
        contents = [
            self.reader.content(item.get("content"))
            for item in items
            if item.get("type") == "message"
        ]
        if all(isinstance(content, str) for content in contents):
            return "\n".join(map(as_text, contents))
        return [part for content in contents for part in as_parts(content)]

    def _metrics(self, response: ResponseEntry) -> dict[str, Any]:
        tokens = Tokens.of(response.usage or {})
        metrics: dict[str, Any] = {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "cached_tokens": tokens.cached,
        }
        if response.id in self.costs:
            metrics["cost_usd"] = self.costs[response.id]
        if tokens.reasoning > 0:
            metrics["extra"] = {"reasoning_tokens": tokens.reasoning}
        return metrics

    def _agent_extra(
        self,
        plan: Step,
        seen: Sequence[ItemEntry],
        items: Sequence[dict[str, Any]],
        response: ResponseEntry | None,
    ) -> dict[str, Any]:
        passed: dict[str, Any] = {"items": [self._raw(item) for item in items]}
        extra: dict[str, Any] = {EXTRA_OPENRESPONSES: passed}
        if seen:
            extra["item_entry_ids"] = [entry.id for entry in seen]
        phases = [item["phase"] for item in items if isinstance(item.get("phase"), str)]
        if any(phases):
            extra["phases"] = list(filter(None, phases))
        unknown: dict[str, Any] = {}
        for entry in seen:
            unknown |= records.others(entry)
        if response is None:
            extra["agentsession"] = {"entry_id": seen[0].id}
            if plan.response_id:
                extra["response_id"] = plan.response_id
            return with_unknown(extra, unknown, RESERVED)
        extra["agentsession"] = {"entry_id": response.id}
        passed["response"] = _response_record(response)
        extra |= _state(response)
        if self.mark_failed and plan.failed:
            extra["failed_call"] = True
        return with_unknown(extra, unknown | records.others(response), RESERVED)

    def _result(self, result: Result) -> dict[str, Any]:
        found: dict[str, Any] = {"source_call_id": result.call_id}
        if result.entry is not None:
            seen = view(result.entry)
            item = seen.item.to_dict()
            content = self.reader.content(item.get("output"))
            if content not in ("", []):
                found["content"] = content
        if result.refs:
            found["subagent_trajectory_ref"] = result.refs
        if result.entry is not None:
            found["extra"] = dict(sorted(self._item_extra(seen, item).items()))
        return found


def _observed(contents: Sequence[Content]) -> dict[str, Any]:
    return {"results": [{"content": content} if content else {} for content in contents]}


def _call(item: Mapping[str, Any], entry_id: str) -> dict[str, Any]:
    written = item.get("arguments")
    return {
        # Readers refuse empty ids and names.
        "tool_call_id": _string(item.get("call_id")) or entry_id,
        "function_name": _string(item.get("name")) or "unknown",
        "arguments": arguments(written if isinstance(written, str) else ""),
    }


def arguments(written: str) -> dict[str, Any]:
    """Return the arguments of a call as an object, whatever the model wrote.

    Spec: export 4.
    """
    if not written.strip():
        return {}
    try:
        value = text.parse(written)
    except NotJSON:
        value = None
    if not isinstance(value, dict) or (_HUGE.search(written) and not _is_writable(value)):
        return {"_arguments": written}
    return value


_HUGE: Final = re.compile(r"[0-9][eE]|[0-9]{300}|Infinity|NaN")


def _is_writable(value: Any) -> bool:
    """Whether JSON has a spelling for a value: a number beyond a double's range has none."""
    try:
        text.encode(value)
    except InvalidEntry:
        return False
    return True


def _response_record(response: ResponseEntry) -> dict[str, Any]:
    members = response.to_dict()
    for name in ("type", "id", "parent"):
        members.pop(name, None)
    members["entry_id"] = response.id
    return members


def _state(response: ResponseEntry) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if response.status not in {"", "completed"}:
        extra["status"] = response.status
    if response.error is not None:
        extra["error"] = response.error
    if response.incomplete is not None:
        reason = response.incomplete.get("reason")
        if isinstance(reason, str) and reason:
            extra["incomplete"] = reason
    if response.latency_ms > 0:
        extra["latency_ms"] = response.latency_ms
    return extra


def _time(entry: Entry) -> str | None:
    ts = entry.ts
    if ts is None:
        return None
    try:
        return ts.normal()
    except ValueError:
        return None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
