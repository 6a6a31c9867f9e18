"""A first look at a log, alone or to keep its records: it finds the same, and they are the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from claude_files import Log
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.claude_code.looking import look
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.source import read_records
from agentsession.importers.claude_code.stamps import time_of
from agentsession.timestamp import Timestamp
from agentsession.writing import dump

VALUES: list[Any] = ["x", "a/b\x1b", "é\u2028", "\ud800", "", 1, 1.5, None, True, [], ["Task"], {}]
NAMES = [
    "type",
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "version",
    "cwd",
    "isSidechain",
    "requestId",
    "requestSessionId",
    "compactMetadata",
    "toolUseResult",
    "message",
    "isAbortedMidStream",
    "summary",
]
INNER = ["id", "model", "role", "content", "stop_reason", "usage", "odd"]
BLOCK = ["type", "id", "name", "input", "text", "content", "tool_use_id", "caller"]
DEEP = b'{"type":"user","uuid":"d","x":' + b"[" * 900 + b"]" * 900 + b"}"
OTHERS = [
    b"",
    b"  ",
    b"\0\0",
    b"{",
    b"[]",
    DEEP,
    b'{"type":"summary","summary":"T","leafUuid":"u"}',
]


def whole() -> Log:
    log = Log()
    log.user("u0", "Warmup", None, isSidechain=True)
    log.user("u1", "Go", None)
    log.call("a1", "m1", "c1", "Task", input={"prompt": "Look", "isAbortedMidStream": True})
    log.result("r1", "c1", "Done", toolUseResult={"agentId": "abc"})
    log.say("a2", "m2", "Fine.", requestSessionId="another")
    log.other("ai-title", aiTitle="Some title")
    return log


@st.composite
def files(draw: st.DrawFn) -> bytes:
    log = whole()
    for line in log.lines:
        told = draw(st.sampled_from([line, line, line.get("message", line)]))
        if "content" in told and isinstance(told["content"], list) and draw(st.booleans()):
            told = told["content"][0]
        names = BLOCK if "message" not in line or told is not line else NAMES
        names = INNER if told is line.get("message") else names
        if draw(st.booleans()):
            told[draw(st.sampled_from(names))] = draw(st.sampled_from(VALUES))
    written = [
        json.dumps(line, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
        for line in log.lines
    ]
    written.insert(draw(st.integers(0, 6)), draw(st.sampled_from(OTHERS)))
    ends = draw(st.lists(st.sampled_from([b"\n", b"\n", b"\r\n", b""]), min_size=7, max_size=7))
    return b"".join(line + end for line, end in zip(written, ends, strict=True))


def told(record: Record) -> list[object]:
    left = {"content", "_usage", "_members", "_message", "_blocks"}
    said = [getattr(record, name) for name in Record.__slots__ if name not in left]
    members = {name: bytes(value) for name, value in record.members.items()}
    return [*said, type(record.content), record.usage, record.blocks, members]


@settings(max_examples=150, deadline=None)
@given(content=files())
def test_records_that_a_look_keeps_are_those_that_are_read(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "11111111-2222-4333-8444-555555555555.jsonl"
        path.write_bytes(content)
        kept: list[Record] = []
        assert look(path, kept) == look(path)
        assert [told(one) for one in kept] == [told(one) for one in read_records(path, 0)]


def test_a_log_that_is_alone_becomes_what_it_becomes_among_others(tmp_path: Path) -> None:
    whole().write(tmp_path / "alone")
    whole().write(tmp_path / "both")
    other = Log("22222222-2222-4333-8444-555555555555")
    other.user("x1", "Go")
    other.say("y1", "n1", "Other.")
    other.write(tmp_path / "both")
    made = {}
    for place in ("alone", "both"):
        importer = ClaudeCode()
        (source,) = importer.find([tmp_path / place])
        made[place] = {
            one.id: dump(importer.convert(source, one.id).session)
            for one in importer.sessions(source)
        }
    assert made["alone"].items() <= made["both"].items()
    assert len(made["alone"]) == 2


def test_a_log_can_be_converted_again(tmp_path: Path) -> None:
    whole().write(tmp_path)
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    first, second = (
        [importer.convert(source, one.id) for one in importer.sessions(source)] for _ in range(2)
    )
    assert [dump(one.session) for one in first] == [dump(one.session) for one in second]
    assert [one.records for one in first] == [one.records for one in second]


def test_an_answer_is_cut_short_when_its_record_says_so(tmp_path: Path) -> None:
    log = whole()
    log.say("a3", "m3", "Stop", isAbortedMidStream=True)
    log.write(tmp_path)
    importer = ClaudeCode()
    (source,) = importer.find([tmp_path])
    session = importer.convert(source, log.session).session
    found = {e.response_id: e.status for e in session.entries if e.type == "response"}
    # The member of that name in what a tool was asked is the tool's.
    assert found == {"m1": "completed", "m2": "completed", "m3": "incomplete"}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("2026-03-01T10:00:00.000Z", "2026-03-01T10:00:00.000Z"),
        ("2026-03-01T10:00:59.999Z", "2026-03-01T10:00:59.999Z"),
        ("2026-03-01T10:00:60.000Z", ""),
        ("2026-02-30T10:00:00.000Z", ""),
        ("2026-13-01T10:00:00.000Z", ""),
        ("2026-03-01T10:00:0\u0661.000Z", ""),
        ("1999-03-01T10:00:00.000Z", ""),
        ("2026-03-01", ""),
    ],
)
def test_times_that_can_be_are_written_as_they_are(written: str, found: str) -> None:
    assert time_of(written) == found
    assert time_of(written) == found  # and again, now that its minute is known


@given(moment=st.datetimes())
def test_times_are_read_as_the_format_reads_them(moment: Any) -> None:
    written = moment.isoformat(timespec="milliseconds") + "Z"
    known = 2020 <= moment.year < 2100
    assert time_of(written) == (Timestamp.parse(written).text if known else "")
