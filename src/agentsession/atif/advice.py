"""What is valid and still unwise: things that readers of ATIF stumble over.

Spec: atif 4, what is not checked though asked for, and where validators differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentsession.atif import lax
from agentsession.atif.problems import Path, Problem, problem, shown
from agentsession.atif.vocabulary import AUDIO_TYPES, VERSIONS

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "cached_tokens")
_PARTS_SINCE: Final = {"text": 6, "image": 6, "audio": 8}


def advise(document: Mapping[str, Any]) -> tuple[Problem, ...]:
    """What a valid document does that its writer may not mean, in document order.

    The codes: ``session-id`` (required before v1.7), ``call-id-twice``, ``negative-tokens``,
    ``cached-over-prompt``, ``total-steps`` (differs from the steps, without notes),
    ``part-version`` (parts later than the version), ``media-alias``, ``ref-unresolved``
    (neither embedded nor a path).

    Args:
        document: the JSON value of a document without problems.
    """
    found: list[Problem] = []
    pending: list[tuple[Mapping[str, Any], Path, frozenset[str]]] = [(document, None, frozenset())]
    while pending:
        value, path, ids = pending.pop()
        children = value.get("subagent_trajectories") or []
        # A reference may name any document embedded in the whole, so parents hand theirs down.
        ids |= {child["trajectory_id"] for child in children}
        found.extend(_document(value, path, ids))
        pending.extend(
            (child, ((path, "subagent_trajectories"), at), ids)
            for at, child in reversed([*enumerate(children)])
        )
    return tuple(found)


def _document(value: Mapping[str, Any], path: Path, ids: frozenset[str]) -> Iterator[Problem]:
    minor = VERSIONS.index(value.get("schema_version", VERSIONS[-1]))
    if minor < 7 and value.get("session_id") is None:
        message = "documents before ATIF-v1.7 need a session_id"
        yield problem((path, "session_id"), "session-id", message)
    steps = value["steps"]
    for at, step in enumerate(steps):
        yield from _step(step, ((path, "steps"), at), ids, minor)
    totals = value.get("final_metrics") or {}
    total = lax.integer(totals.get("total_steps"))
    if total is not None and total != len(steps) and not value.get("notes"):
        here = ((path, "final_metrics"), "total_steps")
        message = f"{total} is not the number of steps, {len(steps)}, and no notes say why"
        yield problem(here, "total-steps", message, total)


def _step(
    step: Mapping[str, Any], path: Path, ids: frozenset[str], minor: int
) -> Iterator[Problem]:
    yield from _content(step["message"], (path, "message"), minor)
    seen: set[str] = set()
    for at, call in enumerate(step.get("tool_calls") or []):
        own = call["tool_call_id"]
        if own in seen:
            message = f"an earlier call of this step has the id {shown(own)}"
            place_of = (((path, "tool_calls"), at), "tool_call_id")
            yield problem(place_of, "call-id-twice", message, own)
        seen.add(own)
    results = (step.get("observation") or {}).get("results") or []
    for at, result in enumerate(results):
        here: Path = (((path, "observation"), "results"), at)
        yield from _content(result.get("content"), (here, "content"), minor)
        for place, ref in enumerate(result.get("subagent_trajectory_ref") or []):
            named = ref.get("trajectory_id")
            if named is not None and named not in ids and ref.get("trajectory_path") is None:
                at_ref = (((here, "subagent_trajectory_ref"), place), "trajectory_id")
                message = f"no document {shown(named)} is embedded and no path is given"
                yield problem(at_ref, "ref-unresolved", message, named)
    yield from _metrics(step.get("metrics") or {}, (path, "metrics"))


def _content(content: object, path: Path, minor: int) -> Iterator[Problem]:
    for at, part in enumerate(content if isinstance(content, list | tuple) else ()):
        here = (path, at)
        since = _PARTS_SINCE[part["type"]]
        if minor < since:
            message = f"{part['type']} parts came with ATIF-v1.{since}"
            yield problem((here, "type"), "part-version", message, part["type"])
        source = part.get("source")
        if part["type"] == "audio" and source["media_type"] not in AUDIO_TYPES:
            written = source["media_type"]
            place = ((here, "source"), "media_type")
            message = f"{shown(written)} is a spelling that only lenient readers know"
            yield problem(place, "media-alias", message, written)


def _metrics(metrics: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    counts = {name: lax.integer(metrics.get(name)) for name in _COUNTS}
    for name, count in counts.items():
        if count is not None and count < 0:
            message = f"{name} is negative"
            yield problem((path, name), "negative-tokens", message, count)
    prompt, cached = counts["prompt_tokens"], counts["cached_tokens"]
    if prompt is not None and cached is not None and cached > prompt:
        message = f"{cached} cached tokens are more than the {prompt} they are part of"
        yield problem((path, "cached_tokens"), "cached-over-prompt", message, cached)
