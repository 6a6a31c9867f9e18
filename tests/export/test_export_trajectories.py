"""Trajectories: forks, preferences, and what a path is told about the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from export_strategies import sessions
from hypothesis import HealthCheck, given, settings

import agentsession as ags
from agentsession import export
from agentsession.testing import SessionBuilder

DATA = Path(__file__).parents[1] / "data" / "export"
laws = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def fork_demo() -> ags.Session:
    return ags.read(DATA / "ex3.session.jsonl")


def seen(session: ags.Session, *preferences: export.Preference) -> dict[str, object]:
    return {
        found.leaf_id: (found.preferred_over, found.abandoned_at, found.main)
        for found in export.trajectories(session, *preferences)
    }


LABELLED = {
    "l1": (("a3", "n1"), "", False),
    "a3": ((), "i1", False),
    "n1": ((), "i1", True),
}


def test_without_preferences_what_was_written_to_last_was_continued() -> None:
    assert seen(fork_demo()) == {
        "l1": ((), "i1", False),
        "a3": ((), "i1", False),
        "n1": (("l1", "a3"), "", True),
    }
    assert seen(fork_demo(), export.prefer_latest) == seen(fork_demo())


def test_a_label_decides_when_one_branch_has_it() -> None:
    assert seen(fork_demo(), export.prefer_label("try-1")) == LABELLED
    assert seen(fork_demo(), export.prefer_label("none")) == seen(fork_demo())


def test_a_label_on_two_branches_is_no_opinion() -> None:
    session = fork_demo()
    session.append(ags.LabelEntry("a3", "try-1"))
    assert seen(session, export.prefer_label("try-1")) == seen(session)
    session.append(ags.LabelEntry("a3", None))
    session.append(ags.LabelEntry("i1", "try-1"))
    assert seen(session, export.prefer_label("try-1"))["l1"] == (
        ("a3", session.leaf),
        "",
        False,
    )


def test_the_best_score_decides_unless_it_is_shared() -> None:
    session = fork_demo()
    session.append(ags.OutcomeEntry("eval", "a1", score=0.5))
    leaf = session.leaf
    assert seen(session, export.prefer_score)["l1"] == (("a3", leaf), "", False)
    session.append(ags.OutcomeEntry("eval", "a2", score=0.5))
    assert seen(session, export.prefer_score) == seen(session)
    session.append(ags.OutcomeEntry("eval", "a2", score=0.7))
    assert seen(session, export.prefer_score)["a3"] == (("l1", session.leaf), "", False)


def test_an_outcome_without_a_target_counts_where_it_stands() -> None:
    session = fork_demo()
    session.branch("a1")
    session.append(ags.OutcomeEntry("eval", score=1.0))
    session.branch("a3")
    session.append(ags.InfoEntry("later"))
    assert export.prefer_score(session, "i1", ["a1", "a2", "s1"]) == "a1"
    assert export.prefer_score(session, "i1", ["a2", "s1"]) == ""


def test_the_current_leaf_is_asked_at_the_moment_of_the_call() -> None:
    session = fork_demo()
    children = ["a1", "a2", "s1"]
    assert export.prefer_current_leaf(session, "i1", children) == "s1"
    session.branch("a2")
    assert export.prefer_current_leaf(session, "i1", children) == "a2"
    session.reset_leaf()
    assert export.prefer_current_leaf(session, "i1", children) == ""
    session.branch("c1")
    assert export.prefer_current_leaf(session, "i1", children) == ""


def test_an_answer_that_is_no_child_is_no_opinion() -> None:
    assert seen(fork_demo(), lambda *_: "i1", export.prefer_label("try-1")) == LABELLED


def test_an_entry_inside_is_no_branch_and_not_main() -> None:
    found = export.at(fork_demo(), "i1")
    assert (found.preferred_over, found.abandoned_at, found.main) == ((), "", False)
    assert [entry.id for entry in found.path] == ["c1", "i1"]
    with pytest.raises(ags.NoEntry):
        export.at(fork_demo(), "nothing")


def test_an_empty_session_has_no_trajectories() -> None:
    assert list(export.trajectories(ags.Session())) == []


def test_a_path_without_a_context_comes_with_its_error() -> None:
    build = SessionBuilder()
    build.user("x")
    build.append(ags.CompactionEntry("nowhere", {"type": "message", "role": "user"}))
    [found] = export.trajectories(build.session)
    assert isinstance(found.error, ags.NoContext)
    for use in (export.to_atif, lambda one: one.context):
        with pytest.raises(ags.NoContext):
            use(found)
    with pytest.raises(ags.NoContext):
        export.at(build.session, found.leaf_id)


def test_a_trajectory_made_by_hand_totals_its_entries() -> None:
    session = ags.read(DATA / "ex2.session.jsonl")
    whole = export.at(session, "u2")
    by_hand = export.Trajectory(whole.header, "u2", whole.entries)
    document = export.to_atif(by_hand)
    assert document.final_metrics is not None
    assert document.final_metrics.total_prompt_tokens == 65
    assert document.notes is None


@laws
@given(sessions())
def test_one_path_is_main_and_one_leaf_of_every_fork_is_preferred(session: ags.Session) -> None:
    found = list(export.trajectories(session))
    assert [one.leaf_id for one in found] == [leaf.id for leaf in session.leaves]
    assert [one.leaf_id for one in found if one.main] == [session.entries[-1].id]
    for one in found:
        if one.error is None:
            assert one.entries == one.context.entries
    roots = {one.path[0].id for one in found}
    preferred = {one.path[0].id for one in found if not one.abandoned_at}
    assert preferred == roots
