"""The words OpenCode writes: directory, role, part, row, state and error names.

They are plain strings, because a reader keeps words it has never seen:
``is_known_part`` and ``is_known_type`` tell whether a word is one of these.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

DIR_DATA: Final = "opencode"
"""The name of every data directory of OpenCode."""

DIR_STORAGE: Final = "storage"
DIR_SESSION: Final = "session"
DIR_MESSAGE: Final = "message"
DIR_PART: Final = "part"
DIR_PROJECT: Final = "project"

DATABASE_NAME: Final = "opencode.db"
"""The database that releases from 1.2 on keep in the data directory."""

PREVIEW_DATABASE_NAME: Final = "opencode-next.db"
"""The database of the 2.x preview, whose schema is another one."""

ROLE_USER: Final = "user"
ROLE_ASSISTANT: Final = "assistant"

PART_TEXT: Final = "text"
PART_REASONING: Final = "reasoning"
PART_FILE: Final = "file"
PART_AGENT: Final = "agent"
PART_COMPACTION: Final = "compaction"
PART_SUBTASK: Final = "subtask"
PART_RETRY: Final = "retry"
PART_STEP_START: Final = "step-start"
PART_STEP_FINISH: Final = "step-finish"
PART_SNAPSHOT: Final = "snapshot"
PART_PATCH: Final = "patch"
PART_TOOL: Final = "tool"

TOOL_PENDING: Final = "pending"
TOOL_RUNNING: Final = "running"
TOOL_COMPLETED: Final = "completed"
TOOL_ERROR: Final = "error"

TYPE_USER: Final = "user"
TYPE_SYNTHETIC: Final = "synthetic"
TYPE_SYSTEM: Final = "system"
TYPE_SKILL: Final = "skill"
TYPE_SHELL: Final = "shell"
TYPE_ASSISTANT: Final = "assistant"
TYPE_COMPACTION: Final = "compaction"
TYPE_AGENT_SWITCHED: Final = "agent-switched"
TYPE_MODEL_SWITCHED: Final = "model-switched"
TYPE_LOCATION_SWITCHED: Final = "location-switched"
TYPE_IDLE: Final = "idle"

COMPACTION_RUNNING: Final = "running"
COMPACTION_COMPLETED: Final = "completed"
COMPACTION_FAILED: Final = "failed"

CONTENT_TEXT: Final = "text"
CONTENT_REASONING: Final = "reasoning"
CONTENT_TOOL: Final = "tool"

TOOL2_STREAMING: Final = "streaming"
TOOL2_RUNNING: Final = "running"
TOOL2_COMPLETED: Final = "completed"
TOOL2_ERROR: Final = "error"

ERROR_ABORTED: Final = "MessageAbortedError"
"""The V1 error name of a turn that its user stopped."""

KNOWN_PARTS: Final = (
    PART_TEXT,
    PART_REASONING,
    PART_FILE,
    PART_AGENT,
    PART_COMPACTION,
    PART_SUBTASK,
    PART_RETRY,
    PART_STEP_START,
    PART_STEP_FINISH,
    PART_SNAPSHOT,
    PART_PATCH,
    PART_TOOL,
)
"""The part types of the V1 model."""

KNOWN_TYPES: Final = (
    TYPE_USER,
    TYPE_SYNTHETIC,
    TYPE_SYSTEM,
    TYPE_SKILL,
    TYPE_SHELL,
    TYPE_ASSISTANT,
    TYPE_COMPACTION,
    TYPE_AGENT_SWITCHED,
    TYPE_MODEL_SWITCHED,
    TYPE_LOCATION_SWITCHED,
    TYPE_IDLE,
)
"""The row types of the V2 model."""


class Generation(IntEnum):
    """One of the three ways OpenCode has stored sessions.

    ``G1`` is the ``storage/`` tree (up to 1.1.65), ``G2`` the V1 tables of the
    database (1.2.0 to 1.19), ``G3`` its V2 tables (2.0.0 on).
    """

    G1 = 1
    G2 = 2
    G3 = 3

    def __str__(self) -> str:
        return self.name


G1: Final = Generation.G1
G2: Final = Generation.G2
G3: Final = Generation.G3


_KNOWN_PARTS: Final = frozenset(KNOWN_PARTS)


def is_known_part(type_: str) -> bool:
    """Return whether the V1 model defines a part type. Spec: opencode 4.2."""
    return type_ in _KNOWN_PARTS


def is_known_type(type_: str) -> bool:
    """Return whether the V2 model defines a row type. Spec: opencode 5.2."""
    return type_ in KNOWN_TYPES
