"""Kill a writing process at random moments, again and again, and see what is left.

Each round a child process takes over from the one that was killed before it, appends to a
session and now and then creates another, and says what was acknowledged. It is killed with
SIGKILL. Then everything acknowledged must be there, in order, every file must read, and
appending must go on.

    python benchmarks/crash.py --rounds 200
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from agentsession.header import Header
from agentsession.record_entries import CustomEntry, InfoEntry
from agentsession.stores import JSONLStore, ListFilter, LockHolder, Summary, SyncPolicy

ROUNDS_A_SESSION = 10
FILLINGS = (b"", b"x" * 50, b"y" * 5_000, b"z" * 200_000)


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

    @property
    def entries(self) -> int:
        return sum(map(len, self.acknowledged.values()))


def child(root: Path, session_id: str, policy: SyncPolicy, seed: int, tell: int) -> NoReturn:
    """Append and create until killed; say what was acknowledged."""
    chance = random.Random(seed)
    store = JSONLStore(root, sync=policy)
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


def killed_after(work: Callable[[int], NoReturn], seconds: float) -> list[tuple[str, str]]:
    """Run work in a child, kill it, and return what it said."""
    listen, tell = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(listen)
        try:
            work(tell)
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


def check(root: Path, session_id: str, tally: Tally) -> None:
    """Open everything the way the next writer does.

    Raises:
        Lost: when something acknowledged is missing or unreadable.
    """
    stale: list[LockHolder] = []
    with JSONLStore(root, on_stale_lock=stale.append) as store:
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
    with JSONLStore(root, read_only=True) as store:
        again = store.open(session_id)
        if again.truncated is not None or again.name != name:
            raise Lost(f"session {session_id} did not go on")
    for lock in root.glob(f"*/*_{session_id}*.jsonl.lock"):
        if lock.with_suffix("").exists():
            raise Lost(f"a lock was left after a clean close: {lock}")


def run(root: Path, rounds: int, seed: int) -> Tally:
    """Return the tally of so many rounds below a store root.

    Raises:
        Lost: at the first promise that was not kept.
    """
    chance = random.Random(seed)
    policies = list(SyncPolicy)
    tally = Tally()
    for n in range(rounds):
        session_id = f"s{n // ROUNDS_A_SESSION}"
        if session_id not in tally.acknowledged:
            with JSONLStore(root) as store:
                store.create(Header(id=session_id))
            tally.acknowledged[session_id] = []
        policy = policies[n % len(policies)]
        round_seed = chance.randrange(2**32)

        def work(tell: int) -> NoReturn:
            child(root, session_id, policy, round_seed, tell)  # noqa: B023 (used at once)

        for said, entry_id in killed_after(work, chance.random() * 0.12):
            tally.acknowledged.setdefault(said, [])
            if entry_id:
                tally.acknowledged[said].append(entry_id)
        tally.kills += 1
        check(root, session_id, tally)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="to repeat a run's choices")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    with tempfile.TemporaryDirectory() as place:
        started = time.monotonic()
        try:
            tally = run(Path(place), options.rounds, seed)
        except Lost as lost:
            print(f"lost: {lost} (seed {seed})", file=sys.stderr)
            return 1
        seconds = time.monotonic() - started
        left = sum(1 for _ in Path(place).glob("*/*.tmp")) + sum(
            1 for _ in Path(place).glob("*/.*.tmp")
        )
    print(f"{tally.kills} kills in {seconds:.1f} s, seed {seed}: nothing lost")
    print(f"{tally.entries} entries in {len(tally.acknowledged)} sessions are there and read")
    print(f"{tally.takeovers} stale locks taken over, {tally.cut_tails} cut last lines removed")
    print(f"{tally.beyond} entries written and not acknowledged, {left} temporary files left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
