"""The V2 model: the ``data`` of ``session_message`` rows, and what is inside.

The preview engine of 1.17 to 1.19 wrote older members in the same place; they
are declared too. Spec: opencode 5.2, 5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.members import (
    Members,
    bool_member,
    json_member,
    list_member,
    string_member,
    view_member,
)
from agentsession.importers.opencode.v1 import ModelRef, Tokens, task_metadata

if TYPE_CHECKING:
    from agentsession.importers.opencode.v1 import TaskMetadata


class Time2(Members):
    """A V2 message's times, in milliseconds since 1970."""

    created = json_member("created")
    streamed = json_member("streamed")
    completed = json_member("completed")


class SessionError(Members):
    """V2's error: a type such as ``provider.rate-limit`` or ``aborted``, and a message."""

    type = string_member("type")
    message = string_member("message")
    status = json_member("status")


class ToolState2(Members):
    """A V2 tool's state, by ``status``; ``streaming`` holds its input as a string.

    The preview engine wrote ``pending`` for ``streaming``, and ``structured``,
    ``outputPaths`` and ``result`` beside the content.
    """

    status = string_member("status")
    input = json_member("input")
    content = list_member("content")
    error = view_member("error", SessionError)
    metadata = json_member("metadata")
    structured = json_member("structured")
    output_paths = list_member("outputPaths")
    result = json_member("result")

    def task(self) -> TaskMetadata:
        """Return what a subagent tool's metadata says of its child. Spec: opencode 5.3."""
        return task_metadata(self.metadata)


class Content2(Members):
    """One item of a V2 assistant's content: text, reasoning or a tool.

    ``state`` is the provider's state of a text or a reasoning, and a tool's own
    state, which :meth:`tool` decodes. The newest releases write provider states
    as ``native``; the preview engine wrote ``provider`` and ``providerMetadata``.
    """

    type = string_member("type")
    text = string_member("text")
    state = json_member("state")
    time = json_member("time")
    id = string_member("id")
    name = string_member("name")
    executed = bool_member("executed")
    provider_state = json_member("providerState")
    provider_result_state = json_member("providerResultState")
    native = json_member("native")
    provider = json_member("provider")
    provider_metadata = json_member("providerMetadata")

    def reasoning_done(self) -> bool:
        """Return whether a reasoning item completed; one without a time did."""
        if not isinstance(self.time, dict):
            return True
        return self.time.get("completed") is not None

    def tool(self) -> ToolState2 | None:
        """Return a tool item's state, ``None`` when the item is no tool or has no object."""
        if self.type != names.CONTENT_TOOL or not isinstance(self.state, dict):
            return None
        return ToolState2(self.state)


class Message2(Members):
    """The data of a V2 row; which members it has depends on the row's type.

    Spec: opencode 5.2.
    """

    metadata = json_member("metadata")
    time = view_member("time", Time2)
    # user, synthetic, system, skill
    text = string_member("text")
    description = string_member("description")
    files = list_member("files")
    agents = json_member("agents")
    skills = list_member("skills")
    skill = string_member("skill")
    name = string_member("name")
    # shell
    shell_id = string_member("shellID")
    call_id = string_member("callID")
    command = string_member("command")
    status = string_member("status")
    exit = json_member("exit")
    output = json_member("output")
    # assistant, and the switches
    agent = string_member("agent")
    model = view_member("model", ModelRef)
    previous = json_member("previous")
    content = list_member("content")
    snapshot = json_member("snapshot")
    finish = string_member("finish")
    raw_finish = string_member("rawFinish")
    provider_state = json_member("providerState")
    native = json_member("native")
    cost = json_member("cost")
    tokens = view_member("tokens", Tokens)
    error = view_member("error", SessionError)
    retry = json_member("retry")
    # compaction
    reason = string_member("reason")
    summary = string_member("summary")
    recent = string_member("recent")
    provider_context = json_member("providerContext")
    # location-switched
    location = json_member("location")
    project_id = string_member("projectID")
    subpath = string_member("subpath")
    # idle
    outcome = string_member("outcome")

    def contents(self) -> tuple[Content2 | None, ...]:
        """Return the content's items as views, ``None`` for each that is no object."""
        return tuple(Content2(c) if isinstance(c, dict) else None for c in self.content)


def provider_state(item: Content2 | Message2) -> object:
    """Return the provider's state of an item, in the newest spelling or an older one.

    ``native`` wins; a text or a reasoning had ``state``, all others
    ``providerState``; ``None`` when there is none. Spec: opencode 5.2.
    """
    if item.native is not None:
        native: object = item.native
        return native
    if isinstance(item, Content2) and item.type in {names.CONTENT_TEXT, names.CONTENT_REASONING}:
        return item.state if values.truthy(item.state) else item.provider_metadata
    state: object = item.provider_state
    return state
