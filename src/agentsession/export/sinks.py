"""Where the documents of an export go: files, lines and rows, at the same time.

Spec: decisions E7 and E8.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agentsession import text
from agentsession.export.atomic import make_directory, sweep, write_part, write_whole
from agentsession.export.outline import Outline
from agentsession.export.report import ReportBuilder
from agentsession.export.source import source_of
from agentsession.export.tabular import Rows
from agentsession.export.write import DirectoryWriter, write_source

Tick = Callable[[int], None]
"""Is told how many steps of the document at hand are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where documents go; any of them, together.

    Attributes:
        directory: one file for each document, media beside them.
        jsonl: one document a line, media inline.
        flat: one step a line, with fixed columns.
        parquet: the same rows as a Parquet file.
    """

    directory: Path | None = None
    jsonl: Path | None = None
    flat: Path | None = None
    parquet: Path | None = None


def clash(targets: Targets) -> str:
    """Return how targets would replace one another, as a sentence; empty when they do not."""
    files = {"jsonl": targets.jsonl, "flat": targets.flat, "parquet": targets.parquet}
    taken: dict[Path, str] = {}
    out = targets.directory.resolve() if targets.directory is not None else None
    for name, target in files.items():
        if target is None:
            continue
        place = target.resolve()
        other = taken.setdefault(place, name)
        if other != name:
            return f"{other} and {name} name the same file, {target}"
        if out is None:
            continue
        if place == out or place in out.parents:
            return f"{name} names {target}, which is where the directory of the documents is to be"
        if place.parent == out and place.suffix.lower() == ".json":
            return f"a document may get the file {target}; give {name} a name that ends otherwise"
    return ""


class Sinks:
    """The open targets of one process.

    Args:
        targets: where documents go.
        stack: closes them.
        report: takes what there is to tell.
        parts: whether this is one of many with the same directory, made ready already, and
            with single files that are parts of the whole ones.
    """

    def __init__(
        self, targets: Targets, stack: ExitStack, report: ReportBuilder, *, parts: bool = False
    ) -> None:
        self._report = report
        self.directory: DirectoryWriter | None = None
        if targets.directory is not None:
            self.directory = DirectoryWriter(targets.directory, report, is_ready=parts)
        opened = _part if parts else _opened
        self._jsonl = opened(targets.jsonl, stack)
        self._flat = opened(targets.flat, stack)

    def keep_apart(self, apart: bool) -> None:
        """Say whether the files of the session at hand get names of their own."""
        if self.directory is not None:
            self.directory.names.apart = apart

    def write(self, outline: Outline, progress: Tick | None) -> None:
        """Write a document to all targets."""
        if self.directory is not None:
            self._report.wrote(self.directory.write(outline, progress))
        for file, put in ((self._jsonl, self._line), (self._flat, self._rows)):
            if file is None:
                continue
            start = file.tell()
            try:
                put(file, outline, progress)
            except BaseException:
                file.seek(start)
                file.truncate()
                raise

    def _line(self, file: BinaryIO, outline: Outline, progress: Tick | None) -> None:
        source = source_of(outline, self._report.noticed(outline))
        write_source(file, source, indent=0, progress=progress)

    def _rows(self, file: BinaryIO, outline: Outline, progress: Tick | None) -> None:
        source = source_of(outline, self._report.noticed(outline))
        rows = Rows(source.head())
        for number, step in enumerate(source.steps(), 1):
            file.write(text.encode(rows.row(step)) + b"\n")
            if progress is not None:
                progress(number)


def _opened(target: Path | None, stack: ExitStack) -> BinaryIO | None:
    if target is None:
        return None
    make_directory(target.parent)
    sweep(target.parent)
    return stack.enter_context(write_whole(target))


def _part(target: Path | None, stack: ExitStack) -> BinaryIO | None:
    return None if target is None else stack.enter_context(write_part(target))
