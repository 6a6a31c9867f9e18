"""Settings: what a request says beside its input, and how config entries change it.

Spec: context 2, format 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsession.kinds import OBJECT, OBJECT_MAP, OBJECTS, STRING, records
from agentsession.members import Member, Record
from agentsession.parts import InstructionsPart, OmittedPart, Unknown


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
