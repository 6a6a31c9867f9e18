"""What Codex is known to write of a turn's surroundings: the sections of ``world_state``.

The messages of the turn say what a model is told of them. Spec: codex 4.
"""

from __future__ import annotations

from typing import Final

from agentsession.importers.unknown import Each, shape

STATE: Final = shape(
    "apps_instructions context_window_guidance environments_instructions git_attribution "
    "model_catalog multi_agent_usage_hint plugins_instructions top_level_tools",
    agents_md=shape("directory text"),
    collaboration_mode=shape("mode model instructions"),
    environments=shape(
        "current_date timezone filesystem subagents",
        environments=Each(shape("cwd status shell")),
    ),
    host_skills=shape("body includeInstructions"),
    managed_developer_instructions=shape(""),
    model=shape("model instructions"),
    multi_agent_mode=shape("mode usage_hint_hash"),
    permissions=shape("instructions approved_command_prefixes"),
    persistent_mode=shape(""),
    realtime=shape("active"),
    skills=shape("includeInstructions"),
)
"""The sections, and their members. What tools there are by name is the configuration's."""
