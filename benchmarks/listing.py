"""Listing a file store of many sessions, against a look at the same bytes."""

from __future__ import annotations

import os
import random
from pathlib import Path

import agentsession as ags
from agentsession.stores import JSONLStore, ListFilter
from benchmarks import inputs
from benchmarks.harness import Report, at_most


def listing(report: Report, place: Path, sessions: int) -> None:
    """Listing a file store, header fields only and with names and successors."""
    root = _store(place, sessions)
    with JSONLStore(root, read_only=True) as store:
        report.add(
            at_most(
                f"list {sessions} sessions, headers",
                "scandir + readline each",
                2.5,
                lambda: _first_lines(root),
                lambda: list(store.list()),
                rounds=9,
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
                rounds=9,
            )
        )


def _store(place: Path, sessions: int) -> Path:
    """Sessions of some 6 KB; most were named early, some at the end, and some were continued."""
    root = place / f"list-{sessions}"
    if root.exists():
        return root
    beside = root.with_suffix(".tmp")
    rng = random.Random(9)
    items = [ags.ItemEntry(inputs.item(rng, 400, number)) for number in range(240)]
    for number in range(sessions):
        created = f"2026-03-{1 + number % 28:02}T08:15:{number % 60:02}.{number % 1000:03}Z"
        header = ags.Header(
            format="agentsession/0.2",
            id=f"session-{number:05}",
            created_at=created,
            payload="openresponses/2026-04-24",
            cwd=f"/srv/project-{number % 20}",
        )
        entries = [ags.ConfigEntry(model="m-1"), *rng.sample(items, 12)]
        entries.insert(-1 if number % 5 == 0 else 3, ags.InfoEntry(f"Session {number}"))
        if number % 10 == 0:
            entries.append(ags.LinkEntry("continued_in", f"session-{number + 1:05}"))
        project = beside / f"srv-project-{number % 20}"
        project.mkdir(parents=True, exist_ok=True)
        name = f"{created.replace(':', '-')}_{header.id}.jsonl"
        lines, parent = [header.filled().line], ""
        for at, entry in enumerate(entries, 1):
            lines.append(entry.sealed(f"{at:08x}", parent or None, created).line)
            parent = f"{at:08x}"
        (project / name).write_bytes(b"".join(line + b"\n" for line in lines))
    beside.rename(root)
    return root


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
