"""What a listing reads, counted, and that its short cuts give what the long way gives."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import ConfigEntry, Header, InfoEntry, ItemEntry, LinkEntry
from agentsession.stores import JSONLStore, ListFilter, Summary, SyncPolicy, listing
from agentsession.stores.base import newest_first

_SESSIONS = 12
_BLOCK = 4096


class Seen:
    """What was opened, listed and read below a directory."""

    def __init__(self) -> None:
        self.opened: Counter[str] = Counter()
        self.directories: Counter[str] = Counter()
        self.reads: list[tuple[int, int]] = []
        self.not_by_os: list[str] = []

    @property
    def bytes_read(self) -> int:
        return sum(got for _, got in self.reads)


_WATCHED: list[tuple[str, Seen]] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _WATCHED or event not in {"open", "os.listdir", "os.scandir"}:
        return
    root, seen = _WATCHED[-1]
    path = str(args[0])
    if not path.startswith(root):
        return
    if event != "open":
        seen.directories[path.rstrip("/")] += 1
        return
    seen.opened[path] += 1
    if args[1] is not None:
        seen.not_by_os.append(path)  # open(): its reads would not be counted


# A hook stays as long as the process; it does nothing while nobody watches.
sys.addaudithook(_hook)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "sessions"
    with JSONLStore(root, sync=SyncPolicy.NEVER) as store:
        for number in range(_SESSIONS):
            created = f"2026-03-{number + 1:02}T08:00:00Z"
            header = Header(id=f"s{number:02}", cwd=f"/srv/app{number % 3}", created_at=created)
            session = store.create(header)
            session.append(ConfigEntry(model="m-1"))
            session.append(InfoEntry(f"Name {number}"))
            for _ in range(40):
                content = [{"type": "input_text", "text": "x" * 300}]
                session.append(ItemEntry({"type": "message", "role": "user", "content": content}))
            session.append(LinkEntry("related", "other"))
    return root


@contextmanager
def watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    seen = Seen()
    read = os.read

    def counted(fd: int, size: int) -> bytes:
        data = read(fd, size)
        seen.reads.append((size, len(data)))
        return data

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", counted)
        _WATCHED.append((str(root), seen))
        try:
            yield seen
        finally:
            _WATCHED.pop()


def test_headers_take_one_block_of_each_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JSONLStore(root, read_only=True) as store:
        for _ in range(2):  # the second list of a store costs what the first did
            with watched(root, monkeypatch) as seen:
                assert len(list(store.list())) == _SESSIONS
            assert sorted(seen.opened.values()) == [1] * _SESSIONS
            assert seen.not_by_os == []
            assert [asked for asked, _ in seen.reads] == [_BLOCK] * _SESSIONS
            assert set(seen.directories.values()) == {1}
            assert len(seen.directories) == 1 + 3


def test_names_take_one_read_of_each_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = sum(path.stat().st_size for path in root.glob("*/*.jsonl"))
    with JSONLStore(root, read_only=True) as store:
        for _ in range(2):
            with watched(root, monkeypatch) as seen:
                found = list(store.list(ListFilter(with_names=True, current=True)))
            assert [item.name for item in found if isinstance(item, Summary)] == [
                f"Name {number}" for number in reversed(range(_SESSIONS))
            ]
            assert sorted(seen.opened.values()) == [1] * _SESSIONS
            assert seen.not_by_os == []
            assert len(seen.reads) == _SESSIONS
            assert seen.bytes_read == sizes


@pytest.mark.parametrize(
    "asked",
    [
        ListFilter(cwd="/srv/app1", with_names=True),
        ListFilter(after="2026-03-08T08:00:00Z", with_names=True),
        ListFilter(before="2026-03-05T08:00:00Z", current=True),
    ],
)
def test_entries_are_read_only_where_the_header_passes(
    root: Path, monkeypatch: pytest.MonkeyPatch, asked: ListFilter
) -> None:
    with JSONLStore(root, read_only=True) as store:
        with watched(root, monkeypatch) as seen:
            found = [item for item in store.list(asked) if isinstance(item, Summary)]
        assert len(found) == 4
        assert all(item.name for item in found)
        assert set(seen.opened.values()) == {1}
        whole = sum(item.size or 0 for item in found)
        assert seen.bytes_read == whole + (_SESSIONS - 4) * _BLOCK


def test_a_limit_reads_only_the_newest_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JSONLStore(root, read_only=True) as store, watched(root, monkeypatch) as seen:
        found = list(store.list(ListFilter(with_names=True, limit=3)))
        assert [item.id for item in found if isinstance(item, Summary)] == ["s11", "s10", "s09"]
    again = sorted(path for path, times in seen.opened.items() if times == 2)
    assert again == sorted(item.file for item in found if isinstance(item, Summary))
    assert sum(seen.opened.values()) == _SESSIONS + 3


def test_no_line_is_decoded_that_cannot_matter(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []

    def counted(line: bytes) -> object:
        decoded.append(line)
        return noted(line)

    noted = listing._noted
    monkeypatch.setattr(listing, "_noted", counted)
    with JSONLStore(root, read_only=True) as store:
        assert len(list(store.list(ListFilter(with_names=True)))) == _SESSIONS
    kinds = Counter(msgspec.json.decode(line)["type"] for line in decoded)
    assert kinds == {"info": _SESSIONS, "link": _SESSIONS}


# The short cuts against the long way.

LINES = st.sampled_from(
    [
        b'{"type":"info","name":"one"}',
        b'{"type":"info","name":"two"}',
        b'{"type":"info","name":""}',
        b'{"type":"info","name":7}',
        b'{ "name" : "three", "type" : "info" }',
        b'{"type":"\\u0069nfo","name":"four"}',
        b'{"type":"link","rel":"continued_in","session":"next"}',
        b'{"type":"link","rel":"continued_in","session":"last"}',
        b'{"type":"link","rel":"continued_in","session":""}',
        b'{"type":"link","rel":"spawned","session":"other"}',
        b'{"type":"li\\u006ek","rel":"continued_in","session":"escaped"}',
        b'{"type":"item","item":{"type":"info","name":"no"}}',
        b'{"type":"item","text":"the \\"info\\" of a \\\\u006e"}',
        b'{"type":"info","type":"link","rel":"continued_in","session":"twice"}',
        b'["info","link"]',
        b'{"type":"info","name":"cut',
        b'"link"',
        b"",
        b"\r",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=8), st.sampled_from([b"", b"\n"]))
def test_scan_gives_what_reading_every_line_gives(lines: list[bytes], end: bytes) -> None:
    name = successor = ""
    for line in lines:
        try:
            entry = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "info" and isinstance(entry.get("name"), str):
            name = entry["name"] or name
        if entry.get("type") == "link" and entry.get("rel") == "continued_in":
            successor = entry["session"] or successor
    assert listing.scan(b"\n".join(lines) + end) == (name, successor)


FRACTIONS = st.sampled_from(
    ["", ".0", ".5", ".50", ".05", ".500000001", ".5000000019", ".123456789", ".1234567899"]
)
TIMES = st.builds(
    lambda second, fraction, zone: f"2026-03-01T08:00:{second:02}{fraction}{zone}",
    st.sampled_from([0, 3, 30]),
    FRACTIONS,
    st.just("Z"),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TIMES, max_size=8), st.booleans())
def test_the_order_is_that_of_the_instants(times: list[str], elsewhere: bool) -> None:
    if elsewhere:
        times = [*times, "2026-03-01T09:00:30.5+01:00"]
    shape = (
        '{"type":"session","format":"agentsession/0.2","id":"s%d","created_at":"%s",'
        '"payload":"openresponses/2026-04-24"}'
    )
    found = [
        Summary(
            header=listing.decode_header((shape % (number % 3, time)).encode()), file=str(number)
        )
        for number, time in enumerate(times)
    ]
    assert listing._newest_first(found) == newest_first(found)
