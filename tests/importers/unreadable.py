"""Places that cannot be read, for tests: another user's rights, and where that user gets to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_rights = pytest.mark.skipif(
    not hasattr(os, "seteuid"), reason="needs the rights of another user"
)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Do something with the rights of a user who has none here."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def open_to_all() -> Iterator[Path]:
    """Give a directory that others can get to; where pytest makes its own they cannot."""
    before = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory() as made:
            Path(made).chmod(0o755)
            yield Path(made)
    finally:
        os.umask(before)


def copied_for_all(source: Path, target: Path) -> Path:
    """Return a copy of a directory that others can read, whatever this user's own files are."""
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target
