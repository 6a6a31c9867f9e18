"""``agentsession list``: the sessions of a store.

Spec: command A.5, decision C.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agentsession import places
from agentsession.cli import sources
from agentsession.cli.commands import Command, allow_newer_option, complete_file, json_option
from agentsession.cli.output import Output, complain, note, open_output, open_plain
from agentsession.cli.report import Report, header_fields
from agentsession.cli.table import row, width_of
from agentsession.errors import AgentSessionError
from agentsession.stores import ListFilter, Summary

_HEADINGS = ("CREATED", "ID", "NAME", "SIZE", "CWD", "CONTINUED IN", "PATH")
_STYLES = ("", "id", "type", "", "", "mark", "name")


@click.command("list", cls=Command)
@click.argument(
    "root", metavar="[ROOT]", default=None, required=False, shell_complete=complete_file
)
@click.option("-cwd", "--cwd", metavar="PATH", default="", help="Sessions of this directory.")
@click.option(
    "-parent",
    "--parent",
    metavar="ID",
    default="",
    help="Sessions spawned or forked from this one.",
)
@click.option(
    "-limit",
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="At most N sessions.",
)
@click.option(
    "-current", "--current", is_flag=True, help="Leave out sessions continued in another one."
)
@click.option(
    "-sizes", "--sizes", is_flag=True, help="Sizes also in a database, which is read for it."
)
@allow_newer_option
@json_option
def command(
    *,
    root: str | None,
    cwd: str,
    parent: str,
    limit: int,
    current: bool,
    sizes: bool,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """List the sessions of a store, newest first.

    ROOT is the directory of a file store, or a SQLite database; without it,
    $AGENTSESSION_HOME or the platform's directory for data.
    """
    wanted = ListFilter(
        cwd=cwd,
        parent_session=parent,
        limit=limit,
        current=current,
        with_names=True,
        with_sizes=sizes,
    )
    place = _default_root() if root is None else root
    found: list[Summary | AgentSessionError] = []
    if root is not None or Path(place).exists():
        with sources.open_store(place, allow_newer=allow_newer) as store:
            found = list(store.list(wanted))
        if not found and sources.hint(Path(place)):
            note(f"{place} holds no sessions{sources.hint(Path(place))}")
    else:
        note(f"no sessions yet in {place}")
    summaries = [item for item in found if isinstance(item, Summary)]
    errors = [item for item in found if not isinstance(item, Summary)]
    if as_json:
        with open_plain() as out:
            _write_report(out, place, summaries, errors)
    else:
        with open_output() as out:
            _write_table(out, summaries)
    for error in errors:
        complain(str(error))
    return 1 if errors else 0


def _default_root() -> str:
    place = str(places.default_store())
    note(f"listing {place}; give a store, or set {places.HOME_VARIABLE}, for another place")
    return place


def _write_table(out: Output, summaries: list[Summary]) -> None:
    rows = [_HEADINGS, *(_cells(summary) for summary in summaries)]
    widths = [width_of(column) for column in zip(*rows, strict=True)]
    out.line(*row(_HEADINGS, widths, ("heading",) * len(_HEADINGS)))
    for texts in rows[1:]:
        if out.closed:
            return
        out.line(*row(texts, widths, _STYLES))


def _cells(summary: Summary) -> tuple[str, ...]:
    created = summary.header.created_at
    return (
        f"{created.sql()[:19]}Z" if created else "-",
        summary.id,
        summary.name or "-",
        "-" if summary.size is None else str(summary.size),
        summary.header.cwd or "-",
        summary.superseded_by or "-",
        summary.file or "-",
    )


def _write_report(
    out: Output, root: str, summaries: list[Summary], errors: list[AgentSessionError]
) -> None:
    with Report(out, "list") as report:
        report.member("root", root)
        report.elements("sessions", (_summary_fields(summary) for summary in summaries))
        report.member("errors", [str(error) for error in errors])


def _summary_fields(summary: Summary) -> dict[str, Any]:
    return {
        **header_fields(summary.header),
        "name": summary.name,
        "continued_in": summary.superseded_by,
        "size": summary.size,
        "modified": str(summary.modified) if summary.modified else None,
        "path": summary.file or None,
    }
