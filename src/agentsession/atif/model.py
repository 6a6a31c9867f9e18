"""The ATIF document model: one immutable value per object, unknown members kept.

Spec: atif 1 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final

import msgspec

from agentsession import text
from agentsession.atif.shape import SHAPES, Content, Integer, Kind, Listed, Object, Open, Shape
from agentsession.atif.values import copied
from agentsession.atif.vocabulary import SCHEMA_VERSION

_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Value:
    """What all objects share: undeclared members, and how absent ones were spelled.

    Attributes:
        unknown: members that ATIF does not declare, written back after the others.
        nulls: declared members read as an explicit ``null``.
        missing: required members that were not there when the object was read.
    """

    shape: ClassVar[str]

    unknown: Mapping[str, Any] = field(default_factory=dict)
    nulls: frozenset[str] = field(default=frozenset(), compare=False)
    missing: frozenset[str] = field(default=frozenset(), compare=False)

    def to_dict(self, *, nulls: bool = True) -> dict[str, Any]:
        """The object as a JSON value of its own: what was read, in the order of the tables.

        Args:
            nulls: also write the declared members that were read as ``null``.
        """
        value: dict[str, Any] = copied(plain(self, nulls=nulls))
        return value

    def to_json(self, *, indent: int = 0, nulls: bool = True) -> bytes:
        """The object as JSON text in UTF-8, without a line end.

        Args:
            indent: blanks per level; 0 for one line. What is nested too deep to be laid out
                comes on one line.
            nulls: also write the declared members that were read as ``null``.

        Raises:
            InvalidEntry: something in it is no JSON value, such as NaN.
        """
        written = text.encode(plain(self, nulls=nulls))
        if indent:
            try:
                return msgspec.json.format(written, indent=indent)
            except (msgspec.MsgspecError, RecursionError):
                return written
        return written

    def __repr__(self) -> str:
        parts = []
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, str | int | float):
                shown = repr(value)
                cut = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
                parts.append(f"{one.name}={cut}")
            elif isinstance(value, tuple) and value:
                parts.append(f"{one.name}=<{len(value)}>")
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MediaSource(_Value):
    """Where the bytes of an image or audio part are.

    Attributes:
        media_type: one of the image or audio types.
        path: relative path, absolute path, URL or data URL.
        duration_sec: length in seconds; audio only.
    """

    shape: ClassVar[str] = "source"

    media_type: str
    path: str
    duration_sec: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContentPart(_Value):
    """One part of a message or a result.

    Attributes:
        type: ``text``, ``image`` or ``audio``.
        text: the text of a text part.
        source: the source of an image or audio part.
    """

    shape: ClassVar[str] = "part"

    type: str
    text: str | None = None
    source: MediaSource | None = None

    @property
    def is_media(self) -> bool:
        """Whether the part is an image or audio."""
        return self.type in {"image", "audio"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCall(_Value):
    """One call an agent step makes.

    Attributes:
        tool_call_id: what results name it by.
        function_name: the tool.
        arguments: an object, never JSON text.
        extra: open members.
    """

    shape: ClassVar[str] = "tool_call"

    tool_call_id: str
    function_name: str
    arguments: Mapping[str, Any]
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubagentTrajectoryRef(_Value):
    """A pointer to another document: embedded by id, or external by path.

    Attributes:
        trajectory_id: id of an embedded document.
        trajectory_path: file of an external one.
        session_id: a remark, never a key.
        extra: open members.
    """

    shape: ClassVar[str] = "ref"

    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ObservationResult(_Value):
    """One result within an observation.

    Attributes:
        source_call_id: the call of the same step that it answers.
        content: text, or parts.
        subagent_trajectory_ref: documents of delegated work.
        extra: open members.
    """

    shape: ClassVar[str] = "result"

    source_call_id: str | None = None
    content: str | tuple[ContentPart, ...] | None = None
    subagent_trajectory_ref: tuple[SubagentTrajectoryRef, ...] | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Observation(_Value):
    """What came back after a step.

    Attributes:
        results: in any order; several may answer one call.
    """

    shape: ClassVar[str] = "observation"

    results: tuple[ObservationResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Metrics(_Value):
    """What one step's model calls used.

    Attributes:
        prompt_tokens: input tokens, cached ones included.
        completion_tokens: output tokens, reasoning included.
        cached_tokens: the part of the prompt tokens that was cached.
        cost_usd: US dollars.
        prompt_token_ids: the tokens sent.
        completion_token_ids: the tokens received.
        logprobs: one number per completion token.
        extra: open members; anything else that was counted.
    """

    shape: ClassVar[str] = "metrics"

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FinalMetrics(_Value):
    """What a whole document used.

    Attributes:
        total_prompt_tokens: input tokens, cached ones included.
        total_completion_tokens: output tokens.
        total_cached_tokens: cached input tokens.
        total_cost_usd: US dollars.
        total_steps: steps; the notes say why when it is not the number of steps here.
        extra: open members.
    """

    shape: ClassVar[str] = "final_metrics"

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agent(_Value):
    """Who acted.

    Attributes:
        name: the harness.
        version: its version.
        model_name: the model of agent steps that name none.
        tool_definitions: tools, in OpenAI function shape by convention.
        extra: open members.
    """

    shape: ClassVar[str] = "agent"

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[Mapping[str, Any], ...] | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Step(_Value):
    """One turn.

    Attributes:
        step_id: 1, 2, 3 … in list order.
        source: ``system``, ``user`` or ``agent``.
        message: text, or parts.
        timestamp: ISO 8601.
        model_name: agent steps only.
        reasoning_effort: a word or a number; agent steps only.
        reasoning_content: agent steps only.
        tool_calls: agent steps only, an empty list included.
        observation: what came back.
        metrics: agent steps only.
        is_copied_context: whether the step was carried over from another context.
        llm_call_count: model calls behind it; 0 on an agent step: decided without a model.
        extra: open members.
    """

    shape: ClassVar[str] = "step"

    step_id: int
    source: str
    message: str | tuple[ContentPart, ...]
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trajectory(_Value):
    """One document: one linear run of one agent.

    Attributes:
        agent: who acted.
        steps: the turns, at least one.
        schema_version: ``ATIF-v1.N``.
        session_id: identity of the run; siblings and continuations may share it.
        trajectory_id: identity of this document.
        notes: free text.
        final_metrics: totals.
        continued_trajectory_ref: file of the next segment.
        extra: open members.
        subagent_trajectories: embedded documents, each with an id of its own.
    """

    shape: ClassVar[str] = "trajectory"

    agent: Agent
    steps: tuple[Step, ...]
    schema_version: str = SCHEMA_VERSION
    session_id: str | None = None
    trajectory_id: str | None = None
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: Mapping[str, Any] | None = None
    subagent_trajectories: tuple[Trajectory, ...] | None = None

    def documents(self) -> Iterator[Trajectory]:
        """This document and all embedded ones, parents before children, in order."""
        pending = [self]
        while pending:
            document = pending.pop()
            yield document
            pending.extend(reversed(document.subagent_trajectories or ()))

    def parts(self) -> Iterator[ContentPart]:
        """Every content part of this document's steps and results, in order."""
        for step in self.steps:
            if not isinstance(step.message, str):
                yield from step.message
            for result in step.observation.results if step.observation else ():
                if not isinstance(result.content, str):
                    yield from result.content or ()

    @property
    def has_multimodal_content(self) -> bool:
        """Whether a step or result of this document holds an image or audio part."""
        return any(part.is_media for part in self.parts())

    @property
    def has_unknown(self) -> bool:
        """Whether this document or an embedded one holds a member ATIF does not declare."""
        pending: list[Any] = [self]
        while pending:
            value = pending.pop()
            if isinstance(value, _Value):
                if value.unknown:
                    return True
                pending.extend(getattr(value, name) for name in SHAPES[value.shape])
            elif isinstance(value, tuple):
                pending.extend(value)
        return False


TYPES: Final[dict[str, type[_Value]]] = {
    one.shape: one
    for one in (
        Agent,
        ContentPart,
        FinalMetrics,
        MediaSource,
        Metrics,
        Observation,
        ObservationResult,
        Step,
        SubagentTrajectoryRef,
        ToolCall,
        Trajectory,
    )
}
"""The class of each shape."""


def blank(kind: Kind) -> Any:
    """What a required member is read as when it is missing: an empty value of its kind."""
    match kind:
        case Integer():
            return 0
        case Open():
            return {}
        case Listed():
            return ()
        case Object(shape):
            required = {name: m for name, m in SHAPES[shape].items() if m.required}
            values = {name: blank(member.kind) for name, member in required.items()}
            return TYPES[shape](**values, missing=frozenset(required))
        case Content() | _:
            return ""


def plain(value: _Value, *, nulls: bool = True) -> dict[str, Any]:
    """The JSON value of an object; open objects in it are shared, not copied."""
    root: dict[str, Any] = {}
    # Embedded documents may nest deeper than Python calls do, so they are put off.
    pending: list[tuple[_Value, dict[str, Any]]] = [(value, root)]
    while pending:
        _fill(*pending.pop(), pending, nulls)
    return root


def _fill(
    value: _Value,
    target: dict[str, Any],
    pending: list[tuple[_Value, dict[str, Any]]],
    nulls: bool,
) -> None:
    shape: Shape = SHAPES[value.shape]
    for name, member in shape.items():
        found = getattr(value, name)
        if name in value.nulls and _is_default(name, found, member.kind):
            if nulls:
                target[name] = None
        elif found is None or (name in value.missing and _is_default(name, found, member.kind)):
            continue
        else:
            target[name] = _plain(found, pending, nulls)
    target.update((name, member) for name, member in value.unknown.items() if name not in shape)


def _is_default(name: str, value: object, kind: Kind) -> bool:
    if value is None:
        return True
    if name == "schema_version":
        return value == SCHEMA_VERSION
    return bool(value == blank(kind))


def _plain(
    value: Any,
    pending: list[tuple[_Value, dict[str, Any]]],
    nulls: bool,
) -> Any:
    if isinstance(value, _Value):
        target: dict[str, Any] = {}
        pending.append((value, target))
        return target
    if isinstance(value, list | tuple):
        return [_plain(inner, pending, nulls) for inner in value]
    return value
