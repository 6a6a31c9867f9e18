"""Every name spans carry: our own, and those of one version of the GenAI conventions.

This is the only module that names a convention, so that another version of them is a
change here and in :mod:`agentsession.otel.attributes` alone. The GenAI conventions are those of
release 1.41.0 of the OpenTelemetry semantic conventions; with 1.42.0 they moved elsewhere.

Spec: otel B.1, decision F.
"""

from __future__ import annotations

from typing import Final

CONVENTIONS: Final = "1.41.0"
"""The release of the OpenTelemetry semantic conventions the names are taken from."""

SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{CONVENTIONS}"
"""What a tracer gives as its schema when it emits these names."""

# Span names, and the beginnings of those that go on with a model or a tool.
SESSION_SPAN: Final = "agentsession.session"
RUN_SPAN: Final = "agentsession.run"
COMPACTION_SPAN: Final = "agentsession.compaction"
BRANCH_SPAN: Final = "agentsession.branch"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

# Event names.
DECISION_EVENT: Final = "decision"
ENV_EVENT: Final = "env"
OUTCOME_EVENT: Final = "outcome"
LINK_EVENT: Final = "link"

# Our own attributes.
SESSION_ID: Final = "session.id"
ENTRY_ID: Final = "agentsession.entry.id"
FORMAT: Final = "agentsession.format"
HARNESS_NAME: Final = "agentsession.harness.name"
HARNESS_VERSION: Final = "agentsession.harness.version"
NAME: Final = "agentsession.name"
RESUMED: Final = "agentsession.resumed"
RUN_ID: Final = "agentsession.run.id"
RUN_SOURCE: Final = "agentsession.run.source"
RUN_TRIGGER: Final = "agentsession.run.trigger"
RUN_TRIGGER_KIND: Final = "agentsession.run.trigger.kind"
RUN_TRIGGER_REF: Final = "agentsession.run.trigger.ref"
RUN_TRIGGER_SOURCE: Final = "agentsession.run.trigger.source"
RUN_REASON: Final = "agentsession.run.reason"
RUN_CAUSE: Final = "agentsession.run.cause"
RUN_PENDING: Final = "agentsession.run.pending"
CALL_STATE: Final = "agentsession.call.state"
ARGS_REWRITTEN: Final = "agentsession.call.args_rewritten"
REQUEST_HASH: Final = "agentsession.request_hash"
BRANCH_FROM: Final = "agentsession.branch.from"
FIRST_KEPT: Final = "agentsession.compaction.first_kept"
TOKENS_BEFORE: Final = "agentsession.compaction.tokens_before"
SUBSESSION: Final = "agentsession.subsession"
VERDICT: Final = "agentsession.decision.verdict"
DECIDED_BY: Final = "agentsession.decision.by"
DECISION_REASON: Final = "agentsession.decision.reason"
OUTCOME_KIND: Final = "agentsession.outcome.kind"
OUTCOME_TARGET: Final = "agentsession.outcome.target"
OUTCOME_SCORE: Final = "agentsession.outcome.score"
OUTCOME_PASS: Final = "agentsession.outcome.pass"  # noqa: S105 - no password
LINK_REL: Final = "agentsession.link.rel"
LINK_SESSION: Final = "agentsession.link.session"
CWD: Final = "cwd"
WORKSPACE_KIND: Final = "workspace.kind"
WORKSPACE_REF: Final = "workspace.ref"

# On a span link, and its values.
LINK: Final = "agentsession.link"
PREVIOUS_TURN: Final = "previous_turn"
PRODUCED_BY: Final = "produced_by"

# A run another start closed.
CUT_OFF: Final = "cut_off"

# A call that a decision rejected and an output closed.
REJECTED: Final = "rejected"

# The GenAI conventions, and the general ones they lean on.
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
FUNCTION: Final = "function"
ERROR_TYPE: Final = "error.type"
OTHER_ERROR: Final = "_OTHER"

# What was said: only on request.
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
