"""A thread that does jobs one after the other, so that whoever hands one over never waits."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable

_IDLE_SECONDS = 5.0
"""The thread ends when there was nothing to do for so long; the next job starts another."""


class Worker:
    """Does jobs in the order they were handed over. A job must not raise.

    A forked child starts without the jobs of its parent: they are the parent's to do.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._jobs: deque[Callable[[], None]] = deque()
        self._running = False

    def put(self, job: Callable[[], None]) -> None:
        """Hand over a job."""
        if os.getpid() != self._pid:
            self._start()
        with self._changed:
            self._jobs.append(job)
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name="agentsession-otel", daemon=True).start()
            self._changed.notify()

    def drain(self, timeout: float) -> bool:
        """Return whether all jobs handed over before were done within so many seconds."""
        done = threading.Event()
        self.put(done.set)
        return done.wait(timeout)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._changed.wait_for(self._has_jobs, _IDLE_SECONDS):
                    self._running = False
                    return
                job = self._jobs.popleft()
            # One that raises all the same must not take the others with it.
            with contextlib.suppress(BaseException):
                job()

    def _has_jobs(self) -> bool:
        return bool(self._jobs)
