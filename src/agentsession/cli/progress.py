"""How far a long command has come: one line on a terminal, nothing anywhere else."""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import IO, Final, Self

_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """A line that is written over; use it as a context manager, which takes it away.

    Args:
        stream: where it goes; it stays silent when that is no terminal.
    """

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream if _is_terminal(stream) else None
        self._next = 0.0
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """Show that so many of all are done."""
        now = time.monotonic()
        if self._stream is None or (now < self._next and done < total):
            return
        self._next = now + _PAUSE
        self._write(f"{_CLEAR}{done} of {total} sessions")
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write(_CLEAR)
        self._shown = False

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(text)
                self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
