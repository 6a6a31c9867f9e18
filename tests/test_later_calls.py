"""Calls, decisions, runs and record checks by the rules of 0.8 to 0.11.

Spec: later drafts 10 and 11.
"""

from __future__ import annotations

from typing import Any

import pytest

import agentsession as ags
from agentsession.testing import SessionBuilder

NEWEST = "agentsession/0.11"


def built(*, promised: bool = False, call: bool = True) -> SessionBuilder:
    build = SessionBuilder(NEWEST, records=["dispatch"] if promised else [])
    build.config(model="m")
    if call:
        build.call("c1")
    return build


def state(build: SessionBuilder, call_id: str = "c1") -> str:
    found = next(call for call in build.session.calls() if call.id == call_id)
    return found.state(build.session.header)


def relabelled(build: SessionBuilder, version: str) -> ags.Session:
    data = ags.dump(build.session).replace(b"/0.11", b"/" + version.encode(), 1)
    return ags.read(data)


def unchecked(build: SessionBuilder, entry: ags.Entry) -> str:
    """Add an entry that append would refuse, as another writer might have."""
    from agentsession.appending import Place, sealed

    session = build.session
    place = Place(session.id, (0, 11), session.leaf, set(session._rows.index))
    ts = f"2026-02-01T00:00:{len(session) % 60:02}Z"
    made = sealed(entry.moved(ts=ts), place)
    session.commit(made)
    return made.id


def target(build: SessionBuilder, call_id: str = "c1") -> str:
    return next(call.entry.id for call in build.session.calls() if call.id == call_id)


class TestStates:
    def test_a_hold_after_a_dispatch_holds(self) -> None:
        build = built()
        build.dispatch("c1")
        assert state(build) == "in_flight"
        build.decide("c1", "hold")
        call = build.session.calls()[0]
        assert (call.held, call.in_flight, state(build)) == (True, False, "held")
        build.dispatch("c1")
        call = build.session.calls()[0]
        assert (call.held, call.in_flight, len(call.dispatches)) == (False, True, 2)
        build.output("c1")
        assert state(build) == "completed"

    def test_answered_and_rejected(self) -> None:
        build = built()
        build.dispatch("c1")
        build.decide("c1", "answer", args={"not": "args"})
        call = build.session.calls()[0]
        assert (state(build), call.in_flight, call.args) == ("answered", False, "{}")
        build = built()
        build.decide("c1", "reject")
        assert state(build) == "rejected"

    def test_never_started(self) -> None:
        assert state(built(promised=True)) == "never_started"
        assert state(built()) == "unknown"
        build = built(promised=True)
        before = build.session.leaf or ""
        build.dispatch("c1")
        build.session.branch(before)
        assert state(build) == "unknown"
        forked = build.session.fork(before)
        assert forked.calls()[0].state(forked.header) == "unknown"
        assert forked.calls()[0].inherited

    def test_arguments_of_each_hand_off(self) -> None:
        build = built()
        build.dispatch("c1")
        build.decide("c1", "proceed", args={"n": 1})
        build.decide("c1", "proceed")
        build.dispatch("c1")
        call = build.session.calls()[0]
        assert [call.args_of(dispatch) for dispatch in call.dispatches] == ["{}", '{"n":1}']
        assert call.args == '{"n":1}'

    def test_early_drafts_keep_their_rules(self) -> None:
        build = SessionBuilder("agentsession/0.3")
        build.call("c1")
        build.dispatch("c1")
        build.decide("c1", "hold")
        assert state(build) == "in_flight"


class TestMatching:
    def test_an_output_names_the_latest_call(self) -> None:
        build = built(call=False)
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        unchecked(build, ags.ItemEntry(call, response="r1"))
        unchecked(build, ags.ItemEntry(call, response="r2"))
        build.output("c")
        first, second = build.session.calls()
        assert (first.pending, second.pending) == (True, False)
        with pytest.raises(ags.CallIDRepeated):
            build.session.verify_records()

    def test_a_decision_names_its_target(self) -> None:
        build = built()
        build.call("c2")
        unchecked(build, ags.DecisionEntry("c2", target(build, "c1"), "hold"))
        first, second = build.session.calls()
        assert (first.held, second.held) == (True, False)
        with pytest.raises(ags.BadTarget):
            build.session.verify_records()
        assert any("came with 0.9" in n for n in relabelled(build, "0.8").verify_records())
        with pytest.raises(ags.BadTarget, match="early writers"):
            relabelled(build, "0.9").verify_records()

    def test_a_target_that_is_nothing_falls_back(self) -> None:
        build = built()
        unchecked(build, ags.DispatchEntry("c1", "nowhere"))
        assert build.session.calls()[0].dispatch is not None
        with pytest.raises(ags.BadTarget):
            build.session.verify_records()


class TestAppending:
    def test_call_ids_are_unique_on_all_branches(self) -> None:
        build = built()
        build.session.branch(build.session.entries[0].id)
        with pytest.raises(ags.CallIDRepeated) as caught:
            build.call("c1", hashed=False)
        assert caught.value.call_id == "c1"
        with pytest.raises(ags.CallIDRepeated):
            build.call("", hashed=False)
        build.call("c2")

    def test_the_target_is_the_call(self) -> None:
        build = built()
        build.call("c2")
        for wrong in (target(build, "c2"), build.session.entries[0].id, "nowhere"):
            with pytest.raises(ags.BadTarget) as caught:
                build.append(ags.DispatchEntry("c1", wrong))
            assert (caught.value.call_id, caught.value.entry_id) == ("c1", wrong)
            with pytest.raises(ags.BadTarget):
                build.append(ags.DecisionEntry("c1", wrong, "hold"))

    @pytest.mark.parametrize(
        ("before", "step", "error"),
        [
            (["reject"], "dispatch", ags.CallRejected),
            (["reject"], "proceed", ags.CallRejected),
            (["reject", "output"], "dispatch", ags.CallRejected),
            (["dispatch", "answer"], "dispatch", ags.CallAnswered),
            (["dispatch", "answer"], "hold", ags.CallAnswered),
            (["dispatch", "output"], "dispatch", ags.CallCompleted),
            (["dispatch", "output"], "reject", ags.CallCompleted),
            (["dispatch", "output"], "answer", ags.CallCompleted),
            (["dispatch"], "reject", ags.RejectDispatched),
            ([], "answer", ags.AnswerNotDispatched),
            (["hold"], "answer", ags.AnswerNotDispatched),
        ],
    )
    def test_what_may_not_follow(
        self, before: list[str], step: str, error: type[Exception]
    ) -> None:
        build = built(promised=True)
        for earlier in before:
            self.do(build, earlier)
        size = len(build.session)
        with pytest.raises(error):
            self.do(build, step)
        assert len(build.session) == size
        entry: ags.Entry = ags.DispatchEntry("c1", target(build))
        if step != "dispatch":
            entry = ags.DecisionEntry("c1", target(build), step, reason="because")
        unchecked(build, entry)
        with pytest.raises(error):
            build.session.verify_records()

    @pytest.mark.parametrize(
        "steps",
        [
            ["hold", "proceed", "dispatch", "output"],
            ["hold", "reject", "output"],
            ["hold", "dispatch", "hold", "answer", "output"],
            ["proceed", "dispatch", "dispatch", "hold", "proceed", "dispatch", "output"],
            ["proceed", "reject"],
        ],
    )
    def test_what_may(self, steps: list[str]) -> None:
        build = built(promised=True)
        for step in steps:
            self.do(build, step)
        assert build.session.verify_records() == ()

    def test_an_answer_needs_a_dispatch_or_no_promise(self) -> None:
        build = built()
        build.decide("c1", "answer")
        build = built(promised=True)
        before = build.session.leaf or ""
        build.dispatch("c1")
        build.session.branch(before)
        build.decide("c1", "answer")
        build.output("c1")
        assert build.session.verify_records() == ()
        forked = built(promised=True).session
        forked = forked.fork(forked.leaf or "")
        call = forked.calls()[0].entry.id
        forked.append(ags.DecisionEntry("c1", call, "answer"))

    @staticmethod
    def do(build: SessionBuilder, step: str) -> None:
        if step == "dispatch":
            build.dispatch("c1")
        elif step == "output":
            build.output("c1")
        else:
            build.decide("c1", step)


class TestRuns:
    def test_a_run_answers_for_what_it_takes_up(self) -> None:
        build = built(call=False)
        build.start("r1")
        build.call("c1")
        build.call("c2")
        build.decide("c1", "hold")
        build.decide("c2", "hold")
        assert build.session.open_run().reason() == "input_required"  # type: ignore[union-attr]
        build.end("input_required")
        build.start("r2", "resume")
        build.decide("c1", "proceed")
        run = build.session.open_run()
        assert run is not None
        assert (run.source(), run.pending()) == ("resume", ("c1",))
        assert [call.id for call in run.calls()] == ["c1"]
        build.dispatch("c1")
        assert run is not None
        again = build.session.open_run()
        assert again is not None
        assert again.reason() == "aborted"
        build.output("c1")
        build.answer("done")
        ended = build.append(build.session.end_run("done"))
        assert build.session[ended].pending == ()  # type: ignore[attr-defined]
        assert build.session.verify_records() == ()

    def test_held_and_in_flight(self) -> None:
        build = built(call=False)
        build.start()
        build.call("c1")
        build.call("c2")
        build.dispatch("c1")
        build.decide("c2", "hold")
        run = build.session.open_run()
        assert run is not None
        assert run.reason() == "aborted"
        build.decide("c1", "hold")
        run = build.session.open_run()
        assert run is not None
        assert run.reason() == "input_required"
        build.end("input_required")
        assert build.session.verify_records() == ()

    def test_stopped_reads_the_path(self) -> None:
        build = built(call=False)
        build.start("r1")
        build.call("c1")
        build.dispatch("c1")
        build.end("aborted")
        build.start("r2", "resume")
        build.output("c1")
        build.end("stopped")
        assert build.session.verify_records() == ()
        assert [run.reason() for run in build.session.runs()] == ["aborted", "stopped"]

    @pytest.mark.parametrize(
        ("source", "takes", "says", "fits"),
        [
            ("resume", "nothing", "input", True),
            ("resume", "message", "input", False),
            ("resume", "output", "resume", True),
            ("input", "output", "resume", False),
            ("input", "message", "input", True),
            ("cron", "output", "resume", True),
        ],
    )
    def test_sources(self, source: str, takes: str, says: str, fits: bool) -> None:
        build = built(call=False)
        build.start("r1")
        build.call("c1")
        build.end("aborted")
        build.start("r2", source)
        if takes == "message":
            build.user("go on")
        elif takes == "output":
            build.output("c1")
        run = build.session.open_run()
        assert run is not None
        assert run.source() == says
        build.end("error")
        if fits:
            assert build.session.verify_records() == ()
            return
        with pytest.raises(ags.ReasonMismatch) as caught:
            build.session.verify_records()
        assert (caught.value.found, caught.value.expected) == (source, says)

    def test_ends_are_checked(self) -> None:
        build = built(call=False)
        build.start()
        build.call("c1")
        build.append(ags.RunEntry.end("run-1", "done", pending=["c1"]))
        with pytest.raises(ags.ReasonMismatch, match="aborted"):
            build.session.verify_records()
        build = built(call=False)
        build.start()
        build.call("c1")
        build.append(ags.RunEntry.end("run-1", "error"))
        with pytest.raises(ags.ReasonMismatch, match="pending"):
            build.session.verify_records()

    def test_a_hold_before_08_is_a_note(self) -> None:
        build = built(call=False)
        build.start()
        build.call("c1")
        build.dispatch("c1")
        build.decide("c1", "hold")
        build.append(ags.RunEntry.end("run-1", "aborted", pending=["c1"]))
        with pytest.raises(ags.ReasonMismatch):
            build.session.verify_records()
        notes = relabelled(build, "0.7").verify_records()
        assert any("by the rules of 0.3" in note for note in notes)

    def test_a_missing_dispatch_after_the_base_only(self) -> None:
        build = built(promised=True)
        build.output("c1")
        with pytest.raises(ags.RecordMissing):
            build.session.verify_records()
        forked = build.session.fork(build.session.leaf or "")
        assert forked.verify_records() == ()


class TestNotes:
    def test_a_list_that_cannot_be_told(self) -> None:
        build = built(call=False)
        build.config(instructions_omitted=[ags.OmittedPart.keeping(1, "nowhere")])
        assert "keeps omitted parts" in build.session.verify_records()[0]

    @pytest.mark.parametrize(
        ("first", "second", "substituted"),
        [
            ({"kind": "container", "ref": "a"}, {"kind": "container", "ref": "a"}, False),
            ({"kind": "container", "n": 1}, {"kind": "container", "ref": "", "n": 1.0}, False),
            ({"kind": "container", "n": 1}, {"kind": "container", "n": 2}, True),
            ({"kind": "local"}, None, True),
            (None, {"kind": "local"}, True),
            ({}, None, True),
            (None, None, False),
        ],
    )
    def test_substitution(self, first: Any, second: Any, substituted: bool) -> None:
        build = built(call=False)
        build.append(ags.EnvEntry(cwd="/a", workspace=first))
        build.append(ags.EnvEntry(cwd="/a", workspace=first))
        build.answer("x")
        entry = build.append(ags.EnvEntry(cwd="/b", workspace=second))
        found = [env.id for env in build.session.substitutions()]
        assert found == ([entry] if substituted else [])
        assert len(build.session.verify_records()) == len(found)
