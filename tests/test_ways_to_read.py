"""The fast way to read and the exact one: the same entries, leaf, labels and refusals."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import envelopes, line_reading

HEADER = (
    b'{"type":"session","format":"agentsession/0.%d","id":"s",'
    b'"created_at":"2026-03-01T08:15:30Z","payload":"openresponses/2026-04-24"}'
)
TIMES = (
    "2026-03-01T08:15:31Z",
    "2026-03-01T08:15:31+02:00",
    "2026-03-01T08:15:31.5-23:59",
    "2026-03-01T08:15:31-00:00",
    "2024-02-29T23:59:59.1234567891+00:30",
    "0999-03-01T08:15:31+02:00",
    # These are none.
    "2026-03-01T08:15:31+0200",
    "2026-03-01T08:15:31+02",
    "2026-03-01T08:15:31+24:00",
    "2026-03-01T08:15:31",
    "2026-03-01t08:15:31+02:00",
    "2026-03-01 08:15:31+02:00",
    "2026-03-01T08:15:31z",
    "2026-03-01T08:15+02:00",
    "2026-02-29T08:15:31+02:00",
    "2026-03-01T08:15:31Z+02:00",
    "0001-01-01T02:00:00+02:00",
)
BODIES = (
    b'"type":"item","item":{"type":"message"}',
    b'"type":"info","name":"n"',
    b'"type":"label","target":"e1","label":"leaf"',
    b'"type":"label","target":"e2","label":"leaf"',
    b'"type":"label","target":"e1","label":"\\u006ceaf"',
    b'"type":"label","target":"e1","label":null',
    b'"type":"label","target":"e2"',
    b'"type":"label","target":"e3","label":"leaf","label":"seen"',
    b'"type":"label","target":null,"label":"\\ud83d"',
    b'"type":"acme:x","a":1',
    b'"type":"acme:\\u0078"',
    b'"type":"acme:x","type":"item","item":{}',
    b'"type":"item","item":{},"type":"acme:x"',
    b'"type":"acme:x","type":"acme:y"',
    b'"type":"acme:x","legacy_id":7',
    b'"type":"acme:x","parents":[]',
    b'"type":"acme:x","normalised":["/a"]',
    b'"type":"acme:y","item":7',
    b'"type":"run","phase":"start","run_id":"r","source":"human"',
    b'"type":"run","phase":"start","run_id":"r"',
    b'"type":"decision","call_id":"c","target":"e0","verdict":"reject"',
)


def outcome(data: bytes) -> Any:
    """Everything a reading gives, or what it says."""
    try:
        session = ags.read(data)
    except ags.AgentSessionError as error:
        return type(error), str(error)
    return (
        [(type(entry), entry.id, entry.parent, entry.type, entry.line) for entry in session],
        (session.leaf, dict(session.labels), session.name, session.superseded_by, session.notes),
        ags.dump(session),
    )


@pytest.fixture
def exactly(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A switch to the exact way."""
    with monkeypatch.context() as switch:
        yield switch


def exact(data: bytes, switch: pytest.MonkeyPatch) -> Any:
    with switch.context() as switched:
        switched.setattr(line_reading.LineReader, "_take_block", lambda *_: False)
        return outcome(data)


def line_of(number: int, parent: int, body: bytes, ts: str) -> bytes:
    up = b'"e%d"' % parent if parent >= 0 else b"null"
    return b'{%s,"id":"e%d","parent":%s,"ts":"%s"}' % (body, number, up, ts.encode())


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data(), st.sampled_from([1, 3, 4]), st.sampled_from(BODIES), st.sampled_from(TIMES))
def test_both_ways_find_the_same(
    exactly: pytest.MonkeyPatch, data: st.DataObject, minor: int, body: bytes, ts: str
) -> None:
    # One odd body and one odd time among lines that are right most of the time.
    right = st.sampled_from(BODIES[:10])
    count = data.draw(st.integers(1, 24))
    at = data.draw(st.integers(0, count - 1))
    lines = [HEADER % minor]
    for number in range(count):
        parent = data.draw(st.sampled_from([number - 1, number - 1, number - 1, number // 2 - 1]))
        here = body if number == at else data.draw(right)
        when = ts if number == count - 1 - at else TIMES[number % 5]
        lines.append(line_of(number, parent, here, when))
    file = b"\n".join([*lines, b""])
    assert outcome(file) == exact(file, exactly)


@pytest.mark.parametrize("ts", TIMES)
def test_times_are_taken_alike(exactly: pytest.MonkeyPatch, ts: str) -> None:
    lines = [line_of(n, n - 1, BODIES[0], ts if n == 1 else TIMES[n % 2]) for n in range(3)]
    file = b"\n".join([HEADER % 2, *lines, b""])
    assert outcome(file) == exact(file, exactly)


@pytest.mark.parametrize("count", [1, 5, 70, 1500])
def test_types_that_are_met_often_are_read_alike(
    exactly: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    # What this process has met so far is of no matter.
    fresh = envelopes._Decoders()
    monkeypatch.setattr(envelopes, "_decoders", lambda: fresh)
    bodies = [b'"type":"acme:t%d","n":%d' % (n % count, n) for n in range(3000)]
    bodies[100:200] = BODIES[:10] * 10
    bodies[2500] = b'"type":"%s"' % (b"y" * 300)
    file = b"\n".join([HEADER % 3, *[line_of(n, n - 1, b, TIMES[0]) for n, b in enumerate(bodies)]])
    first = outcome(file)
    assert first == outcome(file) == exact(file, exactly)
    assert len(fresh._shapes) <= 15 + 64
    assert len(fresh._met) <= 1001


@pytest.mark.parametrize("levels", [9_000, 10_005, 15_000])
@pytest.mark.parametrize("minor", [2, 11])
def test_the_depth_rule_holds_for_any_recursion_limit(
    exactly: pytest.MonkeyPatch, levels: int, minor: int
) -> None:
    body = b'"type":"item","item":{"type":"m","c":' + b"[" * levels + b"]" * levels + b"}"
    lines = [line_of(n, n - 1, b, TIMES[0]) for n, b in enumerate((BODIES[0], body, BODIES[0]))]
    file = b"\n".join([HEADER % minor, *lines, b""])
    limit = sys.getrecursionlimit()
    usual = outcome(file)
    sys.setrecursionlimit(30_000)
    try:
        found = outcome(file)
        assert found == exact(file, exactly) == usual
    finally:
        sys.setrecursionlimit(limit)
    if levels > 10_000 and minor == 2:
        assert found[0] is ags.DamagedFile
        assert "nested deeper" in found[1]


@pytest.mark.parametrize(
    "source", [array.array("b", b"{}"), 7, None, ["a"]], ids=lambda value: type(value).__name__
)
def test_what_cannot_be_read_from_is_named(source: Any) -> None:
    with pytest.raises(TypeError, match=rf"from a path.*, not {type(source).__name__}"):
        ags.read(source)


def test_the_session_is_named_by_what_is_appended_too() -> None:
    lines = [line_of(n, n - 1, BODIES[1], TIMES[0]) for n in range(3)]
    session = ags.read(b"\n".join([HEADER % 3, *lines, b""]))
    assert session.name == "n"
    session.append(ags.InfoEntry("later"))
    session.append(ags.InfoEntry(""))
    session.append(ags.LabelEntry("e1", "seen"))
    assert (session.name, dict(session.labels)) == ("later", {"e1": "seen"})
    session.append(ags.LabelEntry("e1", None))
    session.append(ags.LinkEntry("continued_in", "next"))
    assert (dict(session.labels), session.superseded_by) == ({}, "next")


@pytest.mark.parametrize("minor", [2, 5])
@pytest.mark.parametrize("repeated", [(), (7,), (7, 4000, 4001, 9000)])
def test_repeated_ids_are_found_in_any_block(
    exactly: pytest.MonkeyPatch, minor: int, repeated: tuple[int, ...]
) -> None:
    lines = [line_of(n, n - 1, BODIES[9], TIMES[0]) for n in range(9_000)]
    more = [lines[n] for n in repeated if n < 9_000]
    file = b"\n".join(
        [HEADER % minor, *lines, *more, line_of(9_000, 8_999, BODIES[0], TIMES[0]), b""]
    )
    assert len(file) > 2 * line_reading.BLOCK
    if minor == 5:
        # Without the hashes only: what repeats is what is asked about here.
        found = ags.read(file, verify_ids=False)
        assert [entry.id for entry in found] == [f"e{n}" for n in range(9_001)]
        assert len(found.notes) >= len(more)
        assert found["e7"].parent == "e6"
        return
    assert outcome(file) == exact(file, exactly)
