"""Hypothesis strategies: JSON values, entries and whole session files."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import agentsession as ags
from agentsession.testing import SessionBuilder

text = st.text(max_size=12)
numbers = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=64)
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, text),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
messages = st.builds(
    lambda role, words: {"type": "message", "role": role, "content": words},
    st.sampled_from(["user", "developer", "assistant"]),
    st.one_of(
        text, st.lists(text.map(lambda words: {"type": "input_text", "text": words}), max_size=2)
    ),
)
odd_items = st.dictionaries(text, json_values, max_size=3).map(
    lambda d: {**d, "type": "acme:thing"}
)
items = st.one_of(messages, odd_items)
own_names = st.dictionaries(text.map("x_".__add__), json_values, max_size=2)


def entries() -> st.SearchStrategy[ags.Entry]:
    """Entries of many types that stand by themselves."""
    return st.one_of(
        st.builds(
            ags.ItemEntry, items, visible=st.sampled_from([None, True, False]), unknown=own_names
        ),
        st.builds(
            ags.ConfigEntry,
            model=text,
            instructions=st.none() | text,
            extra=st.dictionaries(text, json_values, max_size=2),
            replace=st.booleans(),
        ),
        st.builds(
            ags.ResponseEntry,
            text,
            status=text,
            latency_ms=st.integers(0, 10**6),
            unknown=own_names,
        ),
        st.builds(ags.BranchSummaryEntry, text, messages),
        st.builds(ags.InfoEntry, text, unknown=own_names),
        st.builds(ags.CustomEntry, text, json_values),
        st.builds(
            ags.OutcomeEntry,
            text,
            score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        ),
        st.builds(ags.LinkEntry, text, text),
        st.builds(lambda data: ags.UnknownEntry({**data, "type": "acme:note"}), own_names),
    )


@st.composite
def sessions(draw: st.DrawFn, max_entries: int = 12) -> ags.Session:
    """Sessions with branches, several roots, labels and durable leaves."""
    build = SessionBuilder(cwd=draw(text))
    session = build.session
    for _ in range(draw(st.integers(0, max_entries))):
        move = draw(
            st.sampled_from(["append", "append", "append", "branch", "root", "mark", "label"])
        )
        ids = [entry.id for entry in session]
        if move == "append" or not ids:
            build.append(draw(entries()))
        elif move == "branch":
            session.branch(draw(st.sampled_from(ids)))
        elif move == "root":
            session.reset_leaf()
        elif move == "label":
            build.append(
                ags.LabelEntry(
                    draw(st.sampled_from(ids)), draw(st.sampled_from(["a", None, "leaf"]))
                )
            )
        elif session.leaf is not None:
            build.append(session.mark_leaf())
    return session
