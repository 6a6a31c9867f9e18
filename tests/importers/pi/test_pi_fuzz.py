"""Files with records dropped, cut, glued, reordered and retyped: nothing raises, all is told."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recordings import verify_paths

import agentsession as ags
from agentsession import wire
from agentsession.entries import ResponseEntry
from agentsession.importers.base import Source
from agentsession.importers.pi import Sessions, profile_of_response, usage_records

DATA = Path(__file__).parents[2] / "data" / "pi"
ODD: list[Any] = [
    None, True, 0, -1, 1e400, 2**70, "", "x", [], [None], {}, {"a": 1}, "error", "aborted",
    "system", "compaction", "context_edit", "toolResult", [{"type": "text"}],
]  # fmt: skip
LOWER = (wire.chat_messages, wire.anthropic_messages, wire.responses_input)


@cache
def lines() -> tuple[tuple[bytes, ...], ...]:
    return tuple(
        tuple(path.read_bytes().splitlines())
        for path in sorted(DATA.rglob("*.jsonl"))
        if path.name != "requests.jsonl" and path.stat().st_size < 40_000
    )


def retyped(draw: st.DataObject, line: bytes) -> bytes:
    """Return a line with a member removed, or of another type."""
    value = json.loads(line)
    holder: Any = value
    for _ in range(draw.draw(st.integers(0, 4))):
        inner = [
            v
            for v in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(v, (dict, list)) and v
        ]
        if not inner:
            break
        holder = draw.draw(st.sampled_from(inner))
    if isinstance(holder, list):
        holder[draw.draw(st.integers(0, len(holder) - 1))] = draw.draw(st.sampled_from(ODD))
    elif holder:
        name = draw.draw(st.sampled_from(sorted(holder)))
        if draw.draw(st.booleans()):
            del holder[name]
        else:
            holder[name] = draw.draw(st.sampled_from(ODD))
    return json.dumps(value).replace("Infinity", "1e400").encode()


def damaged(draw: st.DataObject) -> bytes:
    text = list(draw.draw(st.sampled_from(lines())))
    for _ in range(draw.draw(st.integers(1, 6))):
        if not text:
            break
        at = draw.draw(st.integers(0, len(text) - 1))
        how = draw.draw(st.sampled_from(["drop", "cut", "glue", "swap", "again", "type", "junk"]))
        if how == "drop":
            del text[at]
        elif how == "cut":
            text[at] = text[at][: draw.draw(st.integers(0, len(text[at])))]
        elif how == "glue" and at + 1 < len(text):
            text[at : at + 2] = [text[at] + text[at + 1]]
        elif how == "swap":
            other = draw.draw(st.integers(0, len(text) - 1))
            text[at], text[other] = text[other], text[at]
        elif how == "again":
            text.insert(draw.draw(st.integers(0, len(text))), text[at])
        elif how == "type" and text[at].startswith(b"{") and text[at].endswith(b"}"):
            try:
                text[at] = retyped(draw, text[at])
            except ValueError:
                continue
        elif how == "junk":
            text.insert(
                at, draw.draw(st.sampled_from([b"", b"\0\0", b"null", b"[]", b"{}", b"\xff"]))
            )
    return b"\n".join(text) + draw.draw(st.sampled_from([b"\n", b""]))


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(draw=st.data())
def test_a_damaged_file_is_imported_and_adds_up(
    draw: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("x") / "--p--"
    place.mkdir()
    path = place / "2026-05-01T10-00-00-000Z_s.jsonl"
    path.write_bytes(damaged(draw))
    sessions = Sessions(str(place))
    (file,) = sessions.files
    found = list(sessions)
    # A file that nothing was written to is no session.
    assert len(found) == (file.records > 0)
    if not found:
        return
    converted = sessions.convert(found[0].id)
    assert len(converted.records) == file.records
    session = converted.session
    entries = {entry.id for entry in session.entries}
    assert all(set(record.entry_ids) <= entries for record in converted.records)
    stored = b"\n".join((session.header.line, *(entry.line for entry in session.entries))) + b"\n"
    assert [entry.id for entry in ags.read(stored).entries] == [e.id for e in session.entries]
    for entry in session.entries:
        if isinstance(entry, ResponseEntry):
            pieces = wire.request_pieces(session.path(entry.id))
            for lower in LOWER:
                lower(pieces, wire.target_of(entry), profile_of_response(entry))
    session.context()
    verify_paths(session)
    list(usage_records(Source("pi", (str(place),))))
