"""Disks that fail and processes that die: what was acknowledged stays. Spec: stores 4.5."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from store_faults import INTERRUPTS, THREADS, kill_at_random_moments, names, output, work_in_threads

from agentsession import writing
from agentsession.errors import SessionLocked, StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, SyncPolicy


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def leftovers(root: Path) -> list[str]:
    return [path.name for path in root.glob("*/*") if path.suffix != ".jsonl"]


def failing_call(number: int, code: int = errno.EIO) -> Callable[..., None]:
    """A system call that fails at its n-th call, and works otherwise."""
    calls = iter(range(1, 1000))
    really = os.fsync

    def fsync(fd: int) -> None:
        if next(calls) == number:
            raise OSError(code, os.strerror(code))
        really(fd)

    return fsync


def test_a_device_that_fails_on_append(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JSONLStore(root) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        path = store.path("s")
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing_call(1))
            with pytest.raises(StoreFailed) as caught:
                session.append(InfoEntry("two"))
        error = caught.value
        assert (error.session_id, error.path, error.errno) == ("s", path, errno.EIO)
        assert "input/output error" in str(error)
        # Memory has nothing that the disk has not; here the disk has no more either.
        assert len(session) == 1
        assert path.read_bytes() == before
        with pytest.raises(StoreFailed, match="open it again"):
            session.append(InfoEntry("three"))
        assert leftovers(root) == []
        again = store.open("s")
        assert again is not session
        store.append("s", InfoEntry("four"))
        assert names(store) == ["one", "four"]


@pytest.mark.parametrize("taken", [0, 1, 40])
@pytest.mark.parametrize("can_truncate", [True, False])
def test_a_short_write(
    root: Path, monkeypatch: pytest.MonkeyPatch, taken: int, can_truncate: bool
) -> None:
    really = os.write

    def no_truncate(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "no")

    with JSONLStore(root) as store:
        session = store.create(Header(id="s"))
        session.append(InfoEntry("one"))
        before = store.path("s").read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda fd, data: really(fd, data[:taken]))
            if not can_truncate:
                patch.setattr(os, "ftruncate", no_truncate)
            with pytest.raises(StoreFailed, match=f"only {taken} of"):
                store.append("s", InfoEntry("two"))
        assert len(session) == 1
        left = store.path("s").read_bytes()
        assert left == before if can_truncate else left.startswith(before)
        store.append("s", InfoEntry("three"))
        assert names(store) == ["one", "three"]
        assert store.path("s").read_bytes() == writing.dump(store.open("s"))


def test_an_interrupt_between_disk_and_memory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(fd: int) -> None:
        raise KeyboardInterrupt

    with JSONLStore(root) as store:
        session = store.create(Header(id="s"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append("s", InfoEntry("one"))
        assert len(session) == 0
        with pytest.raises(StoreFailed, match=r"write failed \(KeyboardInterrupt\)"):
            session.append(InfoEntry("lost"))
        # Nothing is kept of a session that is not open.
        assert store._slots.ids() == ()
        store.append("s", InfoEntry("two"))
        assert names(store) == ["two"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer signal")
def test_interrupts_at_any_moment(root: Path) -> None:
    """Signals that raise, wherever they come: memory is the disk, no lock stays."""
    told = output(INTERRUPTS + INTERRUPTED, root)[-1].split()
    assert len(told) > 100
    with JSONLStore(root, read_only=True) as store:
        assert set(told) <= {entry.id for entry in store.open("s")}


INTERRUPTED = """
from agentsession import writing
from agentsession.stores import JSONLStore, SyncPolicy
store = JSONLStore(sys.argv[1], sync=SyncPolicy.NEVER)
session = store.create(Header(id="s"))
for turn in range(150):
    session = store.open("s")
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + chance.random() * 0.001)
        while True:
            told.append(store.append("s", InfoEntry("one")))
            told.append(session.append(InfoEntry("one")))
    except KeyboardInterrupt:
        armed = False
    assert store.path("s").read_bytes() == writing.dump(store.open("s"))
    told.append(store.append("s", InfoEntry("two")))
finds_no_lock(lambda: store.append("s", InfoEntry("three")))
store.close()
print(*told)
"""


@pytest.mark.parametrize("number", range(1, 6))
def test_a_device_that_fails_on_create(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    # A new project directory, the lock, the header, and two directories are synced.
    with JSONLStore(root) as store:
        monkeypatch.setattr(os, "fsync", failing_call(number))
        header = Header(id="s", cwd="/app")
        with pytest.raises(StoreFailed, match="cannot create session s"):
            store.create(header)
        assert list(root.glob("*/*")) == []
        assert store.create(header).id == "s"


@pytest.mark.parametrize("act", ["release", "close", "sync"])
def test_a_device_that_fails_at_the_end(
    root: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    store = JSONLStore(root, sync=SyncPolicy.NEVER)
    for session_id in ("s", "t"):
        store.create(Header(id=session_id)).append(InfoEntry("one"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing_call(1))
        with pytest.raises(StoreFailed):
            store.close() if act == "close" else getattr(store, act)("s")
    assert len(leftovers(root)) == (0 if act == "close" else 1)
    store.close()
    assert leftovers(root) == []
    with JSONLStore(root, read_only=True) as again:
        assert names(again) == ["one"]


def test_a_header_is_on_disk_before_it_has_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noted(name: str) -> None:
        really = getattr(os, name)

        def call(*args: object) -> object:
            path = os.readlink(f"/proc/self/fd/{args[0]}") if name == "fsync" else str(args[1])
            order.append(
                f"{name} {'lock' if '.lock' in path else Path(path).suffix or 'directory'}"
            )
            return really(*args)

        monkeypatch.setattr(os, name, call)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    with JSONLStore(root) as store:
        (root / "default").mkdir()
        noted("fsync")
        noted("link")
        store.create(Header(id="s"))
    assert order[:6] == [
        "fsync .tmp",
        "link lock",
        "fsync .tmp",
        "link .jsonl",
        "fsync directory",
        "fsync directory",
    ]


FULL = """
import resource, sys
from agentsession.errors import StoreFailed
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore
store = JSONLStore(sys.argv[1])
session = store.create(Header(id="s"))
session.append(InfoEntry("one"))
size = store.path("s").stat().st_size
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for room in (0, 10, 150):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
    try:
        store.append("s", InfoEntry("x" * 1000))
    except StoreFailed as error:
        print("failed", error.errno)
    assert len(session) == 1
    try:
        store.create(Header(id="big", unknown={"x": "y" * 10_000}))
    except StoreFailed as error:
        print("failed", error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
session = store.open("s")
session.append(InfoEntry("two"))
print(*[entry.name for entry in session])
store.create(Header(id="big"))
"""


def test_a_full_disk(root: Path) -> None:
    lines = output(FULL, root)
    assert [line.split()[0] for line in lines] == ["failed"] * 6 + ["one"]
    assert lines[-1] == "one two"
    assert leftovers(root) == []
    with JSONLStore(root) as store:
        assert names(store) == ["one", "two"]
        assert store.open("big").truncated is None


def test_kill_9_at_random_moments() -> None:
    kill_at_random_moments("files", 15)


def test_threads_at_one_store(root: Path) -> None:
    """Creates, appends, lists, releases and deletes at once: no deadlock, nothing lost."""
    with JSONLStore(root, sync=SyncPolicy.NEVER) as store:
        work_in_threads(store, 8, 5)
    assert leftovers(root) == []
    with JSONLStore(root) as store:
        assert len(list(store.list())) == 1 + THREADS * 4
        assert {len(store.open(f"t{n}-0")) for n in range(THREADS)} == {5}
        assert writing.dump(store.open("shared")) == store.path("shared").read_bytes()


def test_a_store_that_was_forgotten_lets_go(root: Path) -> None:
    def forget() -> None:
        JSONLStore(root).create(Header(id="s")).append(InfoEntry("one"))

    forget()
    import gc

    gc.collect()
    with JSONLStore(root) as store:
        assert names(store) == ["one"]


def test_a_held_session_stays_held_while_its_session_is_used(root: Path) -> None:
    session = JSONLStore(root).create(Header(id="s"))
    with JSONLStore(root) as other, pytest.raises(SessionLocked):
        other.open("s")
    session.append(InfoEntry("one"))
    del session
    import gc

    gc.collect()
    with JSONLStore(root) as store:
        assert names(store) == ["one"]
