"""The V1 model: session, message and part objects of the tree and of the first tables.

A tree's file holds an object whole; a row's ``data`` holds it without the ids
that the row's columns carry. Spec: opencode 3, 4.1, 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.members import (
    Members,
    bool_member,
    json_member,
    list_member,
    string_member,
    view_member,
)


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """What a tool state's metadata says of the sub-agent the tool ran.

    ``session_id`` is the child session, empty when it is not known;
    ``background`` says that the child ran on after the call returned.
    Spec: opencode 4.3, 5.3.
    """

    session_id: str
    background: bool
    parent_session_id: str = ""
    model: ModelRef | None = None


class ModelRef(Members):
    """A model reference: V1's ``{providerID, modelID, variant}``, V2's with ``id``."""

    provider_id = string_member("providerID")
    model_id = string_member("modelID")
    id = string_member("id")
    variant = string_member("variant")


class Cache(Members):
    """A token count's cache reads and writes."""

    read = json_member("read")
    write = json_member("write")


class Tokens(Members):
    """The tokens of one step; ``input`` counts neither cache reads nor cache writes."""

    total = json_member("total")
    input = json_member("input")
    output = json_member("output")
    reasoning = json_member("reasoning")
    cache = view_member("cache", Cache)


class SessionTime(Members):
    """A V1 session's times, in milliseconds since 1970."""

    created = json_member("created")
    updated = json_member("updated")
    compacting = json_member("compacting")
    archived = json_member("archived")


class SessionFile(Members):
    """A session file of the tree. Spec: opencode 3."""

    id = string_member("id")
    slug = string_member("slug")
    project_id = string_member("projectID")
    workspace_id = string_member("workspaceID")
    directory = string_member("directory")
    path = string_member("path")
    parent_id = string_member("parentID")
    title = string_member("title")
    version = string_member("version")
    agent = string_member("agent")
    model = view_member("model", ModelRef)
    revert = json_member("revert")
    time = view_member("time", SessionTime)


class MessageTime(Members):
    """A V1 message's times, in milliseconds; no ``completed`` when it never finished."""

    created = json_member("created")
    completed = json_member("completed")


class MessageError(Members):
    """A V1 assistant message's error: a name and its data. Spec: opencode 7."""

    name = string_member("name")
    data = json_member("data")

    @property
    def message(self) -> str:
        """The error's ``data.message``, empty when it has none."""
        return values.metadata_string(self.data, "message")


class Message(Members):
    """A V1 message's info, a user's or an assistant's by ``role``. Spec: opencode 4.1."""

    id = string_member("id")
    session_id = string_member("sessionID")
    role = string_member("role")
    time = view_member("time", MessageTime)
    # A user message's.
    agent = string_member("agent")
    model = view_member("model", ModelRef)
    # A string on a user message; an array of strings on an assistant one of 1.0.0.
    system = json_member("system")
    tools = json_member("tools")
    format = json_member("format")
    variant = string_member("variant")
    # An object on a user message, true on an assistant one.
    summary = json_member("summary")
    # An assistant message's.
    parent_id = string_member("parentID")
    model_id = string_member("modelID")
    provider_id = string_member("providerID")
    mode = string_member("mode")
    path = json_member("path")
    cost = json_member("cost")
    tokens = view_member("tokens", Tokens)
    error = view_member("error", MessageError)
    finish = string_member("finish")
    structured = json_member("structured")

    @property
    def is_summary(self) -> bool:
        """Whether this is an assistant message that holds a compaction's summary."""
        summary = self.value.get("summary")
        told = summary is not None and values.truthy(summary)
        return told and self.role == names.ROLE_ASSISTANT


class ToolTime(Members):
    """A tool state's times; ``compacted`` is when the output was pruned."""

    start = json_member("start")
    end = json_member("end")
    compacted = json_member("compacted")


class ToolState(Members):
    """A V1 tool part's state, by ``status``. Spec: opencode 4.2."""

    status = string_member("status")
    input = json_member("input")
    raw = string_member("raw")
    output = string_member("output")
    title = string_member("title")
    metadata = json_member("metadata")
    time = view_member("time", ToolTime)
    error = string_member("error")
    attachments = list_member("attachments")

    def compacted(self) -> int | None:
        """Return when a completed state's output was pruned, in milliseconds, else ``None``.

        Every later request was sent a placeholder. Spec: opencode 6.3.
        """
        if self.status != names.TOOL_COMPLETED or self.time is None:
            return None
        return values.millis(self.time.compacted) or None

    def interrupted(self) -> str | None:
        """Return the output that an interrupted call was sent with, else ``None``.

        An errored state carries it as ``metadata.output`` beside
        ``metadata.interrupted``. Spec: opencode 6.3.
        """
        if self.status != names.TOOL_ERROR or not values.metadata_bool(
            self.metadata, "interrupted"
        ):
            return None
        output = values.member(self.metadata, "output")
        return output if isinstance(output, str) else None

    def task(self) -> TaskMetadata:
        """Return what a task tool's metadata says of its child session. Spec: opencode 4.3."""
        return task_metadata(self.metadata)


class Part(Members):
    """One part of a V1 message, by ``type``. Spec: opencode 4.2."""

    id = string_member("id")
    session_id = string_member("sessionID")
    message_id = string_member("messageID")
    type = string_member("type")
    # text and reasoning; on a tool, metadata is that of the call.
    text = string_member("text")
    synthetic = bool_member("synthetic")
    ignored = bool_member("ignored")
    time = json_member("time")
    metadata = json_member("metadata")
    # file
    mime = string_member("mime")
    filename = string_member("filename")
    url = string_member("url")
    source = json_member("source")
    # agent
    name = string_member("name")
    # compaction
    auto = bool_member("auto")
    overflow = bool_member("overflow")
    tail_start_id = string_member("tail_start_id")
    # subtask
    prompt = string_member("prompt")
    description = string_member("description")
    agent = string_member("agent")
    model = json_member("model")
    command = string_member("command")
    # retry
    attempt = json_member("attempt")
    error = json_member("error")
    # step-start, step-finish, snapshot, patch
    snapshot = string_member("snapshot")
    reason = string_member("reason")
    cost = json_member("cost")
    tokens = view_member("tokens", Tokens)
    hash = string_member("hash")
    files = json_member("files")
    # tool
    call_id = string_member("callID")
    tool = string_member("tool")
    state = view_member("state", ToolState)


def child_of(metadata: object) -> str:
    """Return the session of the sub-agent that a tool state's metadata names, empty for none."""
    if not isinstance(metadata, dict):
        return ""
    return values.string(metadata.get("sessionId")) or values.string(metadata.get("sessionID"))


def task_metadata(metadata: object) -> TaskMetadata:
    """Return what a tool state's metadata says of a sub-agent, in either model's spelling."""
    model = values.member(metadata, "model")
    return TaskMetadata(
        session_id=child_of(metadata),
        background=values.metadata_bool(metadata, "background")
        or values.metadata_string(metadata, "status") == names.TOOL2_RUNNING,
        parent_session_id=values.metadata_string(metadata, "parentSessionId"),
        model=ModelRef(model) if isinstance(model, dict) else None,
    )
