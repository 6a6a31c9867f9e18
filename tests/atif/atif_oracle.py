"""A second, independent statement of the ATIF v1.8 rules, as pydantic models.

Harbor's rules are pydantic models; so that pydantic's own lax reading of numbers, booleans and
unions is part of the comparison, the rules are written down here once more in pydantic.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

_ALIASES = {
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}


def _plain_audio(value: object) -> object:
    if not isinstance(value, str):
        return value
    value = value.strip().lower()
    return _ALIASES.get(value, value)


def _iso(value: object) -> object:
    if isinstance(value, str):
        datetime.fromisoformat(value.replace("Z", "+00:00"))  # noqa: FURB162
    return value


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


Open = dict[str, Any]
Count = Annotated[int, Field(ge=0)]
ImageType = Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
AudioType = Literal[
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
]
Version = Literal[
    "ATIF-v1.0",
    "ATIF-v1.1",
    "ATIF-v1.2",
    "ATIF-v1.3",
    "ATIF-v1.4",
    "ATIF-v1.5",
    "ATIF-v1.6",
    "ATIF-v1.7",
    "ATIF-v1.8",
]


class ImageSource(Closed):
    media_type: ImageType
    path: str


class AudioSource(Closed):
    media_type: Annotated[AudioType, BeforeValidator(_plain_audio)]
    path: str
    duration_sec: Annotated[float, Field(ge=0)] | None = None


class Part(Closed):
    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: ImageSource | AudioSource | None = None

    @model_validator(mode="after")
    def _members(self) -> Self:
        if self.type == "text":
            fits = self.text is not None and self.source is None
        else:
            kind = ImageSource if self.type == "image" else AudioSource
            fits = self.text is None and isinstance(self.source, kind)
        if not fits:
            raise ValueError("members do not fit the type")
        return self


class Ref(Closed):
    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: Open | None = None

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if self.trajectory_id is None and self.trajectory_path is None:
            raise ValueError("leads nowhere")
        return self


class Result(Closed):
    source_call_id: str | None = None
    content: str | list[Part] | None = None
    subagent_trajectory_ref: list[Ref] | None = None
    extra: Open | None = None


class Observation(Closed):
    results: list[Result]


class Call(Closed):
    tool_call_id: str
    function_name: str
    arguments: Open
    extra: Open | None = None


class Metrics(Closed):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: Open | None = None


class FinalMetrics(Closed):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: Count | None = None
    extra: Open | None = None


class Agent(Closed):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[Open] | None = None
    extra: Open | None = None


class Step(Closed):
    step_id: Annotated[int, Field(ge=1)]
    timestamp: Annotated[str, BeforeValidator(_iso)] | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: str | list[Part]
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None
    extra: Open | None = None

    @model_validator(mode="after")
    def _by_source(self) -> Self:
        of_agent = [
            self.model_name,
            self.reasoning_effort,
            self.reasoning_content,
            self.tool_calls,
            self.metrics,
        ]
        if self.source != "agent" and any(value is not None for value in of_agent):
            raise ValueError("for agent steps only")
        modelled = self.metrics is not None or self.reasoning_content is not None
        if self.source == "agent" and self.llm_call_count == 0 and modelled:
            raise ValueError("no model was called")
        return self


class Trajectory(Closed):
    schema_version: Version = "ATIF-v1.8"
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: Annotated[list[Step], Field(min_length=1)]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: Open | None = None
    subagent_trajectories: list[Trajectory] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for position, step in enumerate(self.steps, start=1):
            if step.step_id != position:
                raise ValueError("steps are not numbered in order")
            calls = {call.tool_call_id for call in step.tool_calls or []}
            results = step.observation.results if step.observation else []
            if any(r.source_call_id not in {None, *calls} for r in results):
                raise ValueError("a result of no call")
        ids = [child.trajectory_id for child in self.subagent_trajectories or []]
        if None in ids or len(set(ids)) < len(ids):
            raise ValueError("embedded documents need ids of their own")
        return self


def accepts(value: object) -> bool:
    """Whether the models take a JSON value."""
    try:
        Trajectory.model_validate(value)
    except ValidationError:
        return False
    return True
