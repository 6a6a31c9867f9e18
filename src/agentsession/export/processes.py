"""An export by several processes: each writes parts, which are joined in order.

Spec: decision E8.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentsession.export.atomic import make_directory, room, write_whole
from agentsession.export.report import ReportBuilder
from agentsession.export.sessions import SessionExport, risky_ids
from agentsession.export.sinks import Sinks
from agentsession.export.work import Load, Work
from agentsession.export.write import make_ready
from agentsession.findings import Report


def in_processes(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    report: ReportBuilder,
    jobs: int,
) -> Iterator[str]:
    """Export in several processes; yield each session that is done, in order.

    Args:
        load: opens a session by id; each process gets it once.
        session_ids: the sessions.
        work: what to do with each.
        report: takes what is found.
        jobs: how many processes.

    Raises:
        StoreFailed: when the storage refuses a file.
    """
    apart = risky_ids(session_ids)
    targets = work.targets
    files = {"jsonl": targets.jsonl, "flat": targets.flat}
    wanted = {name: target for name, target in files.items() if target is not None}
    beside = next((target.parent for target in wanted.values()), targets.directory or Path())
    make_directory(beside)
    if targets.directory is not None:
        make_ready(targets.directory)
    context = multiprocessing.get_context("spawn")
    with (
        room(beside) as parts,
        ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_begin, initargs=(load, work, parts)
        ) as pool,
    ):
        futures = [
            pool.submit(_numbered, number, session_id, session_id in apart)
            for number, session_id in enumerate(session_ids)
        ]
        for session_id, future in zip(session_ids, futures, strict=True):
            report.add(future.result())
            yield session_id
        for name, target in wanted.items():
            _joined(target, [parts / f"{number}.{name}" for number in range(len(session_ids))])


_AT_WORK: Final[ContextVar[tuple[Load, Work, Path]]] = ContextVar("at_work")
"""In a process that exports a part: what it was given when it began."""


def _begin(load: Load, work: Work, parts: Path) -> None:
    _AT_WORK.set((load, work, parts))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """End this process when another one does, however that ended.

    A process of a pool holds both ends of the queue that it waits at, so that the queue
    never ends for it.
    """
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _numbered(number: int, session_id: str, apart: bool) -> Report:
    load, work, parts = _AT_WORK.get()
    return _job(load, session_id, _part(work, parts, number), apart)


def _part(work: Work, parts: Path, number: int) -> Work:
    """The same work with the single files as parts in a directory of their own."""
    targets = work.targets
    return replace(
        work,
        targets=replace(
            targets,
            jsonl=parts / f"{number}.jsonl" if targets.jsonl else None,
            flat=parts / f"{number}.flat" if targets.flat else None,
        ),
    )


def _job(load: Load, session_id: str, work: Work, apart: bool) -> Report:
    """Export one session in a process of its own."""
    report = ReportBuilder()
    with ExitStack() as stack:
        run = SessionExport(load, work, report, Sinks(work.targets, stack, report, parts=True))
        run.session(session_id, None, apart=apart)
    return report.report()


def _joined(target: Path, parts: Sequence[Path]) -> None:
    make_directory(target.parent)
    with write_whole(target) as file:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, file)
