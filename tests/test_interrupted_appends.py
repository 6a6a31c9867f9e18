"""An append that is interrupted has happened, or has not: never in part."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import CodeType, FrameType
from typing import Any

import pytest

import agentsession as ags
from agentsession import call_rules, leaves
from agentsession.entries import Entry
from agentsession.growth import Growth
from agentsession.rows import Rows
from agentsession.stores import MemoryStore

TS = "2026-03-01T08:15:31Z"
STEPS: frozenset[CodeType] = frozenset(
    function.__code__
    for function in (
        Growth.append,
        Growth.commit,
        Growth._take,
        Rows.append,
        Rows._take_mark,
        call_rules.Known.take,
        call_rules.Known.owner,
        call_rules.Known.reject,
        call_rules.Known.is_dispatched,
        call_rules._own,
        leaves.after,
    )
)


class _Interrupt:
    """Ctrl-C before a line: the one with a number among those that an append comes to."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        if frame.f_code not in STEPS:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def interrupted(work: Callable[[], object], at: int) -> bool:
    """Whether there was a line to interrupt."""
    trace = _Interrupt(at)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def message(text: str, **place: Any) -> Entry:
    return ags.ItemEntry({"type": "message", "role": "user", "content": text}, ts=TS, **place)


def call(name: str) -> Entry:
    item = {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
    return ags.ItemEntry(item, response="r", ts=TS)


def tried(session: ags.Session, entry: Entry) -> None:
    """Append an entry, where it is allowed."""
    with suppress(ags.AgentSessionError):
        session.append(entry)


def begun(version: str, *, stored: bool) -> tuple[ags.Session, list[str]]:
    header = ags.Header(id="s", format=f"agentsession/{version}", records=["dispatch"])
    session = MemoryStore().create(header) if stored else ags.Session(header)
    names = [session.append(entry) for entry in (message("r"), call("a"), call("b"))]
    session.append(ags.DispatchEntry("b", names[2], ts=TS))
    # What is known of calls is asked for once, so that appends go on from it.
    for verdict in ("answer", "reject"):
        tried(session, ags.DecisionEntry("a", names[1], verdict, reason="no", ts=TS))
        session.branch(names[2])
    return session, names


NEXT: list[Callable[[list[str]], Entry]] = [
    lambda names: message("c"),
    lambda names: call("c"),
    lambda names: ags.DispatchEntry("a", names[1], ts=TS, parent=names[2]),
    lambda names: ags.DecisionEntry("a", names[1], "hold", reason="ask", ts=TS, parent=names[2]),
    lambda names: ags.LabelEntry(names[0], ags.LEAF_LABEL, ts=TS),
]


def state(session: ags.Session, names: list[str]) -> list[Any]:
    """All that can be asked of the session's tree, and what the next appends say."""
    found: list[Any] = [
        session.leaf,
        [(entry.id, entry.parent) for entry in session.entries],
        [[entry.id for entry in session.path(entry.id)] for entry in session.entries],
        [entry.id for entry in session.leaves],
        [[child.id for child in session.children(entry.id)] for entry in session.entries],
        session.call_owner("c"),
        [entry.id in session.dispatched() for entry in session.entries],
    ]
    for make in (lambda n: message("q", parent=n[0]), *NEXT):
        try:
            entry_id = session.append(make(names))
            found.append([entry.line for entry in session.path(entry_id)])
        except ags.AgentSessionError as error:
            found.append(f"{type(error).__name__} {error}")
    return found


def without_ids(session: ags.Session, found: list[Any]) -> str:
    """What was found, where ids are drawn by chance with numbers in their place."""
    text = repr(found)
    for number, entry_id in enumerate(session._rows.ids):
        text = text.replace(entry_id, f"#{number}")
    return text


@pytest.mark.parametrize("version", ["0.2", "0.3", "0.11"])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("following", range(len(NEXT)))
def test_an_interrupt_before_any_line(version: str, stored: bool, following: int) -> None:
    sessions = []
    for did in (False, True):
        session, names = begun(version, stored=stored)
        if did:
            tried(session, NEXT[following](names))
        sessions.append(without_ids(session, state(session, names)))
    for at in range(1, 200):
        session, names = begun(version, stored=stored)
        if not interrupted(partial(tried, session, NEXT[following](names)), at):
            break
        assert without_ids(session, state(session, names)) in sessions
    assert 10 < at < 199
