"""What killed processes leave of files they were writing, and who removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentsession.header import Header
from agentsession.stores import JSONLStore, ListFilter, locks
from agentsession.stores import files as store_files
from agentsession.timestamp import Timestamp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process is killed like this")

CREATED = Timestamp.parse("2026-03-01T08:15:30Z")
SCRIPT = """
import os, signal, sys
from agentsession.header import Header
from agentsession.stores import JSONLStore, files
from agentsession.timestamp import Timestamp

put = files.put_in_place
left = int(sys.argv[2])

def kill(temporary, path):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    put(temporary, path)
    if not left and sys.argv[3] == "linked":
        os.link(path, temporary)
        os.kill(os.getpid(), signal.SIGKILL)

files.put_in_place = kill
created = Timestamp.parse("2026-03-01T08:15:30Z")
JSONLStore(sys.argv[1]).create(Header(id="x", created_at=created, cwd="/p"))
"""


def killed(root: Path, after: int, how: str = "") -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, root, str(after), how], check=False)
    assert done.returncode == -signal.SIGKILL


def left(root: Path) -> list[str]:
    return sorted(path.suffix for path in root.rglob("*") if path.suffix in {".tmp", ".lock"})


def create(store: JSONLStore, session_id: str) -> None:
    store.create(Header(id=session_id, created_at=CREATED, cwd="/p"))
    store.release(session_id)


def test_a_lock_that_was_being_made_goes_with_the_next_write(tmp_path: Path) -> None:
    killed(tmp_path, 0)
    assert left(tmp_path) == [".tmp"]
    with JSONLStore(tmp_path) as store:
        create(store, "another")
    assert left(tmp_path) == []


@pytest.mark.parametrize(("after", "how"), [(1, ""), (2, "linked")])
def test_a_session_that_was_being_made_goes_with_who_takes_it(
    after: int, how: str, tmp_path: Path
) -> None:
    killed(tmp_path, after, how)
    assert left(tmp_path) == [".lock", ".tmp"]
    with JSONLStore(tmp_path) as store:
        create(store, "another")
        assert left(tmp_path) == [".lock", ".tmp"]
        if how:
            store.open("x")
            store.release("x")
        else:
            create(store, "x")
        assert left(tmp_path) == []
        assert len(list(store.list(ListFilter()))) == 2


def test_a_session_that_nobody_takes_goes_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(tmp_path, 1)
    monkeypatch.setattr(store_files, "LEFT_BEHIND_SECONDS", -1)
    with JSONLStore(tmp_path) as store:
        create(store, "another")
    assert left(tmp_path) == [".lock"]


def test_what_others_write_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_files, "LEFT_BEHIND_SECONDS", -1)
    folder = tmp_path / "p"
    with JSONLStore(tmp_path) as store:
        store.create(Header(id="x", created_at=CREATED, cwd="/p"))
        path = store.path("x")
        # It is held, so that whoever holds it may be writing this.
        held = path.with_name(path.name + ".tmp")
        held.write_bytes(b"")
        (folder / "notes.tmp").write_bytes(b"")
        (folder / ".mine.tmp").write_bytes(b"")
        locks.sweep(folder)
        assert held.exists()
        store.release("x")
        locks.sweep(folder)
        assert sorted(p.name for p in folder.glob("*.tmp")) == [".mine.tmp", "notes.tmp"]
    monkeypatch.undo()
    for name, pid in (("0" * 16, os.getppid()), ("1" * 16, os.getpid())):
        line = f'{{"pid":{pid},"host":"{locks.host_name()}","since":"{CREATED}"}}\n'
        (folder / f".{name}.tmp").write_text(line)
    (folder / f".{'2' * 16}.tmp").write_text('{"pid":1,"host":"elsewhere"}\n')
    locks.sweep(folder)
    assert len(list(folder.glob(".*.tmp"))) == 4
