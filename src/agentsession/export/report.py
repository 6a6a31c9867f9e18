"""What an export tells: totals and findings, the same as a value and as JSON.

Spec: decisions D11 and E7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentsession import atif, damage
from agentsession.atif import InvalidDocument
from agentsession.errors import InvalidEntry
from agentsession.export.outline import Counts, Outline
from agentsession.export.source import Noticed
from agentsession.findings import Finding, Report, merged

TOTALS: Final = (
    "sessions",
    "documents",
    "steps",
    "tool_calls",
    "model_calls",
    "folded_model_calls",
    "failed_calls_left_out",
    "embedded_documents",
    "degraded_media",
    "media_files",
    "redacted",
    "left_out",
)
"""The names of all totals."""

CUT_TAIL: Final = "cut-tail"

_OF_SESSIONS: Final = frozenset(damage.CODES) | {CUT_TAIL}
"""The codes of what was wrong with a session as it was opened."""

INCOMPLETE: Final = _OF_SESSIONS | {
    "invalid-document",
    "no-context",
    "no-steps",
    "unreadable-session",
    "secret-remains",
}
"""The codes that say something was left out or damaged; the command then exits with 1."""

_SECRETS: Final = frozenset({"secret-redacted", "secret-remains"})
"""The codes whose findings are told one by one, each with its place, as damages are."""


class ReportBuilder:
    """Gathers what exports have to tell."""

    def __init__(self) -> None:
        self._totals = dict.fromkeys(TOTALS, 0)
        self._findings: list[Finding] = []
        self._files: list[str] = []
        self._media: dict[str, None] = {}

    def wrote(self, path: Path) -> None:
        """Remember the file of a document."""
        self._files.append(str(path))

    def count(self, name: str, number: int = 1) -> None:
        """Add to a total."""
        self._totals[name] += number

    def find(self, code: str, sentence: str, where: str = "", count: int = 1) -> None:
        """Add a finding."""
        self._findings.append(Finding(code, sentence, where, count))

    def remains(self, findings: Iterable[Finding]) -> None:
        """Add findings about what still looks like a secret."""
        self._findings += findings

    def damaged(self, session_id: str, findings: Iterable[Finding]) -> None:
        """Add what was wrong with a session that was opened all the same."""
        self._findings += [
            replace(one, where=f"{session_id} {one.where}".rstrip()) for one in findings
        ]

    def left_out(self, code: str, sentence: str, where: str) -> None:
        """Add a finding about something that was left out."""
        self.count("left_out")
        self.find(code, sentence, where)

    def attempt(self, document: Outline | atif.Trajectory, write: Callable[[], object]) -> bool:
        """Write a document; return whether it is there. An invalid one becomes a finding."""
        where = place_of(document)
        if isinstance(document, Outline) and document.is_empty:
            self.left_out("no-steps", "a path has no step to show and was left out", where)
            return False
        try:
            write()
        except InvalidDocument as error:
            self.left_out("invalid-document", f"a document was left out: {error}", where)
            return False
        except InvalidEntry as error:
            self.left_out("invalid-document", f"a document was left out: {error}", where)
            return False
        self.document(document)
        return True

    def document(self, document: Outline | atif.Trajectory) -> None:
        """Count a document that was written."""
        self.count("documents")
        if isinstance(document, Outline):
            self._outline(document)
            return
        for one in document.documents():
            self.count("steps", len(one.steps))
            self.count("tool_calls", sum(len(step.tool_calls or ()) for step in one.steps))
            self.count("embedded_documents", one is not document)

    def _outline(self, outline: Outline) -> None:
        counts = outline.counts()
        self._numbers(counts)
        self._findings += outline.findings
        where = place_of(outline)
        if counts.folded:
            self.find(
                "folded-calls",
                "a model call was folded away by a compaction and has no step",
                where,
                counts.folded,
            )
        if counts.dropped:
            self.find(
                "failed-call-left-out",
                "a failed model call was left out with the outputs of its calls, as asked",
                where,
                counts.dropped,
            )
        for kind, count in sorted(counts.degraded.items()):
            self.find(
                f"degraded-{kind}",
                f"a part of kind {kind} became text, which is all ATIF has for it"
                if not outline.options.text_only
                else f"a part of kind {kind} became text, as asked",
                where,
                count,
            )

    def _numbers(self, counts: Counts) -> None:
        self.count("steps", counts.steps)
        self.count("tool_calls", counts.tool_calls)
        self.count("model_calls", counts.model_calls)
        self.count("folded_model_calls", counts.folded)
        self.count("failed_calls_left_out", counts.dropped)
        self.count("embedded_documents", counts.embedded)
        self.count("degraded_media", sum(counts.degraded.values()))

    def media(self, files: Iterable[Path], unreadable: int) -> None:
        """Remember the media files of a document; count data URLs that could not be decoded."""
        self._media.update(dict.fromkeys(map(str, files)))
        if unreadable:
            self.find(
                "unreadable-media",
                "a data URL could not be decoded and became text",
                "",
                unreadable,
            )

    def noticed(self, document: Outline | atif.Trajectory) -> Noticed:
        """Return what takes down what a detector took out of a document."""
        where = place_of(document)
        told: set[tuple[str, str]] = set()

        def notice(kind: str, place: str, count: int) -> None:
            # A document is gone through more than once.
            if (kind, place) not in told:
                told.add((kind, place))
                self.count("redacted", count)
                self.find(
                    "secret-redacted",
                    f"something that looks like a secret was taken out: {kind}",
                    f"{where} {place}",
                    count,
                )

        return notice

    def add(self, report: Report) -> None:
        """Take in the report of a part of the work."""
        for name in TOTALS:
            self.count(name, report.totals.get(name, 0))
        self._findings += [one for one in report.findings if isinstance(one, Finding)]
        self._files += report.more.get("files", ())
        self._media.update(dict.fromkeys(report.more.get("media", ())))

    def report(self) -> Report:
        """Return what was gathered."""
        # A session that others link to is opened more than once.
        damages = dict.fromkeys(one for one in self._findings if one.code in _OF_SESSIONS)
        others = [one for one in self._findings if one.code not in _OF_SESSIONS]
        findings = [
            *damages,
            *merged(one for one in others if one.code not in _SECRETS),
            *(one for one in others if one.code in _SECRETS),
        ]
        # Documents share media files: each is one, whoever wrote it.
        totals = {**self._totals, "media_files": len(self._media)}
        more = {"files": list(self._files), "media": list(self._media)}
        return Report(totals, tuple(findings), more)


def place_of(document: Outline | atif.Trajectory) -> str:
    """Return how people call a document: its session and its leaf."""
    if isinstance(document, Outline):
        session_id, trajectory_id = document.trajectory.header.id, document.trajectory_id
    else:
        session_id, trajectory_id = document.session_id or "", document.trajectory_id or ""
    return " ".join(filter(None, (session_id, trajectory_id)))


def is_whole(report: Report) -> bool:
    """Return whether nothing was left out or damaged, so that a command may exit with 0.

    Spec: decision B4.
    """
    return not any(finding.code in INCOMPLETE for finding in report.findings)
