"""What the fault suites of both kinds of store do alike."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, SQLiteStore

AnyStore = JSONLStore | SQLiteStore

CRASH = Path(__file__).parents[2] / "benchmarks" / "crash.py"
THREADS = 8

INTERRUPTS = """
import random, signal, sys, threading
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
told = []
armed = False
def interrupt(*_):
    if armed:
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
chance = random.Random(7)
def finds_no_lock(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "a lock that nobody will release"
"""
"""How a script begins that a timer interrupts wherever it is, while it is armed."""


def names(store: AnyStore, session_id: str = "s") -> list[str]:
    """What the entries of a session say."""
    return [entry.to_dict()["name"] for entry in store.open(session_id)]


def output(script: str, place: Path) -> list[str]:
    """The words that a script prints which is given a place; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", script, str(place)], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def kill_at_random_moments(kind: str, rounds: int) -> None:
    """Kill writers; what was acknowledged is there."""
    if not CRASH.exists():
        pytest.skip("the benchmarks are not here")
    done = subprocess.run(
        [sys.executable, str(CRASH), "--rounds", str(rounds), "--kind", kind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{rounds} kills")


def work_in_threads(store: AnyStore, turns: int, entries: int) -> None:
    """Create, append, list, release and delete in all threads at once.

    Afterwards ``shared`` has what all of them appended, and each thread has every other one
    of its sessions, ``t<thread>-<turn>``.
    """
    failures: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for turn in range(turns):
                session = store.create(Header(id=f"t{n}-{turn}"))
                for k in range(entries):
                    store.append(session.id, InfoEntry(f"{k}"))
                    store.append("shared", InfoEntry(f"{n}-{turn}-{k}"))
                list(store.list())
                store.release(session.id)
                if turn % 2:
                    store.delete(session.id)
                else:
                    store.open(session.id)
        except BaseException as error:
            failures.append(error)
            raise

    store.create(Header(id="shared"))
    threads = [threading.Thread(target=work, args=[n]) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    shared = store.open("shared")
    assert len(shared) == len(shared.path()) == THREADS * turns * entries
    assert len(list(store.list())) == 1 + THREADS * turns // 2
    assert {len(store.open(f"t{n}-0")) for n in range(THREADS)} == {entries}
