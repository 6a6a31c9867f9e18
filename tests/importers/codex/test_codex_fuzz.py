"""Files with records dropped, cut, glued, reordered and retyped: nothing raises, all is told."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from codex_files import (
    RECORDINGS,
    called,
    context,
    convert,
    event,
    line,
    meta,
    returned,
    said,
    write,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recordings import verify_paths

from agentsession import wire
from agentsession.entries import ResponseEntry
from agentsession.importers.codex import Codex, profile_of_response
from agentsession.reading import load
from agentsession.writing import dump

ODD: list[Any] = [
    None, True, 0, -1, 1e300, 2**70, "", "x", [], [None], {}, {"a": 1}, "user", "assistant",
    "compacted", "response_item", "function_call", "token_count", [{"type": "input_text"}],
]  # fmt: skip
LOWER = (wire.chat_messages, wire.responses_input, wire.anthropic_messages)


HUGE = {"x": "HUGE"}


@pytest.mark.parametrize(
    "more",
    [
        [{**context(), "payload": {**context()["payload"], **HUGE}}],
        [said("assistant", "a", **HUGE)],
        [{**said("assistant", "a"), "metadata": HUGE}],
        [called("c"), returned("c", HUGE)],
        [line("compacted", {"replacement_history": [said("user", "b", **HUGE)["payload"]]})],
        [said("assistant", "a"), line("token_usage_record", {"response_id": "r", "usage": HUGE})],
        [event("token_count", info={"total_token_usage": HUGE, "last_token_usage": HUGE})],
        [event("brand_new", **HUGE)],
        [line("brand_new", HUGE)],
        [{**said("assistant", "a"), **HUGE}],
    ],
)
def test_a_number_beyond_any_double_costs_no_session(
    more: list[dict[str, Any]], tmp_path: Path
) -> None:
    lines = [meta(), context(), said("user", "hi"), *more]
    write(tmp_path, [json.dumps(one).replace('"HUGE"', "1e400").encode() for one in lines])
    found = convert(tmp_path)
    data = dump(found.session)
    assert dump(load(data)) == data
    assert b'x":"inf"' in data


@cache
def rollouts() -> tuple[tuple[tuple[str, tuple[bytes, ...]], ...], ...]:
    found = []
    for recording in sorted(RECORDINGS.iterdir()):
        files = sorted((recording / "codex").rglob("rollout-*.jsonl"))
        found.append(tuple((f.name, tuple(f.read_bytes().splitlines())) for f in files))
    return tuple(found)


def retyped(value: Any, draw: st.DrawFn) -> Any:
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: retyped(value[name], draw)}
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], retyped(value[at], draw), *value[at + 1 :]]
    return draw(st.sampled_from(ODD))


@st.composite
def damaged(draw: st.DrawFn) -> list[tuple[str, list[bytes]]]:
    files = [(name, list(lines)) for name, lines in draw(st.sampled_from(rollouts()))]
    for _ in range(draw(st.integers(1, 6))):
        lines = draw(st.sampled_from(files))[1]
        if not lines:
            continue
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 6)):
            case 0:
                del lines[at : at + draw(st.integers(1, 5))]
            case 1:
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case 2:
                lines[at : at + 2] = [b"".join(lines[at : at + 2])]
            case 3:
                other = draw(st.integers(0, len(lines) - 1))
                lines[at], lines[other] = lines[other], lines[at]
            case 4:
                try:
                    lines[at] = json.dumps(retyped(json.loads(lines[at]), draw)).encode()
                except ValueError:
                    continue
            case 5:
                lines.insert(at, lines[draw(st.integers(0, len(lines) - 1))])
            case _:
                lines[at] = lines[at].replace(b'"', b"\xff", 1)
    return files


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_damage_never_raises_and_adds_up(files: list[tuple[str, list[bytes]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "sessions")
        place.mkdir()
        for name, lines in files:
            (place / name).write_bytes(b"\n".join(lines))
        importer = Codex()
        for source in importer.find([Path(folder)]):
            accounted = 0
            for native in importer.sessions(source):
                converted = importer.convert(source, native.id)
                accounted += len(converted.records)
                session = load(dump(converted.session))
                ids = {entry.id for entry in session.entries}
                for record in converted.records:
                    assert record.disposition != "left-out" or record.code
                    assert set(record.entry_ids) <= ids
                assert converted.totals["native"] == converted.totals["converted"]
                verify_paths(session)
                for entry in session.entries:
                    if isinstance(entry, ResponseEntry):
                        pieces = wire.request_pieces(session.path(entry.id))
                        for lower in LOWER:
                            lower(pieces, wire.target_of(entry), profile_of_response(entry))
            assert importer.report(source).read == accounted
            list(importer.usage_records(source))
