"""Plain blocks become items without being decoded: the same bytes as the long way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from claude_files import Log
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import text
from agentsession.importers.claude_code.plain import plain_answer_item, plain_user_item
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.units import Times, Units

LETTERS = 'aé値🙂\u2028\u2029…—"\\/\n\t\b\f\r\x1b\x7f\x00 <>&:,{}[]'
WORDS = st.text(alphabet=st.sampled_from(LETTERS), max_size=30)
LEAVES = st.one_of(
    WORDS, st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.booleans(), st.none()
)
INPUTS = st.recursive(
    st.dictionaries(WORDS, LEAVES, max_size=3),
    lambda inner: st.dictionaries(WORDS, st.one_of(inner, st.lists(inner | LEAVES, max_size=2))),
    max_leaves=6,
)
EXTRA: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"cache_control": {"type": "ephemeral"}}, {"odd": 1}]
)


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["text", "thinking", "tool_use", "tool_result"]))
    block: dict[str, Any] = {"type": kind, **draw(EXTRA)}
    if kind == "text":
        return {**block, "text": draw(WORDS | st.none())}
    if kind == "thinking":
        return {**block, "thinking": draw(WORDS), "signature": draw(WORDS | st.integers())}
    if kind == "tool_use":
        return {**block, "id": draw(WORDS), "name": draw(WORDS), "input": draw(INPUTS)}
    content = draw(WORDS | st.just([{"type": "text", "text": "x"}]))
    block |= {"tool_use_id": draw(WORDS), "content": content}
    error = draw(st.sampled_from([None, True, False]))
    return block if error is None else {**block, "is_error": error}


def record_of(line: dict[str, Any], *, spaced: bool, escaped: bool) -> Record:
    separators = (", ", ": ") if spaced else (",", ":")
    written = json.dumps(line, ensure_ascii=escaped, separators=separators)
    return Record(written.encode(), 0, 0)


def pieces(record: Record) -> list[tuple[object, ...]]:
    record.number = 0
    return [
        (p.text, p.origin, p.key, p.kind, p.call_id, p.native, p.hidden, p.response, p.blocks)
        for p in Units(Times([record], "2026-01-01T00:00:00Z")).of(record)
    ]


@given(block=blocks(), said=st.booleans(), spaced=st.booleans(), escaped=st.booleans())
@settings(max_examples=200, deadline=None)
def test_the_short_way_gives_what_the_long_way_gives(
    block: dict[str, Any], said: bool, spaced: bool, escaped: bool
) -> None:
    log = Log()
    if said:
        line = log.block("a1", "m1", block)
    else:
        line = log.user("u1", [block], toolUseResult={"stdout": "…", "n": [1, 2]})
    short = record_of(line, spaced=spaced, escaped=escaped)
    long = record_of(line, spaced=spaced, escaped=escaped)
    long.is_plain = False
    assert pieces(short) == pieces(long)
    again = pieces(short)
    assert again == pieces(long)


@given(words=WORDS, escaped=st.booleans())
@settings(max_examples=60, deadline=None)
def test_words_of_a_user_are_the_same_both_ways(words: str, escaped: bool) -> None:
    line = Log().user("u1", words)
    short = record_of(line, spaced=False, escaped=escaped)
    long = record_of(line, spaced=False, escaped=escaped)
    long.content = None
    assert pieces(short) == pieces(long)


def test_most_blocks_go_the_short_way() -> None:
    log = Log()
    lines = [
        log.block("a1", "m1", {"type": "text", "text": "A \x1b[1mé… C:\\temp"}),
        log.block("a2", "m1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
        log.block("a3", "m1", {"type": "tool_use", "id": "c", "name": "Bash", "input": {"a": 1}}),
    ]
    for line in lines:
        item, origin = plain_answer_item(record_of(line, spaced=False, escaped=False))
        assert text.parse(item)["id"] == line["uuid"]
        assert text.parse(origin)["message"] == "m1"
    result = log.user("r1", [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}])
    item, origin = plain_user_item(record_of(result, spaced=False, escaped=False), "user")
    assert text.parse(item)["output"] == "ok"
    assert origin == b""


@pytest.mark.parametrize("escape", ["\\u0041", "\\ud83d\\ude00", "\\ud800", "\\u001B", "\\/"])
def test_other_spellings_go_the_long_way(escape: str) -> None:
    line = json.dumps(Log().block("a1", "m1", {"type": "text", "text": "MARK"}))
    record = Record(line.replace("MARK", escape).encode(), 0, 0)
    assert plain_answer_item(record) == (b"", b"")
    assert pieces(record)[0][0]
