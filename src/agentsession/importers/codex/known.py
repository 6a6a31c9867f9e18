"""What Codex is known to write: the members of its lines, payloads and items.

What tools returned or are (``output``, ``tools``), and events that no recording holds, have no
shape here: they are kept whole, or left out whole. Spec: codex 2 to 4, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agentsession.importers.codex import lines
from agentsession.importers.codex.lines import Line, mapping, string
from agentsession.importers.codex.worlds import STATE
from agentsession.importers.unknown import Each, Kinds, Shape, Strange, shape, strange

_OF_ITEM: Final = "type id status metadata"
_PASSED: Final = {
    "internal_chat_message_metadata_passthrough": shape(
        "turn_id create_time content_item_kinds",
        content_item_metadata=shape(
            "", provenance=shape("type hook from_additional_requirements namespace")
        ),
    )
}
_TEXT: Final = shape("type text")
_PARTS: Final = Kinds(
    "type",
    {
        "input_text": _TEXT,
        "output_text": shape("type text annotations logprobs"),
        "text": _TEXT,
        "reasoning_text": _TEXT,
        "summary_text": _TEXT,
        "refusal": shape("type refusal"),
        "input_image": shape("type image_url detail file_id"),
        "input_file": shape("type file_id file_data file_url filename detail"),
        "input_audio": shape("type audio_url input_audio data format"),
        "encrypted_content": shape("type encrypted_content"),
    },
)
_SNAPSHOT: Final = "ghost_snapshot"
_CALL: Final = f"{_OF_ITEM} call_id name namespace"

_SEARCH: Final = shape("type query queries url pattern")
_ITEMS: Final[dict[str, Shape]] = {
    "message": shape(f"{_OF_ITEM} role phase end_turn", content=_PARTS, **_PASSED),
    "reasoning": shape(f"{_OF_ITEM} encrypted_content", summary=_PARTS, content=_PARTS, **_PASSED),
    "function_call": shape(f"{_CALL} arguments", **_PASSED),
    "function_call_output": shape(f"{_CALL} output", **_PASSED),
    "custom_tool_call": shape(f"{_CALL} input", **_PASSED),
    "custom_tool_call_output": shape(f"{_CALL} output", **_PASSED),
    "web_search_call": shape(_OF_ITEM, action=_SEARCH, **_PASSED),
    "local_shell_call": shape(f"{_OF_ITEM} call_id action", **_PASSED),
    "image_generation_call": shape(f"{_OF_ITEM} revised_prompt result", **_PASSED),
    "tool_search_call": shape(f"{_CALL} execution arguments", **_PASSED),
    "tool_search_output": shape(f"{_CALL} execution tools", **_PASSED),
    "compaction": shape(f"{_OF_ITEM} encrypted_content", **_PASSED),
    _SNAPSHOT: shape(
        _OF_ITEM,
        ghost_commit=shape("id parent preexisting_untracked_files preexisting_untracked_dirs"),
        **_PASSED,
    ),
    "additional_tools": shape(f"{_OF_ITEM} role tools", **_PASSED),
    "agent_message": shape(f"{_OF_ITEM} author recipient", content=_PARTS, **_PASSED),
}

_COUNTS: Final = shape(
    "input_tokens cached_input_tokens cache_write_input_tokens output_tokens "
    "reasoning_output_tokens total_tokens"
)
_WINDOW: Final = shape("used_percent window_minutes resets_at resets_in_seconds")
_LIMITS: Final = shape(
    "limit_id limit_name plan_type rate_limit_reached_type spend_control_reached "
    "primary_used_percent primary_window_minutes primary_to_secondary_ratio_percent "
    "secondary_used_percent secondary_window_minutes",
    primary=_WINDOW,
    secondary=_WINDOW,
    credits=shape("has_credits unlimited balance"),
    individual_limit=shape("limit used remaining_percent resets_at"),
)
_COLLABORATION: Final = shape(
    "mode", settings=shape("model reasoning_effort developer_instructions")
)
_POLICIES: Final = {
    "sandbox_policy": shape(
        "type mode writable_roots network_access exclude_tmpdir_env_var exclude_slash_tmp"
    ),
    "permission_profile": shape("type network file_system"),
}
_SETTINGS: Final = shape(
    "cwd model model_provider_id service_tier approval_policy approvals_reviewer "
    "requested_approvals_reviewer active_permission_profile "
    "reasoning_effort reasoning_summary personality disabled_plugin_ids runtime_workspace_roots",
    collaboration_mode=_COLLABORATION,
    **_POLICIES,
)
_TRIGGERED: Final = shape("turn_id turn_trigger parent_turn_id initiating_agent_path root_turn_id")
_TURN: Final = "type turn_id root_turn_id started_at trace_id"
_EVENTS: Final[dict[str, Shape]] = {
    "token_count": shape(
        "type",
        rate_limits=_LIMITS,
        info=shape(
            "model_context_window last_usage_includes_reasoning",
            total_token_usage=_COUNTS,
            last_token_usage=_COUNTS,
        ),
    ),
    **dict.fromkeys(
        ("task_started", "turn_started"),
        shape(f"{_TURN} model_context_window collaboration_mode_kind", turn_attribution=_TRIGGERED),
    ),
    **dict.fromkeys(
        ("task_complete", "turn_complete"),
        shape(
            f"{_TURN} last_agent_message completed_at duration_ms time_to_first_token_ms",
            error=shape("message codex_error_info additional_details"),
        ),
    ),
    "turn_aborted": shape(f"{_TURN} reason completed_at duration_ms"),
    "thread_rolled_back": shape("type num_turns"),
    "thread_name_updated": shape("type thread_id thread_name name"),
    "thread_settings_applied": shape("type thread_id", thread_settings=_SETTINGS),
    "user_message": shape(
        "type message kind images local_images image_order audio local_audio text_elements "
        "client_id"
    ),
    "agent_message": shape("type message phase memory_citation"),
    "agent_reasoning": shape("type text"),
    "agent_reasoning_raw_content": shape("type text"),
    "agent_reasoning_section_break": shape("type item_id summary_index"),
    "context_compacted": shape("type"),
    "item_completed": shape("type item thread_id turn_id started_at_ms completed_at_ms"),
}

_SHOWN_PARTS: Final = Kinds(
    "type",
    {
        "text": shape("type text text_elements"),
        "Text": _TEXT,
        **dict.fromkeys(("image", "local_image", "audio", "local_audio", "skill", "mention")),
    },
)
_STATES: Final = frozenset(
    {"pending_init", "running", "interrupted", "completed", "errored", "shutdown", "not_found"}
)
_REACHED: Final = shape("completed errored interrupted")
_REVIEWED: Final = shape(
    "overall_correctness overall_explanation overall_confidence_score",
    findings=shape(
        "title body confidence_score priority",
        code_location=shape("absolute_file_path", line_range=shape("start end")),
    ),
)
_SHOWN: Final[dict[str, Shape]] = {
    "UserMessage": shape("type id client_id", content=_SHOWN_PARTS),
    "AgentMessage": shape("type id phase memory_citation", content=_SHOWN_PARTS),
    "Reasoning": shape("type id summary_text raw_content"),
    "CommandExecution": shape(
        "type id process_id command cwd source status aggregated_output stdout stderr "
        "formatted_output interaction_input exit_code",
        duration=shape("secs nanos"),
        parsed_cmd=shape("type cmd name path query"),
    ),
    "CollabAgentToolCall": shape(
        "type id tool status sender_thread_id receiver_thread_ids prompt model reasoning_effort",
        receiver_agents=shape("thread_id agent_nickname agent_role"),
        agents_states=Each(_REACHED, _STATES),
    ),
    "WebSearch": shape("type id query", action=_SEARCH),
    "ImageView": shape("type id path"),
    "ContextCompaction": shape("type id"),
    "EnteredReviewMode": shape(
        "type id user_facing_hint", target=shape("type branch sha title instructions")
    ),
    "ExitedReviewMode": shape("type id", review_output=_REVIEWED),
}
"""The items of ``item_completed`` that recordings hold. Others are kept or left out whole."""

_SPAWNED: Final = shape("parent_thread_id depth agent_path agent_nickname agent_role")
_RECORDED: Final = shape(
    "type response_id session_id thread_id turn_id root_turn_id",
    usage=_COUNTS,
    turn_token_usage=_COUNTS,
    thread_token_usage=_COUNTS,
)
_METADATA: Final = shape(
    "history_sequence sampled_through_sequence client_authored user_input_order "
    "fallback_token_limit_override model_search_state compaction_output "
    "compaction_without_file_error_sources",
    mcp_attribution=shape(
        "status error_reason", sources=shape("server_name tool_name first_turn_id")
    ),
    retained_source=shape("revision complete", id=shape("message_id turn_id role")),
)
_GUARDED: Final = {
    kind: Shape(
        known.members | {"guardian_metadata"}, (*known.inner, ("guardian_metadata", _METADATA))
    )
    for kind, known in _ITEMS.items()
}
_RETAINED: Final = shape("revision order turn_id message_id text complete")
_PAYLOADS: Final[dict[str, Shape]] = {
    lines.META: shape(
        "type id timestamp cwd originator cli_version instructions model_provider "
        "forked_from_id session_id history_mode multi_agent_version thread_source "
        "parent_thread_id agent_nickname agent_role agent_path agent_type "
        "forked_from_ordinal_exclusive subagent_history_start_ordinal runtime_workspace_roots "
        "account_scoped memory_mode dynamic_tools record_type",
        git=shape("commit_hash branch repository_url"),
        base_instructions=shape("text", provenance=shape("type model")),
        context_window=shape("window_id"),
        history_base=shape("thread_id end_ordinal_exclusive end_byte_offset"),
        source=shape("", subagent=shape("review compact", thread_spawn=_SPAWNED)),
    ),
    lines.CONTEXT: shape(
        "type turn_id root_turn_id trace_id cwd workspace_roots approval_policy "
        "network file_system_sandbox_policy model comp_hash effort summary "
        "personality realtime_active multi_agent_version user_instructions "
        "base_instructions developer_instructions final_output_json_schema current_date timezone "
        "approvals_reviewer disabled_plugin_ids windows_sandbox_level model_provider_id",
        collaboration_mode=_COLLABORATION,
        truncation_policy=shape("mode limit"),
        **_POLICIES,
    ),
    lines.COMPACTED: shape(
        "type message window_id window_number first_window_id previous_window_id "
        "compaction_response_id",
        guardian_history=Kinds("type", _GUARDED),
        replacement_history=Kinds("type", _ITEMS),
        replacement_history_metadata=_METADATA,
        latest_token_usage_record=_RECORDED,
        resume_metadata=shape(
            "multi_agent_version last_started_turn_id",
            dynamic_tools=shape("thread_id tools"),
            turn_attribution=_TRIGGERED,
            previous_turn_settings=shape("model comp_hash realtime_active"),
        ),
        retained_context=shape(
            "verified_answers incomplete user_messages_incomplete assistant_messages_incomplete "
            "next_order",
            user_messages=_RETAINED,
            assistant_messages=_RETAINED,
        ),
    ),
    lines.USAGE: _RECORDED,
    lines.WORLD: shape("type full", state=STATE),
    lines.AGENTS: shape("type trigger_turn"),
}

_HELD: Final[dict[str, tuple[str, ...]]] = {
    lines.ITEM: ("",),
    lines.CONTEXT: ("",),
    lines.COMPACTED: ("",),
    lines.META: ("",),
    lines.USAGE: ("usage.",),
    lines.EVENT: (),
    lines.WORLD: (),
    lines.AGENTS: (),
}
"""Under which beginnings of places an entry of the line holds what is not known."""

_LEFT: Final = ("base_instructions.", "replacement_history_metadata[")
"""Under which no entry does."""

_HELD_OF_COPIES: Final = {**_HELD, lines.META: (), lines.USAGE: ()}
"""The same of lines that were copied from another thread."""


def unknown_in(line: Line, *, copied: bool = False) -> Iterator[tuple[Strange, bool]]:
    """Yield what is not known in a line, and whether an entry of the line holds it.

    Args:
        line: the line. An event of a kind that no recording holds is not looked into.
        copied: it was copied from another thread.
    """
    for name, value in line.beside:
        yield Strange(name, name, value), False
    known = _shape_of(line)
    if known is not None:
        held = (_HELD_OF_COPIES if copied else _HELD)[line.kind]
        for one in strange(line.payload, known):
            is_held = one.place.startswith(held) and not one.place.startswith(_LEFT)
            yield _under("payload", one), is_held and line.name != _SNAPSHOT
        if line.name == "item_completed":
            yield from ((_under("payload", one), False) for one in _in_shown(line))
    if line.metadata_text:
        for one in strange(line.metadata, _METADATA):
            yield _under("metadata", one), True


def _in_shown(line: Line) -> list[Strange]:
    item = mapping(line.payload.get("item"))
    known = _SHOWN.get(string(item.get("type")))
    return [] if known is None else strange(item, known, "item")


def _shape_of(line: Line) -> Shape | None:
    if line.kind == lines.ITEM:
        return _ITEMS.get(line.name)
    if line.kind == lines.EVENT:
        return _EVENTS.get(line.name)
    return _PAYLOADS.get(line.kind)


def _under(member: str, one: Strange) -> Strange:
    return one._replace(name=f"{member}.{one.name}", place=f"{member}.{one.place}")
