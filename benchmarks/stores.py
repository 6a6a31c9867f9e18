"""Appending and listing."""

from __future__ import annotations

import os
import random
from pathlib import Path

import agentsession as ags
from agentsession.stores import JSONLStore, ListFilter, SyncPolicy
from benchmarks import inputs
from benchmarks.harness import Report, at_most


def append(report: Report, place: Path) -> None:
    """Appends to a file store against the bare writes of the same lines."""
    rng = random.Random(5)
    entries = [ags.ItemEntry(inputs.item(rng, 300, n)) for n in range(300)]
    lines = [
        entry.sealed("0" * 8, "1" * 8, "2026-03-01T08:15:30.123456789Z").line + b"\n"
        for entry in entries
    ]
    for policy, limit, count in ((SyncPolicy.NEVER, 12, 300), (SyncPolicy.EVERY_APPEND, 1.3, 60)):
        sync = policy is SyncPolicy.EVERY_APPEND
        with JSONLStore(place / f"append-{policy.value}", sync=policy) as store:
            session = store.create()

            def ours(
                store: JSONLStore = store, session: ags.Session = session, n: int = count
            ) -> None:
                for entry in entries[:n]:
                    store.append(session.id, entry)

            def bare(n: int = count, sync: bool = sync) -> None:
                file = os.open(place / "bare.jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
                for line in lines[:n]:
                    os.write(file, line)
                    if sync:
                        os.fsync(file)
                os.close(file)

            name = "append to a file store, " + ("fsync each" if sync else "no fsync")
            report.add(at_most(name, "write()" + (" + fsync()" if sync else ""), limit, bare, ours))


def listing(report: Report, place: Path, sessions: int) -> None:
    """Listing a file store, header fields only and with names and successors."""
    root = place / f"listing-{sessions}"
    if not root.exists():
        rng = random.Random(9)
        with JSONLStore(root, sync=SyncPolicy.NEVER) as store:
            for number in range(sessions):
                session = store.create(ags.Header(cwd=f"/srv/project-{number % 20}"))
                store.append(session.id, ags.ConfigEntry(model="m-1"))
                for turn in range(12):
                    store.append(session.id, ags.ItemEntry(inputs.item(rng, 400, turn)))
                store.append(session.id, ags.InfoEntry(f"Session {number}"))
                store.release(session.id)
    with JSONLStore(root, read_only=True) as store:
        report.add(
            at_most(
                f"list {sessions} sessions, headers",
                "scandir + readline each",
                2.5,
                lambda: _first_lines(root),
                lambda: list(store.list()),
                rounds=5,
            )
        )
        wanted = ListFilter(with_names=True, current=True)
        report.add(
            at_most(
                f"list {sessions} sessions, names",
                "read and splitlines of every byte",
                2,
                lambda: _all_lines(root),
                lambda: list(store.list(wanted)),
                rounds=5,
            )
        )


def _files(root: Path) -> list[str]:
    found = []
    for project in os.scandir(root):
        found += [entry.path for entry in os.scandir(project.path)]
    return found


def _first_lines(root: Path) -> list[bytes]:
    lines = []
    for path in _files(root):
        with open(path, "rb") as file:
            lines.append(file.readline())
    return lines


def _all_lines(root: Path) -> int:
    count = 0
    for path in _files(root):
        with open(path, "rb") as file:
            count += len(file.read().splitlines())
    return count
