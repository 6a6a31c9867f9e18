"""``agentsession copy``: sessions from one store to another.

Spec: decisions B3, B4 and C.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agentsession.cli import sources
from agentsession.cli.commands import Command, allow_newer_option, complete_file, json_option
from agentsession.cli.output import Output, complain, open_output, open_plain
from agentsession.cli.progress import Progress
from agentsession.cli.report import Report
from agentsession.findings import Finding, by_kind
from agentsession.recovery import salvage
from agentsession.stores import open_store
from agentsession.stores.copying import Copied, Outcome, copy_session, copy_sessions

_STYLES = {Outcome.COPIED: "good", Outcome.EXTENDED: "good", Outcome.FAILED: "bad"}
_COUNTED = {
    Outcome.COPIED: "copied",
    Outcome.EXTENDED: "extended",
    Outcome.PRESENT: "already there",
    Outcome.FAILED: "failed",
}


@click.command("copy", cls=Command)
@click.argument("source", metavar="SOURCE", shell_complete=complete_file)
@click.argument("target", metavar="TARGET", shell_complete=complete_file)
@click.argument("session_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "-salvage", "--salvage", "salvaging", is_flag=True, help="Copy what is left of damaged files."
)
@allow_newer_option
@json_option
def command(
    *,
    source: str,
    target: str,
    session_ids: tuple[str, ...],
    salvaging: bool,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """Copy sessions from one store to another, every line as it is.

    SOURCE is a store or a session file. TARGET is a store, made when it is not there: a
    directory, or a SQLite database when its name ends in .db, .sqlite or .sqlite3. Without
    ID, all sessions are copied; an ID may be the beginning of one.

    Each session is read back and compared, and keeps the time it was last written to. What
    is there already is left as it is, so the same command goes on after an interruption.
    Exits with 1 when something was left out.
    """
    _refuse_same(source, target)
    done = _copied(source, target, session_ids, salvaging=salvaging, allow_newer=allow_newer)
    if as_json:
        with open_plain() as out:
            _write_report(out, source, target, done)
    else:
        with open_output() as out:
            _write_text(out, done)
    for copied in done:
        for told in by_kind(copied.findings):
            complain(told)
    return 0 if all(copied.ok for copied in done) else 1


def _refuse_same(source: str, target: str) -> None:
    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise click.UsageError(
            f"{source} cannot be copied to itself", click.get_current_context(silent=True)
        )


def _copied(
    source: str,
    target: str,
    session_ids: Sequence[str],
    *,
    salvaging: bool,
    allow_newer: bool,
) -> list[Copied]:
    if not sources.is_store(source):
        return [
            _copied_file(source, target, session_ids, salvaging=salvaging, allow_newer=allow_newer)
        ]
    with sources.open_store(source, allow_newer=allow_newer) as store:
        chosen = sources.chosen(store, source, session_ids) if session_ids else None
        with open_store(target) as opened, Progress(sys.stderr) as progress:
            try:
                return list(
                    copy_sessions(
                        store,
                        opened,
                        chosen,
                        salvaging=salvaging,
                        on_start=lambda number, total, _: progress.show(number, total),
                    )
                )
            except KeyboardInterrupt:
                progress.clear()
                complain("what was copied so far is in the target; run the copy again to go on")
                raise


def _copied_file(
    source: str,
    target: str,
    session_ids: Sequence[str],
    *,
    salvaging: bool,
    allow_newer: bool,
) -> Copied:
    status = os.stat(source)
    # A pipe was not written to at some time.
    modified_ns = status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None
    damages: tuple[Finding, ...] = ()
    if salvaging and not session_ids:
        found = salvage(source)
        session, damages = found.session, tuple(damage.finding for damage in found.damages)
    else:
        session = sources.open_session(source, *session_ids[:1], allow_newer=allow_newer)
    with open_store(target) as opened:
        copied = copy_session(session, opened, modified_ns=modified_ns)
    return copied.with_findings(damages)


def _write_text(out: Output, done: Sequence[Copied]) -> None:
    for copied in done:
        if copied.session_id and copied.outcome is not Outcome.PRESENT:
            out.line(
                (f"{copied.outcome:<8}", _STYLES[copied.outcome]),
                "  ",
                (copied.session_id, "id"),
                f"  {copied.entries} entries" if copied.outcome is not Outcome.FAILED else "",
            )
    counts = _counts(done)
    out.line(", ".join(f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items()))


def _counts(done: Sequence[Copied]) -> dict[Outcome, int]:
    outcomes = [copied.outcome for copied in done]
    return {outcome: outcomes.count(outcome) for outcome in Outcome}


def _write_report(out: Output, source: str, target: str, done: Sequence[Copied]) -> None:
    with Report(out, "copy") as report:
        report.member("source", source)
        report.member("target", target)
        report.member("totals", {str(outcome): n for outcome, n in _counts(done).items()})
        report.elements("sessions", (_fields(copied) for copied in done if copied.session_id))
        report.elements(
            "findings",
            (
                {"session": copied.session_id or None, **finding.to_dict()}
                for copied in done
                for finding in copied.findings
            ),
        )


def _fields(copied: Copied) -> dict[str, Any]:
    return {
        "id": copied.session_id,
        "outcome": str(copied.outcome),
        "entries": copied.entries,
    }
