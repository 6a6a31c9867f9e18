"""Work that must not be done, counted: a guard against slowness that needs no clock."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import agentsession as ags
from agentsession import line_reading
from agentsession.testing import SessionBuilder

HEADER = {
    "type": "session",
    "format": "agentsession/0.2",
    "id": "s",
    "created_at": "2026-03-01T08:15:30Z",
    "payload": "openresponses/2026-04-24",
}
DECODES = ("text.parse", "text.split_members", "text.split_elements", "codec.decode_entry")


DECODERS = ("decode", "json_decode", "decode_lines", "loads", "raw_decode")


def counted(work: Callable[[], Any]) -> tuple[Any, Counter[str]]:
    """Return what work gives, and how often it called each function of the package.

    Functions in C that the package calls are there as ``C: name``.
    """
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, function: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("agentsession."):
            return
        if event == "call":
            calls[f"{module.removeprefix('agentsession.')}.{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            calls[f"C: {getattr(function, '__name__', '')}"] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return work(), calls
    finally:
        sys.setprofile(before)


def decoder_calls(calls: Counter[str]) -> int:
    """How often a JSON decoder in C was called."""
    return sum(calls[f"C: {name}"] for name in DECODERS)


def blocks_of(data: bytes, size: int) -> int:
    """How many blocks a reader takes for so many bytes, at most."""
    return len(data) // size + 3


def entries(count: int) -> list[dict[str, Any]]:
    """Entries of one path: items and records of every plain sort."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        parent = f"e{number - 1}" if number else None
        envelope = {"id": f"e{number}", "parent": parent, "ts": "2026-03-01T08:15:31Z"}
        body: dict[str, Any] = {"item": {"type": "message", "role": "user", "content": "é" * 40}}
        kind = {3: "response", 5: "dispatch", 7: "acme:x"}.get(number % 8, "item")
        if kind == "response":
            body = {"response_id": "r", "status": "completed", "usage": {"input_tokens": 7}}
        elif kind == "dispatch":
            body = {"call_id": "c", "target": "e0"}
        found.append({"type": kind, **envelope, **body})
    return found


def envelope(number: int) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "parent": f"e{number - 1}" if number else None,
        "ts": f"2026-03-01T08:15:{number % 60:02d}Z",
    }


MESSAGE = {"type": "message", "role": "user", "content": "é" * 40}
KINDS: dict[str, list[dict[str, Any]]] = {
    "item": [{"type": "item", "item": MESSAGE}],
    "response": [{"type": "response", "response_id": "r", "status": "completed"}],
    "config": [{"type": "config", "model": "m"}],
    "run": [{"type": "run", "phase": "start", "run_id": "r", "source": "human"}],
    "label": [{"type": "label", "target": "e0", "label": "seen"}],
    "leaf": [{"type": "label", "target": "e0", "label": "leaf"}],
    "info": [{"type": "info", "name": "n"}],
    "extension": [{"type": "acme:x", "a": 1}],
    "several extensions": [{"type": f"acme:{name}"} for name in "abcde"],
    "mixed": [
        {"type": "item", "item": MESSAGE},
        {"type": "acme:y"},
        {"type": "label", "target": "e0", "label": "seen"},
        {"type": "info", "name": "n"},
    ],
}


def file_of(found: list[dict[str, Any]], end: str = "\n") -> bytes:
    return "".join(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) + end
        for value in (HEADER, *found)
    ).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_read_decodes_no_line_whole_and_makes_no_entry(tmp_path: Path, end: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(file_of(entries(4000), end))
    ags.read(path)  # what is made once a process is made
    session, calls = counted(lambda: ags.read(path))
    assert len(session) == 4000
    # The header is looked at exactly; no line of an entry is.
    assert sum(calls[name] for name in DECODES) <= 3
    assert calls["entry.Entry.from_line"] == 0
    assert calls["items.Item.from_lines"] == 0


@pytest.mark.parametrize("kind", [*KINDS])
def test_a_read_calls_nothing_for_each_line(kind: str) -> None:
    """Neither a function of the package nor one in C, whatever all lines are."""
    lines = KINDS[kind]
    data = file_of([{**lines[at % len(lines)], **envelope(at)} for at in range(4000)])
    for _ in range(2):
        session, calls = counted(lambda: ags.read(data))
    assert len(session) == 4000
    blocks = blocks_of(data, line_reading.BLOCK)
    # One decode of the header, one call that decodes the lines of a block, one for its times.
    assert decoder_calls(calls) <= 3
    assert calls["C: extend"] <= blocks
    assert calls["C: convert"] <= blocks
    assert sum(calls.values()) < 4000 / 4


@pytest.mark.parametrize("kind", ["item", "label", "info"])
def test_a_read_with_ids_that_are_hashes_decodes_blocks(kind: str) -> None:
    lines = [*KINDS["item"], *KINDS[kind] * 999]
    plain = file_of([{**line, **envelope(at)} for at, line in enumerate(lines)])
    data = ags.dump(ags.read(plain).migrated())
    for _ in range(2):
        session, calls = counted(lambda: ags.read(data))
    assert len(session) == 1000
    assert sum(calls[name] for name in DECODES) <= 3
    assert calls["entry.Entry.from_line"] == calls["entry_ids.identity"] == 0
    blocks = blocks_of(data, line_reading.VERIFIED_BLOCK)
    assert calls["C: decode_lines"] <= blocks
    assert decoder_calls(calls) <= 2 * blocks + 3
    # A body is encoded once for its hash, and an envelope hashed beside it.
    assert calls["C: encode"] + calls["canonical.canonical_json"] <= 2 * 1000 + 3 * blocks
    assert calls["C: copy"] == 2 * 1000


@pytest.mark.parametrize("kind", ["label", "info", "leaf", "mixed"])
def test_what_is_said_of_the_session_costs_a_read_no_entry(kind: str) -> None:
    lines = KINDS[kind]
    data = file_of([{**lines[at % len(lines)], **envelope(at)} for at in range(2000)])
    session, calls = counted(lambda: ags.read(data))
    assert calls["entry.Entry.from_line"] == 0
    _, calls = counted(lambda: (session.name, session.name))
    assert calls["entry.Entry.from_line"] <= 1


def test_an_odd_line_costs_a_decode_of_its_own_alone() -> None:
    found = entries(2000)
    data = file_of(found).replace(b'"e900"', b'"\\u0065900"')
    odd = data.replace(b'"content":"', b'"content":"\\ud83d', 1)
    for _ in range(2):
        session, calls = counted(lambda: ags.read(odd))
    assert len(session) == 2000
    assert calls["codec.decode_entry"] == 1


def test_a_context_makes_no_entry_and_each_item_once() -> None:
    session = ags.read(file_of(entries(2000)))
    items = sum(entry["type"] == "item" for entry in entries(2000))
    found, calls = counted(session.context)
    assert len(found.items) == len(found.item_entries) == items
    assert calls["entry.Entry.from_line"] <= 1  # the last one, for the version of its rules
    assert sum(calls[name] for name in DECODES) == 0
    again, calls = counted(session.context)
    assert all(one is other for one, other in zip(found.items, again.items, strict=True))
    _, calls = counted(lambda: [(item.type, item.role) for item in (*found.items, *again.items)])
    assert calls["items._members_in"] == items
    assert session.entries[0].item is found.items[0]  # type: ignore[attr-defined]


def conversation(count: int, *, fold_every: int = 0) -> ags.Session:
    build = SessionBuilder()
    build.config(model="m", instructions="Be brief.")
    for number in range(count):
        if fold_every and number and number % fold_every == 0:
            build.append(build.session.compact_keeping(4, {"type": "message", "role": "user"}))
        build.user(f"question {number}")
        build.call(f"c{number}", "look", "{}", request_hash="sha256:" + "0" * 64)
        build.output(f"c{number}", f"answer {number}")
    return ags.read(ags.dump(build.session))


@pytest.mark.parametrize("fold_every", [0, 50])
def test_verifying_all_encodes_each_item_once_and_rebuilds_no_context(fold_every: int) -> None:
    small, large = (conversation(count, fold_every=fold_every) for count in (200, 400))
    results = []
    for session in (small, large):
        found, calls = counted(session.verify_all)
        items = sum(entry.type == "item" for entry in session)
        folds = sum(entry.type == "compaction" for entry in session)
        # No hash is right here, so each of the three forms is tried.
        assert calls["request.item_bytes"] <= 3 * (items + folds)
        assert found.cost.items_encoded == calls["request.item_bytes"]
        assert found.cost.rebuilds == 0
        assert calls["context.build_context"] == 0
        assert found.cost.restarts == 3 * folds
        results.append((sum(calls.values()), len(found)))
    (once, calls_once), (twice, calls_twice) = results
    assert calls_twice == 2 * calls_once
    assert twice <= 2.1 * once


def test_paths_that_part_share_what_is_above() -> None:
    session = conversation(100)
    middle = session.entries[150].id
    for number in range(20):
        session.branch(middle)
        session.append(ags.ItemEntry({"type": "message", "role": "user", "content": str(number)}))
        session.append(ags.ResponseEntry(f"x{number}", request_hash="sha256:" + "0" * 64))
    found, calls = counted(session.verify_all)
    items = sum(entry.type == "item" for entry in session)
    assert calls["request.item_bytes"] == found.cost.items_encoded <= 3 * items
    # An item of a path is hashed once a form, however many responses stand below it.
    assert found.cost.items_hashed <= 3 * items
    assert calls["context.build_context"] == found.cost.rebuilds == 0
