"""Odd sessions: parallel kills, steps within a message, damaged copies, reverts, prunings."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from test_opencode_convert import (
    RECORDINGS,
    START,
    Build,
    called,
    codes,
    from_store,
    native,
    of_type,
    said,
    sent,
    texts,
)

import agentsession as ags
from agentsession import wire
from agentsession.importers.base import Converted, Outcome
from agentsession.importers.opencode import (
    G1,
    G2,
    G3,
    Column,
    Columns,
    Memory,
    MessageRecord,
    PartRecord,
    QueueRow,
    Row2,
    convert,
    decode_message,
    decode_part,
    decode_queue_row,
    decode_row2,
)
from agentsession.importers.opencode.convert.history import History
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.importer import OpenCode
from agentsession.importers.plans import Action, plan
from agentsession.importers.run import Work, import_sessions

NOTICE = "[Tool execution was interrupted]"
SECRET = "reasoningEncryptedContent"
CLEARED = "[Old tool result content cleared]"
NEWER = START + 60_000


def call(number: int, status: str, **state: Any) -> dict[str, Any]:
    return {**called(status, **state), "callID": f"call_{number}"}


def contents(result: Converted, response: str) -> list[Any]:
    return [message["content"] for message in sent(result, response)]


def asked(result: Converted, response: str) -> Sequence[wire.Piece]:
    """Return what a response's request held."""
    responses = of_type(result.session, "response")
    found = next(entry for entry in responses if entry.response_id == response)
    return wire.request_pieces(result.session.path(found.id))


def at_leaf(result: Converted, version: str = "1.18.33") -> list[Any]:
    """Return the contents of what the next request would send from the leaf."""
    session = ags.read(ags.dump(result.session))
    pieces = wire.pieces(session.path())
    target = wire.Target("p", "m")
    return [m["content"] for m in wire.chat_messages(pieces, target, convert.profile_of(version))]


# The order of what calls returned. Spec: opencode 6.3.


@pytest.mark.parametrize("killed", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_notices_and_outputs_stand_in_the_order_of_their_calls(killed: Sequence[int]) -> None:
    built = Build()
    built.user("A")
    calls = [
        call(n, "running") if n in killed else call(n, "completed", output=f"out {n}")
        for n in range(3)
    ]
    built.answer(*calls, finish="", time={"created": START + 2000})
    built.user("B")
    last = built.answer(said("Back"))
    result = from_store(built)
    messages = sent(result, last)
    returned = [m for m in messages if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in returned] == ["call_0", "call_1", "call_2"]
    expected = [NOTICE if n in killed else f"out {n}" for n in range(3)]
    assert [m["content"] for m in returned] == expected
    assert codes(result)["interrupted-call-noticed"] == len(killed)


# Two steps in one message.


@pytest.mark.parametrize("status", ["completed", "running"])
def test_each_step_of_a_message_is_its_own_piece(status: str) -> None:
    state = {"output": "out"} if status == "completed" else {}
    built = Build()
    built.user("A")
    double = built.answer(called(status, **state), {"type": "step-start"}, said("Second"))
    built.user("B")
    last = built.answer(said("End"))
    result = from_store(built)
    assert contents(result, double) == ["A"]
    after = sent(result, last)
    assert [m["role"] for m in after] == ["user", "assistant", "tool", "assistant", "user"]
    assert after[2]["content"] == (state.get("output") or NOTICE)
    assert after[3]["content"] == "Second"
    assert len(of_type(result.session, "response")) == 2


# Copies that are damaged.


def two(taken: Sequence[MessageRecord], other: Sequence[MessageRecord]) -> Converted:
    """Convert a session whose database copy is used last, beside a tree."""
    tree = Memory(
        store_name="storage",
        session_list=[native("1.1.65", G1)],
        messages_of={"ses_a": other},
    )
    database = Memory(
        store_name="opencode.db",
        session_list=[native("1.1.65", G2, updated=NEWER)],
        messages_of={"ses_a": taken},
    )
    with convert.Source(stores=[tree, database]) as source:
        return convert.convert(source, "ses_a")


def cut(part: PartRecord) -> PartRecord:
    """Return a part of which only the beginning can be read."""
    return decode_part(part.unit, part.id, part.message_id, part.session_id, b"{")


def damage(records: Sequence[MessageRecord], what: str) -> list[MessageRecord]:
    """Return records of which the second message, or the text of it, cannot be read."""
    record, text = records[1], records[1].parts[1]
    if what == "message":
        broken = replace(record, info=None, problem="it is cut", raw=b"{")
    elif what == "part":
        bad = cut(text)
        broken = replace(record, parts=(record.parts[0], bad))
    else:
        broken = replace(record, parts=())
    return [records[0], broken, *records[2:]]


@pytest.mark.parametrize("what", ["message", "part", "parts"])
def test_what_one_copy_cannot_give_another_does(what: str) -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("B")
    last = built.answer(said("Two"))
    taken = damage(built.records, what)
    result = two(taken, built.records)
    assert contents(result, last) == ["A", "One", "B"]
    assert codes(result)["read-from-other-copy"] == (2 if what == "parts" else 1)
    bad = [r for r in result.records if r.code == "unreadable-record"]
    assert len(bad) == (0 if what == "parts" else 1)
    held = sum(1 + len(record.parts) for record in [*taken, *built.records])
    assert len(result.records) == held + 2
    assert two(built.records, taken).session.entries[-1] is not None


@pytest.mark.parametrize("what", ["message", "part"])
def test_what_no_copy_can_give_is_named(what: str) -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("B")
    built.answer(said("Two"))
    broken = damage(built.records, what)
    result = two(broken, broken)
    assert "read-from-other-copy" not in codes(result)
    assert [r for r in result.records if r.code == "unreadable-record"]


def row(name: str, seq: int, kind: str, data: str) -> Row2:
    columns = [("id", name), ("session_id", "ses_a"), ("type", kind), ("seq", seq)]
    columns += [("time_created", START + seq), ("data", data)]
    return decode_row2(name, Columns([Column(n, value) for n, value in columns]))


def test_a_row_that_one_copy_cannot_give() -> None:
    rows = [row(f"msg_{n}", n, "user", json.dumps({"text": f"Word {n}"})) for n in range(3)]
    stores = [
        Memory(
            store_name=name,
            session_list=[native("2.0.1", G3, updated=updated)],
            rows_of={"ses_a": held},
        )
        for name, updated, held in [
            ("opencode.db", NEWER, [rows[0], row("msg_1", 1, "user", "{"), rows[2]]),
            ("opencode-dev.db", START, rows),
        ]
    ]
    with convert.Source(stores=stores) as source:
        result = convert.convert(source, "ses_a")
    assert texts(result.session.context()) == ["Word 0", "Word 1", "Word 2"]
    assert codes(result)["read-from-other-copy"] == 1
    assert len(result.records) == 6 + 2


# Parts that cannot be read.


def without_parts(record: MessageRecord) -> MessageRecord:
    return replace(record, parts=tuple(cut(part) for part in record.parts))


def test_unreadable_parts_have_a_code_of_their_own() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("B")
    last = built.answer(said("Two"))
    built.records[:2] = [without_parts(record) for record in built.records[:2]]
    result = from_store(built)
    found = codes(result)
    assert found["parts-lost"] == 3
    assert not {"failed-message-branched", "message-lowers-to-nothing"} & found.keys()
    assert {r.code for r in result.records if r.kind == "message"} == {"", "parts-lost"}
    assert contents(result, last) == ["B"]
    first = of_type(result.session, "response")[0]
    lost = [part.id for part in built.records[1].parts]
    assert first.unknown["opencode"]["lost_parts"] == lost
    assert first.id in {entry.id for entry in result.session.path()}


def test_a_failed_message_stays_one_without_its_parts() -> None:
    built = Build()
    built.user("A")
    built.answer(said("No"), error={"name": "APIError", "data": {"message": "no"}}, finish="")
    built.user("B")
    built.answer(said("Two"))
    built.records[1] = without_parts(built.records[1])
    assert codes(from_store(built))["failed-message-branched"] == 1


def test_a_lost_page_of_parts(tmp_path: Path) -> None:
    place = tmp_path / "data"
    shutil.copytree(RECORDINGS / "1.2.27-errors", place)
    path = place / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'part'"
        root = connection.execute(query).fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xff" * page)
    importer = OpenCode()
    report = import_sessions([Work(importer, importer.find([place]))], tmp_path / "store")
    found = {finding.code for finding in report.findings}
    assert "parts-lost" in found
    assert "message-lowers-to-nothing" not in found
    assert not report.ok


# The release.


def reordered(record: MessageRecord) -> MessageRecord:
    """Return an assistant's message with its members in the order of 1.14."""
    info = json.loads(record.raw)
    raw = json.dumps({"parentID": info.pop("parentID"), **info}).encode()
    made = decode_message("u", record.id, "ses_a", record.created, raw)
    return replace(made, parts=record.parts)


def releases(result: Converted) -> list[str]:
    return [e.unknown["opencode"]["release"] for e in of_type(result.session, "response")]


@pytest.mark.parametrize(
    ("version", "tree", "late", "expected"),
    [
        ("1.2.27", False, (0, 1, 2), ["1.2.27", "1.2.27", "1.2.27"]),
        ("1.2.27", False, (2,), ["1.2.27", "1.2.27", "1.18.0"]),
        ("1.2.27", False, (1,), ["1.2.27", "1.2.27", "1.2.27"]),
        ("1.1.65", True, (2,), ["1.1.65", "1.1.65", "1.1.65"]),
        ("1.0.98", True, (2,), ["1.0.98", "1.0.98", "1.1.65"]),
    ],
)
def test_the_order_of_members_overrides_no_release(
    version: str, tree: bool, late: tuple[int, ...], expected: list[str]
) -> None:
    built = Build()
    for number in range(3):
        built.user(f"Question {number}")
        built.answer(said(f"Answer {number}"))
    for number in late:
        built.records[2 * number + 1] = reordered(built.records[2 * number + 1])
    result = from_store(built, version=version, generation=G1 if tree else G2)
    assert releases(result) == expected


# What a staged revert leaves.


def test_a_staged_revert_to_a_summary_leaves_its_question() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    built.user("", {"type": "compaction", "auto": False})
    summary = built.answer(said("Su"), summary=True, mode="compaction")
    built.user("B")
    last = built.answer(said("Two"))
    result = from_store(built, revert={"messageID": summary})
    assert at_leaf(result) == ["A", "One", "What did we do so far?"]
    assert contents(result, last) == ["What did we do so far?", "Su", "B"]


def test_a_summary_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long session has many, and each request goes on from the newest before it."""
    looks = 0
    question_of = History.question_of

    def counted(self: History, summary: int, rules: Rules) -> int | None:
        nonlocal looks
        looks += 1
        return question_of(self, summary, rules)

    monkeypatch.setattr(History, "question_of", counted)
    built = Build()
    for _ in range(20):
        for _ in range(5):
            built.user("A")
            built.answer(said("One"))
        built.user("", {"type": "compaction", "auto": False})
        built.answer(said("Su"), summary=True, mode="compaction")
    built.user("B")
    last = built.answer(said("Two"))
    result = from_store(built)
    assert contents(result, last) == ["What did we do so far?", "Su", "B"]
    assert looks < 200


def test_a_staged_revert_leaves_outputs_as_they_are_now() -> None:
    built = Build()
    built.user("A")
    time = {"start": START, "end": START, "compacted": START + 6500}
    built.answer(called("completed", output="whole", time=time), finish="tool-calls")
    built.answer(said("One"))
    goal = built.user("B")
    before = built.answer(said("Two"))
    built.user("C")
    after = built.answer(said("Three"))
    result = from_store(built, revert={"messageID": goal})
    assert contents(result, before)[2] == "whole"
    assert contents(result, after)[2] == CLEARED
    assert at_leaf(result)[1:] == ["", CLEARED, "One"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [(1, ["A"]), (2, ["A", "One"]), (3, ["A", "One", "out"]), (4, ["A", "OneHidden", "out"])],
)
def test_a_staged_revert_at_a_part_leaves_what_calls_returned(
    part: int, expected: list[str]
) -> None:
    built = Build()
    built.user("A")
    finish = {"type": "step-finish", "reason": "stop"}
    name = built.answer(said("One"), called("completed", output="out"), said("Hidden"), finish)
    wanted = built.records[-1].parts[part].id
    built.user("B")
    last = built.answer(said("Two"))
    result = from_store(built, revert={"messageID": name, "partID": wanted})
    assert at_leaf(result) == expected
    assert contents(result, last) == ["A", "OneHidden", "out", "B"]


def test_a_staged_revert_at_a_part_of_what_the_user_said() -> None:
    built = Build()
    built.user("A")
    built.answer(said("One"))
    name = built.user("B", said("and more"))
    wanted = built.records[-1].parts[1].id
    built.answer(said("Two"))
    result = from_store(built, revert={"messageID": name, "partID": wanted})
    assert at_leaf(result) == ["A", "One", "B"]


# What releases did differently on the wire. Spec: opencode 6.3, 6.4.


@pytest.mark.parametrize(
    ("version", "lead"),
    [
        ("1.1.16", "Tool bash returned an attachment:"),
        ("1.1.31", "The tool bash returned the following attachments:"),
        ("1.1.34", None),
    ],
)
def test_a_pruned_output_keeps_its_media_up_to_1_1_31(version: str, lead: str | None) -> None:
    built = Build()
    built.user("A")
    file = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    time = {"start": START, "end": START, "compacted": START + 6500}
    state = {"output": "whole", "time": time, "attachments": [file]}
    built.answer(called("completed", **state), finish="tool-calls")
    built.answer(said("One"))
    built.user("B")
    built.answer(said("Two"))
    built.user("C")
    last = built.answer(said("Three"))
    found = contents(from_store(built, version=version), last)
    assert CLEARED in found
    leads = [one[0]["text"] for one in found if isinstance(one, list)]
    assert leads == ([lead] if lead else [])


@pytest.mark.parametrize(
    ("version", "signed", "thought"),
    [("1.1.27", True, False), ("1.1.31", False, False), ("1.1.53", False, True)],
)
def test_whose_reasoning_goes_along(version: str, signed: bool, thought: bool) -> None:
    told = {"type": "reasoning", "text": "Hm.", "metadata": {"anthropic": {"signature": "SIG"}}}
    built = Build()
    built.user("A")
    built.answer(told, said("One"), providerID="q", modelID="n")
    built.user("B")
    last = built.answer(said("Two"))
    pieces = asked(from_store(built, version=version), last)
    profile, target = convert.profile_of(version), wire.Target("p", "m")
    assert ("SIG" in repr(wire.anthropic_messages(pieces, target, profile))) is signed
    assert ("Hm." in repr(wire.chat_messages(pieces, target, profile))) is thought


@pytest.mark.parametrize(("version", "joined"), [("1.15.13", True), ("1.17.0", False)])
def test_summaries_of_one_reasoning_are_one_item_up_to_1_15(version: str, joined: bool) -> None:
    mine = {"itemId": "rs_1"}
    first = {"type": "reasoning", "text": "1", "metadata": {"openai": mine}}
    second = {**first, "text": "2", "metadata": {"openai": {**mine, SECRET: "ENC"}}}
    built = Build()
    built.user("A")
    built.answer(first, second, said("One"))
    built.user("B")
    last = built.answer(said("Two"))
    pieces = asked(from_store(built, version=version), last)
    sent = wire.responses_input(pieces, wire.Target("p", "m"), convert.profile_of(version))
    assert [part["text"] for part in sent[1]["summary"]] == (["1", "2"] if joined else ["2"])


@pytest.mark.parametrize("version", ["1.0.185", "1.18.33"])
def test_an_empty_text_beside_others_is_not_sent(version: str) -> None:
    built = Build()
    built.user("A", said(""))
    last = built.answer(said("One"))
    assert contents(from_store(built, version=version), last) == ["A"]


# Input that waits.


def test_input_that_was_delivered_is_growth() -> None:
    waiting = {"id": "msg_1", "session_id": "ses_a", "type": "user", "payload": '{"text":"Next"}'}
    columns = [*waiting.items(), ("enqueued_seq", 1), ("time_created", START + 1)]
    queued = decode_queue_row("u", "session_inbox", Columns([Column(*c) for c in columns]))
    first = row("msg_0", 0, "user", '{"text":"Word"}')

    def read(rows: list[Row2], queue: list[QueueRow]) -> Converted:
        session = native("2.0.1", G3)
        store = Memory(session_list=[session], rows_of={"ses_a": rows}, queue_of={"ses_a": queue})
        with convert.Source(stores=[store]) as source:
            return convert.convert(source, "ses_a")

    before = read([first], [queued])
    assert codes(before)["queued-input"] == 1
    after = read([first, row("msg_1", 1, "user", '{"text":"Next"}')], [])
    done = plan(ags.read(ags.dump(before.session)), after.session)
    assert done.action is Action.GROWN
    assert done.findings == ()


# Records of no session, and places.


def lose(place: Path, *kinds: str) -> None:
    for kind in kinds:
        shutil.rmtree(place / "storage" / kind)


@pytest.mark.parametrize("kinds", [("session",), ("session", "message")])
def test_a_tree_whose_sessions_are_lost(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    place = tmp_path / "data"
    shutil.copytree(RECORDINGS / "1.1.65-compaction", place)
    lose(place, *kinds)
    importer = OpenCode()
    sources = importer.find([place])
    assert sources
    report = import_sessions([Work(importer, sources)], tmp_path / "store")
    assert not report.ok
    left = report.totals["records"]
    assert left["read"] == left["left-out"] == report.more["sources"][0]["records"] > 0
    (alarm,) = report.more["alarms"]
    assert (alarm["code"], alarm["where"]) == (
        "unreadable-session",
        "ses_dd1e71bf5ffe09M1sacJ7X96vE",
    )
    assert any("ses_dd1e71bf5ffe09M1sacJ7X96vE" in line for line in report.lines())


def test_parts_that_a_revert_left_are_accounted_for(tmp_path: Path) -> None:
    place = tmp_path / "data"
    shutil.copytree(RECORDINGS / "1.1.65-compaction", place)
    message = max((place / "storage" / "message").rglob("*.json"))
    parts = len(list((place / "storage" / "part" / message.stem).iterdir()))
    message.unlink()
    importer = OpenCode()
    report = import_sessions([Work(importer, importer.find([place]))], tmp_path / "store")
    assert report.ok, report.more["alarms"]
    told = {finding.code: finding for finding in report.findings}["part-without-message"]
    assert (told.count, told.where) == (parts, "ses_dd1e71bf5ffe09M1sacJ7X96vE")
    assert {c["code"]: c["count"] for c in report.more["codes"]}["part-without-message"] == parts
    assert str(Outcome.LEFT_OUT) in report.totals["records"]


@pytest.mark.parametrize("inside", ["", "opencode.db", "store"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_agents_own_data_is_no_store(tmp_path: Path, inside: str, dry_run: bool) -> None:
    place = tmp_path / "data"
    shutil.copytree(RECORDINGS / "1.2.27-errors", place)
    before = sorted(p.name for p in place.iterdir())
    importer = OpenCode()
    work = [Work(importer, importer.find([place]))]
    with pytest.raises(ags.errors.AgentSessionError, match=r"own data|is to be imported"):
        import_sessions(work, place / inside, dry_run=dry_run)
    assert sorted(p.name for p in place.iterdir()) == before


def test_another_programs_database_is_refused_once(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (id)")
        connection.commit()
    importer = OpenCode()
    work = [Work(importer, importer.find([RECORDINGS / "1.2.27-errors"]))]
    with pytest.raises(ags.errors.AgentSessionError, match="not one of sessions"):
        import_sessions(work, other)


def ran(tool: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    """A call of a tool, with what is told of it."""
    return {**called(status, **{"output": "o", **state}), "tool": tool}


@pytest.mark.parametrize(
    ("version", "part", "expected"),
    [
        ("1.0.185", ran("read", metadata={"preview": "p", "truncated": False}), "1.1.0"),
        ("1.0.185", ran("list", metadata={"truncated": False}), "1.0.185"),
        ("1.1.31", ran("read", metadata={"truncated": False, "loaded": []}), "1.1.32"),
        ("1.15.0", ran("read", metadata={"loaded": [], "display": {}}), "1.18.0"),
        ("1.15.0", ran("bash", metadata={"exit": 0, "truncated": False}), "1.18.0"),
        ("1.15.0", ran("bash", metadata={"exit": 0, "description": "d"}), "1.15.0"),
        # What a user ran has no exit code.
        ("1.15.0", ran("bash", metadata={"output": "o"}), "1.15.0"),
        ("1.13.0", ran("read", "error", error="File not found: /a"), "1.18.0"),
        ("1.13.0", ran("read", "error", error="Error: File not found: /a"), "1.13.0"),
    ],
)
def test_what_is_told_of_a_tool_is_of_its_release(
    version: str, part: dict[str, Any], expected: str
) -> None:
    built = Build()
    built.user("Go")
    built.answer(part, finish="tool-calls")
    generation = G1 if version[:4] in {"1.0.", "1.1."} else G2
    if generation is G2:
        built.records[1] = reordered(built.records[1])
    assert releases(from_store(built, version=version, generation=generation)) == [expected]


def replaced(value: Any, odd: Any) -> Iterator[Any]:
    """A value with an odd one in the place of each member in turn, at every depth."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield {**value, name: odd}
            yield from ({**value, name: inner} for inner in replaced(member, odd))


@pytest.mark.parametrize("odd", [None, True, 7, "x", [], {}, [1], [None], {"a": [1]}])
def test_an_odd_value_in_a_tools_part_raises_nothing(odd: Any) -> None:
    read = ran("read", metadata={"preview": "p", "truncated": False, "loaded": []})
    failed = ran("read", "error", error="File not found: /a")
    for part in (*replaced(read, odd), *replaced(failed, odd)):
        built = Build()
        built.user("Go")
        built.answer(part, finish="tool-calls")
        converted = from_store(built, version="1.0.185", generation=G1)
        assert converted.totals["native"] == converted.totals["converted"]


@pytest.mark.parametrize(
    ("later", "expected"), [("1.14.41", "1.14.41"), ("1.2.27", "1.18.0"), ("1.18.33", "1.18.0")]
)
def test_a_late_message_is_none_newer_than_the_next_session(later: str, expected: str) -> None:
    built = Build()
    built.user("Go")
    built.answer(said("Yes"), finish="stop")
    built.records[1] = reordered(built.records[1])
    built.user("And")
    built.answer(said("No"))
    built.records[3] = reordered(built.records[3])
    first = native(version="1.2.1")
    early = Build()
    early.user("Old")
    early.answer(said("Old"))
    second = dataclasses.replace(first, id="ses_b", version=later, created=built.at + 1000)
    records = [*early.records[:2], *built.records]
    store = Memory(session_list=[first, second], messages_of={"ses_a": records, "ses_b": []})
    with convert.Source(stores=[store]) as source:
        assert releases(convert.convert(source, "ses_a"))[-1] == expected


# What was read from a cache.

READ = {"input": 100, "output": 5, "reasoning": 0, "cache": {"read": 30, "write": 0}}


def inputs(result: Converted) -> list[int]:
    return [e.usage["input_tokens"] for e in of_type(result.session, "response")]


@pytest.mark.parametrize(
    ("provider", "first", "expected"),
    [
        # Nothing shows that the input is counted apart: it is not.
        ("p", {}, [100, 100]),
        ("openai", {}, [100, 100]),
        ("anthropic", {}, [130, 130]),
        # It wrote to a cache, it read more than its input was, it signed something.
        ("p", {"tokens": {**READ, "cache": {"read": 0, "write": 7}}}, [107, 130]),
        ("p", {"tokens": {**READ, "input": 20}}, [50, 130]),
        ("p", {"metadata": {"anthropic": {"signature": "S"}}}, [130, 130]),
        ("p", {"metadata": {"openai": {"itemId": "rs_1"}}}, [100, 100]),
    ],
)
def test_old_releases_counted_what_was_read_twice_but_on_anthropics_wire(
    provider: str, first: dict[str, Any], expected: list[int]
) -> None:
    built = Build()
    metadata = first.get("metadata")
    more = {"metadata": metadata} if metadata else {}
    built.user("One")
    told = {"providerID": provider, "tokens": first.get("tokens", READ)}
    built.answer(said("A", **more), **told)
    built.user("Two")
    built.answer(said("B"), providerID=provider, tokens=READ)
    tree = {"version": "1.0.61", "generation": G1}
    assert inputs(from_store(built, **tree)) == expected
    # Later releases never did.
    later = inputs(from_store(built, version="1.0.98", generation=G1))
    assert later[1] == 130


def test_what_one_provider_shows_says_nothing_of_another_or_of_what_was_before() -> None:
    built = Build()
    for number, (provider, fresh) in enumerate((("p", 100), ("p", 20), ("q", 100), ("p", 100))):
        built.user(f"Question {number}")
        built.answer(said("A"), providerID=provider, tokens={**READ, "input": fresh})
    result = from_store(built, version="1.0.61", generation=G1)
    assert inputs(result) == [100, 50, 100, 130]
