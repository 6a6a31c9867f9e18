"""Replay: recorded model requests against what their converted sessions say was sent.

A recording is a directory with an agent's data as a release wrote it and the requests a
model server received from it in ``requests.jsonl``.

    python -m agentsession.importers.replay RECORDINGS [--agent AGENT] [--json]

Without an agent, each recording is the one's whose importer finds data in it. Spec: decision D2.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentsession.entries import ResponseEntry
from agentsession.findings import SCHEMA
from agentsession.importers import codex, pi, registry
from agentsession.importers.claude_code import fidelity as claude_code
from agentsession.importers.judging import SUMMARY_ATTEMPT, judged
from agentsession.importers.opencode import convert
from agentsession.importers.replayed import LOG, logged_requests
from agentsession.session import Session
from agentsession.wire import Profile


@dataclass(frozen=True, slots=True)
class Agent:
    """What replay needs of an importer.

    Attributes:
        sessions: yields the converted sessions of a data directory.
        profile: how a response's request was spelled.
        measure: returns the verdict on a recording, for an agent with a measure of its own.
    """

    sessions: Callable[[Path], Iterator[Session]]
    profile: Callable[[ResponseEntry], Profile]
    measure: Callable[[Path], dict[str, Any]] | None = None


def _opencode(place: Path) -> Iterator[Session]:
    with convert.Source(place) as source:
        for summary in convert.sessions(source):
            yield convert.convert(source, summary.id).session


def _pi(place: Path) -> Iterator[Session]:
    sessions = pi.Sessions(str(place))
    for native in sessions:
        yield sessions.convert(native.id).session


AGENTS: Final[Mapping[str, Agent]] = {
    "claude-code": Agent(claude_code.sessions, claude_code.profile_of_response, claude_code.replay),
    "codex": Agent(codex.sessions, codex.profile_of_response, codex.replay),
    "opencode": Agent(_opencode, convert.profile_of_response),
    "pi": Agent(_pi, pi.profile_of_response),
}


def replay(recording: Path, agent: Agent) -> dict[str, Any]:
    """Return the verdict on every main request and every converted response of a recording."""
    if agent.measure is not None:
        return agent.measure(recording)
    return judged(recording, agent.sessions(recording), agent.profile)


def recordings(root: Path) -> list[Path]:
    """Return the recordings under a directory, by path."""
    return sorted(log.parent for log in root.rglob(LOG))


def agents_of(recording: Path) -> list[str]:
    """Return the names of the agents whose data a recording holds; one, as a rule."""
    return [name for name in sorted(AGENTS) if [*registry.load(name).find([recording])]]


def _told(recording: Path, agent_name: str) -> dict[str, Any]:
    found = [agent_name] if agent_name else agents_of(recording)
    if len(found) == 1:
        return {"agent": found[0], **replay(recording, AGENTS[found[0]])}
    reason = f"data of {' and '.join(found) or 'no known agent'} is here; name the agent"
    requests = [
        {"n": request["n"], "path": request["path"], "verdict": "differs", "reason": reason}
        for request in logged_requests(recording)
        if request.get("kind") == "main"
    ]
    return {"agent": "", "recording": recording.name, "requests": requests, "responses": []}


def verdicts(root: Path, agent_name: str = "") -> dict[str, Any]:
    """Return the verdict on every recording under a directory, and totals.

    Of the responses ``backed`` and ``unbacked`` say whether a logged request is theirs; those
    that no log can show are counted apart, as ``summary_attempts`` and ``noted``.

    Args:
        root: the directory.
        agent_name: whose recordings they are; without it each tells by its data.

    Raises:
        KeyError: when no importer has that name.
    """
    found = [_told(recording, agent_name) for recording in recordings(root)]
    agents = sorted({one["agent"] for one in found} - {""})
    requests = [request for one in found for request in one["requests"]]
    responses = [response for one in found for response in one["responses"]]
    counted = [response for response in responses if "note" not in response]
    answered = [request for request in requests if request.get("answered")]
    totals = {
        "recordings": len(found),
        "requests": len(requests),
        "rebuilt": sum(request["verdict"] == "rebuilt" for request in requests),
        "impossible": sum(request["verdict"] == "impossible" for request in requests),
        "differs": sum(request["verdict"] == "differs" for request in requests),
        "responses": len(counted),
        "backed": sum(response["backed"] for response in counted),
        "summary_attempts": sum(r.get("note") == SUMMARY_ATTEMPT for r in responses),
        "unbacked": sum(not response["backed"] for response in counted),
        "noted": sum(r.get("note", SUMMARY_ATTEMPT) != SUMMARY_ATTEMPT for r in responses),
    }
    if answered:
        totals["answered"] = len(answered)
        totals["answered_rebuilt"] = sum(r["verdict"] == "rebuilt" for r in answered)
    return {"schema": SCHEMA, "agent": ", ".join(agents), "totals": totals, "recordings": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when nothing differs and every response is backed."""
    parser = argparse.ArgumentParser(prog="python -m agentsession.importers.replay")
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--agent", default="", choices=sorted(AGENTS))
    parser.add_argument("--json", action="store_true", help="print every verdict as JSON")
    given = parser.parse_args(arguments)
    report = verdicts(given.recordings, given.agent)
    if not report["recordings"]:
        sys.stderr.write(f"{parser.prog}: no {LOG} is below {given.recordings}\n")
    out = sys.stdout
    if given.json:
        out.write(json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    else:
        out.writelines(line + "\n" for line in _lines(report))
    totals = report["totals"]
    whole = totals["differs"] == 0 and totals["backed"] == totals["responses"]
    return 0 if whole and totals["recordings"] else 1


def _lines(report: dict[str, Any]) -> Iterator[str]:
    for one in report["recordings"]:
        requests, responses = one["requests"], one["responses"]
        rebuilt = sum(request["verdict"] == "rebuilt" for request in requests)
        backed = sum(response["backed"] for response in responses)
        yield (
            f"{one['recording']:24} requests {rebuilt}/{len(requests)} rebuilt, "
            f"responses {backed}/{len(responses)} backed"
        )
        for request in requests:
            if request["verdict"] != "rebuilt":
                yield f"    request {request['n']}: {request['verdict']}: {request['reason']}"
        for response in responses:
            if not response["backed"]:
                note = response.get("note", "no request")
                yield f"    response {response['response']}: {note}"
    yield ", ".join(f"{name} {count}" for name, count in report["totals"].items())


if __name__ == "__main__":
    sys.exit(main())
