"""What entries without a step leave in the ``extra`` of a document.

Spec: export 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession import text
from agentsession.codec import ENTRY_TYPES
from agentsession.entries import ConfigEntry, Entry
from agentsession.export.names import with_unknown
from agentsession.export.usage import view
from agentsession.items import tool_name
from agentsession.members import Version
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

_MAPPED: Final[Version] = (0, 3)
"""The newest format whose members have a place of their own in a document."""

_ENVELOPE: Final = frozenset({"parents", "normalised", "legacy_id"})
_LATER: Final = {
    name: tuple(
        wire
        for wire, member in kind.MEMBERS.items()
        if member.since > _MAPPED and wire not in _ENVELOPE
    )
    for name, kind in ENTRY_TYPES.items()
}
"""The members of later drafts, by entry type."""


def others(entry: Entry) -> dict[str, Any]:
    """Return the members of an entry that a document has no place for, decoded, by name.

    These are unknown ones and those of later drafts.
    """
    found = dict(entry.unknown)
    for wire in _LATER.get(entry.type, ()):
        if entry.has(wire):
            found[wire] = text.parse(entry.text_of(wire) or b"null")
    return found


def raw(entry: Entry) -> dict[str, Any]:
    """Return a whole entry as plain values."""
    return view(entry).to_dict()


def _members(entry: Entry, *names: str) -> dict[str, Any]:
    return {name: text.parse(entry.text_of(name) or b"null") for name in names if entry.has(name)}


def label(entry: LabelEntry) -> dict[str, Any]:
    """Return the record of a label; ``null`` says that it was taken off."""
    own = {"target": entry.target, "label": entry.label, "entry_id": entry.id}
    return with_unknown(own, others(entry))


def info(entry: InfoEntry) -> dict[str, Any]:
    """Return the record of an info entry."""
    own: dict[str, Any] = {"entry_id": entry.id}
    if entry.name:
        own["name"] = entry.name
    return with_unknown(own, others(entry))


def custom(entry: CustomEntry) -> dict[str, Any]:
    """Return the record of a custom entry."""
    own = {"ns": entry.ns, "data": entry.data, "entry_id": entry.id}
    return with_unknown(own, others(entry))


def queued(entry: QueuedEntry) -> dict[str, Any]:
    """Return the record of a queued input."""
    own: dict[str, Any] = {
        "entry_id": entry.id,
        "mode": entry.mode,
        "item": entry.item.to_dict(),
        **_members(entry, "trigger"),
    }
    if entry.ref:
        own["ref"] = entry.ref
    return with_unknown(own, others(entry))


def environment(entry: EnvEntry) -> dict[str, Any]:
    """Return the record of an environment."""
    found = _members(entry, "cwd", "vcs", "files", "tools", "workspace")
    own = {"entry_id": entry.id, **{name: value for name, value in found.items() if value}}
    return with_unknown(own, others(entry))


def run_start(entry: RunEntry) -> dict[str, Any]:
    """Return the record of a run that starts."""
    own: dict[str, Any] = {
        "run_id": entry.run_id,
        "source": entry.source,
        "start_entry_id": entry.id,
    }
    if entry.ref:
        own["trigger"] = entry.ref
    return _run_members(own, entry)


def add_run_end(record: dict[str, Any], entry: RunEntry) -> None:
    """Add the end of a run to the record of its start."""
    record["reason"] = entry.reason
    record["end_entry_id"] = entry.id
    if entry.ref:
        record["cause"] = entry.ref
    record["pending"] = list(entry.pending)
    _run_members(record, entry)


def _run_members(record: dict[str, Any], entry: RunEntry) -> dict[str, Any]:
    found = others(entry)
    if "trigger" in found:
        found["trigger_parts"] = found.pop("trigger")
    return with_unknown(record, found)


def dispatch(entry: DispatchEntry) -> dict[str, Any]:
    """Return the record of a dispatch."""
    return with_unknown({"entry_id": entry.id}, others(entry))


def decision(entry: DecisionEntry) -> dict[str, Any]:
    """Return the record of a decision."""
    own: dict[str, Any] = {"entry_id": entry.id, "verdict": entry.verdict}
    own |= {name: value for name, value in (("by", entry.by), ("reason", entry.reason)) if value}
    if entry.text_of("args") is not None:
        own["args"] = entry.args
    return with_unknown(own, others(entry))


def outcome(entry: OutcomeEntry) -> dict[str, Any]:
    """Return the record of an outcome; zero and false are kept."""
    own: dict[str, Any] = {"kind": entry.kind, "entry_id": entry.id}
    if entry.target:
        own["target"] = entry.target
    own |= _members(entry, "score", "pass")
    if entry.label:
        own["label"] = entry.label
    if entry.text_of("details") is not None:
        own["details"] = entry.details
    return with_unknown(own, others(entry))


def link(entry: LinkEntry) -> dict[str, Any]:
    """Return the record of a link."""
    own = {"rel": entry.rel, "session": entry.session, "entry_id": entry.id}
    if entry.call_id:
        own["call_id"] = entry.call_id
    return with_unknown(own, others(entry))


def config_extension(entry: ConfigEntry) -> dict[str, Any] | None:
    """Return the record of a config's further members, or ``None`` when it has none."""
    found = others(entry)
    return with_unknown({"entry_id": entry.id}, found) if found else None


def tool_changes(before: Settings, after: Settings) -> dict[str, list[str]]:
    """Return the names of the tools that came and went, each list only when not empty."""
    if before.text_of("tools") == after.text_of("tools"):
        return {}
    old, new = _names(before), _names(after)
    changes = {"added": sorted(new - old), "removed": sorted(old - new)}
    return {name: names for name, names in changes.items() if names}


def _names(settings: Settings) -> set[str]:
    return {name for name in map(tool_name, settings.tools) if name}


def tool_definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as a document lists it: functions in the nested shape, others as they are.

    Spec: export 2.
    """
    if tool.get("type") != "function" or "function" in tool:
        return dict(tool)
    function: dict[str, Any] = {
        "name": tool.get("name", ""),
        "description": tool.get("description") or "",
    }
    for name in ("parameters", "strict"):
        if tool.get(name) is not None:
            function[name] = tool[name]
    return {"type": "function", "function": function}
