"""What is asked of a run, checked before anything is measured.

``--vs COMMAND`` measures another program: whole processes of ``agentsession verify FILE``
against those of COMMAND, pair by pair. ``{file}`` in COMMAND is the path of that file, a
session of 20 MB that is made in the place of the inputs. With no NAME nothing else runs.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth import page_problem


@dataclass(frozen=True, slots=True)
class Asked:
    """How big the inputs are, and where they are made.

    Attributes:
        place: where inputs are made and kept.
        size: bytes of the big file.
        sessions: sessions of the store that is listed.
        exported: sessions of the store that is exported.
        opencode: sessions of the OpenCode database, and parts of each.
        claude: bytes of the Claude Code log.
        calls: model calls of the sessions that are verified; there are four times as many too.
        sizes: megabytes of the inputs of ``growth``.
        docs: where ``growth`` puts its table and plots; ``None`` for nowhere.
        names: the benchmarks to run.
        versus: the words of the command to compare with; none for no comparison.
    """

    place: Path
    size: int
    sessions: int
    exported: int
    opencode: tuple[int, int]
    claude: int
    calls: int
    sizes: tuple[float, ...]
    docs: Path | None
    names: tuple[str, ...] = ()
    versus: tuple[str, ...] = ()


def asked(
    arguments: Sequence[str] | None, known: Sequence[str], on_demand: Collection[str]
) -> Asked:
    """Return what the arguments ask for.

    Args:
        arguments: the words of the command line; those of the process for ``None``.
        known: the names of all benchmarks.
        on_demand: those that run only when they are named.

    Raises:
        SystemExit: with 2, after one sentence, when they cannot be done.
    """
    parser = _parser(known)
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(known)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    everything = () if given.vs else [name for name in known if name not in on_demand]
    return Asked(
        place=given.place,
        size=given.size,
        sessions=given.sessions,
        exported=given.exported,
        opencode=given.opencode,
        claude=given.claude,
        calls=given.calls,
        sizes=given.sizes,
        docs=given.docs,
        names=tuple(given.names or everything),
        versus=given.vs,
    )


def _parser(known: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Measure, and say what was reached.\n\n{__doc__.partition(chr(10) * 2)[2]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=f"which to run: {', '.join(known)}")
    add_place(parser)
    for name, usual, what in (
        ("--size", 200_000_000, "bytes of the big file"),
        ("--sessions", 10_000, "sessions of the listing"),
        ("--exported", 1000, "sessions of the export"),
        ("--claude", 50_000_000, "bytes of the Claude Code log"),
        ("--calls", 1000, "model calls that are verified; four and eight times as many too"),
    ):
        parser.add_argument(name, type=count, default=usual, help=f"{what} (default: {usual})")
    parser.add_argument(
        "--opencode",
        type=_by_parts,
        default="400x200",
        metavar="SESSIONSxPARTS",
        help="the OpenCode database (default: 400x200; the aim is for 2000x200)",
    )
    parser.add_argument(
        "--sizes", type=_sizes, default="1,10", help="megabytes of growth, with commas"
    )
    parser.add_argument("--docs", type=_docs, help="put the table and plots of growth there")
    parser.add_argument(
        "--vs",
        type=_command,
        default=(),
        metavar="COMMAND",
        help="time agentsession verify of a file against this; {file} in it is the file",
    )
    return parser


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where inputs are made."""
    parser.add_argument(
        "--place",
        type=_place,
        default="/tmp/agentsession-benchmarks",
        help="where the inputs are made and kept (default: %(default)s)",
    )


def count(text: str) -> int:
    """Return the whole number above zero that a text is.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    if not re.fullmatch("[0-9]{1,15}", text) or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _by_parts(text: str) -> tuple[int, int]:
    sessions, _, parts = text.partition("x")
    try:
        return count(sessions), count(parts or "200")
    except argparse.ArgumentTypeError:
        message = f"{text!r} is no such thing as 400x200: sessions, x, parts of each"
        raise argparse.ArgumentTypeError(message) from None


def _sizes(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(size) for size in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < size < math.inf for size in found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of megabytes such as 1,10,100")
    return found


def _place(text: str) -> Path:
    path = Path(text).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if path.is_file() else error.strerror
        raise argparse.ArgumentTypeError(f"cannot make inputs in {path}: {reason}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"cannot make inputs in {path}: it cannot be written")
    return path


def _docs(text: str) -> Path:
    path = Path(text)
    problem = page_problem(path / "performance.md")
    if problem:
        raise argparse.ArgumentTypeError(problem)
    return path


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        reason = str(error).lower()
        raise argparse.ArgumentTypeError(f"{text!r} is no command: {reason}") from None
    if not words or not words[0]:
        raise argparse.ArgumentTypeError("there is no command in it")
    if shutil.which(words[0]) is None:
        raise argparse.ArgumentTypeError(f"there is no command {words[0]}")
    return words
