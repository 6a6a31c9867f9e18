"""Entries and items in one line each.

What comes out may hold any character a session holds outside of quotes; the output
cleans it (:mod:`agentsession.cli.output`).

Spec: command A.2 "Entry summaries" and "Item summaries".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agentsession import text
from agentsession.canonical import canonical_number
from agentsession.cli.words import short, short_id
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ConfigEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.items import Item, part_types, parts_text, tool_name
from agentsession.parts import InstructionsPart, OmittedPart, Trigger
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

_HASH_SHOWN = 19
_REVISION_SHOWN = 12
_REF_SHOWN = 20


def entry_summary(entry: Entry, *, verbose: bool = False) -> str:
    """Return an entry in one line; ``verbose`` gives data in place of its size.

    Spec: command A.2 "Entry summaries".
    """
    if isinstance(entry, CustomEntry):
        return _custom(entry, verbose=verbose)
    summarise = _BY_TYPE.get(type(entry))
    if summarise is not None:
        return summarise(entry)
    return f"extension {_json(entry.line)}" if verbose else f"extension ({len(entry.line)} bytes)"


def item_summary(item: Item) -> str:
    """Return an item in one line.

    Spec: command A.2 "Item summaries".
    """
    if item.type == "message":
        content = item.get("content")
        return f"{item.role or '-'}: {_text_or_types(content)}"
    if item.type == "function_call":
        return f"call {item.name or '-'}({short(item.arguments)})"
    if item.type == "function_call_output":
        return f"output {item.call_id or '-'}: {_text_or_types(item.output)}"
    if item.type == "reasoning":
        return _reasoning(item)
    if item.type == "compaction":
        return "compaction (encrypted)"
    if item.type == "item_reference":
        return f"reference {item.id or '-'}"
    return item.type or "-"


def _text_or_types(content: object) -> str:
    found = parts_text(content)
    if found or isinstance(content, str):
        return short(found)
    types = part_types(content)
    return f"[{', '.join(name or '-' for name in types)}]" if types else "(empty)"


def _reasoning(item: Item) -> str:
    found = parts_text(item.get("summary")) or parts_text(item.get("content"))
    if not found and item.get("encrypted_content"):
        return "reasoning (encrypted)"
    return f"reasoning: {short(found)}"


def part_label(part: InstructionsPart) -> str:
    """Return a part of the instructions as ``id(<n>B)``, or ``id=`` when named by its hash."""
    if part.keep:
        return f"keep {part.keep}"
    if part.hash and not part.text:
        return f"{part.id}="
    return f"{part.id}({text_size(part.text)}B)"


def omitted_label(part: OmittedPart) -> str:
    """Return an omitted part as ``id (reason)``."""
    name = f"keep {part.keep}" if part.keep else part.id
    return f"{name} ({part.reason})" if part.reason else name


def text_size(value: str) -> int:
    """Return the size of a text in bytes of UTF-8."""
    return len(value.encode("utf-8", "surrogatepass"))


def _custom(entry: CustomEntry, *, verbose: bool) -> str:
    data = entry.text_of("data") or b""
    name = entry.ns or "-"
    return f"{name} {_json(data)}".rstrip() if verbose else f"{name} ({len(data)} bytes)"


def _json(json_text: bytes) -> str:
    return text.compact(json_text).decode("utf-8", "replace") if json_text else ""


def _from(trigger: Trigger | None) -> str:
    if trigger is None:
        return ""
    words = [trigger.kind, trigger.ref, f"via {trigger.source}" if trigger.source else ""]
    shown = " ".join(filter(None, words))
    return f" from {shown}" if shown else ""


def _item(entry: ItemEntry) -> str:
    hidden = "" if entry.is_visible else "hidden "
    response = f" ({entry.response})" if entry.response else ""
    return f"{hidden}{item_summary(entry.item)}{response}{_from(entry.source)}"


def _response(entry: ResponseEntry) -> str:
    words = [entry.response_id or "-", entry.model or "-", entry.status or "-"]
    summary = " ".join(words)
    if entry.usage:
        summary += f" {_count(entry.usage, 'input_tokens')}+{_count(entry.usage, 'output_tokens')}"
        summary += " tokens"
    if entry.request_hash:
        summary += f" hash {entry.request_hash[:_HASH_SHOWN]}"
    if entry.error is not None:
        message = entry.error.get("message")
        said = message if isinstance(message, str) else _json(entry.text_of("error") or b"")
        summary += f" error {short(said)}"
    return summary


def _count(usage: Any, name: str) -> str:
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "0"
    return _number(value)


def _config(entry: ConfigEntry) -> str:
    changes = ["replace"] if entry.replace else []
    if entry.model:
        changes.append(f"model {entry.model}")
    if entry.instructions is not None:
        changes.append(f"instructions {short(entry.instructions)}")
    if entry.instructions_parts:
        parts = " ".join(part_label(part) for part in entry.instructions_parts)
        changes.append(f"instructions [{parts}]")
    if entry.instructions_omitted:
        omitted = ", ".join(omitted_label(part) for part in entry.instructions_omitted)
        changes.append(f"omitted {omitted}")
    changes += [name for name in ("reasoning", "text") if entry.has(name)]
    changes += [f"+{tool_name(tool) or '-'}" for tool in entry.tools_added]
    changes += [f"-{name}" for name in entry.tools_removed]
    changes += [f"extra.{name}" for name in sorted(entry.extra)]
    return ", ".join(changes) or "no change"


def _compaction(entry: CompactionEntry) -> str:
    summary = f"first kept {short_id(entry.first_kept) or '-'}; {item_summary(entry.summary)}"
    if entry.tokens_before:
        summary += f" ({_number(entry.tokens_before)} tokens before)"
    if entry.pinned:
        summary += f", {len(entry.pinned)} pinned"
    return summary


def _branch_summary(entry: BranchSummaryEntry) -> str:
    return f"from {short_id(entry.from_) or '-'}; {item_summary(entry.summary)}"


def _run(entry: RunEntry) -> str:
    if entry.is_start:
        summary = f"start {entry.run_id} {entry.source}"
    else:
        summary = f"end {entry.run_id} {entry.reason}"
        if entry.pending:
            summary += f" pending {','.join(entry.pending)}"
    if entry.ref:
        summary += f" ref {short(entry.ref)}"
    return summary + _from(entry.trigger)


def _dispatch(entry: DispatchEntry) -> str:
    return f"{entry.call_id} to tool"


def _decision(entry: DecisionEntry) -> str:
    summary = f"{entry.verdict} {entry.call_id}"
    if entry.by:
        summary += f" by {entry.by}"
    if entry.reason:
        summary += f" {short(entry.reason)}"
    return summary if entry.text_of("args") is None else f"{summary} args rewritten"


def _queued(entry: QueuedEntry) -> str:
    summary = f"{entry.mode} {item_summary(entry.item)}{_from(entry.trigger)}"
    return f"{summary} ref {short(entry.ref)}" if entry.ref else summary


def _label(entry: LabelEntry) -> str:
    target = short_id(entry.target) or "-"
    return f"{target} cleared" if entry.label is None else f"{target} = {entry.label}"


def _info(entry: InfoEntry) -> str:
    return f"name {short(entry.name)}" if entry.name else "info"


def _env(entry: EnvEntry) -> str:
    facts = [f"cwd {entry.cwd}"] if entry.cwd else []
    if entry.vcs is not None:
        revision = entry.vcs.revision[:_REVISION_SHOWN]
        dirty = "dirty" if entry.vcs.dirty else ""
        facts.append(" ".join(filter(None, [entry.vcs.system or "-", revision, dirty])))
    if entry.files is not None:
        facts.append(f"{len(entry.files.read)} read, {len(entry.files.written)} written")
    if entry.tools:
        facts.append(f"{len(entry.tools)} tool(s)")
    if entry.workspace is not None:
        words = [entry.workspace.kind, entry.workspace.ref[:_REF_SHOWN]]
        facts.append(" ".join(filter(None, words)) or "-")
    return ", ".join(facts) or "env"


def _outcome(entry: OutcomeEntry) -> str:
    summary = entry.kind or "-"
    if entry.target:
        summary += f" on {short_id(entry.target)}"
    if entry.score is not None:
        summary += f" score {_number(entry.score)}"
    if entry.pass_ is not None:
        summary += " pass" if entry.pass_ else " fail"
    return f"{summary} {entry.label}" if entry.label else summary


def _link(entry: LinkEntry) -> str:
    summary = f"{entry.rel or '-'} {entry.session or '-'}"
    return f"{summary} via {entry.call_id}" if entry.call_id else summary


def _number(value: float) -> str:
    if isinstance(value, int):
        # A number of thousands of digits has no place in a line.
        return str(value) if abs(value) < 10**21 else short_number(value)
    return short_number(value)


def short_number(value: float) -> str:
    """Return a number in its shortest spelling; ``-`` for one beyond any double."""
    try:
        return canonical_number(float(value))
    except (OverflowError, ValueError):
        return "-"


_BY_TYPE: dict[type[Entry], Callable[[Any], str]] = {
    ItemEntry: _item,
    ResponseEntry: _response,
    ConfigEntry: _config,
    CompactionEntry: _compaction,
    BranchSummaryEntry: _branch_summary,
    LabelEntry: _label,
    InfoEntry: _info,
    EnvEntry: _env,
    OutcomeEntry: _outcome,
    LinkEntry: _link,
    RunEntry: _run,
    DispatchEntry: _dispatch,
    DecisionEntry: _decision,
    QueuedEntry: _queued,
}


def joined_names(names: Iterable[str]) -> str:
    """Return names joined with commas, ``-`` for an empty one."""
    return ", ".join(name or "-" for name in names)
