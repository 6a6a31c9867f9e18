"""Documents to files: checked, whole, and never outside their directory.

Spec: export 12 and 13, decision E7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from agentsession import atif, text
from agentsession.atif import InvalidDocument, Problem
from agentsession.export.atomic import make_directory, sweep, write_whole
from agentsession.export.media import Spill
from agentsession.export.names import digest, document_name
from agentsession.export.outline import Outline
from agentsession.export.report import ReportBuilder
from agentsession.export.source import Source, check_head, check_step, source_of
from agentsession.findings import Report

Step = dict[str, Any]
Progress = Callable[[int], None]
"""Is told how many steps of the document at hand are done."""

_INDENT: Final = 2


class Names:
    """The file names given so far, so that no two documents get one.

    Attributes:
        apart: whether every name gets the hash of its session's id, because another process
            could give the same name.
    """

    def __init__(self) -> None:
        self.apart = False
        self._taken: dict[str, tuple[str, str]] = {}

    def name(self, head: dict[str, Any]) -> str:
        """Return the name of a document; one that is taken gets a suffix from the id's hash."""
        ids = (head.get("session_id") or "", head.get("trajectory_id") or "")
        name = document_name(head)
        if self.apart:
            name = f"{name.removesuffix('.json')}-{digest(ids[0])}.json"
        stem = name.removesuffix(".json")
        digits = 4
        # File systems that do not tell cases apart would put both into one file.
        while self._taken.setdefault(name.lower(), ids) != ids:
            # The name with the hash may be another document's own name.
            digits += 4
            name = f"{stem}-{digest('/'.join(ids), digits)}.json"
        return name


def make_ready(directory: Path) -> None:
    """Make a directory for documents, and take away what killed runs left there.

    Raises:
        StoreFailed: when it cannot be made.
    """
    make_directory(directory)
    for folder in (directory, directory / "images", directory / "audio"):
        sweep(folder)


class DirectoryWriter:
    """Writes documents into one directory, media beside them.

    Args:
        directory: made when it is not there.
        report: takes what there is to tell.
        names: the names given so far.
        is_ready: whether :func:`make_ready` was called already.
    """

    def __init__(
        self,
        directory: str | Path,
        report: ReportBuilder,
        names: Names | None = None,
        *,
        is_ready: bool = False,
    ) -> None:
        self.directory = Path(directory)
        if not is_ready:
            make_ready(self.directory)
        self.report = report
        self.names = names or Names()
        self._spill = Spill(self.directory)

    def write(self, document: Outline | atif.Trajectory, progress: Progress | None = None) -> Path:
        """Write one document and return its file.

        Raises:
            InvalidDocument: when it is not valid; nothing is written then.
            StoreFailed: when the storage refuses it.
        """
        source = source_of(document, self.report.noticed(document))
        head = source.head()
        target = self.directory / self.names.name(head)
        unreadable = self._spill.unreadable
        self._spill.begin()
        if _may_hold_media(document):
            self._collect(source)
        with write_whole(target) as file:
            write_source(file, source, spill=self._spill, progress=progress, head=head)
        self.report.media(self._spill.files, self._spill.unreadable - unreadable)
        return target

    def _collect(self, source: Source) -> None:
        for step in source.steps():
            self._spill.collect(step)
        for child in source.children:
            self._collect(child)


def _may_hold_media(document: Outline | atif.Trajectory) -> bool:
    """Whether media could stand in a document; to know costs little beside going through it."""
    if isinstance(document, atif.Trajectory):
        return any(one.has_multimodal_content for one in document.documents())
    return any(
        b"data:" in entry.line or b"DATA:" in entry.line for entry in document.trajectory.entries
    ) or any(_may_hold_media(child) for child in document.children)


def write_source(
    file: BinaryIO,
    source: Source,
    *,
    spill: Spill | None = None,
    indent: int = _INDENT,
    progress: Progress | None = None,
    head: dict[str, Any] | None = None,
    seen: Callable[[Step], None] | None = None,
) -> None:
    """Write one document as JSON text with a line end, step by step.

    Args:
        file: where to.
        source: the document.
        spill: takes its media out, or ``None`` to leave them inline.
        indent: blanks per level; 0 for one line.
        progress: told after every step.
        head: the root, when the caller has it already.
        seen: shown every step as it is written.

    Raises:
        InvalidDocument: when it is not valid.
        InvalidEntry: when something in it is no JSON value.
    """
    writer = _Writer(file, spill, indent, progress, seen)
    writer.document(source, 0, head)
    file.write(b"\n")


class _Writer:
    """Writes the JSON text of one document and of those embedded in it."""

    def __init__(
        self,
        file: BinaryIO,
        spill: Spill | None,
        indent: int,
        progress: Progress | None,
        seen: Callable[[Step], None] | None,
    ) -> None:
        self._file = file
        self._spill = spill
        self._indent = indent
        self._progress = progress
        self._seen = seen
        self._done = 0

    def document(self, source: Source, level: int, head: dict[str, Any] | None = None) -> None:
        """Write a document that stands at a level of nesting."""
        root = source.head() if head is None else head
        if self._spill is not None:
            root = self._spill.rest(root)
        check_head(root)
        self._file.write(b"{")
        for position, (name, value) in enumerate(root.items()):
            self._name(name, level + 1, first=position == 0)
            if name == "steps":
                self._steps(source, level + 1)
            else:
                self._value(value, level + 1)
        if source.children:
            self._name("subagent_trajectories", level + 1, first=False)
            self._children(source, level + 1)
        self._end(level, b"}")

    def _steps(self, source: Source, level: int) -> None:
        self._file.write(b"[")
        number = 0
        for number, found in enumerate(source.steps(), 1):
            step = found if self._spill is None else self._spill.step(found)
            check_step(step, number)
            self._element(level + 1, first=number == 1)
            self._value(step, level + 1)
            self._tell(step)
        if not number:
            raise InvalidDocument([_NO_STEPS])
        self._end(level, b"]")

    def _tell(self, step: Step) -> None:
        self._done += 1
        if self._seen is not None:
            self._seen(step)
        if self._progress is not None:
            self._progress(self._done)

    def _children(self, source: Source, level: int) -> None:
        self._file.write(b"[")
        for position, child in enumerate(source.children):
            self._element(level + 1, first=position == 0)
            self.document(child, level + 1)
        self._end(level, b"]")

    def _name(self, name: str, level: int, *, first: bool) -> None:
        self._element(level, first=first)
        self._file.write(text.encode(name) + (b": " if self._indent else b":"))

    def _element(self, level: int, *, first: bool) -> None:
        self._file.write((b"" if first else b",") + self._line(level))

    def _end(self, level: int, bracket: bytes) -> None:
        self._file.write(self._line(level) + bracket)

    def _line(self, level: int) -> bytes:
        return b"\n" + b" " * (self._indent * level) if self._indent else b""

    def _value(self, value: Any, level: int) -> None:
        written = text.encode(value)
        if self._indent:
            try:
                written = msgspec.json.format(written, indent=self._indent)
            except (msgspec.MsgspecError, RecursionError):
                pass  # nested too deep to be laid out
            else:
                # Inside a string a line feed is escaped, so every one here is layout.
                written = written.replace(b"\n", self._line(level))
        self._file.write(written)


_NO_STEPS: Final = Problem("$.steps", "too-few", "there is no step; readers ask for at least one")


def write_atif(
    directory: str | Path, documents: Iterable[atif.Trajectory | Outline | None]
) -> Report:
    """Write one file for each document and return the report.

    A session's main document is named ``<session id>.json``, which is what references to it
    point at; any other ``<session id>_<trajectory id>.json``. Inline media go into ``images/``
    and ``audio/`` beside them, named by their content. A file is there whole or not at all. A
    document that is not valid is left out with a finding, and the rest goes on.

    Spec: export 12, decision E7.

    Raises:
        StoreFailed: when the storage refuses a file.
    """
    report = ReportBuilder()
    writer = DirectoryWriter(directory, report)
    for document in documents:
        if document is not None:
            report.attempt(document, partial(writer.write, document))
    return report.report()


__all__ = ["DirectoryWriter", "Names", "Progress", "make_ready", "write_atif", "write_source"]
