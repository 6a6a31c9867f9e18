"""Rollouts: the files of a source, whose threads they are and what they go on from.

Spec: codex 1 and 5.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import AgentSessionError
from agentsession.importers.codex import lines
from agentsession.importers.codex.databases import Told, read_home
from agentsession.importers.codex.folders import NAME, homes, is_named_as_rollout, rollout_files
from agentsession.importers.codex.lines import Line, mapping, marks, string
from agentsession.importers.codex.origins import has_lost_head, origin_of
from agentsession.importers.codex.repeats import repeats
from agentsession.importers.codex.tools import child_of
from agentsession.importers.diverging import diverged
from agentsession.timestamp import Timestamp

_TIME: Final = re.compile(rb'"timestamp":"([^"]{10,40})"')
_ITEM: Final = b'"response_item"'
_CHUNK: Final = 1 << 16
_LOOKED_AT: Final = 4
_SIGNS: Final = frozenset({"instructions", "cli_version", "originator", "model_provider"})
_VERSION_7: Final = "7"

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One file of a thread.

    Attributes:
        path, name: the file and what its records are named after.
        thread: the thread's id.
        segment: the id of a later segment of the thread; empty for its first file.
        created: when the file was begun; empty when nothing says so.
        size: its bytes.
        archived: whether it stands among the archived ones.
        meta: what its first line says of the thread, without the instructions.
        copied_from: the thread whose lines it began with a copy of; empty for none.
        lost_head: whether the line that would say so cannot be read, or seems to be missing.
    """

    path: str
    name: str
    thread: str
    segment: str = ""
    created: str = ""
    size: int = 0
    archived: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    copied_from: str = ""
    lost_head: bool = False

    @property
    def key(self) -> _Key:
        """What all copies of the file have in common."""
        return self.thread, self.segment

    @property
    def base(self) -> tuple[str, int | None]:
        """What the file goes on from: a thread or segment, and the first line not of it."""
        base = mapping(self.meta.get("history_base"))
        return string(base.get("thread_id")), lines.integer(base.get("end_ordinal_exclusive"))

    @property
    def parent(self) -> str:
        """The thread this one was forked from, or started by; empty for none."""
        return self.forked_from or self.started_by or self.copied_from

    @property
    def forked_from(self) -> str:
        """The thread that this one was forked from; empty for none, and for a child."""
        return "" if self.started_by else string(self.meta.get("forked_from_id"))

    @property
    def started_by(self) -> str:
        """The thread that started this one as a child; empty for none."""
        found = string(self.meta.get("parent_thread_id"))
        subagent = mapping(mapping(self.meta.get("source")).get("subagent"))
        found = found or string(mapping(subagent.get("thread_spawn")).get("parent_thread_id"))
        root = string(self.meta.get("session_id"))
        if not found and root != self.thread and "subagent" in mapping(self.meta.get("source")):
            found = root
        return found

    def lines(self, only: Sequence[bytes] = ()) -> Iterator[Line]:
        """Yield the file's records; none when it cannot be read.

        Args:
            only: see :func:`lines.read_lines`; with any, first lines of threads among them.
        """
        first = b""
        repeated: frozenset[int] | None = None
        try:
            for at, line in enumerate(lines.read_lines(self.path, self.name, only)):
                if line.kind == lines.META:
                    if repeated is None and line.text == first:
                        repeated = repeats(lines.read_lines(self.path, self.name))
                    first = first or line.text
                line.repeated = repeated is not None and at in repeated
                yield line
        except OSError:
            return

    def holds_items(self) -> bool:
        """Return whether any line can hold an item of a model."""
        if "cli_version" not in self.meta:
            return True
        try:
            with open_regular(self.path) as file:
                rest = b""
                while chunk := file.read(_CHUNK):
                    if _ITEM in rest + chunk:
                        return True
                    rest = chunk[-len(_ITEM) :]
        except OSError:
            return False
        return False

    def updated(self) -> Timestamp | None:
        """Return the time of its last record that has one."""
        try:
            with open_regular(self.path) as file:
                file.seek(max(self.size - _CHUNK, 0))
                found = _TIME.findall(file.read())
        except OSError:
            found = []
        for time in reversed(found):
            known = lines.time_of(time.decode("ascii", "replace"))
            if known:
                return lines.moment(known)
        return lines.moment(self.created)


def is_rollout(path: str) -> bool:
    """Return whether a file is a rollout; one that cannot be read is known by its name."""
    try:
        return rollout_at(path) is not None
    except (OSError, ValueError):
        return is_named_as_rollout(path)


def rollout_at(path: str) -> Rollout | None:
    """Return the rollout that a file is, ``None`` when it is none.

    Raises:
        OSError: when it cannot be read.
    """
    base = os.path.basename(path)
    named = NAME.fullmatch(base)
    meta, second = _beginning(path)
    if meta is None and named is None:
        return None
    payload = {} if meta is None else meta.payload
    if named is None and _SIGNS.isdisjoint(payload):
        # Another agent's file may begin with an id and a time as well.
        return None
    thread = string(payload.get("id")) or (named[1] if named else "") or base
    created = lines.time_of(payload.get("timestamp")) or ("" if meta is None else meta.time)
    copied = second.payload if second is not None and second.kind == lines.META else {}
    other = string(copied.get("id"))
    kept = {k: v for k, v in payload.items() if k not in {"base_instructions", "instructions"}}
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0
    return Rollout(
        path,
        base,
        thread,
        (named[2] or "") if named else "",
        created or _time_in(named[2] or named[1] if named else thread),
        size,
        "archived_sessions" in Path(path).parts,
        kept,
        other if other != thread else "",
        has_lost_head(path, meta, second),
    )


def _beginning(path: str) -> tuple[Line | None, Line | None]:
    """The line that says whose file it is, and the one behind it."""
    meta: Line | None = None
    try:
        for at, line in enumerate(lines.read_lines(path, "")):
            if meta is not None:
                return meta, line
            if line.kind == lines.META and string(line.payload.get("id")):
                meta = line
            elif at >= _LOOKED_AT:
                break
    except ValueError:
        return None, None
    return meta, None


def id_time(name: str) -> int | None:
    """Return the milliseconds in an id of version 7, ``None`` for another id."""
    digits = name.replace("-", "")
    if len(digits) != 32 or digits[12] != _VERSION_7:
        return None
    try:
        return int(digits[:12], 16)
    except ValueError:
        return None


def _time_in(name: str) -> str:
    found = id_time(name)
    if found is None:
        return ""
    try:
        return lines.time_of(Timestamp.from_nanoseconds(found * 1_000_000).text)
    except (ValueError, OverflowError):
        return ""


class Index:
    """The threads of a source.

    Args:
        paths: the files and directories of the source.
        beside: files and directories whose threads are no part of the source, but are known
            to it: what its own fork from, or go on from, may stand there.

    Attributes:
        threads: the files of each thread, oldest first, those beside it among them.
        own: the threads of the source.
        copies: files that stand elsewhere too, and hold no more.
        diverged: of each thread, files that stand elsewhere too, and went on differently.
        told: what the databases say.
        unreadable: directories that cannot be read, and files, each with the reason.
        empty: files that nothing was written to; they are no threads.
    """

    def __init__(self, paths: Iterable[str], beside: Iterable[str] = ()) -> None:
        self.threads: dict[str, list[Rollout]] = {}
        self.copies: dict[str, list[Rollout]] = {}
        self.diverged: dict[str, list[Rollout]] = {}
        self.unreadable: dict[str, OSError] = {}
        self.empty: list[str] = []
        self.told = Told()
        self._calls: dict[str, dict[str, str]] = {}
        best, lesser = _best(self._rollouts(rollout_files(paths, self.unreadable)))
        self.own = frozenset(thread for thread, _ in best)
        bases: list[Rollout] = []
        if beside:
            others, _ = _best(_readable(rollout_files(beside, {})))
            bases = [r for k, r in others.items() if k not in best and r.thread in self.own]
            best = {**{k: r for k, r in others.items() if r.thread not in self.own}, **best}
        else:
            for home in homes(paths):
                self.told = self.told.with_more(read_home(home))
        self._part(best, lesser)
        for rollout in best.values():
            self.threads.setdefault(rollout.thread, []).append(rollout)
        for files in self.threads.values():
            files.sort(key=lambda rollout: (rollout.created, rollout.segment, rollout.name))
        self._find_origins()
        known = [r for files in self.threads.values() for r in files]
        self._by_id = {r.segment or r.thread: r for r in (*bases, *known)}
        self._reached: Mapping[str, list[Rollout]] = self.threads

    def _rollouts(self, paths: Iterable[str]) -> Iterator[Rollout]:
        """The rollouts among some files; those that yield nothing are noted."""
        for path in paths:
            try:
                rollout = rollout_at(path)
            except OSError as error:
                if is_named_as_rollout(path):
                    self.unreadable[path] = error
                continue
            if rollout is None:
                continue
            if not rollout.meta and next(rollout.lines(), None) is None:
                self.empty.append(path)
            else:
                yield rollout

    def _part(self, best: Mapping[_Key, Rollout], lesser: Sequence[Rollout]) -> None:
        """Tell copies from files that went on differently."""
        ordered = sorted(lesser, key=lambda rollout: (-rollout.size, rollout.path))
        copies: dict[_Key, list[Rollout]] = {}
        for rollout in ordered:
            copies.setdefault(rollout.key, []).append(rollout)
        other = {
            rollout.path
            for key, others in copies.items()
            for rollout in diverged(best[key], others, _path, _marks)
        }
        for rollout in ordered:
            if rollout.path in other:
                self.diverged.setdefault(rollout.thread, []).append(rollout)
        for rollout in lesser:
            if rollout.path not in other:
                self.copies.setdefault(rollout.thread, []).append(rollout)

    def _find_origins(self) -> None:
        """Find what files are copies of whose line that said so is damaged."""
        for files in self.threads.values():
            first = files[0]
            if first.lost_head and not first.parent and not first.base[0]:
                others = [one[0] for one in self.threads.values()]
                files[0] = replace(first, copied_from=origin_of(first, others))

    def ordered(self) -> list[str]:
        """Return the ids of its threads, parents before their children, oldest first."""
        oldest = sorted(self.threads, key=lambda thread: (self.threads[thread][0].created, thread))
        found: dict[str, None] = {}

        def place(thread: str, above: frozenset[str]) -> None:
            if thread in found or thread in above or thread not in self.threads:
                return
            parent = self.threads[thread][0].parent
            if len(above) < _DEEPEST:
                place(parent, above | {thread})
            found[thread] = None

        for thread in oldest:
            place(thread, frozenset())
        return [thread for thread in found if thread in self.own]

    def file(self, name: str) -> Rollout | None:
        """Return the first file of a thread, or a segment; ``None`` when it is not here."""
        found = self._by_id.get(name)
        if found is None and name in self._reached:
            found = self._reached[name][0]
        return found

    def came_from(self, thread: str, origin: str, *, alone: bool) -> Index:
        """Return the same threads as they were known when one of them was stored.

        Args:
            thread: that one.
            origin: what it is a copy of, where its own lines do not say it; empty for nothing.
            alone: whether no line of another thread was there.
        """
        was = copy(self)
        files = list(self.threads[thread])
        first = files[0]
        if first.lost_head and not first.forked_from and not first.started_by and not first.base[0]:
            files[0] = replace(first, copied_from=origin)
        was.threads = {**self.threads, thread: files}
        was._reached = {thread: files} if alone else was.threads
        was._by_id = {
            name: one for name, one in self._by_id.items() if not alone or one.thread == thread
        }
        return was

    def lacks_origin(self, thread: str) -> bool:
        """Return whether files are missing that a thread's files were copied or go on from."""
        files = self.threads[thread]
        names = {rollout.base[0] for rollout in files} | {files[0].parent}
        return any(name and self.file(name) is None for name in names)

    def spawning_call(self, parent: str, child: str) -> str:
        """Return the call of a parent that started a child; empty when none is known."""
        if parent not in self._calls:
            self._calls[parent] = dict(self._spawned(parent))
        found = self._calls[parent]
        if child in found:
            return found[child]
        files = self.threads.get(child, [])
        source = mapping(files[0].meta.get("source")) if files else {}
        spawn = mapping(mapping(source.get("subagent")).get("thread_spawn"))
        path = string(spawn.get("agent_path")) or (
            string(files[0].meta.get("agent_path")) if files else ""
        )
        return found.get(path, "") if path else ""

    def _spawned(self, parent: str) -> Iterator[tuple[str, str]]:
        """For each child a thread's files name, by id or path, the call that started it."""
        for rollout in self.threads.get(parent, ()):
            for line in rollout.lines():
                if line.kind == lines.ITEM and line.name.endswith("_output"):
                    call = string(line.payload.get("call_id"))
                    child = child_of(line.payload.get("output")) or _task_of(line)
                    if child and call:
                        yield child, call
                elif line.name == "item_completed":
                    item = mapping(line.payload.get("item"))
                    if string(item.get("tool")) == "spawn_agent":
                        for child in lines.sequence(item.get("receiver_thread_ids")):
                            if string(child):
                                yield child, string(item.get("id"))


_DEEPEST: Final = 200


def _path(rollout: Rollout) -> str:
    return rollout.path


def _marks(rollout: Rollout) -> Iterator[bytes]:
    return marks(rollout.lines())


def _readable(paths: Iterable[str]) -> Iterator[Rollout]:
    for path in paths:
        with suppress(OSError):
            rollout = rollout_at(path)
            if rollout is not None:
                yield rollout


def _best(rollouts: Iterable[Rollout]) -> tuple[dict[_Key, Rollout], list[Rollout]]:
    """Of the rollouts of each name the one that holds most, and all the others."""
    best: dict[_Key, Rollout] = {}
    lesser: list[Rollout] = []
    for rollout in rollouts:
        other = best.get(rollout.key)
        if other is None or rollout.size > other.size:
            best[rollout.key] = rollout
        if other is not None:
            lesser.append(other if best[rollout.key] is rollout else rollout)
    return best, lesser


def _task_of(line: Line) -> str:
    output = line.payload.get("output")
    if not isinstance(output, str) or "task_name" not in output:
        return ""
    try:
        return string(mapping(text.parse(output)).get("task_name"))
    except AgentSessionError:
        return ""
