"""What paths say, kept while they grow: the same as when each is gone through anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import path_states
from agentsession._undoing import Journal
from agentsession.call_rules import Known
from agentsession.context import settings_at
from agentsession.entries import Entry
from agentsession.path_states import _KEPT, PathStates
from agentsession.rows import Rows
from agentsession.stores import JSONLStore
from test_counters import counted

TS = "2026-03-01T08:15:31Z"
Draw = Callable[[st.SearchStrategy[Any]], Any]
KINDS = ["call", "output", "dispatch", "dispatch", "decision", "decision", "keep", "keep", "fold"]
VERDICTS = ["hold", "proceed", "reject", "answer"]


def call(call_id: str) -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call_id, "output": "done"}


def drawn(draw: Draw, session: ags.Session, number: int) -> Entry:
    """An entry somewhere in a tree, which the rules allow or not."""
    ids = [entry.id for entry in session]
    later = session.header.version >= (0, 5)
    place: dict[str, Any] = {"ts": TS, "id": "" if later else f"{number:08x}"}
    if ids:
        place["parent"] = draw(st.sampled_from([session.leaf, session.leaf, *ids[-5:], *ids]))
    kind = draw(st.sampled_from(KINDS)) if ids else "call"
    call_id = draw(st.sampled_from("abcd"))
    if kind == "call":
        # In most sessions of later versions each call has an id of its own.
        own = f"{call_id}{number}" if later and draw(st.booleans()) else call_id
        return ags.ItemEntry(call(own), response="r", **place)
    calls = [entry for entry in session if getattr(entry, "item", None) is not None]
    about = draw(st.sampled_from(calls)) if calls else None
    target = about.id if about is not None else ids[0]
    named = about.item.call_id if about is not None else call_id  # type: ignore[attr-defined]
    named = draw(st.sampled_from([named, named, named, call_id]))
    if kind == "output":
        return ags.ItemEntry(output(named), **place)
    if kind == "dispatch":
        return ags.DispatchEntry(named, target, **place)
    if kind == "decision":
        verdict = draw(st.sampled_from(VERDICTS))
        return ags.DecisionEntry(named, target, verdict, reason="so", **place)
    if kind == "fold":
        summary = {"type": "message", "role": "user", "content": "so far"}
        return ags.CompactionEntry(target, summary, config=ags.Settings(), **place)
    parts = [ags.InstructionsPart(f"p{number}", "text")] if draw(st.booleans()) else []
    if later:
        parts.insert(0, ags.InstructionsPart.keeping(draw(st.integers(1, 2))))
    return ags.ConfigEntry(model="m", instructions_parts=parts, **place)


def appended(session: ags.Session, entry: Entry) -> str:
    try:
        return session.append(entry)
    except ags.AgentSessionError as error:
        return f"{type(error).__name__} {error}"


@settings(max_examples=80, deadline=None)
@given(data=st.data(), version=st.sampled_from(["0.3", "0.11"]), promised=st.booleans())
def test_an_append_is_judged_as_in_a_session_just_read(
    data: st.DataObject, version: str, promised: bool
) -> None:
    records = ["dispatch"] if promised else []
    session = ags.Session(ags.Header(format=f"agentsession/{version}", records=records))
    draw: Draw = data.draw
    for number in range(draw(st.integers(1, 30))):
        entry = drawn(draw, session, number)
        fresh = ags.read(ags.dump(session))
        assert appended(session, entry) == appended(fresh, entry)
        if session.leaf and version == "0.11":
            known = session._known.settings(session._rows, session.leaf)
            assert known == settings_at(session.path())


def recorded(append: Callable[[Entry], str], count: int) -> None:
    """Calls one after the other, each held, handed to its tool, answered for, and done."""
    for number in range(count):
        name = f"c{number}"
        target = append(ags.ItemEntry(call(name), response="r"))
        append(ags.DecisionEntry(name, target, "hold", reason="ask"))
        append(ags.DispatchEntry(name, target))
        append(ags.DecisionEntry(name, target, "answer", reason="lost"))
        append(ags.ItemEntry(output(name)))


def argued(append: Callable[[Entry], str], count: int) -> None:
    """One call about which very much is decided."""
    target = append(ags.ItemEntry(call("c"), response="r"))
    for number in range(count):
        append(ags.DecisionEntry("c", target, "hold", reason=f"{number}"))
        append(ags.DispatchEntry("c", target))


def instructed(append: Callable[[Entry], str], count: int) -> None:
    """Config entries that keep a part by number and change another."""
    append(ags.ConfigEntry(instructions_parts=[ags.InstructionsPart("first", "text")]))
    for number in range(count):
        parts = [ags.InstructionsPart.keeping(1), ags.InstructionsPart("p", f"text {number}")]
        append(ags.ConfigEntry(instructions_parts=parts))


def rejected_elsewhere(append: Callable[[Entry], str], count: int) -> None:
    """Calls that a branch rejects and another hands to their tools."""
    names = [f"c{number}" for number in range(count)]
    targets = [append(ags.ItemEntry(call(name), response="r")) for name in names]
    for name, target in zip(names, targets, strict=True):
        append(ags.DecisionEntry(name, target, "reject", reason="no"))
    parent = targets[-1]
    for name, target in zip(names, targets, strict=True):
        parent = append(ags.DispatchEntry(name, target, parent=parent))


def by_turns(append: Callable[[Entry], str], count: int) -> None:
    """Two branches that grow by turns."""
    root = append(ags.ItemEntry({"type": "message", "role": "user", "content": "Go"}))
    ends = [root, root]
    for number in range(count):
        name = f"c{number}"
        target = append(ags.ItemEntry(call(name), response="r", parent=ends[number % 2]))
        ends[number % 2] = append(ags.DispatchEntry(name, target, parent=target))


def side_branches(append: Callable[[Entry], str], count: int) -> None:
    """A long path, and off its end branches that are tried and left."""
    end = ""
    for number in range(count):
        end = append(ags.ItemEntry(call(f"c{number}"), response="r"))
    for number in range(count):
        name = f"s{number}"
        target = append(ags.ItemEntry(call(name), response="r", parent=end))
        ran = append(ags.DispatchEntry(name, target, parent=target))
        append(ags.DecisionEntry(name, target, "hold", reason="ask", parent=ran))


WORK = [recorded, argued, rejected_elsewhere, by_turns, side_branches]


@pytest.mark.parametrize(
    ("version", "work"),
    [*(("0.3", work) for work in WORK), *(("0.11", work) for work in [*WORK, instructed])],
)
@pytest.mark.parametrize("stored", [False, True])
def test_four_times_as_much_costs_four_times_as_many_calls(
    version: str, work: Any, stored: bool, tmp_path: Path
) -> None:
    costs = []
    for count in (25, 100):
        header = ags.Header(format=f"agentsession/{version}")
        session = ags.Session(header)
        if stored:
            session = JSONLStore(tmp_path / str(count)).create(header)
        costs.append(sum(counted(lambda s=session, n=count: work(s.append, n))[1].values()))
    assert costs[1] < 4.6 * costs[0]


class _Seen:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.ids: list[str] = []

    def feed(self, entry: Entry) -> None:
        if entry.id == "bad":
            raise KeyboardInterrupt
        self._journal.append(self.ids, entry.id)


def tree(parents: list[int | None]) -> Rows:
    """Notes and links by turns, each below the one that its parent's number names."""
    rows = Rows()
    for number, parent in enumerate(parents):
        kind = ags.InfoEntry("n") if number % 3 else ags.LinkEntry("other", "s")
        rows.append(kind.sealed(f"e{number}", None if parent is None else f"e{parent}", TS, (0, 3)))
    return rows


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_state_is_what_it_is_when_its_path_is_gone_through_anew(data: st.DataObject) -> None:
    parents: list[int | None] = [None]
    for number in range(1, data.draw(st.integers(1, 60))):
        near = max(0, number - 3)
        parents.append(data.draw(st.sampled_from([number - 1, near, number // 2, 0, None])))
    rows = tree(parents)
    asked = data.draw(st.lists(st.sampled_from([None, *rows.ids]), min_size=1, max_size=40))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_states, "_BACK", data.draw(st.integers(1, 4)))
        states = PathStates(_Seen, frozenset({"info"}))
        for entry_id in asked:
            path = [rows[row] for row in rows.path(entry_id)]
            expected = [entry.id for entry in path if entry.type == "info"]
            assert states.at(rows, entry_id).ids == expected


def test_few_states_are_kept_and_none_that_was_cut_short() -> None:
    # Four branches that are far from each other.
    length = 4 * path_states._BACK
    parents: list[int | None] = [None]
    for branch in range(2 * _KEPT):
        parents += [0, *range(1 + branch * length, branch * length + length)]
    rows = tree(parents)
    states = PathStates(_Seen, frozenset({"info", "link"}))
    for branch in range(1, 2 * _KEPT + 1):
        end = f"e{branch * length}"
        assert len(states.at(rows, end).ids) == length + 1
    assert len(states._kept) == _KEPT
    rows.append(ags.InfoEntry("n").sealed("bad", end, TS, (0, 3)))
    with pytest.raises(KeyboardInterrupt):
        states.at(rows, "bad")
    assert len(states._kept) == _KEPT - 1
    assert len(states.at(rows, end).ids) == length + 1
    assert states.at(rows, None).ids == []
    assert Known().reject("c", rows, "e1") == ""


def test_little_is_kept_of_how_to_go_back() -> None:
    rows = tree([None, *range(20 * path_states._BACK)])
    states = PathStates(_Seen, frozenset({"info", "link"}))
    states.at(rows, rows.ids[-1])
    (walker,) = states._kept
    assert len(walker._back) <= 2 * path_states._BACK
    assert len(walker._journal._changes) <= 2 * path_states._BACK
