"""Runs the command: as a process of its own, or in this one where that would be slow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsession.cli.main import main

HOSTILE = Path(__file__).parent.parent / "data" / "hostile"


@dataclass(frozen=True)
class Ran:
    """What a run of the command left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of a process, without what a developer's shell may have set."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"AGENTSESSION_HOME", "AGENTSESSION_DEBUG", "PAGER", "LESS", "NO_COLOR"}
    }
    kept.update({"COLUMNS": "80", "LINES": "24"})
    for name, value in (changes or {}).items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value
    return kept


def command(*args: str | os.PathLike[str]) -> list[str]:
    """The arguments of a process that runs the command."""
    return [sys.executable, "-m", "agentsession", *map(os.fspath, args)]


def run(
    *args: str | os.PathLike[str],
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run the command as a process of its own."""
    done = subprocess.run(
        command(*args),
        capture_output=True,
        env=environment(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


class Caller:
    """Runs the command in this process and collects what it writes to its descriptors."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *args: str | os.PathLike[str]) -> Ran:
        self._capfd.readouterr()
        code = main([os.fspath(arg) for arg in args])
        written = self._capfd.readouterr()
        return Ran(code, written.out, written.err)
