"""Names that Claude Code uses in its files. Spec: claude-code 2."""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "claude_code"
"""The name space of what the format has no place for."""

HARNESS: Final = "claude-code"
PROVIDER: Final = "anthropic"

USER: Final = "user"
ASSISTANT: Final = "assistant"
SYSTEM: Final = "system"
ATTACHMENT: Final = "attachment"
PROGRESS: Final = "progress"
TREE: Final = frozenset({USER, ASSISTANT, SYSTEM, ATTACHMENT, PROGRESS})
"""The records that form the tree of a conversation."""

SYNTHETIC: Final = "<synthetic>"
"""The model of an answer that no model gave."""

REQUEST: Final = "api-request"
SHAPE: Final = "api-request-shape"
BLOB: Final = "api-request-blob"

REPLACEMENT: Final = "content-replacement"
QUEUE: Final = "queue-operation"
SUMMARY: Final = "summary"
LAST_PROMPT: Final = "last-prompt"
COST: Final = "cost-state"
CUSTOM_TITLE: Final = "custom-title"
AI_TITLE: Final = "ai-title"
CONTINUED: Final = "continued-in"
DERIVED: Final = "derived-from"

FILE_COPIES: Final = frozenset({"file-history-snapshot", "file-history-delta"})
"""Undo copies of files: no conversation, and large."""

BOOKKEEPING: Final = frozenset(
    {
        "mode",
        "atis-latch",
        "tools-used",
        COST,
        LAST_PROMPT,
        SUMMARY,
        QUEUE,
        CUSTOM_TITLE,
        AI_TITLE,
        CONTINUED,
        DERIVED,
        "agent-name",
        "agent-color",
        "agent-setting",
        "tag",
        "pr-link",
        "permission-mode",
        "worktree-state",
        "relocated",
        REPLACEMENT,
        "api-request-resumed",
        "bridge-session",
        "session-owner",
        "frame-link",
        "history-suppression",
        "resume-head-vouch",
        "host-row",
    }
)
"""Records outside the tree that say something of the session as a whole."""

KNOWN: Final = TREE | BOOKKEEPING | FILE_COPIES | {REQUEST, SHAPE, BLOB}

ENVELOPE: Final = frozenset(
    {
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "timestamp",
        "message",
        "isSidechain",
        "userType",
        "cwd",
        "version",
        "gitBranch",
        "agentId",
        "slug",
    }
)
"""Members of a tree record that an entry says in its own words, or the session as a whole."""

MEMBERS: Final = ENVELOPE | {
    # user
    "toolUseResult",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "sourceToolUseID",
    "sourceToolAssistantUUID",
    "permissionMode",
    "origin",
    "forkedFrom",
    "promptSource",
    "toolDenialKind",
    "queueSkipAttachments",
    "turnCompanion",
    "turnOrigin",
    "turnPosition",
    "permissionDecision",
    "sandboxed",
    "rowSource",
    "sentAtMs",
    "imagePasteIds",
    "ownNote",
    "refusalRetry",
    "refusedMessageId",
    "hookText",
    "hookTextLead",
    "todos",
    "thinkingMetadata",
    "isMeta",
    "promptId",
    "entrypoint",
    "logicalParentUuid",
    "mcpMeta",
    # assistant
    "requestId",
    "isApiErrorMessage",
    "error",
    "apiErrorStatus",
    "apiError",
    "attributionAgent",
    "attributionSkill",
    "apiBlockIndex",
    "effort",
    "isAbortedMidStream",
    "perTurnEffort",
    "serverClassifierRequest",
    "thinkingDurationMs",
    "requestedModel",
    "thinkingDisplay",
    "requestRef",
    "requestSessionId",
    "promptCacheRequested",
    "toolInputStreamMs",
    "madeBy",
    # attachment, progress, system
    "attachment",
    "rendered",
    "renderedRole",
    "renderedBesideToolResult",
    "data",
    "toolUseID",
    "parentToolUseID",
    "subtype",
    "content",
    "level",
    "compactMetadata",
    "hookCount",
    "hookInfos",
    "hookErrors",
    "hookAdditionalContext",
    "preventedContinuation",
    "stopReason",
    "hasOutput",
    "commandRun",
    "retryInMs",
    "retryAttempt",
    "maxRetries",
    "source",
    "cause",
    "durationMs",
    "messageCount",
    "costUSD",
}
"""Members of tree records that some release is known to write."""

BLOCKS: Final = frozenset(
    {
        "text",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "search_result",
        "container_upload",
        "tool_reference",
    }
)
"""Types of content blocks that the Messages API is known to have."""

WARMUP: Final = "Warmup"
AGENT_TOOLS: Final = frozenset({"Task", "Agent"})
