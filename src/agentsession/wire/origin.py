"""Origins: what a wire needs to know of an item beyond the item itself.

An imported item entry says in its unknown member ``origin`` which message of the agent
the item was part of, which model wrote it, and what its provider wants back with it. A
compaction entry says it in ``origins``, by item id, for the items that are no entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsession.beside import value_of
from agentsession.context import Context, build_context, request_context
from agentsession.entries import CompactionEntry, Entry, ItemEntry, ResponseEntry
from agentsession.items import Item

MEMBER = "origin"
"""The unknown member of an item entry that holds the origin of its item."""

MEMBERS = "origins"
"""The unknown member of a compaction entry that holds origins by item id."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an item comes from.

    Attributes:
        message: the agent's message; items of one message and step travel together.
        step: which step of that message.
        provider, model: who wrote it; empty when nobody knows.
        metadata: what the provider wants back, by its own name space.
        encrypted: where in the metadata the item's ``encrypted_content`` belongs,
            such as ``anthropic.signature``; empty for a provider that names no place.
        error: of an output, that the call failed; of other items, that their step did.
        unfinished: the item was cut off before it ended.
        executed: the provider ran the tool itself.
    """

    message: str = ""
    step: int = 0
    provider: str = ""
    model: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    encrypted: str = ""
    error: bool = False
    unfinished: bool = False
    executed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as plain values; what is empty is left out."""
        members: dict[str, Any] = {
            "message": self.message,
            "step": self.step,
            "provider": self.provider,
            "model": self.model,
            "metadata": dict(self.metadata),
            "encrypted": self.encrypted,
            "error": self.error,
            "unfinished": self.unfinished,
            "executed": self.executed,
        }
        return {name: value for name, value in members.items() if value}

    @property
    def space(self) -> str:
        """The name space of what the provider wants back; empty when it names none."""
        return self.encrypted.rpartition(".")[0] or next(iter(self._spaces()), "")

    def told(self, name: str) -> str:
        """Return a string of what the provider wants back, such as its own id of the item."""
        inner = next(iter(self._spaces().values()), self.metadata)
        return _string(inner.get(name))

    def _spaces(self) -> dict[str, Mapping[str, Any]]:
        return {name: value for name, value in self.metadata.items() if isinstance(value, dict)}

    @classmethod
    def of(cls, value: object) -> Origin:
        """Return the origin that plain values describe; what is not of its type is passed over."""
        if not isinstance(value, Mapping):
            return cls()
        step, metadata = value.get("step"), value.get("metadata")
        return cls(
            message=_string(value.get("message")),
            step=step if isinstance(step, int) and not isinstance(step, bool) else 0,
            provider=_string(value.get("provider")),
            model=_string(value.get("model")),
            metadata=metadata if isinstance(metadata, dict) else {},
            encrypted=_string(value.get("encrypted")),
            error=value.get("error") is True,
            unfinished=value.get("unfinished") is True,
            executed=value.get("executed") is True,
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """One item of a context with its origin."""

    item: Item
    origin: Origin


@dataclass(frozen=True, slots=True)
class Target:
    """Who a request goes to; what only its own items may carry depends on it."""

    provider: str = ""
    model: str = ""

    def wrote(self, origin: Origin) -> bool:
        """Return whether the item is the target model's own, or of unknown origin."""
        if not origin.provider and not origin.model:
            return True
        return (origin.provider, origin.model) == (self.provider, self.model)


def origin_of(entry: Entry) -> Origin:
    """Return the origin an item entry records; items of one response travel together."""
    origin = Origin.of(value_of(entry, MEMBER))
    response = entry.response if isinstance(entry, ItemEntry) else ""
    if origin.message or not response:
        return origin
    return Origin.of({**origin.to_dict(), "message": response})


def pieces(path: Sequence[Entry], context: Context | None = None) -> tuple[Piece, ...]:
    """Return the items of the context at the end of a path, each with its origin.

    Args:
        path: the entries from a root on.
        context: their context, when it was built already.

    Raises:
        NoContext: when the context cannot be built.
    """
    context = build_context(path) if context is None else context
    pinned = any(isinstance(entry, CompactionEntry) for entry in context.item_entries)
    named = _entries_by_item(path) if pinned else {}
    found: list[Piece] = []
    told: Mapping[str, Any] = {}
    asked: Entry | None = None
    for item, entry in zip(context.items, context.item_entries, strict=True):
        if not isinstance(entry, CompactionEntry):
            found.append(Piece(item, origin_of(entry)))
            continue
        if entry is not asked:
            asked, value = entry, value_of(entry, MEMBERS)
            told = value if isinstance(value, Mapping) else {}
        if item.id in told:
            found.append(Piece(item, Origin.of(told[item.id])))
        else:
            home = named.get(item.id)
            found.append(Piece(item, Origin() if home is None else origin_of(home)))
    return tuple(found)


def request_pieces(path: Sequence[Entry]) -> tuple[Piece, ...]:
    """Return what the request held that the response at the end of a path answered.

    Raises:
        InvalidEntry: when the path does not end in a response.
        NoContext: when the context cannot be built.
    """
    return pieces(path, request_context(path))


def target_of(response: ResponseEntry) -> Target:
    """Return who a response came from: its model, and the provider an importer recorded."""
    provider = value_of(response, "provider")
    return Target(_string(provider), response.model)


def _entries_by_item(path: Sequence[Entry]) -> dict[str, ItemEntry]:
    found: dict[str, ItemEntry] = {}
    for entry in path:
        if isinstance(entry, ItemEntry) and entry.item.id:
            found[entry.item.id] = entry
    return found


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
