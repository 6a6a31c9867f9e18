"""Settings: what a request says beside its input, and how config entries change it.

Spec: context 2, format 4.3.1 and 4.4, later drafts 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentsession import text as json_text
from agentsession import versions
from agentsession.canonical import sha256
from agentsession.instructions import (
    Past,
    is_resolved,
    listed_parts,
    resolve_omitted,
    resolve_parts,
)
from agentsession.items import tool_name
from agentsession.kinds import OBJECT, OBJECT_MAP, OBJECTS, STRING, records
from agentsession.members import MISSING, Member, Missing, Record, join_members
from agentsession.normalise import reasoning_is_empty, text_is_empty
from agentsession.omission import Omission
from agentsession.parts import InstructionsPart, OmittedPart, Unknown

if TYPE_CHECKING:
    from agentsession.entries import ConfigEntry

PART_SEPARATOR = "\n\n"
"""What joins the parts of the instructions (format 4.3.1)."""


class Settings(Record):
    """The settings in force at a point of a path; also a compaction's checkpoint.

    Attributes:
        model: the model; empty when none is set.
        instructions: the instructions; empty when none are set.
        reasoning, text: the payload's setting objects, or ``None``.
        instructions_parts: the parts the instructions are joined from.
        tools: the tools in request order.
        extra: every other request member by its JSON name.
        instructions_omitted: the parts left out, where the version keeps them in force.
        omit: which items on the path are left out of requests, where the version has it (0.11).

    Settings that come from config entries remember what left force, for later entries may name
    it; that is no part of their value.
    """

    __slots__ = ("_past",)
    _past: Past
    model = Member(STRING, "")
    instructions = Member(STRING, "")
    reasoning = Member(OBJECT)
    text = Member(OBJECT)
    instructions_parts = Member(records(InstructionsPart), (), since=(0, 3))
    tools = Member(OBJECTS, ())
    extra = Member(OBJECT_MAP, {})
    instructions_omitted = Member(records(OmittedPart), (), since=(0, 8))
    omit = Member(OBJECT, since=(0, 11))

    def __init__(
        self,
        *,
        model: str = "",
        instructions: str = "",
        reasoning: object = None,
        text: object = None,
        instructions_parts: Sequence[InstructionsPart] = (),
        tools: Sequence[object] = (),
        extra: Mapping[str, Any] | None = None,
        instructions_omitted: Sequence[OmittedPart] = (),
        omit: object = None,
        unknown: Unknown = None,
    ) -> None:
        self._build(
            {
                "model": model,
                "instructions": instructions,
                "reasoning": reasoning,
                "text": text,
                "instructions_parts": instructions_parts,
                "tools": tools,
                "extra": extra,
                "instructions_omitted": instructions_omitted,
                "omit": omit,
            },
            unknown,
        )

    def apply(self, config: ConfigEntry) -> Settings:
        """Return the settings after a config entry; these stay as they are.

        Texts go over as they are spelled. What is left empty becomes absent.

        Spec: context 2, later drafts 8.
        """
        base = Settings.from_texts({}) if config.replace else self
        later = versions.has_later_settings(config.version)
        texts = {
            **base._loaded(),
            **_whole_members(config),
            **(_later_members(base, config) if later else _instructions(base, config)),
            "tools": _tools(base, config),
            "extra": _extra(base, config),
        }
        ordered = {wire: texts[wire] for wire in self.MEMBERS if texts.get(wire)}
        settings = Settings.from_texts({**ordered, **{k: v for k, v in texts.items() if v}})
        if later:
            settings._past = _past_after(base, config, settings)
        return settings

    @property
    def past(self) -> Past | None:
        """What left force, where config entries of 0.5 or later gave the settings."""
        return getattr(self, "_past", None)

    @property
    def omission(self) -> Omission:
        """Which items on the path are left out of requests (later drafts 8.3)."""
        return Omission.of(self.omit)

    def checkpoint(self) -> Settings:
        """Return the settings as a compaction can carry them: what stands by itself.

        Parts that the path could not tell are left out, so that the instructions stand alone.

        Spec: later drafts 8.
        """
        texts = dict(self._loaded())
        if not all(part.id and (part.text or not part.hash) for part in self.instructions_parts):
            texts.pop("instructions_parts", None)
        omitted = [part for part in self.instructions_omitted if part.id]
        if len(omitted) < len(self.instructions_omitted):
            texts["instructions_omitted"] = _listed(omitted)
        return Settings.from_texts({wire: value for wire, value in texts.items() if value})

    def extra_value(self, name: str) -> Any | Missing:
        """Return the value of another request member, or ``MISSING`` when it is absent.

        Spec: context 2.
        """
        member_text = self.extra_texts().get(name)
        return MISSING if member_text is None else json_text.parse(member_text)

    def extra_texts(self) -> dict[str, bytes]:
        """Return the JSON texts of the other request members, by name."""
        member_text = self.text_of("extra") or b"null"
        return json_text.split_members(member_text) if member_text.startswith(b"{") else {}

    def instructions_delta(self, parts: Sequence[InstructionsPart]) -> ConfigEntry | None:
        """Return the config entry that brings these instructions parts into force.

        Parts that are in force unchanged are named by hash; where config entries of 0.5 or later
        gave the settings, they are kept by number, and parts that left force come back by hash.

        Args:
            parts: every part, in order, with its text.

        Returns:
            The entry, or ``None`` when nothing changes. It is not appended.

        Spec: context 2, format 4.3.1.
        """
        from agentsession.entries import ConfigEntry  # noqa: PLC0415 - entries hold settings

        wanted = [(part.id, part.text, part.source) for part in parts]
        in_force = [(part.id, part.text, part.source) for part in self.instructions_parts]
        if not wanted:
            return ConfigEntry(instructions="") if self.instructions or in_force else None
        if wanted == in_force:
            return None
        if self.past is not None:
            return ConfigEntry(
                instructions_parts=listed_parts(parts, self.instructions_parts, self.past)
            )
        known = set(in_force)
        listed = [
            InstructionsPart(part_id, hash=sha256(text.encode()))
            if (part_id, text, source) in known
            else InstructionsPart(part_id, text, source)
            for part_id, text, source in wanted
        ]
        return ConfigEntry(instructions_parts=listed)


def _whole_members(config: ConfigEntry) -> dict[str, bytes]:
    """The members a config entry replaces as a whole; empty texts delete."""
    found: dict[str, bytes] = {}
    if config.model:
        found["model"] = config.text_of("model") or b""
    if config.reasoning is not None:
        empty = reasoning_is_empty(config.reasoning)
        found["reasoning"] = b"" if empty else config.text_of("reasoning") or b""
    if config.text is not None:
        found["text"] = b"" if text_is_empty(config.text) else config.text_of("text") or b""
    return found


def _instructions(base: Settings, config: ConfigEntry) -> dict[str, bytes]:
    if config.instructions_parts:
        parts = parts_in_force(config.instructions_parts, base.instructions_parts)
        joined = PART_SEPARATOR.join(part.text for part in parts)
        if config.instructions is not None and not all(part.text for part in parts):
            joined = config.instructions
        return {"instructions": _filled(joined), "instructions_parts": _listed(parts)}
    if config.instructions is not None:
        return {"instructions": _filled(config.instructions), "instructions_parts": b""}
    return {}


def _later_members(base: Settings, config: ConfigEntry) -> dict[str, bytes]:
    """The members that later drafts resolve: parts, omitted parts, omission (later drafts 8)."""
    found: dict[str, bytes] = {}
    past = base.past or Past()
    if config.instructions_parts:
        parts = resolve_parts(config.instructions_parts, base.instructions_parts, past)
        joined = PART_SEPARATOR.join(part.text for part in parts)
        if config.instructions is not None and not all(is_resolved(part) for part in parts):
            joined = config.instructions
        found = {"instructions": _filled(joined), "instructions_parts": _listed(parts)}
    elif config.instructions is not None:
        found = {"instructions": _filled(config.instructions), "instructions_parts": b""}
    if config.has("instructions_omitted"):
        listed = config.instructions_omitted
        found["instructions_omitted"] = _listed(
            resolve_omitted(listed, base.instructions_omitted, past)
        )
    if config.omit is not None:
        found["omit"] = base.omission.updated(config.omit).json_text()
    return found


def _past_after(base: Settings, config: ConfigEntry, settings: Settings) -> Past:
    past = base.past or Past()
    past = past.without(base.instructions_parts, settings.instructions_parts)
    if config.has("instructions_omitted"):
        past = past.listing(config.id, settings.instructions_omitted)
    return past


def _listed(parts: Sequence[Record]) -> bytes:
    return b"[" + b",".join(part.json_text for part in parts) + b"]" if parts else b""


def _filled(value: str) -> bytes:
    return json_text.encode(value) if value else b""


def parts_in_force(
    listed: Sequence[InstructionsPart], in_force: Sequence[InstructionsPart]
) -> tuple[InstructionsPart, ...]:
    """Return the parts a config entry lists, those named by hash with the text in force.

    A part named by hash whose id is not in force keeps its hash and stays without text. The
    hash itself is not compared.

    Spec: context 2.
    """
    known = {part.id: part for part in in_force}
    return tuple(_resolved(part, known.get(part.id)) for part in listed)


def _resolved(part: InstructionsPart, in_force: InstructionsPart | None) -> InstructionsPart:
    if part.text or not part.hash or in_force is None:
        return part
    texts = {wire: value for wire, value in part._loaded().items() if wire != "hash"}
    found = {**texts, "text": in_force.text_of("text") or b""}
    if not part.source:
        found["source"] = in_force.text_of("source") or b""
    ordered = [wire for wire in InstructionsPart.MEMBERS if found.get(wire)]
    ordered += [wire for wire in texts if wire not in InstructionsPart.MEMBERS]
    return InstructionsPart.from_texts({wire: found[wire] for wire in ordered})


def _tools(base: Settings, config: ConfigEntry) -> bytes:
    tools = _elements(base.text_of("tools"))
    if not config.tools_removed and not config.tools_added:
        return _joined(tools)
    named = [(tool_name(json_text.parse(tool)), tool) for tool in tools]
    removed = set(config.tools_removed)
    named = [(name, tool) for name, tool in named if name not in removed]
    # A tool added twice, or already there, moves to the end: dictionaries keep the order.
    order: dict[str | int, tuple[str, bytes]] = {}
    added = [(tool_name(json_text.parse(t)), t) for t in _elements(config.text_of("tools_added"))]
    replaced = {name for name, _ in added if name}
    for position, (name, tool) in enumerate(added):
        order.pop(name, None)
        order[name or position] = (name, tool)
    kept = [tool for name, tool in named if name not in replaced]
    return _joined([*kept, *(tool for _, tool in order.values())])


def _elements(list_text: bytes | None) -> list[bytes]:
    if not list_text or not list_text.startswith(b"["):
        return []
    return [element for element in json_text.split_elements(list_text) if element != b"null"]


def _joined(elements: list[bytes]) -> bytes:
    return b"[" + b",".join(elements) + b"]" if elements else b""


def _extra(base: Settings, config: ConfigEntry) -> bytes:
    changes_text = config.text_of("extra") or b"null"
    merged = base.extra_texts()
    if changes_text.startswith(b"{"):
        for name, value in json_text.split_members(changes_text).items():
            if value == b"null":
                merged.pop(name, None)
            else:
                merged[name] = value
    names = sorted(merged, key=lambda name: name.encode("utf-8", "surrogatepass"))
    return join_members({name: merged[name] for name in names}) if merged else b""
