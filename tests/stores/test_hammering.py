"""Eight processes of eight threads at one store: one winner a race, nothing lost, no lock left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, ListFilter, SQLiteStore, Summary, SyncPolicy

PROCESSES = THREADS = 8
ROUNDS = 2

HAMMER = f"""
import json, sys, threading
from agentsession.errors import AgentSessionError, NoSession, SessionExists, SessionLocked
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, SQLiteStore, Summary, SyncPolicy

kind, place, me = sys.argv[1:]
if kind == "files":
    store = JSONLStore(place, sync=SyncPolicy.NEVER)
else:
    store = SQLiteStore(place, busy_seconds=120)
done = {{"created": [], "deleted": [], "shared": [], "own": {{}}, "failures": [], "listed": 0}}
gate = threading.Barrier({THREADS})

def attempt(work, *args):
    try:
        return work(*args)
    except (SessionExists, SessionLocked, NoSession):
        return None

def delete(session_id):
    store.delete(session_id)
    return session_id

def hammer(thread):
    own = f"own-{{me}}-{{thread}}"
    gate.wait()
    for turn in range({ROUNDS}):
        created = attempt(store.create, Header(id=f"race-{{turn}}"))
        if created is not None:
            done["created"].append(created.id)
            created.append(InfoEntry(f"made by {{me}}-{{thread}}"))
            store.release(created.id)
        deleted = attempt(delete, f"victim-{{turn}}")
        if deleted:
            done["deleted"].append(deleted)
        if turn == 0:
            store.create(Header(id=own))
            done["own"][own] = []
        for n in range(3):
            done["own"][own].append(store.append(own, InfoEntry(f"{{turn}} {{n}}")))
            shared = attempt(store.append, "shared", InfoEntry(f"{{own}} {{turn}} {{n}}"))
            if shared:
                done["shared"].append(shared)
        store.release("shared")
        for item in store.list():
            if isinstance(item, Summary):
                done["listed"] += 1
            else:
                raise item

def watched(thread):
    try:
        hammer(thread)
    except BaseException as error:
        done["failures"].append(f"{{type(error).__name__}}: {{error}}")
        gate.abort()

threads = [threading.Thread(target=watched, args=[n]) for n in range({THREADS})]
print("ready", flush=True)
sys.stdin.readline()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
store.close()
print(json.dumps(done))
"""


def store_at(kind: str, place: Path) -> JSONLStore | SQLiteStore:
    if kind == "files":
        return JSONLStore(place, sync=SyncPolicy.NEVER)
    return SQLiteStore(place)


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_eight_processes_of_eight_threads(tmp_path: Path, kind: str) -> None:
    place = tmp_path / ("root" if kind == "files" else "s.db")
    with store_at(kind, place) as store:
        for turn in range(ROUNDS):
            store.create(Header(id=f"victim-{turn}")).append(InfoEntry("x"))
        store.create(Header(id="shared"))
    done = hammered(kind, place)
    assert [one["failures"] for one in done] == [[]] * PROCESSES
    races = [f"race-{turn}" for turn in range(ROUNDS)]
    assert Counter(one for each in done for one in each["created"]) == Counter(races)
    victims = [f"victim-{turn}" for turn in range(ROUNDS)]
    assert Counter(one for each in done for one in each["deleted"]) == Counter(victims)
    assert all(each["listed"] for each in done)
    own = {name: ids for each in done for name, ids in each["own"].items()}
    assert len(own) == PROCESSES * THREADS
    shared = [entry_id for each in done for entry_id in each["shared"]]
    assert shared
    with store_at(kind, place) as store:
        listed = list(store.list(ListFilter(with_names=True)))
        assert {item.id for item in listed if isinstance(item, Summary)} == {*own, *races, "shared"}
        for name, ids in own.items():
            session = store.open(name)
            assert [entry.id for entry in session.path()] == ids
        for name in races:
            assert len(store.open(name)) == 1
        assert Counter(entry.id for entry in store.open("shared")) == Counter(shared)
    if kind == "files":
        assert [
            path for path in place.rglob("*") if path.suffix != ".jsonl" and path.is_file()
        ] == []
    else:
        with SQLiteStore(place, read_only=True) as reader:
            assert [reader.lock_holder(name) for name in [*own, *races, "shared"]] == [None] * (
                len(own) + len(races) + 1
            )


def hammered(kind: str, place: Path) -> list[Any]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, kind, str(place), str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(PROCESSES)
    ]
    try:
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
        # A deadlock is a test that never ends; this one says so.
        return [json.loads(process.communicate(timeout=300)[0]) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
