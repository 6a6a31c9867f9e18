"""What runs say is the same whether one or all of them are asked, and all cost one walk."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings

import agentsession as ags
from agentsession.runs import Run
from test_counters import counted
from test_leaf_records import branched, files


def asked(run: Run) -> tuple[Any, ...]:
    """All that a run says of itself."""
    try:
        said = run.verify()
    except ags.ReasonMismatch as error:
        said = str(error)
    rules = run.earlier_pending(), run.earlier_reason(), run.source()
    return run.calls(), run.pending(), run.reason(), *rules, said


@settings(max_examples=200, deadline=None)
@given(data=files())
def test_a_run_says_alone_what_it_says_among_the_others(data: bytes) -> None:
    session = ags.read(data, verify_ids=False)
    for leaf in session.leaves:
        found = session.runs(leaf.id)
        by_themselves = [Run(r.start, r.segment, r.end, r.trail, r.stop) for r in found]
        assert by_themselves == found
        assert [asked(run) for run in reversed(found)] == [
            asked(run) for run in reversed(by_themselves)
        ]
        # Judged by the path to its own end, and not by what came later.
        for run in found:
            assert asked(session.runs(run.segment[-1].id)[-1]) == asked(run)


@pytest.mark.parametrize("version", ["0.3", "0.11"])
def test_asking_all_runs_costs_one_walk(version: str) -> None:
    session = branched(version, 1)
    found = session.runs()
    _, calls = counted(lambda: [asked(run) for run in found])
    feeds = sum(n for name, n in calls.items() if name.endswith(".feed"))
    # Path, segment and later rules, each with its log of calls; not once more for every run.
    assert feeds <= 10 * len(found[-1].path) < len(found) * len(found[-1].path) / 2
    _, again = counted(lambda: [(run.pending(), run.reason()) for run in found])
    assert not [name for name in again if name.endswith(".feed")]


@pytest.mark.parametrize("version", ["0.3", "0.11"])
def test_runs_travel(version: str) -> None:
    found = branched(version, 1).runs()
    for one in (found, pickle.loads(pickle.dumps(found))):
        assert [run.reason() for run in one] == ["done"] * len(found)


def test_a_run_without_a_path_is_judged_by_its_segment() -> None:
    run = branched("0.3", 1).runs()[0]
    assert asked(Run(run.start, run.segment, run.end)) == asked(run)
