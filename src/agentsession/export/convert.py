"""From a trajectory to its document, in memory.

Spec: export 2 and 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentsession import atif
from agentsession.export.adapter import redacted
from agentsession.export.errors import CannotExport
from agentsession.export.options import Options, SchemaVersion
from agentsession.export.outline import Outline
from agentsession.export.report import ReportBuilder
from agentsession.export.trajectory import Trajectory
from agentsession.findings import Report


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document, and what there is to tell about it.

    Attributes:
        document: the document.
        report: totals and findings.
    """

    document: atif.Trajectory
    report: Report


def convert(trajectory: Trajectory, options: Options | None = None) -> Conversion:
    """Return the document of a trajectory together with its report.

    The document is not validated here; writing it does that.

    Spec: export 2 to 11.

    Raises:
        NoContext: when the trajectory's context cannot be built.
        InvalidEntry: when an item holds a number JSON cannot write.
    """
    outline = Outline(trajectory, options or Options())
    value = outline.document()
    value = redacted(value, outline.options.redactors)
    report = ReportBuilder()
    report.document(outline)
    return Conversion(atif.parse(value), report.report())


def to_atif(trajectory: Trajectory, options: Options | None = None) -> atif.Trajectory:
    """Return the ATIF document of a trajectory.

    Every step carries the raw items it was made from, so that :func:`items` gives them back.

    Spec: export 2 to 11.

    Raises:
        NoContext: when the trajectory's context cannot be built.
        InvalidEntry: when an item holds a number JSON cannot write.
    """
    return convert(trajectory, options).document


def with_schema_version(
    document: atif.Trajectory,
    schema_version: SchemaVersion,
    *,
    audio: Literal["refuse", "degrade"] = "refuse",
) -> atif.Trajectory:
    """Return a document under another version, embedded ones included.

    Without audio v1.7 and v1.8 differ in the version alone. Letta's reader and agentpile stop
    at v1.7.

    Args:
        document: a document, from this package or made by hand.
        schema_version: the version to write.
        audio: what to do with audio, which v1.7 lacks.

    Spec: export 13.

    Raises:
        CannotExport: when there is audio and it is to be refused.
    """
    value: dict[str, Any] = document.to_dict()
    pending = [value]
    while pending:
        one = pending.pop()
        one["schema_version"] = schema_version
        pending += one.get("subagent_trajectories") or []
        if schema_version != atif.SCHEMA_VERSION:
            for step in one["steps"]:
                _without_audio(step, audio)
    return atif.parse(value)


def _without_audio(step: dict[str, Any], audio: str) -> None:
    results = (step.get("observation") or {}).get("results") or []
    for holder, name in ((step, "message"), *((result, "content") for result in results)):
        if isinstance(holder.get(name), list):
            holder[name] = [_degraded(part, audio, step) for part in holder[name]]


def _degraded(part: dict[str, Any], audio: str, step: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "audio":
        return part
    if audio == "refuse":
        raise CannotExport(
            f"step {step.get('step_id')} has audio, which came with ATIF-v1.8; "
            "ask for it to be degraded to text"
        )
    path = (part.get("source") or {}).get("path", "")
    shown = "data URL" if path[:5].lower() == "data:" else path
    return {"type": "text", "text": f"[audio: {shown}]"}
