"""Sessions as an importer of chats would convert them, and what a store then holds of them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from agentsession.entries import ItemEntry
from agentsession.header import Header
from agentsession.importers.identity import place
from agentsession.importers.plans import Plan
from agentsession.record_entries import CustomEntry, InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore

DAY = "2026-03-01T08:{:02}:{:02}Z"


def at(second: int) -> str:
    return DAY.format(second // 60, second % 60)


def message(text: str, second: int) -> ItemEntry:
    content = [{"type": "input_text", "text": text}]
    return ItemEntry({"type": "message", "role": "user", "content": content}, ts=at(second))


def convert(*said: str, title: str = "A chat", updated: int | None = None) -> Session:
    """A conversion: what was said, and the title behind it."""
    session = Session(Header(format="agentsession/0.3", id="s-1", created_at=at(0)))
    tip = None
    for second, text in enumerate(said):
        tip = place(session, tip, message(text, second), f"m{second}")
    last = len(said) - 1 if updated is None else updated
    tip = place(session, tip, InfoEntry(title, ts=at(last)), "s-1", "title")
    place(session, tip, CustomEntry("chat", {"updated": last}, ts=at(last)), "s-1", "totals")
    return session


def said(session: Session) -> list[str]:
    return [item.text for item in session.context().items]


def reopened(store: JSONLStore) -> Session:
    store.release("s-1")
    return store.open("s-1")


def bytes_of(store: JSONLStore) -> bytes:
    return store.path("s-1").read_bytes()


def edit(store: JSONLStore, change: Callable[[Session], object]) -> str | None:
    """Let a user change the session; return the leaf it then opens with."""
    change(store.open("s-1"))
    return reopened(store).leaf


def codes(done: Plan) -> set[str]:
    return {finding.code for finding in done.findings}


histories = st.lists(
    st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(tuple), min_size=1, max_size=5
)
