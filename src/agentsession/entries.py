"""Entries that say what the model was sent and what it answered, one class per type.

The class they share is :class:`agentsession.entry.Entry`, which can be had from here too.

Spec: format 4.1 to 4.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from agentsession import payload, text
from agentsession.entry import ENVELOPE, LEAF_LABEL, Entry, Envelope, Time
from agentsession.items import Item
from agentsession.kinds import (
    BOOLEAN,
    INTEGER,
    ITEM,
    ITEMS,
    OBJECT,
    OBJECT_MAP,
    OBJECTS,
    STRING,
    STRINGS,
    record,
    records,
)
from agentsession.members import Member, Written, join_members
from agentsession.parts import InstructionsPart, OmittedPart, Trigger
from agentsession.settings import Settings

__all__ = [
    "ENVELOPE",
    "LEAF_LABEL",
    "BranchSummaryEntry",
    "CompactionEntry",
    "ConfigEntry",
    "Entry",
    "Envelope",
    "ItemEntry",
    "ResponseEntry",
    "Time",
]


class ItemEntry(Entry):
    """One Open Responses item.

    Args:
        item: a mapping, JSON text, an :class:`~agentsession.Item` or an SDK model.
        response: the ``response_id`` of the model call that produced it.
        visible: ``False`` for an item in context that renderers should hide.
        source: where an input came from (0.3).
        queued_from: the queued entry this item was accepted as (0.3).

    Spec: format 4.1.
    """

    __slots__ = ()
    TYPE = "item"
    CONTEXT = True
    item = Member(ITEM, required=True, written=Written.ALWAYS)
    response = Member(STRING, "")
    visible = Member(BOOLEAN, written=Written.GIVEN)
    source = Member(record(Trigger), written=Written.GIVEN, since=(0, 3))
    queued_from = Member(STRING, "", since=(0, 3))

    def __init__(
        self,
        item: object,
        *,
        response: str = "",
        visible: bool | None = None,
        source: Trigger | None = None,
        queued_from: str = "",
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "item": item,
                "response": response,
                "visible": visible,
                "source": source,
                "queued_from": queued_from,
            },
            **envelope,
        )

    @property
    def is_visible(self) -> bool:
        """Whether renderers should show the item."""
        return self.visible is not False

    def contribution(self) -> Any:
        """Return the item."""
        if self._texts is None and self._values is None and self._line is not None:
            # A context asks many entries for nothing but their item.
            self._values = {"item": Item.from_line(self._line)}
        return self.item


class ResponseEntry(Entry):
    """The envelope of one model call.

    Args:
        response_id: the provider's id; may be empty.
        status: the provider's status; may be empty.
        usage, incomplete, error: payload objects, or ``None``.
        request_hash: the hash of the request as sent; empty when not recorded.
        latency_ms: milliseconds; 0 when not recorded.
        attempts: calls the response took, failed ones without an entry included; 0 when not
            recorded, which means one (0.7).

    Spec: format 4.2.
    """

    __slots__ = ()
    TYPE = "response"
    response_id = Member(STRING, "", written=Written.ALWAYS)
    model = Member(STRING, "")
    status = Member(STRING, "", written=Written.ALWAYS)
    usage = Member(OBJECT, written=Written.GIVEN)
    incomplete = Member(OBJECT, written=Written.GIVEN)
    error = Member(OBJECT, written=Written.GIVEN)
    request_hash = Member(STRING, "")
    latency_ms = Member(INTEGER, 0)
    attempts = Member(INTEGER, 0, since=(0, 7))

    def __init__(
        self,
        response_id: str = "",
        *,
        model: str = "",
        status: str = "",
        usage: object = None,
        incomplete: object = None,
        error: object = None,
        request_hash: str = "",
        latency_ms: int = 0,
        attempts: int = 0,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "response_id": response_id,
                "model": model,
                "status": status,
                "usage": usage,
                "incomplete": incomplete,
                "error": error,
                "request_hash": request_hash,
                "latency_ms": latency_ms,
                "attempts": attempts,
            },
            **envelope,
        )

    def check_append(self) -> str:
        """Return the rule of later drafts 8 the entry breaks, or an empty string."""
        return "attempts must not be negative" if self.attempts < 0 else ""


class ConfigEntry(Entry):
    """A change to the request settings.

    Args:
        model: the new model; empty leaves it.
        instructions: the new instructions; ``""`` clears them, ``None`` leaves them.
        reasoning, text: objects that replace the whole setting; ``{}`` clears it.
        instructions_parts: the instructions in parts; see format 4.3.1 (0.3).
        instructions_omitted: parts that were left out; ``[]`` clears the list in force, ``None``
            leaves it (0.3).
        tools_added: tools to add or replace. tools_removed: names of tools to remove.
        extra: other request members; ``None`` as a value deletes that member.
        replace: whether all earlier settings are thrown away first.
        omit: which items on the path are left out of requests (0.11).

    Spec: format 4.3, context 2, later drafts 8.
    """

    __slots__ = ()
    TYPE = "config"
    model = Member(STRING, "")
    instructions: Member[str | None] = Member(STRING, written=Written.GIVEN)  # type: ignore[arg-type]
    reasoning = Member(OBJECT, written=Written.GIVEN)
    text = Member(OBJECT, written=Written.GIVEN)
    instructions_parts = Member(records(InstructionsPart), (), since=(0, 3))
    instructions_omitted = Member(records(OmittedPart), (), written=Written.GIVEN, since=(0, 3))
    tools_added = Member(OBJECTS, ())
    tools_removed = Member(STRINGS, ())
    extra = Member(OBJECT_MAP, {})
    replace = Member(BOOLEAN, default=False)
    omit = Member(OBJECT, written=Written.GIVEN, since=(0, 11))

    def __init__(
        self,
        *,
        model: str = "",
        instructions: str | None = None,
        reasoning: object = None,
        text: object = None,
        instructions_parts: Sequence[InstructionsPart] = (),
        instructions_omitted: Sequence[OmittedPart] | None = None,
        tools_added: Sequence[object] = (),
        tools_removed: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        replace: bool = False,
        omit: object = None,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "model": model,
                "instructions": instructions,
                "reasoning": reasoning,
                "text": text,
                "instructions_parts": instructions_parts,
                "instructions_omitted": instructions_omitted,
                "tools_added": tools_added,
                "tools_removed": tools_removed,
                "extra": extra,
                "replace": replace,
                "omit": omit,
            },
            **envelope,
        )

    def with_extra(self, name: str, value: object) -> ConfigEntry:
        """Return a copy whose ``extra`` sets a request member; ``None`` deletes it on replay."""
        return self._with_extra({**self._extra_texts(), name: payload.encoded_value(value)})

    def without_extra(self, name: str) -> ConfigEntry:
        """Return a copy that deletes a request member on replay (writes ``null``)."""
        return self._with_extra({**self._extra_texts(), name: b"null"})

    def _extra_texts(self) -> dict[str, bytes]:
        return text.split_members(self.text_of("extra") or b"{}")

    def _with_extra(self, texts: dict[str, bytes]) -> ConfigEntry:
        ordered = dict(sorted(texts.items(), key=lambda pair: pair[0].encode("utf-8", "replace")))
        return self._with("extra", join_members(ordered))

    def check_append(self) -> str:
        """Return the rule of format 4.3.1 or later drafts 8.1 the entry breaks, or nothing."""
        return self._parts_problem() or self._omitted_problem()

    def _parts_problem(self) -> str:
        parts = self.instructions_parts
        kept = [part for part in parts if not part.id]
        ids = [part.id for part in parts if part.id]
        if any(part.keep <= 0 for part in kept):
            return "every instructions part needs an id"
        if any(set(part._loaded()) != {"keep"} for part in kept):
            return "an element of instructions_parts with keep takes no other member"
        if len(set(ids)) != len(ids):
            return "an instructions part id is named twice"
        by_hash = [part.id for part in parts if part.hash and not part.text]
        if parts and not by_hash and not kept and self.instructions is not None:
            joined = "\n\n".join(part.text for part in parts)
            if joined != self.instructions:
                return "instructions differ from the texts of instructions_parts joined"
        if self.replace and self.instructions is None:
            if by_hash:
                return f"replace with part {by_hash[0]} named by hash needs instructions beside it"
            if kept:
                return "replace with parts kept by number needs instructions beside it"
        return ""

    def _omitted_problem(self) -> str:
        for part in self.instructions_omitted:
            if not part.id and part.keep <= 0:
                return "every omitted part needs an id"
            if self.replace and not part.id:
                return "replace takes no omitted parts kept by number, for none are in force"
        return ""


class CompactionEntry(Entry):
    """A summary that stands for the context before ``first_kept``.

    Args:
        first_kept: the earliest entry on the path that stays.
        summary: the item that stands for what came before.
        pinned: items kept verbatim from before ``first_kept`` (0.3).
        config: the full settings at this point.
        tokens_before: tokens of the context before; 0 when not recorded.
        usage: usage of the summarising call, or ``None``.

    Spec: format 4.4.
    """

    __slots__ = ()
    TYPE = "compaction"
    CONTEXT = True
    first_kept = Member(STRING, "", written=Written.ALWAYS)
    summary = Member(ITEM, required=True, written=Written.ALWAYS)
    pinned = Member(ITEMS, (), since=(0, 3))
    config: Member[Settings] = Member(record(Settings), Settings(), written=Written.ALWAYS)  # type: ignore[arg-type]
    tokens_before = Member(INTEGER, 0)
    usage = Member(OBJECT, written=Written.GIVEN)

    def __init__(
        self,
        first_kept: str,
        summary: object,
        *,
        pinned: Sequence[object] = (),
        config: Settings | None = None,
        tokens_before: int = 0,
        usage: object = None,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "first_kept": first_kept,
                "summary": summary,
                "pinned": pinned,
                "config": config if config is not None else Settings(),
                "tokens_before": tokens_before,
                "usage": usage,
            },
            **envelope,
        )

    def contribution(self) -> Any:
        """Return ``None``: a compaction contributes only where it is the last of a path."""
        return None


class BranchSummaryEntry(Entry):
    """Context carried across a branch switch.

    Args:
        from_: the leaf that was left.
        summary: the item that enters the context.
        usage: usage of the summarising call, or ``None``.

    Spec: format 4.5.
    """

    __slots__ = ()
    TYPE = "branch_summary"
    CONTEXT = True
    from_ = Member(STRING, "", written=Written.ALWAYS, wire="from")
    summary = Member(ITEM, required=True, written=Written.ALWAYS)
    usage = Member(OBJECT, written=Written.GIVEN)

    def __init__(
        self,
        from_: str,
        summary: object,
        *,
        usage: object = None,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init({"from_": from_, "summary": summary, "usage": usage}, **envelope)

    def contribution(self) -> Any:
        """Return the summary."""
        return self.summary
