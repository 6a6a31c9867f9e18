"""Documents: worked examples, and the laws every document obeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from export_strategies import sessions
from hypothesis import HealthCheck, given, settings

import agentsession as ags
from agentsession import atif, export
from agentsession.testing import SessionBuilder

DATA = Path(__file__).parents[1] / "data" / "export"
EXAMPLES = sorted(path.name for path in DATA.glob("*.atif.json"))
laws = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def read(name: str) -> ags.Session:
    return ags.read(DATA / f"{name}.session.jsonl")


def example_options(name: str) -> export.Options:
    kid = read("ex4-kid")
    return export.Options(subsessions={"kid": kid}.get) if name == "ex4" else export.Options()


@pytest.mark.parametrize("file", EXAMPLES)
def test_a_worked_example_gives_the_document_it_shows(file: str) -> None:
    name, leaf = file.split(".")[:2]
    document = export.to_atif(export.at(read(name), leaf), example_options(name))
    assert document.to_dict() == json.loads((DATA / file).read_bytes())
    assert atif.validate(document, strict=True) == ()


@pytest.mark.parametrize("file", EXAMPLES)
def test_an_example_exported_twice_is_the_same_to_the_byte(file: str) -> None:
    name, leaf = file.split(".")[:2]
    once, twice = (
        export.to_atif(export.at(read(name), leaf), example_options(name)).to_json()
        for _ in range(2)
    )
    assert once == twice


def test_without_a_resolver_a_subsession_is_referenced_by_its_file() -> None:
    document = export.to_atif(export.at(read("ex4"), "u1"))
    assert document.subagent_trajectories is None
    results = document.steps[3].observation.results  # type: ignore[union-attr]
    assert results[0].subagent_trajectory_ref[0].to_dict() == {  # type: ignore[index]
        "trajectory_path": "kid.json",
        "session_id": "kid",
        "extra": {"entry_id": "ln1"},
    }


def every_trajectory(session: ags.Session) -> list[export.Trajectory]:
    return [found for found in export.trajectories(session) if found.error is None]


def has_steps(document: atif.Trajectory) -> bool:
    return bool(document.steps)


@laws
@given(sessions())
def test_items_come_back_in_context_order(session: ags.Session) -> None:
    for trajectory in every_trajectory(session):
        document = export.to_atif(trajectory)
        want = list(trajectory.context.items)
        if want:
            assert list(export.items(document)) == want


@laws
@given(sessions())
def test_documents_are_valid_with_and_without_every_option(session: ags.Session) -> None:
    kid = read("ex4-kid")
    resolver = {"kid": kid, "session-1": session}.get
    for options in (
        export.Options(),
        export.Options(subsessions=resolver, cost=lambda _model, _usage: 0.5),
        export.Options(
            history="path",
            schema_version="ATIF-v1.7",
            instructions=True,
            text_only=True,
            failed_calls="drop",
            model_name="x/y",
        ),
    ):
        for trajectory in every_trajectory(session):
            document = export.to_atif(trajectory, options)
            problems = [p for p in atif.validate(document, strict=True) if has_steps(document)]
            assert not problems
            assert document.to_dict() == atif.parse(document.to_json()).to_dict()


@laws
@given(sessions())
def test_the_history_of_a_path_holds_every_item_once(session: ags.Session) -> None:
    for trajectory in every_trajectory(session):
        document = export.to_atif(trajectory, export.Options(history="path"))
        want: list[Any] = []
        for entry in trajectory.path:
            if isinstance(entry, ags.ItemEntry):
                want.append(entry.item)
            elif isinstance(entry, ags.BranchSummaryEntry):
                want.append(entry.summary)
            elif isinstance(entry, ags.CompactionEntry):
                want += [entry.summary, *entry.pinned]
        if want:
            assert list(export.items(document)) == want


@laws
@given(sessions())
def test_every_model_call_is_counted_once(session: ags.Session) -> None:
    asked: list[str] = []

    def cost(model: str, _usage: object) -> float:
        asked.append(model)
        return 1.0

    for trajectory in every_trajectory(session):
        asked.clear()
        document = export.to_atif(trajectory, export.Options(cost=cost))
        calls = [
            entry
            for entry in trajectory.path
            if isinstance(entry, ags.ResponseEntry | ags.CompactionEntry | ags.BranchSummaryEntry)
            and entry.usage is not None
        ]
        metrics = document.final_metrics
        assert metrics is not None
        assert len(asked) == len(calls)
        assert (metrics.total_cost_usd or 0) == len(calls)
        read = sum((call.usage or {}).get("input_tokens", 0) for call in calls)
        assert metrics.total_prompt_tokens == read
        responses = [step for step in document.steps if step.metrics is not None]
        shown = {entry.id for entry in trajectory.entries}
        assert len(responses) == sum(
            isinstance(entry, ags.ResponseEntry) and entry.id in shown for entry in calls
        )


@laws
@given(sessions())
def test_items_from_never_fails_on_a_document(session: ags.Session) -> None:
    for trajectory in every_trajectory(session):
        for item in export.items_from(export.to_atif(trajectory)):
            assert item.type in {
                "message",
                "reasoning",
                "function_call",
                "function_call_output",
            }


@pytest.mark.parametrize("number", ["1e400", "-1E+999", "[1e400]", "1" + "0" * 400 + ".0"])
def test_arguments_with_a_number_beyond_a_double_stay_as_text(number: str) -> None:
    written = f'{{"a":{number}}}'
    build = SessionBuilder()
    build.call("call_1", "send", written, hashed=False)
    document = export.to_atif(export.at(build.session, build.session.leaf or ""))
    (call,) = document.steps[0].tool_calls or ()
    assert call.arguments == {"_arguments": written}
    assert atif.validate(atif.parse(document.to_json()), strict=True) == ()
    assert export.items_from(document)[-1].arguments == written
