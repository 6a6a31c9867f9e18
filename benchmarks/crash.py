"""Kill a writing process at random moments, again and again, and see what is left.

In each round a child process does one kind of work until it is killed with SIGKILL:

``files``, ``sqlite``
    It takes over from the one that was killed before it, appends to a session and now and
    then creates another, and says what was acknowledged. Then everything acknowledged must
    be there, in order, everything must read, and appending must go on.

``copy``
    It copies a store to a store of the other kind. Then every session is whole in the
    target, or not there at all, and the next round goes on.

``migration``
    It opens a database that an older release made. Then the database is older still, or
    brought up to date, and nothing in between.

    python benchmarks/crash.py --rounds 300
    python benchmarks/crash.py --rounds 100 --kind sqlite
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from agentsession.header import Header
from agentsession.record_entries import CustomEntry, InfoEntry, LinkEntry
from agentsession.stores import (
    JSONLStore,
    ListFilter,
    LockHolder,
    SQLiteStore,
    Summary,
    SyncPolicy,
    open_store,
)
from agentsession.stores.copying import copy_sessions

ROUNDS_A_SESSION = 10
ROUNDS_A_COPY = 8
FILLINGS = (b"", b"x" * 50, b"y" * 5_000, b"z" * 200_000)
SHARES = {"files": 4, "sqlite": 3, "copy": 2, "migration": 1}

AnyStore = JSONLStore | SQLiteStore


class Lost(Exception):
    """Something that was promised is not there."""


@dataclass
class Tally:
    """What happened over all rounds."""

    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    kills: int = 0
    takeovers: int = 0
    cut_tails: int = 0
    beyond: int = 0
    copies: int = 0
    migrated: int = 0

    @property
    def entries(self) -> int:
        return sum(map(len, self.acknowledged.values()))


def killed_after(work: Callable[[int], None], seconds: float) -> list[tuple[str, str]]:
    """Run work in a child, kill it, and return what it said."""
    listen, tell = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(listen)
        try:
            work(tell)
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(tell)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        raise Lost(f"the child ended by itself with status {status}")
    with os.fdopen(listen, "rb") as pipe:
        said = pipe.read()
    # A line cut by the kill was not said.
    lines = said.decode().split("\n")[:-1]
    return [(session_id, entry_id) for session_id, entry_id in (line.split(" ") for line in lines)]


# Appending and creating.


def writer(place: Path, policy: SyncPolicy) -> AnyStore:
    """The store a child writes to."""
    if place.suffix == ".db":
        return SQLiteStore(place, full_sync=policy is SyncPolicy.EVERY_APPEND)
    return JSONLStore(place, sync=policy)


def append_and_create(
    place: Path, session_id: str, policy: SyncPolicy, seed: int, tell: int
) -> NoReturn:
    """Append and create until killed; say what was acknowledged."""
    chance = random.Random(seed)
    store = writer(place, policy)
    n = 0
    while True:
        n += 1
        filling = chance.choice(FILLINGS).decode()
        target = session_id
        if chance.random() < 0.1:
            target = f"{session_id}-{seed}-{n}"
            store.create(Header(id=target, cwd=f"/project/{chance.randrange(3)}"))
            os.write(tell, f"{target} \n".encode())
        entry_id = store.append(target, CustomEntry("crash", {"n": n, "filling": filling}))
        os.write(tell, f"{target} {entry_id}\n".encode())
        if target != session_id and chance.random() < 0.5:
            store.release(target)


def check(place: Path, session_id: str, tally: Tally) -> None:
    """Open everything the way the next writer does.

    Raises:
        Lost: when something acknowledged is missing or unreadable.
    """
    stale: list[LockHolder] = []
    with open_store(place, on_stale_lock=stale.append) as store:
        for item in store.list(ListFilter(with_names=True)):
            if not isinstance(item, Summary):
                raise Lost(f"the listing has an error: {item}")
            tally.acknowledged.setdefault(item.id, [])  # created, and killed before it said so
        for known in list(tally.acknowledged):
            if not known.startswith(session_id):
                continue
            session = store.open(known)
            tally.cut_tails += session.truncated is not None
            ids = [entry.id for entry in session]
            promised = tally.acknowledged[known]
            if [entry_id for entry_id in ids if entry_id in set(promised)] != promised:
                raise Lost(f"session {known} lacks entries that were acknowledged")
            tally.beyond += len(ids) - len(promised)
            tally.acknowledged[known] = ids
        name = f"checked {time.time_ns()}"
        tally.acknowledged[session_id].append(store.append(session_id, InfoEntry(name)))
    tally.takeovers += len(stale)
    with open_store(place, read_only=True) as store:
        again = store.open(session_id)
        if again.truncated is not None or again.name != name:
            raise Lost(f"session {session_id} did not go on")
        if store.lock_holder(session_id) is not None:
            raise Lost(f"session {session_id} is held after a clean close")


def rounds_of_appends(place: Path, rounds: int, chance: random.Random, tally: Tally) -> None:
    """Kill a child that appends, so many times."""
    policies = list(SyncPolicy)
    kind = "f" if place.suffix != ".db" else "d"
    for n in range(rounds):
        session_id = f"{kind}{n // ROUNDS_A_SESSION}"
        if session_id not in tally.acknowledged:
            with open_store(place) as store:
                store.create(Header(id=session_id))
            tally.acknowledged[session_id] = []
        policy = policies[n % len(policies)]
        round_seed = chance.randrange(2**32)

        def work(tell: int) -> None:
            append_and_create(place, session_id, policy, round_seed, tell)  # noqa: B023

        for said, entry_id in killed_after(work, chance.random() * 0.12):
            tally.acknowledged.setdefault(said, [])
            if entry_id:
                tally.acknowledged[said].append(entry_id)
        tally.kills += 1
        check(place, session_id, tally)


# Copying.


def filled(place: Path, chance: random.Random, sessions: int = 12) -> Path:
    """A store with some sessions of all sizes."""
    with open_store(place) as store:
        for n in range(sessions):
            session = store.create(Header(id=f"c{n}", cwd=f"/project/{n % 3}"))
            for k in range(chance.choice((0, 3, 40))):
                filling = chance.choice(FILLINGS).decode()
                session.append(CustomEntry("crash", {"n": k, "filling": filling}))
            session.append(InfoEntry(f"name {n}"))
            if not n % 3:
                session.append(LinkEntry("continued_in", f"c{n + 1}"))
            store.release(session.id)
    return place


def rounds_of_copies(root: Path, rounds: int, chance: random.Random, tally: Tally) -> None:
    """Kill a child that copies, so many times."""
    sources = filled(root / "files", chance), filled(root / "rows.db", chance)
    for n in range(rounds):
        source = sources[n // ROUNDS_A_COPY % 2]
        suffix = "" if source.suffix else ".db"
        target = root / f"target{n // ROUNDS_A_COPY}{suffix}"

        def work(_: int) -> None:
            with (
                open_store(source, read_only=True) as there,  # noqa: B023
                open_store(target) as here,  # noqa: B023
            ):
                for _copied in copy_sessions(there, here):
                    pass

        killed_after(work, chance.random() * 0.06)
        tally.kills += 1
        if target.exists():
            check_copy(source, target, tally, whole=n % ROUNDS_A_COPY == ROUNDS_A_COPY - 1)


def check_copy(source: Path, target: Path, tally: Tally, *, whole: bool) -> None:
    """See that what is in the target is what is in the source, and let the copy end if asked.

    Raises:
        Lost: when it is not.
    """
    with open_store(source, read_only=True) as there, open_store(target) as here:
        for item in here.list():
            if not isinstance(item, Summary):
                raise Lost(f"the listing of the target has an error: {item}")
            if here.content(item.id) != there.content(item.id):
                raise Lost(f"session {item.id} was not copied whole")
        if not whole:
            return
        done = list(copy_sessions(there, here))
        if not all(copied.ok for copied in done):
            raise Lost(f"the copy could not go on: {done}")
        tally.copies += 1
        named = [
            {
                item.id: (item.name, item.superseded_by)
                for item in store.list(ListFilter(with_names=True))
            }
            for store in (there, here)
        ]
        if named[0] != named[1]:
            raise Lost("the copy has other names")


# Migration.


def made_older(place: Path) -> None:
    """Take from a database what earlier releases did not have."""
    connection = sqlite3.connect(place)
    for column in ("name", "superseded_by"):
        connection.execute(f"ALTER TABLE sessions DROP COLUMN {column}")
    connection.execute("DROP TABLE holders")
    connection.commit()
    connection.close()


def rounds_of_migrations(root: Path, rounds: int, chance: random.Random, tally: Tally) -> None:
    """Kill a child that opens an older database, so many times."""
    modern = filled(root / "modern.db", chance, 60)
    with open_store(modern, read_only=True) as store:
        expected = names_in(store)
    older = root / "older.db"
    for n in range(rounds):
        if not older.exists() or n % 3 == 0:
            older.write_bytes(modern.read_bytes())
            for side in ("-wal", "-shm"):
                older.with_name(older.name + side).unlink(missing_ok=True)
            made_older(older)

        def work(_: int) -> None:
            SQLiteStore(older)

        killed_after(work, chance.random() * 0.02)
        tally.kills += 1
        with open_store(older, read_only=True) as store:
            if names_in(store) != expected:
                raise Lost("a migration was seen half done")
        if n % 3 == 2:
            with open_store(older) as store:
                if names_in(store) != expected:
                    raise Lost("a migration did not fill the names")
                store.append("c0", InfoEntry("goes on"))
            tally.migrated += 1


def names_in(store: AnyStore) -> dict[str, tuple[str, str]]:
    return {
        item.id: (item.name, item.superseded_by)
        for item in store.list()
        if isinstance(item, Summary)
    }


def run(root: Path, rounds: int, seed: int, kinds: list[str]) -> Tally:
    """Return the tally of so many rounds, shared out among kinds of work.

    Raises:
        Lost: at the first promise that was not kept.
    """
    chance = random.Random(seed)
    tally = Tally()
    total = sum(SHARES[kind] for kind in kinds)
    left = rounds
    for kind in kinds:
        share = left if kind == kinds[-1] else round(rounds * SHARES[kind] / total)
        left -= share
        place = root / kind
        place.mkdir()
        if kind == "files":
            rounds_of_appends(place / "sessions", share, chance, tally)
        elif kind == "sqlite":
            rounds_of_appends(place / "sessions.db", share, chance, tally)
        elif kind == "copy":
            rounds_of_copies(place, share, chance, tally)
        else:
            rounds_of_migrations(place, share, chance, tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run's choices")
    parser.add_argument("--kind", choices=list(SHARES), help="only this kind of work")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    kinds = [options.kind] if options.kind else list(SHARES)
    with tempfile.TemporaryDirectory() as place:
        started = time.monotonic()
        try:
            tally = run(Path(place), options.rounds, seed, kinds)
        except Lost as lost:
            print(f"lost: {lost} (seed {seed})", file=sys.stderr)
            return 1
        seconds = time.monotonic() - started
        left = sum(1 for found in Path(place).rglob("*.tmp"))
    print(f"{tally.kills} kills in {seconds:.1f} s, seed {seed}: nothing lost")
    print(f"{tally.entries} entries in {len(tally.acknowledged)} sessions are there and read")
    print(f"{tally.takeovers} stale locks taken over, {tally.cut_tails} cut last lines removed")
    print(f"{tally.beyond} entries written and not acknowledged, {left} temporary files left")
    print(f"{tally.copies} copies and {tally.migrated} migrations ended after kills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
