"""One call, one count: older copies, newer ones and stores, named together in any order."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import FIXTURES

from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.importers import registry
from agentsession.importers.counted import By, Count
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_session, of_source
from agentsession.session import Session
from agentsession.stores import JSONLStore, Summary
from agentsession.testing import SessionBuilder

DATA = Path(__file__).parents[1] / "data"
HOSTILE = DATA / "usage"
AGENTS = ("claude-code", "codex", "pi")

Records = list[UsageRecord]


def files(agent: str, *paths: Path) -> Records:
    importer = registry.load(agent)
    found = [r for s in importer.find(paths) for r in of_source(importer, s)]
    importer.close()
    return found


def stored(store: Path) -> Records:
    with JSONLStore(store, read_only=True) as opened:
        return [
            record
            for summary in opened.list()
            if isinstance(summary, Summary)
            for record in of_session(opened.open(summary.id))
        ]


def brought(agent: str, path: Path, store: Path) -> Records:
    importer = registry.load(agent)
    import_sessions([Work(importer, tuple(importer.find([path])))], store)
    importer.close()
    return stored(store)


def totals(*sources: Sequence[UsageRecord]) -> dict[str, Any]:
    count = Count()
    for place, records in enumerate(sources):
        for record in records:
            count.add(record, place)
    return dict(count.report().totals)


# Every recording, as it was earlier and as it is now.


def recordings() -> Iterator[Any]:
    for agent in AGENTS:
        found = FIXTURES / agent
        own = HOSTILE / "recordings" / agent
        root = found if found.is_dir() else own if own.is_dir() else DATA / agent
        for path in sorted(root.iterdir()):
            if path.is_dir():
                yield pytest.param(agent, path, id=f"{agent}-{path.name}")


_NOTHING = ("", "")
_NAMED = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)(?:-(\d{3}))?Z?[-_]")


def cut(root: Path, share: float) -> None:
    """Leave of a home what had been written when so much of its lines had."""
    logs = [p for p in root.rglob("*.jsonl") if p.name not in {"requests.jsonl", "history.jsonl"}]
    texts = {log: log.read_bytes().splitlines(keepends=True) for log in logs}
    told = {log: [_told(line) for line in lines] for log, lines in texts.items()}
    known: set[str] = set()
    events: list[tuple[str, int, int, Path]] = []
    for place, log in enumerate(sorted(logs, key=lambda log: max(told[log], default=_NOTHING))):
        own = (time for time, name in told[log] if not name or name not in known)
        born = next((time for time in own if time), "")
        named = _NAMED.match(log.name)
        if named is not None:
            born = "{}T{}:{}:{}.{}".format(*(part or "000" for part in named.groups()))
        now = ""
        for at, (time, _) in enumerate(told[log]):
            now = max(now, time)
            events.append((max(now, born), place, at, log))
        known.update(name for _, name in told[log] if name)
    events.sort()
    kept = events[: int(len(events) * share)]
    for log in logs:
        lines = texts[log][: sum(event[3] is log for event in kept)]
        log.unlink()
        if lines:
            log.write_bytes(b"".join(lines))


def _told(line: bytes) -> tuple[str, str]:
    try:
        value = json.loads(line)
    except ValueError:
        return _NOTHING
    return str(value.get("timestamp") or ""), str(value.get("uuid") or value.get("id") or "")


@pytest.mark.parametrize(("agent", "path"), list(recordings()))
def test_sources_of_one_session_count_once(agent: str, path: Path, tmp_path: Path) -> None:
    """An older copy, the newest, and the store both were imported into: the newest's totals."""
    shutil.copytree(path, tmp_path / "home", ignore=shutil.ignore_patterns("requests.jsonl"))
    shutil.copytree(tmp_path / "home", tmp_path / "old")
    cut(tmp_path / "old", 0.8)
    newer, older = files(agent, tmp_path / "home"), files(agent, tmp_path / "old")
    half = brought(agent, tmp_path / "old", tmp_path / "store")
    store = brought(agent, tmp_path / "home", tmp_path / "store")
    expected = totals(newer)
    assert totals(store) == expected
    for those in permutations((older, half, newer, store)):
        assert totals(*those) == expected
        if newer in those[:2] or store in those[:2]:
            assert totals(*those[:2]) == expected
    assert totals(older) == totals(half) == totals(half, older)


# Single cases.


def test_a_half_written_answer_counts_once_in_a_store(tmp_path: Path) -> None:
    lines = (HOSTILE / "claude-usage-split-blocks.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / "renamed.jsonl"
    log.write_bytes(b"".join(lines[:3]))
    half = brought("claude-code", log, tmp_path / "store")
    assert totals(half)["incomplete_calls"] == 1
    log.write_bytes(b"".join(lines))
    store = brought("claude-code", log, tmp_path / "store")
    assert len(store) == 2
    for sources in ([store], [store, files("claude-code", log)], [files("claude-code", log), half]):
        found = totals(*sources)
        told = (found["calls"], found["input_tokens"], found["output_tokens"])
        assert told == (1, 154, 40)
        assert found["incomplete_calls"] == 0


def test_a_session_that_went_on_in_the_store_has_the_calls_of_both(tmp_path: Path) -> None:
    home = DATA / "pi" / "1.6.0-compaction"
    before = totals(brought("pi", home, tmp_path))
    with JSONLStore(tmp_path) as store:
        (summary,) = list(store.list())
        assert isinstance(summary, Summary)
        session = store.open(summary.id)
        asked = {"type": "message", "role": "user", "content": "go on"}
        store.append(session.id, ItemEntry(asked))
        used = {"input_tokens": 1000, "output_tokens": 5}
        store.append(session.id, ResponseEntry("resp_x", model="m", usage=used))
    native, both = files("pi", home), stored(tmp_path)
    for found in (totals(both), totals(native, both), totals(both, native)):
        assert found["calls"] == before["calls"] + 1
        assert found["input_tokens"] == before["input_tokens"] + 1000


def test_a_migrated_session_is_the_same(tmp_path: Path) -> None:
    build = SessionBuilder()
    build.user("hello")
    build.answer("hi", usage={"input_tokens": 5, "output_tokens": 1})
    own = build.session
    for session in (own, next(iter(imported(tmp_path)))):
        first, other = list(of_session(session)), list(of_session(session.migrated()))
        assert totals(first, other) == totals(other, first) == totals(first)


def imported(tmp_path: Path) -> Iterator[Session]:
    brought("pi", DATA / "pi" / "1.6.0-tree", tmp_path)
    with JSONLStore(tmp_path, read_only=True) as store:
        for summary in store.list():
            assert isinstance(summary, Summary)
            yield store.open(summary.id)


def test_a_fork_without_its_origin_counts_what_it_copied(tmp_path: Path) -> None:
    forks = [
        path
        for path in (DATA / "pi" / "1.6.0-tree").rglob("*.jsonl")
        if b'"parentSession"' in path.read_bytes().partition(b"\n")[0]
    ]
    for place, fork in enumerate(forks):
        alone = brought("pi", fork, tmp_path / str(place))
        native = files("pi", fork)
        assert totals(alone) == totals(native) == totals(native, alone)
        assert any(record.copied for record in alone)


def test_a_copy_counts_for_its_origin_wherever_that_stands() -> None:
    used = {"input_tokens": 1, "output_tokens": 2}
    fork = UsageRecord("fork", "m", usage=used, key="k", copied=True)
    for records in permutations((fork, UsageRecord("origin", "m", usage=used, key="k"))):
        count = Count()
        for record in records:
            count.add(record)
        assert [group["key"] for group in count.report(By.SESSION).more["groups"]] == ["origin"]


numbers = st.integers(1, 3)
plain = st.builds(
    lambda session, sent: UsageRecord(session, usage={"input_tokens": sent, "output_tokens": 1}),
    st.sampled_from("ab"),
    numbers,
)
named = st.builds(
    lambda session, key: UsageRecord(session, key=key, usage={"input_tokens": 1}),
    st.sampled_from("ab"),
    st.sampled_from("kl"),
)


@given(st.lists(st.one_of(plain, named), max_size=12), st.integers(0, 12), st.randoms())
def test_a_beginning_of_a_source_adds_nothing(records: Records, begun: int, random: Any) -> None:
    """With keys and without them, in any order of sources."""
    sources = [records, records[:begun], [r for r in records if not r.key], records]
    random.shuffle(sources)
    assert totals(*sources) == totals(records)
