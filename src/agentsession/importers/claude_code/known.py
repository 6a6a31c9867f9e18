"""What Claude Code is known to write in its messages, attachments and other records.

The members of the records of a conversation's tree are in :mod:`.names`. What models ask of
tools, what these are and returned beside their results, the parameters of requests and what a
failed one said have no shape here: they are kept whole.
Spec: claude-code 2, 4.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.claude_code import names
from agentsession.importers.unknown import Each, Kinds, Shape, shape

_BLOCK: Final = "type"
_MARKS: Final = {
    "caller": shape("type tool_id"),
    "cache_control": shape("type ttl scope"),
}

RESULT: Final = Kinds(
    "type",
    {
        **dict.fromkeys(names.BLOCKS),
        "text": shape(f"{_BLOCK} text citations", **_MARKS),
        "image": shape(f"{_BLOCK} source", **_MARKS),
        "document": shape(f"{_BLOCK} source title context citations", **_MARKS),
        "search_result": None,
        "tool_reference": None,
    },
    plain=True,
)
"""The blocks of a tool's result."""

CONTENT: Final = Kinds(
    "type",
    {
        **dict.fromkeys(names.BLOCKS),
        "text": shape(f"{_BLOCK} text citations", **_MARKS),
        "image": shape(f"{_BLOCK} source", **_MARKS),
        "document": shape(f"{_BLOCK} source title context citations", **_MARKS),
        "thinking": shape(f"{_BLOCK} thinking signature", **_MARKS),
        "redacted_thinking": shape(f"{_BLOCK} data", **_MARKS),
        "tool_use": shape(f"{_BLOCK} id name input", **_MARKS),
        "tool_result": shape(f"{_BLOCK} tool_use_id is_error", content=RESULT, **_MARKS),
    },
    plain=True,
)
"""The blocks of a message."""

USAGE: Final = shape(
    "input_tokens cache_creation_input_tokens cache_read_input_tokens output_tokens "
    "service_tier inference_geo iterations speed fallback_credit",
    cache_creation=shape("ephemeral_5m_input_tokens ephemeral_1h_input_tokens"),
    output_tokens_details=shape("thinking_tokens"),
    server_tool_use=shape("web_search_requests web_fetch_requests"),
)
"""What the API counts."""

COMPACTED: Final = shape(
    "trigger preTokens postTokens durationMs cumulativeDroppedTokens userContext "
    "messagesSummarized preCompactDiscoveredTools preCompactOrganizationsCoverStart",
    preservedSegment=shape("headUuid anchorUuid tailUuid"),
    preservedMessages=shape("anchorUuid uuids allUuids"),
)
"""What the boundary of a compaction tells of it."""

RENDERED: Final = shape("", content=CONTENT)
"""A text that an attachment put into a request, as it was worded."""

MESSAGE: Final = frozenset(
    {
        "id",
        "model",
        "role",
        "type",
        "content",
        "usage",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "container",
        "context_management",
        "diagnostics",
        "output_config",
    }
)
"""Members of a message."""

OUTPUT: Final = shape("effort")
"""How a message asks for its answer."""

ROLES: Final = frozenset({"user", "assistant", "system"})

SUBTYPES: Final = frozenset(
    {
        "compact_boundary",
        "microcompact_boundary",
        "local_command",
        "stop_hook_summary",
        "api_error",
        "informational",
        "turn_duration",
        "away_summary",
        "memory_saved",
        "bridge_status",
        "scheduled_task_fire",
        "model_refusal_fallback",
        "agents_killed",
        "init",
    }
)
"""What system records tell of."""


_DELTA: Final = "type addedTypes addedNames addedLines removedTypes removedNames isInitial"
_HOOK: Final = (
    "type hookName hookEvent toolUseID content command durationMs exitCode stdout stderr message"
)
_READ: Final = Kinds(
    "type",
    {
        **dict.fromkeys(("image", "notebook", "pdf", "parts", "file_unchanged")),
        "text": shape("type", file=shape("filePath content numLines startLine totalLines")),
    },
)
_BLOCKED: Final = shape("blockingError command")

ATTACHMENTS: Final[dict[str, Shape | None]] = {
    "skill_listing": shape("type content names skillCount isInitial digests"),
    "agent_listing_delta": shape(f"{_DELTA} builtInTypes builtInPluginTypes showConcurrencyNote"),
    "deferred_tools_delta": shape(
        f"{_DELTA} readdedNames wireHiddenNames pendingMcpServers failedMcpServers "
        "needsAuthMcpServers"
    ),
    **dict.fromkeys(("todo_reminder", "task_reminder"), shape("type content itemCount")),
    **dict.fromkeys(
        ("plan_mode", "plan_mode_exit"),
        shape("type reminderType planFilePath planExists isSubAgent"),
    ),
    "queued_command": shape(
        "type prompt commandMode source_uuid delivery_id hostsOwnTurn rowSource timestamp "
        "origin isMeta imagePasteIds"
    ),
    "file": shape(
        "type filename displayPath truncated", content=_READ, savedCopyFraming=shape("enveloped")
    ),
    "nested_memory": shape(
        "type path displayPath", content=shape("path type content contentDiffersFromDisk")
    ),
    "edited_text_file": shape("type filename displayPath snippet"),
    "directory": shape("type path displayPath content"),
    **dict.fromkeys(
        ("hook_success", "hook_additional_context"), shape(_HOOK, blockingError=_BLOCKED)
    ),
    **dict.fromkeys(
        ("hook_blocking_error", "hook_non_blocking_error"), shape(_HOOK, blockingError=_BLOCKED)
    ),
    **dict.fromkeys(
        ("hook_cancelled", "hook_error_during_execution"), shape(_HOOK, blockingError=_BLOCKED)
    ),
    **dict.fromkeys(
        ("hook_system_message", "hook_stopped_continuation"), shape(_HOOK, blockingError=_BLOCKED)
    ),
    "command_permissions": shape("type allowedTools model"),
    "ultrathink_effort": shape("type level"),
    "total_tokens_reminder": shape("type text"),
    "environment": shape(
        "type",
        snapshot=shape(
            "workingDirectory isWorktree isGitRepo additionalWorkingDirectories platform shell "
            "osVersion"
        ),
    ),
    "model": shape("type text", identity=shape("modelId marketingName knowledgeCutoff")),
    "date": shape("type date"),
    "session_context": shape("type", context=shape("gitStatus")),
    "instructions": shape("type", files=shape("path type content")),
    "remote_session_change": shape("type url commit pr managedCommit managedPr sendUserFileHint"),
    "prompt_snapshot": shape(
        "type systemPrompt cliPrefix systemTurns inlineTools keptReminders reminderFold "
        "contextRendering toolChangeHeader echoWireToolInputs",
        tools=shape(
            "name description",
            schema=shape("type name description input_schema strict defer_loading cache_control"),
        ),
    ),
    "deferred_tools_record": None,
    # Of releases nobody recorded these are known by name alone.
    **dict.fromkeys(
        (
            "selected_lines_in_ide",
            "opened_file_in_ide",
            "new_file",
            "compact_file_reference",
            "pdf_reference",
            "already_read_file",
            "edited_image_file",
            "diagnostics",
            "plan_mode_reentry",
            "plan_file_reference",
            "critical_system_reminder",
            "mcp_resource",
            "mcp_instructions_delta",
            "output_style",
            "token_usage",
            "budget_usd",
            "output_token_usage",
            "agent_mention",
            "task_status",
            "async_hook_response",
            "async_agent_status",
            "background_shell_status",
            "background_remote_session_status",
            "invoked_skills",
            "dynamic_skill",
            "verify_plan_reminder",
            "auto_mode",
            "auto_mode_exit",
            "date_change",
            "teammate_mailbox",
            "team_context",
            "memory",
            "relevant_memories",
            "todo",
            "ultramemory",
            "compaction_reminder",
        )
    ),
}
"""The members of each type of attachment; ``None`` where they are not known."""

_LOGGED: Final = "type sessionId agentId timestamp version"

NESTED: Final[dict[str, Shape]] = {
    "turnPosition": shape("promptIndex turnIndex"),
    "forkedFrom": shape("sessionId messageUuid"),
    "permissionDecision": shape("decision source reasonType ruleSource reasonCode"),
    "origin": shape("kind producer runId"),
    "commandRun": shape("command args"),
    "hookInfos": shape("command durationMs"),
    "error": shape(
        "message status requestId formatted connection isNetworkDown rateLimits noResponse "
        "headers requestID error type code cause name"
    ),
}
"""Members of tree records that hold objects. Older releases wrote the error of their library."""

_SPENT: Final = shape(
    "inputTokens outputTokens thinkingTokens cacheReadInputTokens cacheCreationInputTokens "
    "cacheCreationEphemeral5mInputTokens cacheCreationEphemeral1hInputTokens webSearchRequests "
    "costUSD contextWindow maxOutputTokens"
)
_SYSTEM: Final = Kinds("type", {"text": shape("type text", **_MARKS)}, plain=True)

OTHERS: Final[dict[str, Shape]] = {
    names.SUMMARY: shape("type summary leafUuid sessionId"),
    names.QUEUE: shape("type operation content reason commandUuid deliveryId sessionId timestamp"),
    names.LAST_PROMPT: shape("type lastPrompt leafUuid sessionId timestamp"),
    names.COST: shape(
        "type sessionId totalCostUSD totalAPIDuration totalAPIDurationWithoutRetries "
        "totalToolDuration totalDuration totalLinesAdded totalLinesRemoved startTime "
        "hasUnknownModelCost timestamp",
        modelUsage=Each(_SPENT),
    ),
    "mode": shape("type mode sessionId timestamp"),
    "atis-latch": shape("type atis sessionId timestamp"),
    "tools-used": shape("type tools sessionId timestamp"),
    names.CUSTOM_TITLE: shape("type customTitle sessionId timestamp"),
    names.AI_TITLE: shape("type aiTitle sessionId timestamp"),
    names.REQUEST: shape(
        f"{_LOGGED} id params shapeHash base keep tail requestDigest querySource withheld "
        "echoWireToolInputs account cut cutRequestDigest",
        cacheControl=shape("path", value=_MARKS["cache_control"]),
        thread=shape("type"),
    ),
    names.SHAPE: shape(f"{_LOGGED} shapeHash", shape=shape("tools", system=_SYSTEM)),
    names.BLOB: shape(f"{_LOGGED} hash message"),
}
"""Members of records outside the tree, where they are known."""
