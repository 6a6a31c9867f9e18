"""What entries say, as the attributes of spans and events. Pure functions, one per table row.

Spec: otel B.1, decision F.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsession.calls import Call
from agentsession.entries import CompactionEntry, ResponseEntry
from agentsession.header import Header
from agentsession.otel import names
from agentsession.record_entries import (
    DecisionEntry,
    EnvEntry,
    LinkEntry,
    OutcomeEntry,
    RunEntry,
)

Value = str | bool | int | float | Sequence[str]
Attributes = dict[str, Value]

_INT64 = 1 << 63


def _filled(values: Mapping[str, Value | None]) -> Attributes:
    """The attributes that say something: neither ``None`` nor an empty text."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _count(value: object) -> int | None:
    """A count as a span can hold it: whole, not negative, within 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _INT64 else None


def _member(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def of_session(header: Header, name: str, *, resumed: bool) -> Attributes:
    """Return the attributes of a session's span."""
    harness = header.harness
    return _filled(
        {
            names.FORMAT: header.format,
            names.HARNESS_NAME: harness.name if harness else None,
            names.HARNESS_VERSION: harness.version if harness else None,
            names.NAME: name,
            names.RESUMED: True if resumed else None,
        }
    )


def of_run_start(entry: RunEntry) -> Attributes:
    """Return what a run's span says from its start on."""
    trigger = entry.trigger
    return _filled(
        {
            names.RUN_ID: entry.run_id,
            names.RUN_SOURCE: entry.source,
            names.RUN_TRIGGER: entry.ref,
            names.RUN_TRIGGER_KIND: trigger.kind if trigger else None,
            names.RUN_TRIGGER_REF: trigger.ref if trigger else None,
            names.RUN_TRIGGER_SOURCE: trigger.source if trigger else None,
        }
    )


def of_run_end(entry: RunEntry) -> Attributes:
    """Return what a run's end adds to its span."""
    return _filled(
        {
            names.RUN_REASON: entry.reason,
            names.RUN_CAUSE: entry.ref,
            names.RUN_PENDING: tuple(entry.pending) or None,
        }
    )


def of_inference(entry: ResponseEntry, model: str, provider: str) -> Attributes:
    """Return the attributes of a model call's span.

    Args:
        entry: the response.
        model: the model in force; empty when none is known.
        provider: who ran the model; empty when nobody recorded it.
    """
    reason = _text(_member(entry.incomplete, "reason"))
    return {
        names.OPERATION: names.CHAT,
        **_filled(
            {
                names.PROVIDER: provider,
                names.REQUEST_MODEL: model,
                names.RESPONSE_MODEL: entry.model,
                names.RESPONSE_ID: entry.response_id,
                names.FINISH_REASONS: (reason,) if reason else None,
                names.REQUEST_HASH: entry.request_hash,
            }
        ),
        **of_usage(entry.usage),
    }


def of_usage(usage: Mapping[str, Any] | None) -> Attributes:
    """Return the token counts of a usage object; what it does not count is left out."""
    given, taken = _member(usage, "input_tokens_details"), _member(usage, "output_tokens_details")
    return _filled(
        {
            names.INPUT_TOKENS: _count(_member(usage, "input_tokens")),
            names.OUTPUT_TOKENS: _count(_member(usage, "output_tokens")),
            names.CACHE_READ_TOKENS: _count(_member(given, "cached_tokens")),
            names.CACHE_CREATION_TOKENS: _count(_member(given, "cache_creation_tokens")),
            names.REASONING_TOKENS: _count(_member(taken, "reasoning_tokens")),
        }
    )


def error_of(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type and the message of a response's error; the type is never empty."""
    kind = _text(error.get("code")) or _text(error.get("type")) or names.OTHER_ERROR
    return kind, _text(error.get("message"))


def of_compaction(entry: CompactionEntry) -> Attributes:
    """Return the attributes of a compaction's span."""
    before = _count(entry.tokens_before)
    return {
        **_filled({names.FIRST_KEPT: entry.first_kept, names.TOKENS_BEFORE: before or None}),
        **of_usage(entry.usage),
    }


def of_tool(call: Call, subsession: str) -> Attributes:
    """Return what a call's span says from its start on."""
    rewritten = any(decision.args_text is not None for decision in call.decisions)
    return {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_TYPE: names.FUNCTION,
        **_filled(
            {
                names.TOOL_NAME: call.name,
                names.TOOL_CALL_ID: call.id,
                names.SUBSESSION: subsession,
                names.ARGS_REWRITTEN: True if rewritten else None,
            }
        ),
    }


def of_decision(entry: DecisionEntry) -> Attributes:
    """Return the attributes of a decision event."""
    return _filled(
        {
            names.VERDICT: entry.verdict,
            names.DECIDED_BY: entry.by,
            names.DECISION_REASON: entry.reason,
            names.ARGS_REWRITTEN: True if entry.args_text is not None else None,
        }
    )


def of_env(entry: EnvEntry) -> Attributes:
    """Return the attributes of an env event."""
    workspace = entry.workspace
    return _filled(
        {
            names.CWD: entry.cwd,
            names.WORKSPACE_KIND: workspace.kind if workspace else None,
            names.WORKSPACE_REF: workspace.ref if workspace else None,
        }
    )


def of_outcome(entry: OutcomeEntry) -> Attributes:
    """Return the attributes of an outcome event."""
    return _filled(
        {
            names.OUTCOME_KIND: entry.kind,
            names.OUTCOME_TARGET: entry.target,
            names.OUTCOME_SCORE: entry.score,
            names.OUTCOME_PASS: entry.pass_,
        }
    )


def of_link(entry: LinkEntry) -> Attributes:
    """Return the attributes of a link event."""
    return _filled({names.LINK_REL: entry.rel, names.LINK_SESSION: entry.session})
