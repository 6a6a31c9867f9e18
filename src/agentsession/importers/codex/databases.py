"""Databases: what stands beside the rollouts, in SQLite files and small lists.

Nothing here is needed to convert a thread, and nothing raises: what cannot be read says
nothing. Spec: codex 1.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import AgentSessionError
from agentsession.importers.codex.lines import mapping, sequence, string
from agentsession.importers.snapshot import open_snapshot

_STATE: Final = "state_"
_QUEUE: Final = "queue_"
_INDEX: Final = "session_index.jsonl"
_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Queued:
    """Input that waits.

    Attributes:
        id: its id.
        item: it as an item.
        millis: when it was put there.
    """

    id: str
    item: Mapping[str, Any]
    millis: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """What the databases say of threads, by thread.

    Attributes:
        names: the names users gave.
        current: the file name of the current segment.
        queued: input that waits, in order.
        tables: the tables that were read, with their rows.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    current: Mapping[str, str] = field(default_factory=dict)
    queued: Mapping[str, tuple[Queued, ...]] = field(default_factory=dict)
    tables: Mapping[str, int | None] = field(default_factory=dict)

    def with_more(self, other: Told) -> Told:
        """Return what both say; the other one where they differ."""
        return Told(
            {**self.names, **other.names},
            {**self.current, **other.current},
            {**self.queued, **other.queued},
            {**self.tables, **other.tables},
        )


def read_home(home: str) -> Told:
    """Return what the files beside the rollouts of a home directory say."""
    names: dict[str, str] = {}
    current: dict[str, str] = {}
    queued: dict[str, list[Queued]] = {}
    tables: dict[str, int | None] = {}
    for path in _databases(home, _STATE):
        rows = list(_rows(path, "threads", ("id", "name", "rollout_path")))
        tables[f"{path.name}:threads"] = len(rows)
        for thread, name, rollout in rows:
            if name:
                names[thread] = name
            if rollout:
                current[thread] = rollout.replace("\\", "/").rpartition("/")[2]
    names.update(_listed(Path(home, _INDEX), tables))
    for path in _databases(home, _QUEUE):
        columns = ("id", "thread_id", "payload_json", "created_at_ms")
        rows = list(_rows(path, "queued_items", columns, order="queue_order"))
        tables[f"{path.name}:queued_items"] = len(rows)
        for name, thread, payload, made in rows:
            item = _input(payload)
            if item is not None:
                waiting = Queued(name, item, int(made) if made.isdigit() else None)
                queued.setdefault(thread, []).append(waiting)
    return Told(names, current, {k: tuple(v) for k, v in queued.items()}, tables)


def _databases(home: str, prefix: str) -> list[Path]:
    """The databases of one kind, the newest schema last."""
    try:
        names = os.listdir(home)
    except OSError:
        return []
    numbered = []
    for name in names:
        number = name.removeprefix(prefix).removesuffix(".sqlite")
        if name == f"{prefix}{number}.sqlite" and number.isascii() and number.isdigit():
            numbered.append((len(number), number, name))
    return [Path(home, name) for _, _, name in sorted(numbered)]


def _rows(
    path: Path, table: str, columns: tuple[str, ...], order: str = "id"
) -> Iterator[tuple[str, ...]]:
    """The rows of a table as texts; columns that it lacks are empty."""
    try:
        snapshot = open_snapshot(path)
    except (OSError, sqlite3.Error):
        return
    try:
        found = snapshot.connection.execute(f"PRAGMA table_info({table})").fetchall()
        known = {_text(row[1]) for row in found}
        picked = ", ".join(c if c in known else "''" for c in columns)
        ordered = order if order in known else "1"
        query = f"SELECT {picked} FROM {table} ORDER BY {ordered} LIMIT {_MOST}"  # noqa: S608
        if known:
            for row in snapshot.connection.execute(query):
                yield tuple(_text(value) for value in row)
    except sqlite3.Error:
        return
    finally:
        snapshot.close()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _listed(path: Path, tables: dict[str, int | None]) -> dict[str, str]:
    """The names in the list of named threads; the last of a thread holds."""
    names: dict[str, str] = {}
    count = 0
    try:
        with open_regular(path) as file:
            for raw in file:
                if not raw.strip():
                    continue
                count += 1
                entry = _parsed(raw.strip())
                if string(entry.get("id")) and string(entry.get("thread_name")):
                    names[entry["id"]] = entry["thread_name"]
    except OSError:
        return names
    tables[path.name] = count
    return names


def _input(payload: str) -> dict[str, Any] | None:
    """A queued user's input as an item, ``None`` for anything else."""
    given = mapping(_parsed(payload.encode("utf-8", "replace")).get("UserInput"))
    content: list[dict[str, Any]] = []
    for part in sequence(given.get("content")):
        said = mapping(part)
        if isinstance(said.get("text"), str):
            content.append({"type": "input_text", "text": said["text"]})
        elif string(said.get("image_url")):
            content.append({"type": "input_image", "image_url": said["image_url"]})
    return {"type": "message", "role": "user", "content": content} if content else None


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        return mapping(text.parse(raw))
    except AgentSessionError:
        return {}
