"""What Codex is known to write of a turn's surroundings: the sections of ``world_state``.

The messages of the turn say what a model is told of them. Spec: codex 4.
"""

from __future__ import annotations

import re
from typing import Final

from agentsession.importers.unknown import Each, shape

_DIGEST: Final = re.compile(r"[0-9a-f]{40}", re.ASCII)


class _Digests:
    """What stands beside the name of each tool: the digest of what it is."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and _DIGEST.fullmatch(word) is not None


class _Texts:
    """What stands beside the name of each group of tools: what it is for."""

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str)


STATE: Final = shape(
    "apps_instructions context_window_guidance environments_instructions git_attribution "
    "model_catalog multi_agent_usage_hint plugins_instructions",
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
    orchestrator_skills=shape("includeInstructions enabled"),
    permissions=shape("instructions approved_command_prefixes"),
    persistent_mode=shape(""),
    personality=shape("model personality"),
    realtime=shape("active"),
    skills=shape("includeInstructions"),
    tools=Each(shape(""), _Texts()),
    top_level_tools=Each(shape(""), _Digests()),
)
"""The sections, and their members. What tools there are by name is the configuration's."""
