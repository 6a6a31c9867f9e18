"""Work done by several processes, its results in the order of the tasks.

Each process is given one task at a time over a pipe, and ends when the pipe does: with
the one that started it, however that ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Final, Protocol, TypeVar

from agentsession.errors import AgentSessionError

T = TypeVar("T")
R = TypeVar("R")
_R_co = TypeVar("_R_co", covariant=True)
_T_contra = TypeVar("_T_contra", contravariant=True)


_AHEAD: Final = 256


class Worker(Protocol[_T_contra, _R_co]):
    """What a process does with a task; it is pickled to get there."""

    def __call__(self, task: _T_contra, /) -> _R_co:
        """Return the result of a task. What it raises ends the process."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


def run(worker: Worker[T, R], tasks: Sequence[T], jobs: int) -> Generator[R, None, None]:
    """Yield the result of each task, in order.

    Args:
        worker: what to do with a task.
        tasks: the tasks.
        jobs: how many processes; with 1 all is done in this one.

    Raises:
        AgentSessionError: when a process ends before its time.
    """
    if jobs > 1 and len(tasks) > 1:
        yield from _spread(worker, tasks, min(jobs, len(tasks)))
        return
    with contextlib.closing(worker):
        for task in tasks:
            yield worker(task)


def _spread(worker: Worker[T, R], tasks: Sequence[T], jobs: int) -> Iterator[R]:
    # A fork would share open databases and locks between processes.
    context = multiprocessing.get_context("spawn")
    pipes: dict[Connection, BaseProcess] = {}
    try:
        with _without_interrupts():
            for _ in range(jobs):
                ours, theirs = context.Pipe()
                process: BaseProcess = context.Process(
                    target=_serve, args=(worker, theirs), daemon=True
                )
                process.start()
                theirs.close()
                pipes[ours] = process
        yield from _ordered(pipes, tasks)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in pipes.values():
            process.join()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back: processes started meanwhile never get one, not even while they load."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started along with the first process, it would let the signals through again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ordered(pipes: dict[Connection, BaseProcess], tasks: Sequence[T]) -> Iterator[R]:
    given: dict[Connection, int] = {}
    idle = list(pipes)
    done: dict[int, R] = {}
    next_task = 0
    for position in range(len(tasks)):
        while position not in done:
            # A task that takes long must not let the results of all later ones pile up.
            while idle and next_task < min(len(tasks), position + _AHEAD):
                pipe = idle.pop()
                with _told():
                    pipe.send(tasks[next_task])
                given[pipe] = next_task
                next_task += 1
            for ready in wait(list(given)):
                assert isinstance(ready, Connection)
                at = given.pop(ready)
                with _told():
                    done[at] = ready.recv()
                idle.append(ready)
        yield done.pop(position)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Say of a pipe without another end what that means."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise AgentSessionError(
            "a process of the import ended before its time (was it killed, or out "
            "of memory?); run the import again to go on"
        ) from error


def _serve(worker: Callable[[T], R], pipe: Connection) -> None:
    """Do tasks until the pipe ends. Ctrl-C is the parent's to act upon."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.ExitStack() as stack:
        close = getattr(worker, "close", None)
        if close is not None:
            stack.callback(close)
        with contextlib.suppress(EOFError, OSError):
            while True:
                pipe.send(worker(pipe.recv()))
