"""The fast way to read against the exact one, and what a strict reading refuses beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import _shapes, kinds, line_reading, reading, strictness
from agentsession.codec import ENTRY_TYPES

HEADER = (
    b'{"type":"session","format":"agentsession/0.%d","id":"s","created_at":"2026-03-01T08:15:30Z",'
    b'"payload":"openresponses/2026-04-24"}'
)
TIME = "2026-03-01T08:15:31Z"

TEXTS = (
    *("null", "true", "false", "0", "-0", "7", "1.0", "1e3", "1e400", "-1", "9" * 25, "9" * 4250),
    *('""', '"x"', '"start"', '"end"', '"reject"', '"\\ud83d"', '"é🙂"', '"\\u0041"', "[]", "{}"),
    *(
        '["a",null]',
        "[1]",
        '[{"id":"a"}]',
        '[{"id":7}]',
        '{"a":"b"}',
        '{"a":1,"a":2}',
        '{"a":null}',
    ),
    *('{"kind":"x"}', '{"kind":7}', "[" * 1200 + "]" * 1200, "[" * 10_001 + "]" * 10_001, "nul"),
)
"""Values that stand where a member's value does."""

TIMES = (
    *(TIME, "2024-02-29T00:00:00Z", "2026-02-29T00:00:00Z", "0999-01-01T00:00:00Z", "", "x"),
    *("2026-03-01T08:15:31+02:00", "2026-03-01T08:15:31+0200", "2026-03-01t08:15:31Z"),
    *("2026-03-01 08:15:31Z", "2026-03-01T08:15:31z", "2026-03-01T08:15:60Z", "2026-03-01T08:15Z"),
    *("0001-01-01T00:00:00Z", "2026-03-01T08:15:31", "2026-03-01T24:00:00Z"),
    *("2026-03-01T08:15:31.123456789123Z", "9999-12-31T23:59:59.9999999Z", "T2026-03-01Z"),
)

WHOLE: dict[str, dict[str, Any]] = {
    "item": {"item": {"type": "message"}, "response": "r", "source": {"kind": "x"}},
    "response": {"response_id": "r", "usage": {}, "latency_ms": 7},
    "config": {"model": "m", "instructions_parts": [{"id": "a", "text": "b"}]},
    "compaction": {"first_kept": "a", "summary": {}, "config": {"model": "m", "tools": [{}]}},
    "branch_summary": {"from": "a", "summary": {}},
    "run": {"run_id": "r", "phase": "start", "source": "input"},
    "dispatch": {"call_id": "c", "target": "t"},
    "decision": {"call_id": "c", "target": "t", "verdict": "approve"},
    "queued": {"item": {}, "mode": "steer"},
    "label": {"target": "a", "label": None},
    "info": {"name": "x"},
    "env": {"cwd": "/", "vcs": {"system": "git"}, "tools": {"a": "1"}},
    "outcome": {"kind": "x", "score": 0.5, "pass": True},
    "link": {"rel": "x", "session": "y"},
    "custom": {"ns": "x", "data": [1]},
    "acme:x": {"item": [], "anything": {"a": 1}},
}


@st.composite
def lines(draw: st.DrawFn, number: int) -> bytes:
    """A line that keeps every rule, with one thing changed in some of them."""
    entry_type = draw(st.sampled_from(sorted(WHOLE)))
    parent = f"id{number - 1}" if number else None
    members = {"type": entry_type, "id": f"id{number}", "parent": parent, "ts": TIME}
    texts = {name: json.dumps(value) for name, value in {**members, **WHOLE[entry_type]}.items()}
    known = list(ENTRY_TYPES[entry_type].MEMBERS) if entry_type in ENTRY_TYPES else []
    change = draw(st.sampled_from(["none"] * 6 + ["member", "time", "place", "absent", "again"]))
    if change == "member":
        name = draw(st.sampled_from([*texts, *known, "unheard"]))
        texts[name] = draw(st.sampled_from(TEXTS))
    elif change == "time":
        texts["ts"] = json.dumps(draw(st.sampled_from(TIMES)))
    elif change == "place":
        name = draw(st.sampled_from(["id", "parent"]))
        texts[name] = json.dumps(draw(st.sampled_from(["id0", "id1", "id5", "", None])))
    elif change == "absent":
        del texts[draw(st.sampled_from(list(texts)))]
    written = ",".join(f'"{name}":{text}' for name, text in texts.items())
    if change == "again":
        written += f',"{draw(st.sampled_from(list(texts)))}":{draw(st.sampled_from(TEXTS))}'
    return b"{%s}" % written.encode()


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of up to eight lines, odd in one thing or another."""
    minor = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 11]))
    found = [HEADER % minor, *(draw(lines(number)) for number in range(draw(st.integers(0, 8))))]
    ends = st.sampled_from([b"\n"] * 12 + [b"\r\n", b"\n\n", b"\r\r\n", b" \n", b"", b"\n\r\n"])
    data = b"".join(line + draw(ends) for line in found)
    how = draw(st.sampled_from(["whole"] * 6 + ["cut", "byte"]))
    at = draw(st.integers(0, len(data) - 1))
    if how == "cut":
        return data[:at]
    if how == "byte":
        odd = draw(st.sampled_from([b"\xff", b"\x00", b"{", b'"', b" ", b"\r", b"\xc3\xa9"]))
        return data[:at] + odd + data[at:]
    return data


def outcome(data: bytes, **options: Any) -> object:
    """All that a reading says, so that two can be compared."""
    try:
        session = ags.read(data, verify_ids=False, **options)
    except ags.AgentSessionError as error:
        return type(error), str(error)
    return (
        [(type(entry), entry.type, entry.id, entry.parent, entry.line) for entry in session],
        [session.context().to_dict() if session.leaf else None for _ in range(1)]
        if not any(entry.type == "compaction" for entry in session)
        else [],
        session.leaf,
        session.notes,
        session.truncated and (session.truncated.line, session.truncated.start, str(session)),
        ags.dump(session),
        ags.dump(session, clean=True),
    )


def by_lines(data: bytes, **options: Any) -> object:
    """The same, of a reading that takes no block at once."""
    with (
        mock.patch.object(line_reading.LineReader, "_take_block", return_value=False),
        mock.patch.object(line_reading, "_LINES_READ_EXACTLY", 10**9),
    ):
        return outcome(data, **options)


@settings(max_examples=200, deadline=None)
@given(files())
def test_the_fast_way_accepts_and_refuses_what_the_exact_one_does(data: bytes) -> None:
    assert outcome(data) == by_lines(data)


@settings(max_examples=150, deadline=None)
@given(files())
def test_a_strict_reading_refuses_more_and_says_why(data: bytes) -> None:
    plain, strict = outcome(data), outcome(data, strict=True)
    assert strict == by_lines(data, strict=True)
    if strict == plain:
        return
    assert isinstance(strict, tuple)
    kind, sentence = strict
    assert kind is ags.DamagedFile
    assert sentence.endswith("and the reading is strict") or isinstance(plain[0], type)  # type: ignore[index]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (b',"x":1,"x":2', "used twice"),
        (b',"item":{"a":{"b":1,"b":2}},"x":0', "used twice"),
        (b',"x":"\\ud83d"', "lone surrogate"),
        (b',"x":123456789012345678901', "no double"),
        (b',"x":1e400', "beyond any double"),
        (b',"x":"\xff"', "UTF-8"),
    ],
)
def test_what_a_reader_forgives_and_a_strict_one_does_not(more: bytes, words: str) -> None:
    line = b'{"type":"acme:x","id":"a","parent":null,"ts":"2026-03-01T08:15:31Z"%s}' % more
    data = HEADER % 2 + b"\n" + line + b"\n"
    session = ags.read(data)
    with pytest.raises(ags.DamagedFile, match=rf"line 2: .*{words}.* strict"):
        ags.read(data, strict=True)
    assert [words in found for found in strictness.findings(session)] == [True]


def test_a_strict_reading_takes_plain_files_and_odd_line_ends(tmp_path: Path) -> None:
    line = b'{"type":"info","id":"a","ts":"2026-03-01T08:15:31Z","name":"\\u003c\xc3\xa9"}'
    data = HEADER % 1 + b"\r\n\n" + line
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert len(ags.read(path, strict=True)) == len(reading.load(data, strict=True)) == 1
    path.write_bytes(data + b'\n{"type"')
    assert ags.read(path).truncated is not None
    with path.open("rb") as opened, pytest.raises(ags.DamagedFile, match=r"line 4.*strict"):
        ags.read(opened, strict=True)


def test_every_member_has_a_form_in_the_shape_of_its_type() -> None:
    # A member that holds records and is missing here would send its lines to the exact way.
    left = {
        (entry_type, wire)
        for entry_type, kind in ENTRY_TYPES.items()
        for wire, member in kind.MEMBERS.items()
        if _shapes._form(entry_type, wire, member) is _shapes._ABSENT
    }
    assert {wire for _, wire in left} == {"parents", "normalised"}
    assert kinds.ANY not in _shapes._FORMS


def test_a_big_file_reads_as_its_bytes_do(tmp_path: Path) -> None:
    item = b'{"type":"item","id":"i%d","parent":%s,"ts":"2026-03-01T08:15:31Z","item":{"o":"%s"}}'
    text = "é東🙂 output ".encode() * 1500
    made = [HEADER % 2]
    for number in range(200):
        parent = b'"i%d"' % (number - 1) if number else b"null"
        made.append(item % (number, parent, text))
    data = b"\n".join(made) + b"\n"
    assert len(data) > 1 << 22
    path = tmp_path / "big.jsonl"
    path.write_bytes(data)
    for odd in (data, data.replace(b"\n", b"\r\n"), data[:-9], data.replace(b"\n", b"\n\n", 7)):
        path.write_bytes(odd)
        session = ags.read(path)
        assert ags.dump(session) == odd
        assert session.entries == ags.read(odd).entries
        assert [entry.line for entry in session] == made[1 : len(session) + 1]
