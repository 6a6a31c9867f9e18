"""Exports of whole sessions and stores: every leaf, every target, one process or several.

Spec: decisions E4, E7 and E8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from agentsession.export.atomic import make_directory, room, sweep_rooms
from agentsession.export.errors import CannotExport
from agentsession.export.processes import in_processes
from agentsession.export.report import ReportBuilder
from agentsession.export.sessions import SessionExport, risky_ids
from agentsession.export.sinks import Sinks, Targets, Tick, clash
from agentsession.export.tabular import write_parquet
from agentsession.export.work import Load, Progress, Work
from agentsession.findings import Report
from agentsession.session import Session

_EVERY: Final = 64
"""Steps between two calls of a progress function."""


def export_session(
    session: Session,
    work: Work,
    *,
    progress: Callable[[Progress], None] | None = None,
    load: Load | None = None,
) -> Report:
    """Export one session and return the report.

    Args:
        session: the session.
        work: targets and options.
        progress: told every now and then.
        load: opens linked sessions, for ``work.embed``.

    Raises:
        StoreFailed: when the storage refuses a file.
        CannotExport: when a target needs what is not installed, or two targets would replace
            one another.
    """
    return export_sessions(
        lambda session_id: (
            session if session_id == session.id or load is None else load(session_id)
        ),
        [session.id],
        work,
        progress=progress,
    )


def export_sessions(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    *,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Export sessions and return the report of all.

    A session that cannot be opened, and a document that is not valid, are left out with a
    finding; the rest goes on.

    Args:
        load: opens a session by id.
        session_ids: the sessions, in the order they are to stand in.
        work: targets and options.
        jobs: processes; above 1 ``load`` and ``work`` must be possible to pickle.
        progress: told every now and then.

    Spec: decisions E4, E7 and E8.

    Raises:
        StoreFailed: when the storage refuses a file.
        CannotExport: when a target needs what is not installed, or two targets would replace
            one another.
    """
    problem = clash(work.targets)
    if problem:
        raise CannotExport(problem)
    report = ReportBuilder()
    _sweep(work.targets)
    with ExitStack() as stack:
        targets, flat = work.targets, work.targets.flat
        if targets.parquet is not None and flat is None:
            make_directory(targets.parquet.parent)
            flat = stack.enter_context(room(targets.parquet.parent)) / "rows.jsonl"
        plain = replace(work, targets=replace(targets, flat=flat, parquet=None))
        told = progress or _nothing
        if jobs > 1 and len(session_ids) > 1:
            finished = in_processes(load, session_ids, plain, report, jobs)
            for done, session_id in enumerate(finished, 1):
                told(Progress(session_id, done, len(session_ids)))
        else:
            _here(load, session_ids, plain, report, told)
        if targets.parquet is not None and flat is not None:
            write_parquet(targets.parquet, flat)
    return report.report()


def _sweep(targets: Targets) -> None:
    """Take away what exports that were killed left beside the targets."""
    files = (targets.jsonl, targets.flat, targets.parquet)
    folders = {targets.directory, *(file.parent for file in files if file is not None)}
    for folder in folders:
        if folder is not None:
            sweep_rooms(folder)


def _nothing(progress: Progress) -> None:
    del progress


def _here(
    load: Load,
    session_ids: Sequence[str],
    work: Work,
    report: ReportBuilder,
    progress: Callable[[Progress], None],
) -> None:
    apart = risky_ids(session_ids)
    with ExitStack() as stack:
        run = SessionExport(load, work, report, Sinks(work.targets, stack, report))
        for done, session_id in enumerate(session_ids):
            at_hand = Progress(session_id, done, len(session_ids))
            run.session(session_id, _ticker(progress, at_hand), apart=session_id in apart)
            progress(replace(at_hand, sessions_done=done + 1))


def _ticker(progress: Callable[[Progress], None], at_hand: Progress) -> Tick:
    def tick(steps: int) -> None:
        if not steps % _EVERY:
            progress(replace(at_hand, steps_done=steps))

    return tick
