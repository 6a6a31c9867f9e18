"""Redactors applied to documents: every string of a step or a root, and nothing ATIF fixes.

Spec: export 11 and 13, decision E5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from agentsession import atif
from agentsession.export.names import REPLACEMENT, digest, main_document_name
from agentsession.export.walk import mapped, texts

_KEPT: Final = frozenset(
    {
        "schema_version",
        "step_id",
        "source",
        "timestamp",
        "type",
        "media_type",
        "duration_sec",
        "is_copied_context",
        "llm_call_count",
    }
)
"""Declared members that are not text of the session."""

_IDS: Final = frozenset(
    {
        "call_id",
        "end_entry_id",
        "entry_id",
        "abandoned_at",
        "branch_from",
        "config_entries",
        "first_kept",
        "from",
        "id",
        "item_entry_ids",
        "leaf",
        "orphan_call_id",
        "parent",
        "parent_session",
        "pending",
        "preferred_over",
        "queued_from",
        "response_id",
        "run_id",
        "session",
        "session_id",
        "source_call_id",
        "spawned_by",
        "start_entry_id",
        "target",
        "tool_call_id",
        "trajectory_id",
    }
)
"""Members whose strings are ids: two that differ must not become one."""

_OPEN: Final = frozenset({"extra", "arguments", "tool_definitions"})
_REMEMBERED: Final = 64


class Stepwise:
    """A redactor that works step by step, so that a long document need not be in memory.

    A subclass overrides what it changes; neither method may change its argument.
    """

    def head(self, head: dict[str, Any]) -> dict[str, Any]:
        """Return a document's root, which comes without steps and embedded documents."""
        return head

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return a step."""
        return step


class Whole:
    """A redactor that needs the whole document.

    Args:
        change: gives the new document.
    """

    def __init__(self, change: Callable[[atif.Trajectory], atif.Trajectory]) -> None:
        self.change = change


class Words(Stepwise):
    """Applies a function from text to text to all text of a document."""

    def __init__(self, redactor: Callable[[str], str]) -> None:
        self.redactor = redactor
        self._numbers = bool(getattr(redactor, "numbers", False))
        self._may_hold: Callable[[str], bool] | None = getattr(redactor, "may_hold", None)
        self._seen: dict[str, str] = {}

    def head(self, head: dict[str, Any]) -> dict[str, Any]:
        """Return the root with all its text changed."""
        return self._changed(head)

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return the step with all its text changed."""
        return self._changed(step)

    def _changed(self, value: dict[str, Any]) -> dict[str, Any]:
        # One look at everything together costs less than one at each text. The text of a
        # message stands in a step twice: as such and in the raw item.
        look = None if self._numbers else self._may_hold
        if look is not None and not look("\n".join(dict.fromkeys(texts(value)))):
            return value
        self._seen.clear()
        return self._declared(value)

    def text(self, text: str) -> str:
        """Return a text in its new form."""
        if len(text) < _REMEMBERED:
            return self.redactor(text)
        found = self._seen.get(text)
        if found is None:
            found = self._seen[text] = self.redactor(text)
        return found

    def identifier(self, text: str) -> str:
        """Return an id in its new form; a redacted one stays different from others."""
        changed = self.text(text)
        if changed == text or REPLACEMENT not in changed:
            return changed
        return f"{changed}-{digest(text, 6)}"

    def _string(self, name: str, text: str) -> str:
        if name in _IDS:
            return self.identifier(text)
        changed = self.text(text)
        if changed != text and text[:5].lower() == "data:":
            return REPLACEMENT
        return changed

    def _open(self, value: Any, name: str = "") -> Any:
        return mapped(value, self._string, self.identifier, numbers=self._numbers, name=name)

    def _declared(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An object whose members ATIF declares; the open ones in it are walked as a whole."""
        changed: dict[str, Any] = {}
        for name, found in value.items():
            if isinstance(found, Mapping) and name not in _OPEN:
                changed[name] = self._declared(found)
            elif name in _KEPT or found is None or isinstance(found, bool | int | float):
                changed[name] = found
            elif name in {"message", "content"} and isinstance(found, list):
                changed[name] = [self._part(part) for part in found]
            elif name in _OPEN:
                changed[name] = self._open(found, name)
            elif isinstance(found, str):
                changed[name] = self._string(name, found)
            elif isinstance(found, list):
                changed[name] = [self._element(one, name) for one in found]
        return self._repointed(value, changed)

    def _element(self, value: Any, name: str) -> Any:
        return self._declared(value) if isinstance(value, Mapping) else self._open(value, name)

    def _repointed(self, old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """Make the path of a reference lead to where the redacted session is written."""
        path, session_id = old.get("trajectory_path"), old.get("session_id")
        if not isinstance(path, str) or not isinstance(session_id, str):
            return new
        if new["session_id"] != session_id and path == main_document_name(session_id):
            new["trajectory_path"] = main_document_name(new["session_id"])
        return new

    def _part(self, part: Any) -> Any:
        if not isinstance(part, Mapping):
            return part
        source = part.get("source")
        if isinstance(source, Mapping) and isinstance(source.get("path"), str):
            path = source["path"]
            if path[:5].lower() == "data:" and self.text(path) != path:
                return {"type": "text", "text": f"[{part.get('type')}: {REPLACEMENT}]"}
        return self._declared(part)


def stepwise(redactors: Iterable[Any]) -> list[Stepwise | Whole]:
    """Return redactors as the document redactors they stand for."""
    return [one if isinstance(one, Stepwise | Whole) else Words(one) for one in redactors]


def redacted(document: dict[str, Any], redactors: Iterable[Any]) -> dict[str, Any]:
    """Return a document's JSON value with redactors applied in order."""
    for redactor in stepwise(redactors):
        if isinstance(redactor, Whole):
            document = redactor.change(atif.parse(document)).to_dict()
        else:
            document = _redacted(document, redactor)
    return document


def _redacted(document: dict[str, Any], redactor: Stepwise) -> dict[str, Any]:
    # Embedded documents may nest deeper than Python calls do.
    root: list[dict[str, Any]] = [document]
    pending: list[tuple[list[dict[str, Any]], int]] = [(root, 0)]
    while pending:
        siblings, at = pending.pop()
        found = siblings[at]
        rest = {**found, "steps": []}
        embedded = rest.pop("subagent_trajectories", None)
        fresh = redactor.head(rest)
        fresh["steps"] = [redactor.step(step) for step in found["steps"]]
        if embedded:
            fresh["subagent_trajectories"] = list(embedded)
            pending += [(fresh["subagent_trajectories"], n) for n in range(len(embedded))]
        siblings[at] = fresh
    return root[0]
