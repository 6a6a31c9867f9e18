"""The rules of ATIF: every problem of a document, as Harbor's own models would refuse it.

Spec: atif 4, decision E1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession.atif import lax
from agentsession.atif.model import Trajectory, plain
from agentsession.atif.problems import InvalidDocument, Path, Problem, problem, shown
from agentsession.atif.shape import (
    SHAPES,
    Boolean,
    Choice,
    Content,
    Integer,
    Kind,
    Listed,
    Moment,
    Number,
    Object,
    Open,
    Text,
    TextOrNumber,
)
from agentsession.atif.values import odd_number
from agentsession.atif.vocabulary import AUDIO_TYPES, MAX_EMBEDDING, audio_type

_PARTS: Final = Listed(Object("part"))
_SOURCE_OF: Final = {"image": "image_source", "audio": "audio_source"}
_MODELLED: Final = ("metrics", "reasoning_content")


def validate(
    document: Trajectory | Mapping[str, Any] | object, *, strict: bool = False
) -> tuple[Problem, ...]:
    """Every problem of a document, parents before embedded ones; none when it is valid.

    The verdict is that of Harbor's models, which read some values laxly (``"1"`` for an integer,
    ``1`` for a boolean, an alias for an audio type). With ``strict``, what the reference
    implementation refuses is a problem too: such lax values, empty names and ids, a document
    without a version, numbers beyond 64 bits or any double, times in rare forms.
    Spec: atif 4, decision E1.

    Args:
        document: a document, or any JSON value as Python's ``json`` reads it.
        strict: refuse what either Harbor or the reference refuses.
    """
    value = plain(document) if isinstance(document, Trajectory) else document
    return _Check(strict).document(value)


def check(document: Trajectory | Mapping[str, Any] | object, *, strict: bool = True) -> None:
    """Return when a document is valid; strict unless told otherwise.

    Spec: atif 4, decision E1.

    Raises:
        InvalidDocument: it is not; the error carries every problem.
    """
    problems = validate(document, strict=strict)
    if problems:
        raise InvalidDocument(problems)


class _Check:
    """One check of one document; it gathers problems as it walks."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.problems: list[Problem] = []

    def document(self, root: object) -> tuple[Problem, ...]:
        """All problems of a document and its embedded ones, parents first."""
        # Embedded documents may nest deeper than Python calls do.
        pending: list[tuple[object, Path, int]] = [(root, None, 0)]
        while pending:
            value, path, depth = pending.pop()
            if depth > MAX_EMBEDDING:
                self.report(
                    path,
                    "nesting",
                    f"embedded more than {MAX_EMBEDDING} documents deep, where readers stop",
                )
                continue
            embedded = self.trajectory(value, path)
            pending.extend(
                (child, ((path, "subagent_trajectories"), at), depth + 1)
                for at, child in reversed([*enumerate(embedded)])
            )
        return tuple(self.problems)

    def report(self, path: Path, rule: str, message: str, value: object = None) -> None:
        """Note a problem."""
        self.problems.append(problem(path, rule, message, value))

    def expected(self, path: Path, what: str, value: object, rule: str = "type") -> None:
        """Note that a value is not what belongs there."""
        self.report(path, rule, f"expected {what}, found {shown(value)}", value)

    # Objects

    def trajectory(self, value: object, path: Path) -> list[object]:
        """Check one document but for its embedded ones, which are returned."""
        if not isinstance(value, Mapping):
            self.expected(path, "an object", value)
            return []
        self.members("trajectory", value, path)
        if self.strict and "schema_version" not in value:
            message = "schema_version is missing; name the version the document is written in"
            self.report((path, "schema_version"), "required", message)
        steps = value.get("steps")
        if isinstance(steps, list | tuple):
            self.numbering(steps, (path, "steps"))
        embedded = value.get("subagent_trajectories")
        if not isinstance(embedded, list | tuple):
            return []
        self.embedded_ids(embedded, (path, "subagent_trajectories"))
        return list(embedded)

    def members(self, shape: str, value: Mapping[str, Any], path: Path) -> None:
        """Check what the tables say of an object: members, presence, kinds."""
        declared = SHAPES[shape]
        for name, found in value.items():
            member = declared.get(name)
            if member is None:
                self.unknown(shape, name, found, path)
            elif found is not None:
                self.kind(member.kind, found, (path, name))
            elif not member.nullable:
                self.expected((path, name), _named(member.kind), None)
        for name, member in declared.items():
            if member.required and name not in value:
                self.report((path, name), "required", f"{name} is missing; it is required")

    def unknown(self, shape: str, name: object, value: object, path: Path) -> None:
        """Note a member that the tables do not have."""
        open_here = "extra" in SHAPES[shape]
        remedy = "move it into extra" if open_here else "leave it out"
        message = f"{shape} has no member {shown(name)}; {remedy}"
        self.report((path, str(name)), "unknown-member", message, value)

    def structure(self, shape: str, value: Mapping[str, Any], path: Path) -> None:
        """Check an object other than a document."""
        if shape == "part":
            self.part(value, path)
            return
        self.members(shape, value, path)
        if shape == "step":
            self.step(value, path)
        elif shape == "ref":
            self.ref(value, path)

    # Rules that see more than one member

    def numbering(self, steps: list[object] | tuple[object, ...], path: Path) -> None:
        """Steps count 1, 2, 3 … in list order."""
        for at, step in enumerate(steps):
            if not isinstance(step, Mapping):
                continue
            number = lax.integer(step.get("step_id"))
            if number is not None and number >= 1 and number != at + 1:
                found = f"expected {at + 1}, the position of the step, found {shown(number)}"
                self.report(((path, at), "step_id"), "step-number", found, step["step_id"])

    def step(self, step: Mapping[str, Any], path: Path) -> None:
        """What the source of a step allows, and that results name its own calls."""
        source = step.get("source")
        if isinstance(source, str) and source in {"system", "user"}:
            for name, member in SHAPES["step"].items():
                if member.agent_only and step.get(name) is not None:
                    message = f"{name} is for agent steps; this is a {shown(source)} step"
                    self.report((path, name), "agent-only", message, step[name])
        elif lax.integer(step.get("llm_call_count")) == 0:
            for name in _MODELLED:
                if source == "agent" and step.get(name) is not None:
                    message = f"{name} cannot be here when llm_call_count is 0"
                    self.report((path, name), "zero-calls", message, step[name])
        self.references(step, path)

    def references(self, step: Mapping[str, Any], path: Path) -> None:
        """Each result names a call of its own step, or none."""
        observation = step.get("observation")
        results = observation.get("results") if isinstance(observation, Mapping) else None
        if not isinstance(results, list | tuple):
            return
        calls = step.get("tool_calls")
        known = {
            call.get("tool_call_id")
            for call in (calls if isinstance(calls, list | tuple) else ())
            if isinstance(call, Mapping) and isinstance(call.get("tool_call_id"), str)
        }
        for at, result in enumerate(results):
            named = result.get("source_call_id") if isinstance(result, Mapping) else None
            if isinstance(named, str) and named not in known:
                here = ((((path, "observation"), "results"), at), "source_call_id")
                message = f"no call of this step has the id {shown(named)}"
                self.report(here, "call-reference", message, named)

    def ref(self, ref: Mapping[str, Any], path: Path) -> None:
        """A reference leads somewhere."""
        ends = (ref.get("trajectory_id"), ref.get("trajectory_path"))
        if all(end is None or (self.strict and end == "") for end in ends):
            message = "neither trajectory_id nor trajectory_path is set; set one"
            self.report(path, "ref-target", message, ref)

    def embedded_ids(self, embedded: list[object] | tuple[object, ...], path: Path) -> None:
        """Embedded documents have ids that differ among siblings."""
        seen: set[str] = set()
        for at, child in enumerate(embedded):
            if not isinstance(child, Mapping):
                continue
            here = ((path, at), "trajectory_id")
            own = child.get("trajectory_id")
            if own is None or (self.strict and own == ""):
                self.report(here, "embedded-id", "an embedded document needs a trajectory_id")
            elif isinstance(own, str):
                if own in seen:
                    message = f"another embedded document beside it has the id {shown(own)}"
                    self.report(here, "embedded-id-twice", message, own)
                seen.add(own)

    # Content parts

    def part(self, part: Mapping[str, Any], path: Path) -> None:
        """A content part has the members its type allows."""
        source, here = part.get("source"), (path, "source")
        self.members("part", {**part, "source": None} if "source" in part else part, path)
        kind = part.get("type")
        if kind == "text":
            if part.get("text") is None:
                self.report((path, "text"), "part-member", "a text part needs text")
            if source is not None:
                self.report(here, "part-member", "a text part cannot have a source", source)
        elif isinstance(kind, str) and kind in _SOURCE_OF:
            if part.get("text") is not None:
                message = f"text cannot be on an {kind} part, even empty"
                self.report((path, "text"), "part-member", message, part["text"])
            if source is None:
                self.report(here, "part-member", f"an {kind} part needs a source")
            else:
                self.source(kind, source, here)

    def source(self, kind: str, source: object, path: Path) -> None:
        """A source is of the part's kind, its audio type after resolving aliases."""
        if not isinstance(source, Mapping):
            self.expected(path, "an object", source)
            return
        written = source.get("media_type")
        if kind == "audio" and isinstance(written, str) and audio_type(written) in AUDIO_TYPES:
            source = {**source, "media_type": audio_type(written)}
        self.members(_SOURCE_OF[kind], source, path)

    # Single values

    def kind(self, kind: Kind, value: object, path: Path) -> None:
        """Check one value, never null, against its kind."""
        match kind:
            case Object(shape) if isinstance(value, Mapping):
                # Embedded documents are the caller's.
                if shape != "trajectory":
                    self.structure(shape, value, path)
            case Listed() if isinstance(value, list | tuple):
                self.listed(kind, value, path)
            case Content() if isinstance(value, list | tuple):
                self.listed(_PARTS, value, path)
            case Open() if isinstance(value, Mapping):
                self.open(value, path)
            case Integer(least):
                self.number(kind, lax.integer(value), value, path, least)
            case Number(least):
                self.number(kind, lax.number(value), value, path, least)
            case TextOrNumber() if not isinstance(value, str):
                self.number(kind, lax.number(value), value, path, None)
            case Boolean():
                self.boolean(value, path)
            case Text() | Moment() | Choice() | Content() | TextOrNumber():
                self.text(kind, value, path)
            case _:
                self.expected(path, _named(kind), value)

    def listed(self, kind: Listed, value: list[object] | tuple[object, ...], path: Path) -> None:
        """Check a list and its elements."""
        if len(value) < kind.least:
            self.report(path, "too-few", f"expected at least {kind.least} element, found none")
        if kind.of == Object("trajectory"):
            return
        for at, inner in enumerate(value):
            here = (path, at)
            if inner is None:
                self.expected(here, _named(kind.of), None)
            else:
                self.kind(kind.of, inner, here)

    def open(self, value: Mapping[Any, Any], path: Path) -> None:
        """An open object only has to be one; strict, its numbers have to be readable."""
        for name in value:
            if not isinstance(name, str):
                self.expected((path, str(name)), "a string for a name", name)
        if self.strict and (odd := odd_number(value)) is not None:
            message = f"the number {shown(odd)} in it fits no double"
            self.report(path, "number-range", message, odd)

    def number(
        self, kind: Kind, number: float | None, value: object, path: Path, least: float | None
    ) -> None:
        """Check a number as lax readers see it; strict, as careful ones do."""
        if number is None:
            self.expected(path, _named(kind), value)
            return
        if least is not None and not number >= least:
            self.report(path, "minimum", f"{shown(value)} is below {least:g}", value)
        if self.strict:
            self.careful_number(kind, value, path)

    def careful_number(self, kind: Kind, value: object, path: Path) -> None:
        """What a reader that does not coerce says of a number."""
        whole = isinstance(kind, Integer)
        if isinstance(value, bool | str) or (whole and isinstance(value, float)):
            self.expected(path, f"{_named(kind)} as such", value, "coerced")
        elif isinstance(value, int) and whole:
            if not -lax.LARGEST_INTEGER - 1 <= value <= lax.LARGEST_INTEGER:
                self.report(path, "number-range", f"{shown(value)} does not fit 64 bits", value)
        elif not lax.is_finite(value):
            self.report(path, "number-range", f"{shown(value)} fits no double", value)

    def boolean(self, value: object, path: Path) -> None:
        """Check a boolean."""
        if lax.boolean(value) is None:
            self.expected(path, "true or false", value)
        elif self.strict and not isinstance(value, bool):
            self.expected(path, "true or false as such", value, "coerced")

    def text(self, kind: Kind, value: object, path: Path) -> None:
        """Check a string: its set, its form, and strict, that it is not empty."""
        if not isinstance(value, str):
            self.expected(path, _named(kind), value)
            return
        match kind:
            case Choice(values, rule) if value not in values:
                one_of = ", ".join(values)
                self.report(path, rule, f"{shown(value)} is none of {one_of}", value)
            case Moment() if not lax.is_time(value):
                message = f"{shown(value)} is no ISO 8601 time; write 2026-09-17T12:00:02Z"
                self.report(path, "timestamp", message, value)
            case Moment() if self.strict and not lax.is_portable_time(value):
                message = f"not every reader takes {shown(value)}; write 2026-09-17T12:00:02Z"
                self.report(path, "timestamp-form", message, value)
            case Text(filled=True) if self.strict and not value:
                self.report(path, "empty", "an empty string; give it a value", value)


_NAMES: Final[dict[type, str]] = {
    Text: "a string",
    Moment: "a time as a string",
    Content: "a string or a list of parts",
    Integer: "an integer",
    Number: "a number",
    TextOrNumber: "a string or a number",
    Boolean: "true or false",
    Open: "an object",
    Object: "an object",
    Listed: "a list",
}


def _named(kind: Kind) -> str:
    if isinstance(kind, Choice):
        return "one of " + ", ".join(kind.values)
    return _NAMES[type(kind)]
