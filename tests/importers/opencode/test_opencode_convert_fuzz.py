"""Stores with records removed, truncated, retyped, duplicated: nothing raises, all is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import wire
from agentsession.importers.base import Converted, Outcome
from agentsession.importers.opencode import (
    G1,
    G2,
    G3,
    Column,
    Columns,
    Generation,
    Memory,
    MessageRecord,
    Row2,
    convert,
    decode_message,
    decode_part,
    decode_row2,
    find_sessions,
)
from agentsession.importers.opencode import Session as Native

RECORDINGS = Path(__file__).parents[2] / "data" / "opencode-recordings"
ODD: list[Any] = [None, True, 0, -1, 1e400, 2**70, "", "x", "tool", [], [None], {}, {"a": 1}]
# The two sides of the wrap of 2026-08-14, and times nobody lives at.
TIMES = [1_786_706_395_000, 1_786_706_396_000, 0, -5, 10**15, 1_796_070_000_000]
IDS = ["msg_fffffffff001aaaaaaaaaaaaaa", "msg_000000001001aaaaaaaaaaaaaa", "", "x", "msg_é"]


@cache
def sources() -> tuple[tuple[Native, tuple[MessageRecord, ...], tuple[Row2, ...]], ...]:
    found = []
    for place in find_sessions(RECORDINGS):
        with convert.Source(place) as source:
            for summary in source.summaries():
                copy = source.copies(summary.id)[0]
                messages = copy.store.messages(copy.session).messages
                rows = copy.store.rows(copy.session).rows
                found.append((copy.session, messages, rows))
    return tuple(found)


def damaged(draw: st.DataObject, raw: bytes) -> bytes:
    """Return a record's text with one thing wrong."""
    how = draw.draw(st.sampled_from(["truncate", "retype", "remove", "empty", "odd"]))
    if how == "truncate":
        return raw[: draw.draw(st.integers(0, len(raw)))]
    if how == "empty":
        return draw.draw(st.sampled_from([b"", b"\0\0", b"null", b"[]", b"{}"]))
    value = json.loads(raw)
    holder: Any = value
    for _ in range(draw.draw(st.integers(0, 3))):
        inner = [v for v in holder.values() if isinstance(v, dict) and v]
        if not inner:
            break
        holder = draw.draw(st.sampled_from(inner))
    if holder:
        name = draw.draw(st.sampled_from(sorted(holder)))
        if how == "remove":
            del holder[name]
        else:
            holder[name] = draw.draw(st.sampled_from([*ODD, *TIMES]))
    return json.dumps(value).replace("Infinity", "1e400").encode()


CALL = re.compile(rb'("callID": ?)"[^"]*"')


def fuzzed_messages(draw: st.DataObject, records: tuple[MessageRecord, ...]) -> list[MessageRecord]:
    found = []
    calls = [one for record in records for part in record.parts for one in CALL.findall(part.raw)]
    # Calls may have one id, or any of two.
    alike = draw.draw(st.sampled_from([[], [], ["c"], ["c", "d"]])) if calls else []
    for record in records:
        fate = draw.draw(st.integers(0, 11))
        if fate == 0:
            continue
        raw = damaged(draw, record.raw) if fate == 1 else record.raw
        name = draw.draw(st.sampled_from(IDS)) if fate == 2 else record.id
        created = draw.draw(st.sampled_from([*TIMES, None])) if fate == 3 else record.created
        made = decode_message(record.unit, name, record.session_id, created, raw)
        parts = []
        for part in record.parts:
            odds = draw.draw(st.integers(0, 15))
            if odds == 0:
                continue
            text = damaged(draw, part.raw) if odds == 1 else part.raw
            if alike:
                call = draw.draw(st.sampled_from(alike))
                text = CALL.sub(rb'\1"%b"' % call.encode(), text)
            one = decode_part(part.unit, part.id, name, record.session_id, text)
            parts += [one, one] if odds == 2 else [one]
        made = msgspec.structs.replace(made, parts=tuple(parts))
        found += [made, made] if fate == 4 else [made]
    if draw.draw(st.integers(0, 5)) == 0:
        draw.draw(st.randoms(use_true_random=False)).shuffle(found)
    return found


def fuzzed_rows(draw: st.DataObject, rows: tuple[Row2, ...]) -> list[Row2]:
    found = []
    for row in rows:
        fate = draw.draw(st.integers(0, 11))
        if fate == 0:
            continue
        raw = damaged(draw, row.raw) if fate == 1 else row.raw
        kind = draw.draw(st.sampled_from(["user", "assistant", "x"])) if fate == 2 else row.type
        created = draw.draw(st.sampled_from(TIMES)) if fate == 3 else row.created
        columns = Columns(
            [
                Column("id", row.id),
                Column("session_id", row.session_id),
                Column("type", kind),
                Column("seq", row.seq),
                Column("time_created", created),
                Column("data", raw),
            ]
        )
        made = decode_row2(row.unit, columns)
        found += [made, made] if fate == 4 else [made]
    return found


def check(converted: Converted, records: int) -> None:
    """Check what holds of every conversion, whatever the store was like."""
    session = converted.session
    assert len(converted.records) == records == converted.totals["records"]
    assert sum(converted.totals["dispositions"].values()) == records
    for record in converted.records:
        assert (record.disposition is Outcome.LEFT_OUT) == (not record.entry_ids)
        assert record.disposition is not Outcome.LEFT_OUT or record.code in convert.CODES
        assert all(entry_id in session for entry_id in record.entry_ids)
    for finding in converted.findings:
        assert finding.code in convert.CODES
    again = ags.read(ags.dump(session))
    assert [entry.line for entry in again.entries] == [entry.line for entry in session.entries]
    for leaf in again.leaves:
        again.context_at(leaf.id)
        again.verify_records(leaf.id)
    for entry in again.entries:
        if isinstance(entry, ags.ResponseEntry):
            pieces = wire.request_pieces(again.path(entry.id))
            profile, target = convert.profile_of_response(entry), wire.target_of(entry)
            wire.chat_messages(pieces, target, profile)
            wire.anthropic_messages(pieces, target, profile)
            wire.responses_input(pieces, target, profile)
    native, made, copied = (converted.totals[name] for name in ("native", "converted", "copied"))
    for name, total in native.items():
        assert total == pytest.approx(made.get(name, 0) + copied.get(name, 0))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_store_converts_and_every_record_is_accounted_for(data: st.DataObject) -> None:
    session, messages, rows = sources()[data.draw(st.integers(0, len(sources()) - 1))]
    generation: Generation = session.generation
    if messages:
        generation = data.draw(st.sampled_from([G1, G2]))
    found = fuzzed_messages(data, messages)
    found_rows = fuzzed_rows(data, rows)
    native = replace(
        session,
        generation=generation if not rows or messages else session.generation,
        created=data.draw(st.sampled_from([session.created, *TIMES, None])),
        version=data.draw(st.sampled_from([session.version, "", "1.0.61", "1.1.16", "1.3.2", "x"])),
        parent_id=data.draw(st.sampled_from([session.parent_id, "", "ses_lost"])),
    )
    store = Memory(
        session_list=[native],
        messages_of={session.id: found},
        rows_of={session.id: found_rows},
    )
    records = 1 + len(found) + sum(len(m.parts) for m in found) + len(found_rows)
    with convert.Source(stores=[store]) as source:
        converted = convert.convert(source, session.id)
        check(converted, records)
        again = convert.convert(source, session.id)
    assert ags.dump(converted.session) == ags.dump(again.session)


def grown() -> Iterator[tuple[Native, tuple[MessageRecord, ...], tuple[Row2, ...]]]:
    for session, messages, rows in sources():
        told = messages[0].info if messages else None
        if told is not None and told.model is not None:
            yield replace(session, revert=None), messages, ()
        elif session.generation == G3 and not session.fork_session_id:
            yield replace(session, revert=None), (), rows


def test_a_session_that_grew_keeps_the_entries_it_had() -> None:
    for session, messages, rows in grown():
        length = len(messages) or len(rows)
        whole = of_prefix(session, messages, rows, length)
        for upto in range(1, length, 3):
            part = of_prefix(session, messages, rows, upto)
            lost = [e for e in part.entries if e.id not in whole]
            # What is written after the fact hangs below the last entry.
            assert {entry.type for entry in lost} <= {"info", "custom"}


def of_prefix(
    session: Native, messages: tuple[MessageRecord, ...], rows: tuple[Row2, ...], upto: int
) -> ags.Session:
    store = Memory(
        session_list=[session],
        messages_of={session.id: messages[:upto]},
        rows_of={session.id: rows[:upto]},
    )
    with convert.Source(stores=[store]) as source:
        return convert.convert(source, session.id).session
