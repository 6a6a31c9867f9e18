"""The words the format gives a meaning to. Each is a ``str``, and files may hold others.

Spec: format 4.6, 4.8, 4.12, 4.13 and 4.14, context 9.3; later drafts 8.
"""

from __future__ import annotations

from enum import StrEnum


class RunSource(StrEnum):
    """Why a run began."""

    INPUT = "input"
    RESUME = "resume"


class RunReason(StrEnum):
    """Why a run ended."""

    DONE = "done"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    INPUT_REQUIRED = "input_required"
    ABORTED = "aborted"
    ERROR = "error"


class Verdict(StrEnum):
    """What was decided about a call."""

    PROCEED = "proceed"
    REJECT = "reject"
    HOLD = "hold"
    ANSWER = "answer"
    """A person or policy supplied the output (0.8)."""


class DecidedBy(StrEnum):
    """Who decided about a call."""

    HUMAN = "human"
    POLICY = "policy"
    AGENT = "agent"


class WorkspaceKind(StrEnum):
    """Where tools run."""

    LOCAL = "local"
    CONTAINER = "container"
    REMOTE = "remote"


class OutcomeKind(StrEnum):
    """What judged."""

    FEEDBACK = "feedback"
    TEST = "test"
    TASK = "task"
    TOOL_ERROR = "tool_error"
    EVAL = "eval"
    CUSTOM = "custom"


class Rel(StrEnum):
    """How two sessions are tied."""

    SUBSESSION = "subsession"
    FORK_OF = "fork_of"
    CONTINUED_IN = "continued_in"
    JUDGED_BY = "judged_by"
    """The other session holds the judge's work (0.11)."""
