"""On a terminal: colours, rows that fit, a pager for what is longer than the screen."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli_runner import command, environment
from test_cli import long_session

if sys.platform == "win32":
    pytest.skip("pseudo terminals are a POSIX matter", allow_module_level=True)

import fcntl
import pty
import termios

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(
    *arguments: str | os.PathLike[str],
    env: Mapping[str, str | None] | None = None,
    lines: int = 24,
    columns: int = 80,
) -> tuple[int, str]:
    """Run the command on a terminal of its own; return its exit code and the screen's text."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    settings = {"TERM": "xterm-256color", "COLUMNS": None, "LINES": None, "COLORTERM": None}
    process = subprocess.Popen(
        command(*arguments),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment({**settings, **(env or {})}),
        start_new_session=True,
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65_536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    return process.wait(), seen.decode().replace("\r\n", "\n")


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that says what it is given, and leaves a file behind."""
    script = tmp_path / "pager"
    script.write_text(f'#!/bin/sh\necho PAGED\ncat\ntouch "{tmp_path}/used"\n')
    script.chmod(0o755)
    return script


def test_colours_and_nothing_but_colours(session_file: Path) -> None:
    code, screen = on_terminal("show", session_file, env={"PAGER": "cat"})
    assert code == 0
    assert "\x1b[" in screen
    plain = ESCAPE.sub("", screen)
    assert "\x1b" not in plain
    assert "e0000005  e0000004  response   resp_1 - completed hash" in plain


def test_colours_can_be_turned_off(session_file: Path) -> None:
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, screen = on_terminal("show", session_file, env={"PAGER": "cat", **env})
        assert code == 0
        assert "\x1b" not in screen


def test_rows_fit_and_keep_their_marks(session_file: Path) -> None:
    _, screen = on_terminal("show", session_file, env={"PAGER": "cat", "NO_COLOR": "1"}, columns=64)
    rows = screen.splitlines()
    assert max(len(row) for row in rows if row.startswith("e00")) <= 64
    (config,) = [row for row in rows if " config " in row]
    assert config.endswith("…")
    (forked,) = [row for row in rows if " custom " in row]
    assert forked.endswith("\u00d72 [here]")


def test_what_fits_the_screen_is_not_paged(session_file: Path, pager: Path) -> None:
    code, screen = on_terminal("verify", session_file, env={"PAGER": str(pager)})
    assert code == 0
    assert "PAGED" not in screen
    assert "2 verified" in screen


def test_what_is_longer_goes_through_the_pager(tmp_path: Path, pager: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 100)
    code, screen = on_terminal("show", path, env={"PAGER": str(pager)})
    assert code == 0
    assert screen.startswith("PAGED\n")
    assert "text 99" in screen
    assert "\x1b" not in screen
    assert (tmp_path / "used").exists()


def test_a_pager_left_early_is_no_error(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 5000)
    code, screen = on_terminal("show", path, env={"PAGER": "head -n 3"})
    assert code == 0
    assert len(screen.splitlines()) == 3


def test_a_pager_that_is_not_there_is_not_used(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 100)
    for name in ("no-such-pager", "'unbalanced", ""):
        code, screen = on_terminal("show", path, env={"PAGER": name, "NO_COLOR": "1"})
        assert code == 0
        assert "text 99" in screen


def test_reports_are_plain_there_too(session_file: Path, pager: Path) -> None:
    code, screen = on_terminal("show", "--json", session_file, env={"PAGER": str(pager)})
    assert code == 0
    assert screen.startswith('{"schema":1,')


def test_session_content_never_reaches_the_terminal_raw(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 3)
    path.write_bytes(path.read_bytes().replace(b"text 1", b"\\u001b]0;owned\\u0007"))
    _, screen = on_terminal("show", path, env={"PAGER": "cat"})
    assert "\x1b]0;" not in screen
    assert "\\x1b]0;owned\\a" in screen
