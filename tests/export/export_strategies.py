"""Hypothesis strategies: whole sessions with everything an export has to place."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

import agentsession as ags
from agentsession.testing import SessionBuilder

words = st.text(max_size=10)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
call_ids = st.sampled_from(["call_1", "call_2", "call_3", "call_é/1"])
response_ids = st.sampled_from(["", "R1", "R2", "R3"])
media = st.builds(
    lambda data, kind: f"data:{kind};base64,{base64.b64encode(data).decode()}",
    st.binary(min_size=1, max_size=6),
    st.sampled_from(["image/png", "image/jpeg", "image/jpg", "IMAGE/PNG", "image/svg+xml"]),
)
places = media | st.sampled_from(
    ["https://x.test/a.png?b", "https://x.test/d.svg", "file-1", "data:image/gif,plain"]
)
parts = st.one_of(
    words.map(lambda text: {"type": "input_text", "text": text}),
    words.map(lambda text: {"type": "output_text", "text": text, "annotations": []}),
    words.map(lambda text: {"type": "refusal", "refusal": text}),
    places.map(lambda url: {"type": "input_image", "image_url": url, "detail": "auto"}),
    st.just({"type": "input_image", "file_id": "file-2"}),
    words.map(lambda name: {"type": "input_file", "filename": name}),
    words.map(lambda name: {"type": "acme:part", "of": name}),
)
contents = words | st.lists(parts, max_size=3)
messages = st.builds(
    lambda role, content: {"type": "message", "role": role, "content": content},
    st.sampled_from(["user", "system", "developer", "assistant", "critic"]),
    contents,
)
calls = st.builds(
    lambda call_id, name, arguments: {
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    },
    call_ids,
    st.sampled_from(["ls", "cat", ""]),
    st.sampled_from(["{}", " ", "3+3", '{"a": [1, "x"]}', "null", '{"a"']),
)
outputs = st.builds(
    lambda call_id, output: {"type": "function_call_output", "call_id": call_id, "output": output},
    call_ids,
    contents,
)
odd = st.dictionaries(words, json_values, max_size=2)
items = st.one_of(
    messages,
    messages,
    calls,
    outputs,
    words.map(lambda text: {"type": "reasoning", "summary": [{"type": "s", "text": text}]}),
    odd.map(lambda members: {**members, "type": "acme:note"}),
    st.just({"type": "item_reference", "id": "x"}),
)
own_names = st.dictionaries(
    st.sampled_from(["x_note", "openresponses", "calls", "phases", "unknown"]),
    json_values,
    max_size=2,
)
usages = st.none() | st.builds(
    lambda read, wrote: {
        "input_tokens": read,
        "output_tokens": wrote,
        "input_tokens_details": {"cached_tokens": read // 2},
        "output_tokens_details": {"reasoning_tokens": wrote // 2},
    },
    st.integers(0, 99),
    st.integers(0, 99),
)
triggers = st.none() | st.builds(ags.Trigger, words, words)


def entries() -> st.SearchStrategy[ags.Entry]:
    """Entries of all types that need no other entry."""
    item = st.builds(
        ags.ItemEntry,
        items,
        response=response_ids,
        visible=st.sampled_from([None, True, False]),
        source=triggers,
        unknown=own_names,
    )
    response = st.builds(
        ags.ResponseEntry,
        response_ids,
        model=st.sampled_from(["", "m-2"]),
        status=st.sampled_from(["completed", "failed", "incomplete", ""]),
        usage=usages,
        error=st.none() | st.just({"code": "x"}),
        latency_ms=st.integers(0, 5),
        unknown=own_names,
    )
    return st.one_of(
        item,
        item,
        item,
        response,
        response,
        st.builds(
            ags.ConfigEntry,
            model=st.sampled_from(["", "m-1", "m-3"]),
            instructions=st.none() | words,
            reasoning=st.sampled_from([None, {"effort": "low"}, {}]),
            tools_added=st.lists(
                st.sampled_from([{"type": "function", "name": "ls"}, {"type": "web_search"}]),
                max_size=1,
            ),
            replace=st.booleans(),
            unknown=own_names,
        ),
        st.builds(ags.BranchSummaryEntry, st.just("gone"), messages, usage=usages),
        st.builds(ags.EnvEntry, cwd=words, unknown=own_names),
        st.builds(ags.InfoEntry, words, unknown=own_names),
        st.builds(ags.CustomEntry, words, json_values, unknown=own_names),
        st.builds(ags.QueuedEntry, items, st.just("steer"), trigger=triggers),
        st.builds(ags.RunEntry.start, st.sampled_from(["A", "B"]), st.just("input"), words),
        st.builds(ags.RunEntry.end, st.sampled_from(["A", "B"]), st.just("done"), words),
        st.builds(ags.DispatchEntry, call_ids, st.just("t")),
        st.builds(ags.DecisionEntry, call_ids, st.just("t"), st.sampled_from(["hold", "proceed"])),
        st.builds(
            ags.LinkEntry,
            st.sampled_from(["subsession", "continued_in"]),
            st.sampled_from(["kid", "session-1", "nobody"]),
            call_ids,
        ),
        odd.map(lambda members: ags.UnknownEntry({**members, "type": "acme:mark"})),
    )


@st.composite
def sessions(draw: st.DrawFn, max_entries: int = 12) -> ags.Session:
    """Sessions with folds, pins, branches, late outputs and judged entries."""
    build = SessionBuilder(cwd=draw(words))
    session = build.session
    for _ in range(draw(st.integers(1, max_entries))):
        ids = [entry.id for entry in session.path()]
        move = draw(st.sampled_from(["append"] * 8 + ["fold", "branch", "judge", "label"]))
        if move == "append" or not ids:
            entry = draw(entries())
            if isinstance(entry, ags.DispatchEntry) and len(ids) == 0:
                continue
            build.append(entry)
        elif move == "fold":
            build.append(
                ags.CompactionEntry(
                    draw(st.sampled_from(ids)),
                    draw(messages),
                    pinned=draw(st.lists(messages, max_size=2)),
                    config=ags.Settings(model="m-fold"),
                    usage=draw(usages),
                )
            )
        elif move == "branch":
            session.branch(draw(st.sampled_from([entry.id for entry in session])))
        elif move == "judge":
            target = draw(st.sampled_from([*ids, ""]))
            score = draw(st.none() | st.floats(0, 1))
            build.append(ags.OutcomeEntry("eval", target, score=score, details=draw(json_values)))
        else:
            build.append(ags.LabelEntry(draw(st.sampled_from(ids)), draw(st.none() | words)))
    if not len(session):
        build.user("x")
    return session
