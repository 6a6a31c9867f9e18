"""Files that are there whole or not at all.

Spec: decision E7.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from agentsession._regular import check_replaceable
from agentsession.errors import StoreFailed


@contextlib.contextmanager
def write_whole(target: Path) -> Iterator[BinaryIO]:
    """Give a file to write to that takes the target's place when the block ends well.

    Until then it has a name of its own beside the target; after an error it is removed. A link
    is followed, as by whatever else writes files, and stays.

    Raises:
        StoreFailed: when it cannot be written, or is a device, a pipe or a socket, whose
            place no file is to take.
    """
    with _failing(target):
        check_replaceable(target)
    place = Path(os.path.realpath(target))
    unfinished = place.parent / f".{secrets.token_hex(8)}.unfinished"
    try:
        with _failing(target), _replacing(place, unfinished) as file:
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


@contextlib.contextmanager
def room(beside: Path) -> Iterator[Path]:
    """Give a directory for parts beside a target, so that they are on the same disk.

    It goes when the block ends; :func:`sweep_rooms` takes away that of a killed process.

    Raises:
        StoreFailed: when it cannot be made.
    """
    path, mark = _made_room(beside)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if mark is not None:
            os.close(mark)


def _made_room(beside: Path) -> tuple[Path, int | None]:
    while True:
        path = beside / f".export-{secrets.token_hex(8)}"
        with _failing(path):
            path.mkdir(0o700)
        # Until it is marked another run may take it for one that was left.
        with contextlib.suppress(BlockingIOError):
            mark = _marked(path)
            if path.is_dir():
                return path, mark
            if mark is not None:
                os.close(mark)


def sweep_rooms(directory: Path) -> None:
    """Take away the rooms of processes that are gone."""
    with contextlib.suppress(OSError):
        for left in directory.glob(".export-*"):
            if _ROOM.fullmatch(left.name) is None or left.is_symlink():
                continue
            with contextlib.suppress(BlockingIOError):
                mark = _marked(left)
                if mark is not None:
                    shutil.rmtree(left, ignore_errors=True)
                    os.close(mark)


_ROOM: Final = re.compile(r"\.export-[0-9a-f]{16}")


def _marked(room: Path) -> int | None:
    """Mark a room as used; return the descriptor of the mark, or ``None`` where there is none.

    The system takes the mark away when the process ends, however it ends. Where a system or a
    file system has no marks nothing is swept.

    Raises:
        BlockingIOError: when another process has marked it.
    """
    if sys.platform == "win32":
        return None
    import fcntl  # noqa: PLC0415

    try:
        descriptor = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


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
