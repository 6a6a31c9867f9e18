"""Which members each ATIF object has, and of which kind: the tables of the format as data.

Reading, writing and checking all walk these tables, so a member is stated once.
Spec: atif 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsession.atif.vocabulary import AUDIO_TYPES, IMAGE_TYPES, PART_TYPES, SOURCES, VERSIONS


@dataclass(frozen=True, slots=True)
class Text:
    """A string; with ``filled``, one a careful writer never leaves empty."""

    filled: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A string that is an ISO 8601 time."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One string of a closed set; ``rule`` is the code of the rule that says so."""

    values: tuple[str, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number, not below ``least``."""

    least: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number, not below ``least``."""

    least: float | None = None


@dataclass(frozen=True, slots=True)
class TextOrNumber:
    """A string or a number."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """``true`` or ``false``."""


@dataclass(frozen=True, slots=True)
class Open:
    """An object whose members are nobody's business."""


@dataclass(frozen=True, slots=True)
class Content:
    """A string or a list of content parts."""


@dataclass(frozen=True, slots=True)
class Object:
    """An object of the shape with this name."""

    shape: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list with ``least`` or more elements, all of one kind."""

    of: Kind
    least: int = 0


Kind = (
    Text
    | Moment
    | Choice
    | Integer
    | Number
    | TextOrNumber
    | Boolean
    | Open
    | Content
    | Object
    | Listed
)


@dataclass(frozen=True, slots=True)
class Member:
    """One declared member.

    Attributes:
        kind: what its value is.
        required: whether the object is invalid without it.
        nullable: whether ``null`` stands for its absence.
        agent_only: whether only agent steps may have it.
    """

    kind: Kind
    required: bool = False
    nullable: bool = True
    agent_only: bool = False


Shape = dict[str, Member]


def _needs(kind: Kind) -> Member:
    return Member(kind, required=True, nullable=False)


def _agents(kind: Kind) -> Member:
    return Member(kind, agent_only=True)


_EXTRA: Final = Member(Open())
_TEXT: Final = Member(Text())
_COUNT: Final = Member(Integer())

SHAPES: Final[dict[str, Shape]] = {
    "trajectory": {
        "schema_version": Member(Choice(VERSIONS, "schema-version"), nullable=False),
        "session_id": _TEXT,
        "trajectory_id": _TEXT,
        "agent": _needs(Object("agent")),
        "steps": _needs(Listed(Object("step"), least=1)),
        "notes": _TEXT,
        "final_metrics": Member(Object("final_metrics")),
        "continued_trajectory_ref": _TEXT,
        "extra": _EXTRA,
        "subagent_trajectories": Member(Listed(Object("trajectory"))),
    },
    "agent": {
        "name": _needs(Text(filled=True)),
        "version": _needs(Text(filled=True)),
        "model_name": _TEXT,
        "tool_definitions": Member(Listed(Open())),
        "extra": _EXTRA,
    },
    "step": {
        "step_id": _needs(Integer(least=1)),
        "timestamp": Member(Moment()),
        "source": _needs(Choice(SOURCES, "source")),
        "model_name": _agents(Text()),
        "reasoning_effort": _agents(TextOrNumber()),
        "message": _needs(Content()),
        "reasoning_content": _agents(Text()),
        "tool_calls": _agents(Listed(Object("tool_call"))),
        "observation": Member(Object("observation")),
        "metrics": _agents(Object("metrics")),
        "is_copied_context": Member(Boolean()),
        "llm_call_count": Member(Integer(least=0)),
        "extra": _EXTRA,
    },
    "tool_call": {
        "tool_call_id": _needs(Text(filled=True)),
        "function_name": _needs(Text(filled=True)),
        "arguments": _needs(Open()),
        "extra": _EXTRA,
    },
    "observation": {"results": _needs(Listed(Object("result")))},
    "result": {
        "source_call_id": _TEXT,
        "content": Member(Content()),
        "subagent_trajectory_ref": Member(Listed(Object("ref"))),
        "extra": _EXTRA,
    },
    "ref": {
        "trajectory_id": _TEXT,
        "trajectory_path": _TEXT,
        "session_id": _TEXT,
        "extra": _EXTRA,
    },
    "part": {
        "type": _needs(Choice(PART_TYPES, "part-type")),
        "text": _TEXT,
        # The reader takes any source; which one a part may have depends on its type.
        "source": Member(Object("source")),
    },
    "source": {
        "media_type": _needs(Text()),
        "path": _needs(Text(filled=True)),
        "duration_sec": Member(Number(least=0)),
    },
    "image_source": {
        "media_type": _needs(Choice(IMAGE_TYPES, "media-type")),
        "path": _needs(Text(filled=True)),
    },
    "audio_source": {
        "media_type": _needs(Choice(AUDIO_TYPES, "media-type")),
        "path": _needs(Text(filled=True)),
        "duration_sec": Member(Number(least=0)),
    },
    "metrics": {
        "prompt_tokens": _COUNT,
        "completion_tokens": _COUNT,
        "cached_tokens": _COUNT,
        "cost_usd": Member(Number()),
        "prompt_token_ids": Member(Listed(Integer())),
        "completion_token_ids": Member(Listed(Integer())),
        "logprobs": Member(Listed(Number())),
        "extra": _EXTRA,
    },
    "final_metrics": {
        "total_prompt_tokens": _COUNT,
        "total_completion_tokens": _COUNT,
        "total_cached_tokens": _COUNT,
        "total_cost_usd": Member(Number()),
        "total_steps": Member(Integer(least=0)),
        "extra": _EXTRA,
    },
}
"""Every object by name, members in the order they are written."""
