"""``agentsession import``: sessions of other agents, found, converted and written to a store.

Spec: decisions B4, C and D.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import date
from pathlib import Path
from typing import BinaryIO, Final

import click
import msgspec

from agentsession import places
from agentsession.cli.agents import agents_option, but_unread
from agentsession.cli.commands import Command, complete_file, jobs_option, json_option
from agentsession.cli.looking import print_found
from agentsession.cli.output import Output, complain, note, open_output, open_plain
from agentsession.cli.progress import Progress
from agentsession.cli.report import Report
from agentsession.errors import AgentSessionError, UnsupportedFormat
from agentsession.importers import registry
from agentsession.importers.base import Importer
from agentsession.importers.identity import written_format
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Choice, Work, import_sessions, jobs_for, problem_of

_TEXT: Final = "text"
_JSON: Final = "json"


def _date(_ctx: click.Context, _param: click.Parameter, value: str) -> date | None:
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a date such as 2026-03-01") from None


def _format(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    try:
        return written_format(value)
    except UnsupportedFormat as error:
        raise click.BadParameter(str(error)) from None


@click.command("import", cls=Command)
@click.argument("sources", metavar="[AGENT] [PATH]...", nargs=-1, shell_complete=complete_file)
@click.option("-to", "--to", metavar="STORE", default="", help="Write to this store.")
@agents_option("Only this agent.")
@click.option(
    "-session", "--session", "sessions", metavar="ID", multiple=True, help="Only this session."
)
@click.option(
    "-since",
    "--since",
    metavar="DATE",
    default="",
    callback=_date,
    help="Only sessions active on or after a local date.",
)
@click.option(
    "-format",
    "--format",
    "to_format",
    metavar="0.3|0.11",
    default="0.3",
    callback=_format,
    help="The format of new sessions; 0.3 by default.",
)
@click.option(
    "-dry-run", "--dry-run", is_flag=True, help="Convert and report, but write no session."
)
@jobs_option("Convert and write with N processes")
@click.option(
    "-report",
    "--report",
    metavar="text|json|FILE",
    default=_TEXT,
    help="Print the report, or write its JSON to a file.",
)
@json_option
def command(
    *,
    sources: tuple[str, ...],
    to: str,
    agents: tuple[str, ...],
    sessions: tuple[str, ...],
    since: date | None,
    to_format: str,
    dry_run: bool,
    jobs: int | None,
    report: str,
    as_json: bool,
) -> int:
    """Import the sessions of other agents; without arguments, look for some.

    AGENT is an importer's name; PATH is an agent's data: a directory that holds some, or a
    file of it. Without PATH, the places that the agent uses on this machine are imported.
    Nothing there is ever changed. Importing again appends only what is new, also after an
    import that was interrupted. Exits with 1 when something could not be read.
    """
    importers, paths = _asked(sources, agents)
    form = _JSON if as_json else report
    works = [work for work in (_work(importer, paths) for importer in importers) if work.sources]
    if not (sources or to or dry_run or sessions or since):
        return print_found(works, [importer.name for importer in importers], as_json=form == _JSON)
    lost = _without_sources(importers, works, paths)
    if not works:
        raise AgentSessionError(_nothing(importers, lost))
    _check_report(form)
    target = to or _default_target(dry_run=dry_run)
    _check_place(target, works, paths)
    with _spool(form) as records:
        with _resumable(), Progress(sys.stderr) as progress:
            done = import_sessions(
                works,
                target,
                choice=Choice(sessions, since),
                dry_run=dry_run,
                jobs=jobs or jobs_for(works),
                records=records,
                progress=progress.show,
                format=to_format,
            )
        _write(done, form, records)
    for path in lost:
        complain(f"{path} holds nothing that an importer knows{but_unread(path)}")
    alarms = len(done.more["alarms"])
    if alarms:
        complain(f"the import is not whole: {alarms} problem(s), which the report lists")
    return 1 if lost or alarms else 0


def _asked(words: Sequence[str], agents: Sequence[str]) -> tuple[list[Importer], list[Path]]:
    """The importers that were asked for, and the paths.

    Raises:
        UsageError: when the first word is another agent than those of ``--from``.
    """
    known = registry.names()
    chosen = list(agents)
    if words and words[0] in known:
        if chosen and words[0] not in chosen:
            named = " --from ".join(chosen)
            raise click.UsageError(f"{words[0]} and --from {named} are different agents; name one")
        chosen, words = chosen or [words[0]], words[1:]
    paths = [Path(word) for word in words]
    missing = [path for path in paths if not path.exists()]
    if missing and not chosen and len(missing[0].parts) == 1:
        raise AgentSessionError(
            f"{missing[0]} is neither an agent nor a file; the agents are {', '.join(known)}"
        )
    if missing:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(missing[0]))
    return [registry.load(name) for name in dict.fromkeys(chosen or known)], paths


def _work(importer: Importer, paths: Sequence[Path]) -> Work:
    return Work(importer, tuple(importer.find(paths)))


def _without_sources(
    importers: Sequence[Importer], works: Sequence[Work], paths: Sequence[Path]
) -> list[Path]:
    """The paths at which nothing was found."""
    if len(paths) < 2:
        return [] if works else list(paths)
    return [path for path in paths if not any(importer.find([path]) for importer in importers)]


def _nothing(importers: Sequence[Importer], paths: Sequence[Path]) -> str:
    names = ", ".join(importer.name for importer in importers)
    if paths:
        unread = "".join(map(but_unread, paths))
        return f"{', '.join(map(str, paths))}: holds nothing of {names}{unread}"
    return f"nothing of {names} is at its usual place here; give the path of its data"


def _default_target(*, dry_run: bool) -> Path | None:
    place = places.default_store()
    if dry_run:
        return place if place.exists() else None
    note(f"importing into {place}; --to STORE names another place")
    return place


def _check_place(target: str | Path | None, works: Sequence[Work], named: Sequence[Path]) -> None:
    problem = problem_of(target, works, named) if target is not None else ""
    if problem:
        raise click.UsageError(problem)


@contextmanager
def _resumable() -> Iterator[None]:
    """Say after Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        complain("what was imported so far is in the store; run the import again to go on")
        raise


def _check_report(form: str) -> None:
    """Fail before an import, not after it, when its report has no place."""
    if form in (_TEXT, _JSON):
        return
    parent = Path(form).absolute().parent
    if not parent.is_dir() or Path(form).is_dir():
        raise AgentSessionError(f"the report cannot be written to {form}: give the name of a file")


def _spool(form: str) -> AbstractContextManager[BinaryIO | None]:
    """A file for the records of the report, which may be too many to hold; none for text."""
    return nullcontext() if form == _TEXT else tempfile.TemporaryFile()


def _write(done: ImportReport, form: str, records: BinaryIO | None) -> None:
    if form == _JSON:
        with open_plain() as out:
            _write_json(out, done, records)
        return
    if form != _TEXT:
        with open(form, "w", encoding="utf-8") as file, Output(file) as out:
            _write_json(out, done, records)
    with open_output() as out:
        for line in done.lines():
            out.line(line)
        if form != _TEXT:
            out.line(f"report   {form}")


def _write_json(out: Output, done: ImportReport, records: BinaryIO | None) -> None:
    with Report(out, "import") as report:
        report.member("totals", done.totals)
        report.member("findings", [finding.to_dict() for finding in done.findings])
        for name, value in done.more.items():
            report.member(name, value)
        report.elements("records", _lines(records))


def _lines(records: BinaryIO | None) -> Iterator[msgspec.Raw]:
    if records is not None:
        records.seek(0)
        yield from map(msgspec.Raw, records)
