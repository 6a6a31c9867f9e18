"""``agentsession verify``: whether a session's requests and records are what it says.

Spec: command A.3, decisions A8, A9 and C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from agentsession import strictness
from agentsession.cli import sources
from agentsession.cli.commands import Command, allow_newer_option, json_option, source_arguments
from agentsession.cli.output import Output, Span, open_output, open_plain
from agentsession.cli.report import Report, session_fields, truncated_fields
from agentsession.cli.words import short_id
from agentsession.leaf_records import LeafRecords
from agentsession.session import Session
from agentsession.verification import Form, Outcome, Result, Verification

_NOTHING = "nothing to verify: the session has a header and no entries"

_UNCLEAR_SHOWN = 5


@click.command("verify", cls=Command)
@source_arguments
@allow_newer_option
@json_option
def command(*, source: str, session_id: str, allow_newer: bool, as_json: bool) -> int:
    """Rebuild every request of a session and compare its hash; check its records.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one.
    Exits with 1 when a hash differs, a record check fails, or the file was cut short.
    """
    session = sources.open_session(source, session_id, allow_newer=allow_newer)
    check = _Check.of(session)
    if as_json:
        with open_plain() as out:
            _write_report(out, source, check)
    else:
        with open_output() as out:
            _write_text(out, check)
    return 0 if check.ok else 1


@dataclass(frozen=True, slots=True)
class _Check:
    """Everything that was checked of one session."""

    session: Session
    hashes: Verification
    records: tuple[LeafRecords, ...]

    @classmethod
    def of(cls, session: Session) -> _Check:
        return cls(session, session.verify_all(), session.verify_all_records())

    @property
    def ok(self) -> bool:
        return (
            self.hashes.ok
            and len(self.session) > 0
            and self.session.truncated is None
            and all(record.ok for record in self.records)
        )

    @property
    def failed(self) -> int:
        return self.hashes.count(Outcome.MISMATCH) + self.hashes.count(Outcome.ERROR)

    def notes(self) -> list[str]:
        """What is worth knowing and no failure."""
        notes = []
        for form in (Form.NORMALISED, Form.NORMALISED_DROPPED):
            matched = [result for result in self.hashes if result.form == form]
            if matched:
                notes.append(
                    f"{_listed(matched)} matched in the {form} form: the writer hashed items as "
                    "its types write them, not as they stand in the file"
                )
        for record in self.records:
            notes += [f"records to {record.leaf}: {note}" for note in record.notes]
        return [*notes, *self._unclear(), *self.session.notes]

    def _unclear(self) -> list[str]:
        """What a reader forgives in the bodies of entries, and other readers may take otherwise."""
        found = list(strictness.findings(self.session))
        more = len(found) - _UNCLEAR_SHOWN
        return [*found[:_UNCLEAR_SHOWN], f"and {more} more"] if more > 0 else found


def _listed(results: list[Result]) -> str:
    shown = ", ".join(short_id(result.entry_id) for result in results[:5])
    more = len(results) - 5
    return f"{shown} and {more} more" if more > 0 else shown


def _write_text(out: Output, check: _Check) -> None:
    for result in check.hashes:
        out.line((result.entry_id, "id"), "  ", _finding(result))
    verified, unhashed = check.hashes.count(Outcome.OK), check.hashes.count(Outcome.NO_HASH)
    out.line(f"{verified} verified, {unhashed} without hash, {check.failed} failed")
    if not len(check.session):
        out.line((_NOTHING, "bad"))
    for record in check.records:
        if record.error is not None:
            out.line("records to ", (record.leaf, "id"), "  ", ("ERROR", "bad"), f" {record.error}")
    if check.session.truncated is not None:
        out.line(("truncated: ", "bad"), str(check.session.truncated))
    for note in check.notes():
        out.line(("note: ", "note"), note)


def _finding(result: Result) -> Span:
    if result.outcome == Outcome.OK:
        return "ok", "good"
    if result.outcome == Outcome.NO_HASH:
        return "no hash recorded"
    if result.outcome == Outcome.MISMATCH:
        return f"MISMATCH recorded {result.recorded}", "bad"
    return f"ERROR {result.message}", "bad"


def _write_report(out: Output, source: str, check: _Check) -> None:
    session = check.session
    with Report(out, "verify") as report:
        report.member("source", source)
        report.member("session", session_fields(session))
        report.member("ok", check.ok)
        report.member("entries", len(session))
        report.member("verified", check.hashes.count(Outcome.OK))
        report.member("no_hash", check.hashes.count(Outcome.NO_HASH))
        report.member("failed", check.failed)
        report.elements("responses", (_result_fields(result) for result in check.hashes))
        report.elements(
            "records",
            (
                {
                    "leaf": record.leaf,
                    "error": None if record.ok else str(record.error),
                    "notes": list(record.notes),
                }
                for record in check.records
            ),
        )
        report.member("truncated", truncated_fields(session.truncated))
        report.member("notes", check.notes())


def _result_fields(result: Result) -> dict[str, Any]:
    return {
        "entry": result.entry_id,
        "outcome": str(result.outcome),
        "form": str(result.form) if result.form else None,
        "recorded": result.recorded or None,
        "rebuilt": result.rebuilt or None,
        "message": result.message or None,
    }
