"""Files that are there whole or not at all.

Spec: decision E7.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from agentsession.errors import StoreFailed


@contextlib.contextmanager
def write_whole(target: Path) -> Iterator[BinaryIO]:
    """Give a file to write to that takes the target's place when the block ends well.

    Until then it has a name of its own beside the target; after an error it is removed.

    Raises:
        StoreFailed: when it cannot be written.
    """
    unfinished = target.parent / f".{secrets.token_hex(8)}.unfinished"
    try:
        with _failing(target), _replacing(target, unfinished) as file:
            yield file
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def write_part(target: Path) -> Iterator[BinaryIO]:
    """Give a new file to write to that is a part of another and goes when this run does.

    Raises:
        StoreFailed: when it cannot be written.
    """
    with _failing(target), target.open("x+b") as file:
        yield file


@contextlib.contextmanager
def _failing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, StoreFailed):
            raise
        raise StoreFailed(
            f"{target} could not be written: {error.strerror or error}",
            path=target,
            errno=error.errno,
        ) from error


@contextlib.contextmanager
def _replacing(target: Path, unfinished: Path) -> Iterator[BinaryIO]:
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    with os.fdopen(descriptor, "w+b") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(target)


_ABANDONED: Final = 3600.0
"""Seconds after which a file that nobody wrote to belongs to a run that was killed."""


def sweep(directory: Path) -> None:
    """Take away what earlier runs left unfinished in a directory."""
    oldest = time.time() - _ABANDONED
    with contextlib.suppress(OSError):
        for left in directory.glob(f".{'[0-9a-f]' * 16}.unfinished"):
            if left.lstat().st_mtime < oldest:
                left.unlink(missing_ok=True)


_BINARY = getattr(os, "O_BINARY", 0)


def make_directory(directory: Path) -> None:
    """Make a directory and those above it.

    Raises:
        StoreFailed: when it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreFailed(
            f"{directory} could not be made: {error.strerror or error}",
            path=directory,
            errno=error.errno,
        ) from error
