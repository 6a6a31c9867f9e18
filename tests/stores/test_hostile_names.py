"""Ids and directories out of hostile headers: refused or kept apart, no other file touched.

Spec: stores 4.1 and 4.2, decision B2.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import writing
from agentsession.errors import (
    DamagedFile,
    InvalidEntry,
    NoSession,
    SessionExists,
    SessionLocked,
)
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, MemoryStore, SQLiteStore, Store, Summary, SyncPolicy
from agentsession.stores.copying import copy_session

HOSTILE = [
    "../escape",
    "..",
    ".",
    "/etc/passwd",
    "a/../../b",
    "..\\escape",
    "C:\\x",
    "nul\0byte",
    "line\nfeed",
    "NUL",
    "con",
    "COM1.txt",
    "lpt9:stream",
    "*",
    "a?",
    "[a]",
    "x" * 300,
    "ü" * 150,
    "\ud800",
    "-",
    " ",
    "%2e%2e%2f",
    "\u202ereversed",
    "a\u0301",
]
STAMP = "2026-01-01T00-00-00.000Z"


def tree(place: Path, but: Path) -> dict[str, bytes | None]:
    """What is in a directory, except in one."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
        if not path.is_relative_to(but)
    }


def created(store: Store, **header: str) -> tuple[Session | None, str]:
    """A session, or why there is none."""
    try:
        return store.create(Header(**header)), ""
    except InvalidEntry as error:
        return None, str(error)


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """Files that a path out of the store would reach."""
    for name in ("escape", "b", "escape.jsonl", "passwd"):
        (tmp_path / name).write_text("precious")
    return tmp_path


@pytest.mark.parametrize("session_id", HOSTILE)
@pytest.mark.parametrize("kind", ["files", "sqlite", "memory"])
def test_a_hostile_id(around: Path, kind: str, session_id: str) -> None:
    makers: dict[str, Callable[[], Store]] = {
        "files": lambda: JSONLStore(around / "root", sync=SyncPolicy.NEVER),
        "sqlite": lambda: SQLiteStore(around / "root" / "s.db"),
        "memory": MemoryStore,
    }
    (around / "root").mkdir()
    before = tree(around, around / "root")
    with makers[kind]() as store:
        session, refusal = created(store, id=session_id)
        if session is None:
            assert refusal.isprintable()
            assert len(refusal) < 400
            for call in (store.open, store.delete):
                with pytest.raises(NoSession):
                    call(session_id)
            assert list(store.list()) == []
        else:
            store.append(session_id, InfoEntry("x"))
            assert store.open(session_id) is session
            (found,) = store.list()
            assert isinstance(found, Summary)
            assert found.id == session_id
            store.delete(session_id)
            with pytest.raises(NoSession):
                store.open(session_id)
    assert tree(around, around / "root") == before
    below = [path for path in (around / "root").rglob("*") if path.is_file()]
    assert all(path.resolve().is_relative_to(around / "root") for path in below)


@pytest.mark.parametrize(
    "cwd", ["..", "../..", "/../../x", "\\..\\x", "a\0b", "d" * 300, "C:", "//", "\ud800", "nul"]
)
def test_a_hostile_directory(around: Path, cwd: str) -> None:
    before = tree(around, around / "root")
    with JSONLStore(around / "root", sync=SyncPolicy.NEVER) as store:
        session, refusal = created(store, id="s", cwd=cwd)
        if session is None:
            assert refusal.isprintable()
        else:
            path = store.path(session.id)
            assert path.resolve().parent.parent == (around / "root").resolve()
    assert tree(around, around / "root") == before


@settings(max_examples=60, deadline=None)
@given(session_id=st.text(min_size=1, max_size=40), cwd=st.text(max_size=40))
def test_any_header_stays_in_its_place(
    session_id: str, cwd: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("names")
    with JSONLStore(place / "root", sync=SyncPolicy.NEVER) as store:
        try:
            store.create(Header(id=session_id, cwd=cwd)).append(InfoEntry("x"))
        except InvalidEntry:
            pass
        else:
            path = store.path(session_id)
            assert path.parent.parent == place / "root"
    assert [path.name for path in place.iterdir()] == ["root"]
    assert all(path.is_dir() for path in (place / "root").iterdir())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
        ("session", "Session"),
        ("ﬁ", "fi"),
        ("İ", "i̇"),
        ("s", "s "),
        ("a_s", "s"),
        (f"{STAMP}_s", "s"),
    ],
)
def test_ids_that_look_alike_are_kept_apart(tmp_path: Path, one: str, other: str) -> None:
    """Here each gets its own file; a file system that sees one name refuses the second."""
    stores: list[Store] = [JSONLStore(tmp_path / "root"), SQLiteStore(tmp_path / "s.db")]
    for store in stores:
        with store:
            store.create(Header(id=one)).append(InfoEntry("one"))
            with pytest.raises(NoSession):
                store.open(other)
            with pytest.raises(NoSession):
                store.delete(other)
            try:
                store.create(Header(id=other)).append(InfoEntry("other"))
            except SessionExists:
                continue
            assert [store.open(name).name for name in (one, other)] == ["one", "other"]
            store.delete(other)
            assert store.open(one).name == "one"


@pytest.fixture
def folding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file system that keeps the case of names and does not tell it apart.

    Each path that reaches the system below the test's directory gets the spelling that is
    there already.
    """

    def spelled(path: Any) -> Any:
        if not isinstance(path, (str, os.PathLike)) or not str(path).startswith(str(tmp_path)):
            return path
        found = Path(path)
        there = {name.casefold(): name for name in real["listdir"](found.parent)}
        return str(found.with_name(there.get(found.name.casefold(), found.name)))

    real: dict[str, Callable[..., Any]] = {}

    def fold(name: str, paths: int) -> None:
        function = real[name] = getattr(os, name)

        def call(*args: Any, **more: Any) -> Any:
            return function(*map(spelled, args[:paths]), *args[paths:], **more)

        monkeypatch.setattr(os, name, call)

    real["listdir"] = os.listdir
    for name, paths in {"open": 1, "stat": 1, "lstat": 1, "unlink": 1, "mkdir": 1}.items():
        fold(name, paths)
    link = os.link

    def linked(old: Any, new: Any, **more: Any) -> None:
        link(spelled(old), spelled(new), **more)

    monkeypatch.setattr(os, "link", linked)


@pytest.mark.usefixtures("folding")
def test_a_file_system_that_ignores_case(tmp_path: Path) -> None:
    """Ids that differ in case, made at the same moment: the second is refused."""
    created = "2026-01-01T00:00:00Z"
    with JSONLStore(tmp_path) as store, JSONLStore(tmp_path) as other:
        store.create(Header(id="session", created_at=created)).append(InfoEntry("mine"))
        data = store.path("session").read_bytes()
        for writer in (store, other):
            with pytest.raises((SessionExists, SessionLocked)):
                writer.create(Header(id="SESSION", created_at=created))
            with pytest.raises(NoSession):
                writer.open("SESSION")
            with pytest.raises(NoSession):
                writer.delete("SESSION")
        # The lock of the one that is there was not lost to the one that was refused.
        with pytest.raises(SessionLocked):
            other.open("session")
        store.append("session", InfoEntry("still mine"))
        assert store.path("session").read_bytes().startswith(data)
        store.create(Header(id="SESSION", created_at="2026-01-02T00:00:00Z")).append(
            InfoEntry("theirs")
        )
        assert [store.open(name).name for name in ("session", "SESSION")] == [
            "still mine",
            "theirs",
        ]
    assert len(list(tmp_path.glob("*/*"))) == 2


def test_a_file_whose_header_names_another(tmp_path: Path) -> None:
    """A file is opened by its name, and what its header says is not trusted with a path."""
    hostile = Session(Header(id="../escape"))
    project = tmp_path / "root" / "default"
    project.mkdir(parents=True)
    path = project / f"{STAMP}_s.jsonl"
    path.write_bytes(writing.dump(hostile))
    (tmp_path / "escape").write_text("precious")
    with JSONLStore(tmp_path / "root") as store:
        for call in (store.open, lambda name: store.append(name, InfoEntry("x"))):
            with pytest.raises(DamagedFile, match=r'holds session "\.\./escape", not "s"'):
                call("s")
        (found,) = store.list()
        assert isinstance(found, Summary)
        assert found.id == "../escape"
        with pytest.raises(NoSession):
            store.delete("../escape")
        with SQLiteStore(tmp_path / "s.db") as database:
            assert copy_session(hostile, database).ok
            refused = copy_session(database.open("../escape"), store)
            assert not refused.ok
    assert (tmp_path / "escape").read_text() == "precious"
    assert path.read_bytes() == writing.dump(hostile)


def test_a_root_that_is_a_link(tmp_path: Path) -> None:
    """The root is the user's own choice; only what stands in it is not followed."""
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    with JSONLStore(tmp_path / "root") as store:
        store.create(Header(id="s")).append(InfoEntry("x"))
    assert len(list((tmp_path / "real").glob("*/*.jsonl"))) == 1


@pytest.mark.parametrize("ending", [".jsonl.lock", ".jsonl.tmp"])
def test_links_in_place_of_side_files(tmp_path: Path, ending: str) -> None:
    """A link where a lock or a temporary file goes: its target is not written."""
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (root / "default").mkdir(parents=True)
    link = root / "default" / f"{STAMP}_s{ending}"
    link.symlink_to(outside)
    with JSONLStore(root) as store:
        try:
            store.create(Header(id="s", created_at="2026-01-01T00:00:00Z"))
        except SessionLocked:
            assert ending == ".jsonl.lock"
        else:
            store.append("s", InfoEntry("x"))
    assert outside.read_text() == "precious"
    assert outside.is_file()
