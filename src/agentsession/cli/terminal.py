"""Output on a terminal: colours, and a pager for what is longer than the screen.

``NO_COLOR`` and ``TERM=dumb`` turn colours off, ``PAGER`` names the pager, an empty
``PAGER`` or ``PAGER=cat`` turns it off.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from types import TracebackType
from typing import IO

from agentsession.cli.output import Output, Span
from agentsession.cli.words import cells, clean

_STYLES = {
    "heading": "bold",
    "name": "dim",
    "id": "cyan",
    "type": "green",
    "mark": "yellow",
    "good": "green",
    "bad": "bold red",
    "note": "yellow",
}
_RESET = "\x1b[0m"


class Terminal(Output):
    """Lines for a terminal.

    Lines are held back until the screen is full: only then is it known whether a pager
    is wanted, and from then on they go straight to it. Without ``paged`` they never are.
    """

    def __init__(self, stream: IO[str], *, paged: bool = True) -> None:
        super().__init__(stream)
        size = shutil.get_terminal_size()
        self.width = size.columns
        self._rows_left: int | None = size.lines - 1
        self._pager: subprocess.Popen[bytes] | None = None
        self._command = _pager_command() if paged else None
        self._codes = (
            _codes(stream) if self._command is None or _takes_colour(self._command) else {}
        )
        if self._command is None:
            self._rows_left = None

    def line(self, *spans: Span) -> None:
        """Write one line, each piece in its style."""
        pieces = []
        columns = 0
        for span in spans:
            text, style = (span, "") if isinstance(span, str) else span
            shown = clean(text)
            columns += cells(shown)
            code = self._codes.get(style, "") if shown else ""
            pieces.append(f"{code}{shown}{_RESET}" if code else shown)
        if self._rows_left is not None:
            self._rows_left -= max(1, -(-columns // max(1, self.width)))
            if self._rows_left < 0:
                self._start_pager()
        self._take("".join(pieces) + "\n")

    def flush(self) -> None:
        """Hand over what was written so far, unless the screen is not full yet."""
        if self._rows_left is None:
            super().flush()

    def write(self, data: bytes) -> None:
        """Write bytes to the pager, or to the terminal when there is none."""
        if self._pager is None or self._pager.stdin is None:
            super().write(data)
            return
        if self.closed or not data:
            return
        try:
            self._pager.stdin.write(data)
            self._pager.stdin.flush()
        except OSError:
            # The user has left the pager.
            self.closed = True

    def _start_pager(self) -> None:
        self._rows_left = None
        environment = {"LESS": "FRX", **os.environ}
        # A pager that cannot be started is no reason to show nothing.
        with contextlib.suppress(OSError, ValueError):
            self._pager = subprocess.Popen(  # noqa: S603 - the user's own choice
                self._command or [], stdin=subprocess.PIPE, env=environment
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows_left = None
        super().__exit__(kind, error, trace)
        if self._pager is not None:
            _wait(self._pager)


def _wait(pager: subprocess.Popen[bytes]) -> None:
    if pager.stdin is not None:
        with contextlib.suppress(OSError):
            pager.stdin.close()
    while True:
        # Ctrl-C means the pager, which is still on the screen.
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
        return


def _pager_command() -> list[str] | None:
    if os.environ.get("TERM") == "dumb" or not _is_terminal(sys.stdin):
        return None
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return None
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    return command


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _takes_colour(command: list[str]) -> bool:
    if os.path.basename(command[0]) not in ("less", "bat", "most"):
        return False
    flags = " ".join(command[1:]) + os.environ.get("LESS", "R")
    return "R" in flags or "r" in flags


def _codes(stream: IO[str]) -> dict[str, str]:
    from rich.console import COLOR_SYSTEMS, Console  # noqa: PLC0415 - slow to load
    from rich.style import Style  # noqa: PLC0415

    console = Console(file=stream, highlight=False)
    system = COLOR_SYSTEMS.get(console.color_system or "")
    if system is None or console.no_color or console.legacy_windows or console.is_dumb_terminal:
        return {}
    marker = "\0"
    return {
        name: Style.parse(style).render(marker, color_system=system).partition(marker)[0]
        for name, style in _STYLES.items()
    }
