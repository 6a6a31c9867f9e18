"""Settings: what a request says beside its input, and how config entries change it.

Spec: context 2, format 4.3.1 and 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentsession import text as json_text
from agentsession.canonical import sha256
from agentsession.items import tool_name
from agentsession.kinds import OBJECT, OBJECT_MAP, OBJECTS, STRING, records
from agentsession.members import MISSING, Member, Missing, Record, join_members
from agentsession.normalise import reasoning_is_empty, text_is_empty
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
        omit: the items and members left out of requests, where the version has it (0.11).
    """

    __slots__ = ()
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
            },
            unknown,
        )

    def apply(self, config: ConfigEntry) -> Settings:
        """Return the settings after a config entry; these stay as they are.

        Texts go over as they are spelled. What is left empty becomes absent.

        Spec: context 2.
        """
        base = Settings.from_texts({}) if config.replace else self
        texts = {
            **base._loaded(),
            **_whole_members(config),
            **_instructions(base, config),
            "tools": _tools(base, config),
            "extra": _extra(base, config),
        }
        ordered = {wire: texts[wire] for wire in self.MEMBERS if texts.get(wire)}
        return Settings.from_texts({**ordered, **{k: v for k, v in texts.items() if v}})

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

        Parts that are in force unchanged are named by hash.

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
        parts = resolve_parts(config.instructions_parts, base.instructions_parts)
        joined = PART_SEPARATOR.join(part.text for part in parts)
        if config.instructions is not None and not all(part.text for part in parts):
            joined = config.instructions
        listed = b"[" + b",".join(part.json_text for part in parts) + b"]"
        return {"instructions": _filled(joined), "instructions_parts": listed}
    if config.instructions is not None:
        return {"instructions": _filled(config.instructions), "instructions_parts": b""}
    return {}


def _filled(value: str) -> bytes:
    return json_text.encode(value) if value else b""


def resolve_parts(
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
