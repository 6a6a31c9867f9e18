"""What Claude Code is known to write in its messages, attachments and other records.

The members of the records of a conversation's tree are in :mod:`.names`. What tools returned
beside their results and what hooks said has no shape here: it is kept whole.
Spec: claude-code 2, 4.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.claude_code import names
from agentsession.importers.unknown import Kinds, shape

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


def _members(told: str) -> frozenset[str]:
    return frozenset(told.split())


_DELTA: Final = "type addedTypes addedNames addedLines removedTypes removedNames isInitial"
_HOOK: Final = (
    "type hookName hookEvent toolUseID content command durationMs exitCode stdout stderr "
    "blockingError message"
)

ATTACHMENTS: Final[dict[str, frozenset[str] | None]] = {
    "skill_listing": _members("type content names skillCount isInitial digests"),
    "agent_listing_delta": _members(
        f"{_DELTA} builtInTypes builtInPluginTypes showConcurrencyNote"
    ),
    "deferred_tools_delta": _members(
        f"{_DELTA} readdedNames wireHiddenNames pendingMcpServers failedMcpServers "
        "needsAuthMcpServers"
    ),
    **dict.fromkeys(("todo_reminder", "task_reminder"), _members("type content itemCount")),
    **dict.fromkeys(
        ("plan_mode", "plan_mode_exit"),
        _members("type reminderType planFilePath planExists isSubAgent"),
    ),
    "queued_command": _members(
        "type prompt commandMode source_uuid delivery_id hostsOwnTurn rowSource timestamp "
        "origin isMeta imagePasteIds"
    ),
    "file": _members("type content filename displayPath savedCopyFraming truncated"),
    "nested_memory": _members("type content path displayPath"),
    "edited_text_file": _members("type filename displayPath snippet"),
    "directory": _members("type path displayPath content"),
    **dict.fromkeys(("hook_success", "hook_additional_context"), _members(_HOOK)),
    **dict.fromkeys(("hook_blocking_error", "hook_non_blocking_error"), _members(_HOOK)),
    **dict.fromkeys(("hook_cancelled", "hook_error_during_execution"), _members(_HOOK)),
    **dict.fromkeys(("hook_system_message", "hook_stopped_continuation"), _members(_HOOK)),
    "command_permissions": _members("type allowedTools model"),
    "ultrathink_effort": _members("type level"),
    "total_tokens_reminder": _members("type text"),
    "environment": _members("type snapshot"),
    "model": _members("type identity text"),
    "date": _members("type date"),
    "session_context": _members("type context"),
    "instructions": _members("type files"),
    "remote_session_change": _members(
        "type url commit pr managedCommit managedPr sendUserFileHint"
    ),
    "prompt_snapshot": _members(
        "type systemPrompt cliPrefix tools systemTurns inlineTools keptReminders reminderFold "
        "contextRendering toolChangeHeader echoWireToolInputs"
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

OTHERS: Final[dict[str, frozenset[str]]] = {
    names.SUMMARY: _members("type summary leafUuid sessionId"),
    names.QUEUE: _members(
        "type operation content reason commandUuid deliveryId sessionId timestamp"
    ),
    names.LAST_PROMPT: _members("type lastPrompt leafUuid sessionId timestamp"),
    names.COST: _members(
        "type sessionId totalCostUSD totalAPIDuration totalAPIDurationWithoutRetries "
        "totalToolDuration totalDuration totalLinesAdded totalLinesRemoved modelUsage startTime "
        "hasUnknownModelCost timestamp"
    ),
    "mode": _members("type mode sessionId timestamp"),
    "atis-latch": _members("type atis sessionId timestamp"),
    "tools-used": _members("type tools sessionId timestamp"),
    names.CUSTOM_TITLE: _members("type customTitle sessionId timestamp"),
    names.AI_TITLE: _members("type aiTitle sessionId timestamp"),
    names.REQUEST: _members(
        f"{_LOGGED} id params shapeHash base keep tail cacheControl requestDigest querySource "
        "thread withheld echoWireToolInputs"
    ),
    names.SHAPE: _members(f"{_LOGGED} shape shapeHash"),
    names.BLOB: _members(f"{_LOGGED} hash message"),
}
"""Members of records outside the tree, where they are known."""
