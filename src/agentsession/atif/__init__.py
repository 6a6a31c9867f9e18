"""ATIF, the Agent Trajectory Interchange Format, v1.8: read, build, check and write documents.

The package knows ATIF and nothing of sessions. ``parse`` reads a document leniently, keeping
what it does not know; ``Trajectory`` and its parts are immutable values that write themselves;
``validate`` gives the verdict of Harbor's own models, ``strict=True`` also that of the reference
implementation.

>>> from agentsession import atif
>>> document = atif.Trajectory(
...     agent=atif.Agent(name="demo", version="1"),
...     steps=(atif.Step(step_id=1, source="user", message="Hello."),),
... )
>>> atif.validate(document, strict=True)
()
>>> atif.parse(document.to_json()) == document
True
>>> [p.rule for p in atif.validate({"agent": {"name": "demo", "version": "1"}, "steps": []})]
['too-few']

Spec: atif.
"""

from agentsession.atif.model import (
    Agent,
    ContentPart,
    FinalMetrics,
    MediaSource,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    SubagentTrajectoryRef,
    ToolCall,
    Trajectory,
)
from agentsession.atif.parse import parse
from agentsession.atif.problems import InvalidDocument, Problem
from agentsession.atif.report import Report, validate_text
from agentsession.atif.validate import check, validate
from agentsession.atif.vocabulary import (
    AUDIO_ALIASES,
    AUDIO_TYPES,
    IMAGE_TYPES,
    PART_TYPES,
    SCHEMA_VERSION,
    SOURCES,
    VERSIONS,
    audio_type,
)

__all__ = [
    "AUDIO_ALIASES",
    "AUDIO_TYPES",
    "IMAGE_TYPES",
    "PART_TYPES",
    "SCHEMA_VERSION",
    "SOURCES",
    "VERSIONS",
    "Agent",
    "ContentPart",
    "FinalMetrics",
    "InvalidDocument",
    "MediaSource",
    "Metrics",
    "Observation",
    "ObservationResult",
    "Problem",
    "Report",
    "Step",
    "SubagentTrajectoryRef",
    "ToolCall",
    "Trajectory",
    "audio_type",
    "check",
    "parse",
    "validate",
    "validate_text",
]
