"""Items on a path that are left out of requests.

Spec: later drafts 8.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentsession import text

if TYPE_CHECKING:
    from agentsession.entries import Entry

OTHER_MODELS = "other_models"
"""The rule that leaves out the reasoning of models other than the one in force."""

LISTED = "items"
"""The reason of an item whose id is listed."""


@dataclass(frozen=True, slots=True)
class Omission:
    """Which items are left out.

    Attributes:
        reasoning: ``other_models``, or empty for no rule.
        items: the ids of item entries, in the order they were listed.

    Spec: later drafts 8.3.
    """

    reasoning: str = ""
    items: tuple[str, ...] = ()

    @classmethod
    def of(cls, member: Mapping[str, Any] | None) -> Omission:
        """Return what the ``omit`` member of settings says."""
        return cls().updated(member) if member else cls()

    def __bool__(self) -> bool:
        return bool(self.reasoning or self.items)

    def updated(self, member: Mapping[str, Any]) -> Omission:
        """Return the omission after the ``omit`` member of a config entry.

        A member that names no rule and lists no id clears everything; otherwise ids are added,
        and a rule that is known replaces the one in force.
        """
        rule = member.get("reasoning")
        listed = member.get("items")
        ids = [e for e in listed if isinstance(e, str)] if isinstance(listed, list) else []
        if not rule and not ids:
            return Omission()
        known = rule if rule == OTHER_MODELS else self.reasoning
        return Omission(known, tuple(dict.fromkeys((*self.items, *ids))))

    def json_text(self) -> bytes:
        """Return the ``omit`` member of settings; empty when nothing is left out."""
        if not self:
            return b""
        reasoning = {"reasoning": self.reasoning} if self.reasoning else {}
        items = {"items": list(self.items)} if self.items else {}
        return text.encode({**reasoning, **items})

    def omitted(self, path: Sequence[Entry], model: str) -> dict[str, str]:
        """Return the item entries of a path that are left out, by id, each with the reason.

        Args:
            path: root first.
            model: the model in force at its end.
        """
        from agentsession.entries import ItemEntry  # noqa: PLC0415 - entries hold settings

        if not self:
            return {}
        found = {}
        listed = frozenset(self.items)
        models = _models(path) if self.reasoning == OTHER_MODELS and model else None
        for position, entry in enumerate(path):
            if not isinstance(entry, ItemEntry):
                continue
            if entry.id in listed:
                found[entry.id] = LISTED
            elif models is not None and entry.response and entry.item.type == "reasoning":
                then = models[position]
                if then and then != model:
                    found[entry.id] = OTHER_MODELS
        return found


def _models(path: Sequence[Entry]) -> list[str]:
    """The model in force at each entry of a path, as the settings say it."""
    from agentsession.entries import CompactionEntry, ConfigEntry  # noqa: PLC0415

    found = []
    model = ""
    for entry in path:
        if isinstance(entry, CompactionEntry):
            model = entry.config.model
        elif isinstance(entry, ConfigEntry):
            model = entry.model or ("" if entry.replace else model)
        found.append(model)
    return found
