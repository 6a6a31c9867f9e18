"""Cut the power at every moment of a recorded run, and see what each cut leaves.

What a file store asks of the file system is logged: files made, written, cut, synced, linked,
renamed and removed, and in between what its callers were told. For every moment in the log
the disk is built again as a power cut may leave it, and a new store opens it:

- of a file, what was written since its last sync is there up to some byte, or not at all;
- of a directory, what was changed since its last sync is there up to some change;
- an overwrite inside one sector is whole, or not there.

Then every session reads, holds the beginning of what was appended and at least what its sync
policy promised, what was deleted stays deleted, and the next writer goes on.

For SQLite the write-ahead log is cut at every byte between two syncs.

    python benchmarks/powercut.py
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentsession.entries import Entry, ItemEntry, ResponseEntry
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore, ListFilter, SQLiteStore, Summary, SyncPolicy

SECTOR = 512


class Broken(Exception):
    """A promise that was not kept."""


# The log.


@dataclass(frozen=True)
class Op:
    """One thing that happened.

    ``file`` is the number of a file, whatever its names are; ``path`` and ``other`` are names.
    """

    kind: str
    file: int = 0
    path: str = ""
    other: str = ""
    at: int = 0
    data: bytes = b""


@dataclass(frozen=True)
class Told:
    """What a caller was told: how much of a session is promised from now on."""

    session_id: str
    promised: int = 0
    deleted: bool = False


@dataclass
class Log:
    """The operations below a root, and what was told in between."""

    root: str
    events: list[Op | Told] = field(default_factory=list)
    files: dict[int, int] = field(default_factory=dict)
    count: int = 0

    def file_of(self, inode: int, *, new: bool = False) -> int:
        if new or inode not in self.files:
            self.count += 1
            self.files[inode] = self.count
        return self.files[inode]

    def is_ours(self, path: Any) -> bool:
        return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(self.root)

    def add(self, kind: str, **facts: Any) -> None:
        self.events.append(Op(kind, **facts))


@contextlib.contextmanager
def recording(root: Path) -> Iterator[Log]:
    """Log what is asked of the system below a root."""
    log = Log(str(root))
    real = {name: getattr(os, name) for name in _WRAPPERS}
    try:
        for name, wrap in _WRAPPERS.items():
            setattr(os, name, wrap(log, real[name]))
        yield log
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def _open(log: Log, real: Callable[..., int]) -> Callable[..., int]:
    def call(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        is_new = bool(flags & os.O_CREAT) and log.is_ours(path) and not os.path.lexists(path)
        fd = real(path, flags, mode, **more)
        if is_new:
            file = log.file_of(os.fstat(fd).st_ino, new=True)
            log.add("create", file=file, path=os.fspath(path))
        return fd

    return call


def _path_of(fd: int) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def _write(log: Log, real: Callable[..., int]) -> Callable[..., int]:
    def call(fd: int, data: Any) -> int:
        status = os.fstat(fd)
        if not _path_of(fd).startswith(log.root):
            return real(fd, data)
        appends = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
        at = status.st_size if appends else os.lseek(fd, 0, os.SEEK_CUR)
        written = real(fd, data)
        log.add("write", file=log.file_of(status.st_ino), at=at, data=bytes(data[:written]))
        return written

    return call


def _ftruncate(log: Log, real: Callable[..., None]) -> Callable[..., None]:
    def call(fd: int, size: int) -> None:
        real(fd, size)
        if _path_of(fd).startswith(log.root):
            log.add("cut", file=log.file_of(os.fstat(fd).st_ino), at=size)

    return call


def _fsync(log: Log, real: Callable[..., None]) -> Callable[..., None]:
    def call(fd: int) -> None:
        real(fd)
        path = _path_of(fd)
        if not path.startswith(log.root):
            return
        if os.path.isdir(path):
            log.add("sync directory", path=path)
        else:
            log.add("sync", file=log.file_of(os.fstat(fd).st_ino))

    return call


def _one_path(kind: str) -> Callable[[Log, Callable[..., None]], Callable[..., None]]:
    def wrap(log: Log, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, *args: Any, **more: Any) -> None:
            real(path, *args, **more)
            if log.is_ours(path):
                log.add(kind, path=os.fspath(path))

        return call

    return wrap


def _two_paths(kind: str) -> Callable[[Log, Callable[..., None]], Callable[..., None]]:
    def wrap(log: Log, real: Callable[..., None]) -> Callable[..., None]:
        def call(old: Any, new: Any, **more: Any) -> None:
            real(old, new, **more)
            if log.is_ours(new):
                log.add(kind, path=os.fspath(new), other=os.fspath(old))

        return call

    return wrap


_WRAPPERS: dict[str, Callable[[Log, Any], Callable[..., Any]]] = {
    "open": _open,
    "write": _write,
    "ftruncate": _ftruncate,
    "fsync": _fsync,
    "unlink": _one_path("remove"),
    "mkdir": _one_path("directory"),
    "link": _two_paths("link"),
    "rename": _two_paths("rename"),
    "replace": _two_paths("rename"),
}


# The disk after a cut.

_OF_DIRECTORIES = {"create", "remove", "directory", "link", "rename"}


@dataclass
class Disk:
    """What is surely on the device, and what may be.

    Attributes:
        surely: by file, its content at its last sync.
        since: by file, what was done to it since.
        names: by name, the file, or 0 for a directory, as of the last syncs.
        changes: changes of names since the last sync of their directory, in order.
    """

    surely: dict[int, bytes] = field(default_factory=dict)
    since: dict[int, list[Op]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    changes: list[Op] = field(default_factory=list)

    def do(self, op: Op) -> None:
        if op.kind in _OF_DIRECTORIES:
            self.changes.append(op)
        elif op.kind in ("write", "cut"):
            self.since.setdefault(op.file, []).append(op)
        elif op.kind == "sync":
            self.surely[op.file] = applied(
                self.surely.get(op.file, b""), self.since.pop(op.file, [])
            )
        else:
            # Changes of names reach the device in their order, so this one takes along those
            # before it; a sync promises no less.
            last = max(
                (
                    n
                    for n, change in enumerate(self.changes)
                    if os.path.dirname(change.path) == op.path
                ),
                default=-1,
            )
            for change in self.changes[: last + 1]:
                rename(self.names, change)
            del self.changes[: last + 1]

    def left(self, names: int, data: Callable[[bytes, list[Op]], bytes]) -> dict[str, bytes | None]:
        """Return the content of each name after a cut; ``None`` for a directory.

        Args:
            names: how many of the unsynced changes of names are there.
            data: the content of a file, from what is surely there and what was done since.
        """
        found = dict(self.names)
        for change in self.changes[:names]:
            rename(found, change)
        return {
            path: data(self.surely.get(file, b""), self.since.get(file, [])) if file else None
            for path, file in found.items()
        }


def rename(names: dict[str, int], op: Op) -> None:
    if op.kind == "remove":
        names.pop(op.path, None)
    elif op.kind == "link":
        names[op.path] = names[op.other]
    elif op.kind == "rename":
        names[op.path] = names.pop(op.other)
    else:
        names[op.path] = op.file


def applied(content: bytes, ops: list[Op]) -> bytes:
    for op in ops:
        if op.kind == "cut":
            content = content[: op.at].ljust(op.at, b"\0")
        else:
            content = (
                content[: op.at].ljust(op.at, b"\0") + op.data + content[op.at + len(op.data) :]
            )
    return content


def nothing(content: bytes, ops: list[Op]) -> bytes:
    """Nothing that was not synced is there."""
    return content


def everything(content: bytes, ops: list[Op]) -> bytes:
    """All that was written is there."""
    return applied(content, ops)


def torn(part: float, keep: int) -> Callable[[bytes, list[Op]], bytes]:
    """All but the last operations are there, and part of the one after."""

    def data(content: bytes, ops: list[Op]) -> bytes:
        whole = applied(content, ops[: max(0, len(ops) - keep)])
        if len(ops) < keep or not ops:
            return whole
        op = ops[len(ops) - keep]
        if op.kind == "cut":
            return whole
        inside = op.at // SECTOR == (op.at + len(op.data) - 1) // SECTOR and op.at < len(whole)
        if inside:
            return whole
        size = min(len(op.data) - 1, int(len(op.data) * part) + 1)
        return applied(whole, [Op("write", at=op.at, data=op.data[:size])])

    return data


# The run that is recorded.


def message(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}


@dataclass
class Run:
    """What was done to the sessions of a store, and what was told of it."""

    log: Log
    policy: SyncPolicy
    appended: dict[str, list[bytes]] = field(default_factory=dict)
    promised: dict[str, int] = field(default_factory=dict)

    def told(self, session_id: str, promised: int | None = None, *, deleted: bool = False) -> None:
        if promised is not None:
            self.promised[session_id] = max(promised, self.promised.get(session_id, 0))
        self.log.events.append(Told(session_id, self.promised.get(session_id, 0), deleted))

    def create(self, store: JSONLStore, session_id: str, cwd: str = "") -> Session:
        self.appended[session_id] = []
        session = store.create(Header(id=session_id, cwd=cwd))
        self.told(session_id, 0)
        return session

    def append(self, session: Session, entry: Entry) -> None:
        lines = self.appended[session.id]
        # It may be on the disk before it was acknowledged.
        sealed = session.prepare(entry)
        lines.append(sealed.line)
        session.append(sealed)
        durable = self.policy.wants(sealed, session.header)
        self.told(session.id, len(lines) if durable else None)

    def all_of(self, session_id: str) -> None:
        self.told(session_id, len(self.appended[session_id]))


def entries(chance: random.Random) -> Iterator[Entry]:
    while True:
        size = chance.choice([5, 50, 700, 5000])
        yield ItemEntry(message("x" * size))
        yield InfoEntry(f"name {size}")
        yield ResponseEntry(f"resp_{chance.random()}", status="completed")
        yield ItemEntry(message("y" * size))


def workload(root: Path, log: Log, policy: SyncPolicy, seed: int, count: int) -> Run:
    """Create, append, release, go on, take over, mend, copy and delete."""
    run = Run(log, policy)
    more = entries(random.Random(seed))
    with JSONLStore(root, sync=policy) as store:
        one = run.create(store, "one", "/project/a")
        for _ in range(count):
            run.append(one, next(more))
        two = run.create(store, "two", "/project/b")
        for _ in range(count // 2):
            run.append(two, next(more))
            run.append(one, next(more))
        store.sync("one")
        run.all_of("one")
        run.append(one, next(more))
        store.release("one")
        run.all_of("one")
        path = store.path("one")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, b'{"type":"info","id":"torn')
        os.fsync(fd)
        os.close(fd)
        lock = path.with_name(path.name + ".lock")
        fd = os.open(f"{lock}.tmp", os.O_WRONLY | os.O_CREAT)
        host = os.uname().nodename.encode()
        os.write(fd, b'{"pid":4194305,"host":"%s","since":"2026-01-01T00:00:00Z"}\n' % host)
        os.fsync(fd)
        os.close(fd)
        os.rename(f"{lock}.tmp", lock)
        # The lock of a process that is gone, and a last line that is cut short.
        one = store.open("one")
        for _ in range(3):
            run.append(one, next(more))
        copied = Session(Header(id="copied", cwd="/project/a"))
        copied.append(InfoEntry("copied"))
        run.appended["copied"] = [entry.line for entry in copied]
        store.put(copied)
        run.all_of("copied")
        copied.append(InfoEntry("copied again"))
        run.appended["copied"] = [entry.line for entry in copied]
        store.put(copied)
        run.all_of("copied")
        gone = run.create(store, "gone")
        run.append(gone, next(more))
        store.delete("gone")
        run.told("gone", deleted=True)
    for session_id in ("one", "two"):
        run.all_of(session_id)
    return run


# Cutting, and looking.

CUTS: list[Callable[[bytes, list[Op]], bytes]] = [
    nothing,
    everything,
    torn(0.0, 1),
    torn(0.5, 1),
    torn(1.0, 1),
    torn(0.5, 2),
    torn(0.5, 3),
]


def states(run: Run) -> Iterator[tuple[dict[str, bytes | None], dict[str, Told]]]:
    """Yield each way the disk may look after a cut, with what was told before it."""
    disk = Disk()
    told: dict[str, Told] = {}
    for event in run.log.events:
        if isinstance(event, Told):
            told[event.session_id] = event
            continue
        disk.do(event)
        seen: list[dict[str, bytes | None]] = []
        for names in range(len(disk.changes) + 1):
            for data in CUTS:
                left = disk.left(names, data)
                if left not in seen:
                    seen.append(left)
                    yield left, dict(told)


def build(left: dict[str, bytes | None], old: str, new: Path) -> None:
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for path in sorted(left, key=len):
        place = new / os.path.relpath(path, old)
        content = left[path]
        if not place.parent.is_dir():
            continue  # its directory is not there, so neither is it
        if content is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(content)


def check(run: Run, root: Path, told: dict[str, Told]) -> None:
    """Open what a cut left as the next writer does.

    Raises:
        Broken: when a promise was not kept.
    """
    with JSONLStore(root, sync=SyncPolicy.NEVER) as store:
        found = list(store.list(ListFilter(with_names=True)))
        wrong = [item for item in found if not isinstance(item, Summary)]
        if wrong:
            raise Broken(f"the listing has an error: {wrong[0]}")
        there = {item.id for item in found if isinstance(item, Summary)}
        for session_id, last in told.items():
            if last.deleted and session_id in there:
                raise Broken(f"{session_id} was deleted and is there")
            if not last.deleted and session_id not in there and session_id != "gone":
                raise Broken(f"{session_id} was created and is not there")
        for session_id in there:
            promised = told[session_id].promised if session_id in told else 0
            _check_session(run, store, session_id, promised)
    with JSONLStore(root, read_only=True) as store:
        for session_id in there:
            session = store.open(session_id)
            if session.truncated is not None or session.name != "after the cut":
                raise Broken(f"{session_id} did not go on")


def _check_session(run: Run, store: JSONLStore, session_id: str, promised: int) -> None:
    session = store.open(session_id)
    lines = [entry.line for entry in session]
    if lines != run.appended[session_id][: len(lines)]:
        raise Broken(f"{session_id} holds other entries than were appended")
    if len(lines) < promised:
        raise Broken(f"{session_id} has {len(lines)} entries of {promised} that were promised")
    store.append(session_id, InfoEntry("after the cut"))


def run_files(place: Path, policy: SyncPolicy, seed: int, count: int, share: float) -> int:
    """Return how many states were looked at.

    Raises:
        Broken: at the first promise that was not kept.
    """
    root = place / "sessions"
    root.mkdir()
    with recording(root) as log:
        run = workload(root, log, policy, seed, count)
    chance = random.Random(seed)
    checked = 0
    for left, told in states(run):
        if chance.random() >= share:
            continue
        build(left, str(root), place / "after")
        try:
            check(run, place / "after", told)
        except AgentSessionError as error:
            raise Broken(str(error)) from error
        checked += 1
    shutil.rmtree(root)
    return checked


def run_sqlite(place: Path, *, full_sync: bool, count: int, share: float, seed: int) -> int:
    """Return how many states were looked at; the log is not checkpointed meanwhile.

    Raises:
        Broken: at the first promise that was not kept.
    """
    chance = random.Random(seed)
    path = place / "sessions.db"
    wal = path.with_name(path.name + "-wal")
    more = entries(chance)
    checked = 0
    with SQLiteStore(path, full_sync=full_sync) as store:
        session = store.create(Header(id="s"))
        synced = wal.stat().st_size if full_sync else 0
        ids: list[str] = []
        for _ in range(count):
            ids.append(session.append(next(more)))
            log = wal.read_bytes()
            for size in range(synced, len(log) + 1):
                if chance.random() >= share and size not in (synced, len(log)):
                    continue
                promised = len(ids) - (size < len(log)) if full_sync else 0
                _check_database(path, log[:size], ids, promised, created=full_sync)
                checked += 1
            if full_sync:
                synced = len(log)
    return checked


def _check_database(
    path: Path, log: bytes, ids: list[str], promised: int, *, created: bool
) -> None:
    place = path.parent / "after"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    copy = place / path.name
    shutil.copyfile(path, copy)
    copy.with_name(copy.name + "-wal").write_bytes(log)
    with SQLiteStore(copy) as store:
        if not any(isinstance(item, Summary) for item in store.list()):
            if created:
                raise Broken("the session was created and is not there")
            return
        # The hold of a process that is gone; here it is the process itself.
        store.break_lock("s")
        session = store.open("s")
        found = [entry.id for entry in session]
        if found != ids[: len(found)]:
            raise Broken("the session holds other entries than were appended")
        if len(found) < promised:
            raise Broken(f"{len(found)} entries of {promised} that were promised")
        session.append(InfoEntry("after the cut"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--appends", type=int, default=12)
    parser.add_argument("--share", type=float, default=1.0, help="of the states to look at")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    # Each state is opened, which syncs; in memory that costs nothing.
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() else None
    try:
        for policy in SyncPolicy:
            with tempfile.TemporaryDirectory(dir=where) as place:
                n = run_files(Path(place), policy, options.seed, options.appends, options.share)
            print(f"files, sync {policy.value}: {n} states, every promise kept")
        for full_sync in (True, False):
            with tempfile.TemporaryDirectory(dir=where) as place:
                n = run_sqlite(
                    Path(place),
                    full_sync=full_sync,
                    count=options.appends,
                    share=options.share / 500,
                    seed=options.seed,
                )
            print(f"sqlite, full_sync={full_sync}: {n} states, every promise kept")
    except Broken as broken:
        print(f"broken: {broken} (seed {options.seed})", file=sys.stderr)
        return 1
    print(f"{time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
