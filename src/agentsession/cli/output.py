"""Where a command's lines go: a pipe gets plain text, a terminal colours and a pager.

Lines leave in pieces: the first one at once, so that a long listing starts while the
rest is still made. When the reader has gone away (``| head``), the rest is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from types import TracebackType
from typing import IO, Self

from agentsession.cli.words import clean

Span = str | tuple[str, str]
"""A piece of a line: text, or text and the name of its style."""

_FIRST_PIECE = 2_048
_PIECE = 65_536


class Output:
    """Lines of text for standard output; use it as a context manager.

    Attributes:
        closed: whether the reader has gone away; nothing more needs to be made.
        width: columns a line should fit in, or 0 when nobody looks at it.
    """

    width = 0

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream
        self._encoding = _encoding_of(stream)
        self._pieces: list[str] = []
        self._size = 0
        self._limit = _FIRST_PIECE
        self.closed = False

    def line(self, *spans: Span) -> None:
        """Write one line. Whatever a terminal would act on is escaped first."""
        texts = [span if isinstance(span, str) else span[0] for span in spans]
        self._take(clean("".join(texts)) + "\n")

    def _take(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Hand over what was written so far.

        Raises:
            OSError: when it cannot be written, other than because nobody reads it.
        """
        data = "".join(self._pieces).encode(self._encoding, "backslashreplace")
        self._pieces.clear()
        self._size = 0
        self._limit = _PIECE
        self.write(data)

    def write(self, data: bytes) -> None:
        """Write bytes as they are, behind everything flushed so far.

        Raises:
            OSError: when they cannot be written, other than because nobody reads them; it
                names where they were to go.
        """
        if self.closed or not data:
            return
        try:
            _write_all(self._stream, data)
        except BrokenPipeError:
            self.closed = True
        except OSError as error:
            raise OSError(error.errno, error.strerror, _name_of(self._stream)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.flush()


def _encoding_of(stream: IO[str] | None) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # ASCII is what Python falls back to where nobody chose; UTF-8 reads better there.
    return "utf-8" if encoding.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968") else encoding


def _name_of(stream: IO[str] | None) -> str:
    if stream is None or stream is sys.stdout:
        return "standard output"
    return str(getattr(stream, "name", "")) or "the output"


def _write_all(stream: IO[str] | None, data: bytes) -> None:
    """Write past Python's own buffers: what fails there would be tried again at exit."""
    if stream is None:
        # The process was started with it closed, and Python has no stream for it.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    descriptor = _descriptor(stream)
    if descriptor is None:
        stream.write(data.decode(_encoding_of(stream), "replace"))
        stream.flush()
        return
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _descriptor(stream: IO[str]) -> int | None:
    try:
        stream.flush()
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def open_output(*, paged: bool = True) -> Output:
    """Return the output for standard output: a terminal's when one is there.

    ``paged`` says whether a terminal's may use a pager.
    """
    stream = sys.stdout
    if stream is not None and _is_terminal(stream):
        from agentsession.cli.terminal import Terminal  # noqa: PLC0415 - only when one is there

        return Terminal(stream, paged=paged)
    return Output(stream)


def open_plain() -> Output:
    """Return the output for what programs read, wherever it goes."""
    return Output(sys.stdout)


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def complain(message: str) -> None:
    """Write ``agentsession: <message>`` to standard error."""
    note(f"agentsession: {message}")


def note(*lines: str) -> None:
    """Write lines to standard error; an error stream that is gone is not worth an error."""
    stream = sys.stderr
    if stream is None:
        return
    written = "".join(clean(line) + "\n" for line in lines)
    with contextlib.suppress(OSError, ValueError):
        _write_all(stream, written.encode(_encoding_of(stream), "backslashreplace"))
