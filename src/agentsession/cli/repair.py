"""``agentsession repair``: a clean file of a damaged one, and a report of the damage.

Spec: design "Damage is data", decision B4.
"""

from __future__ import annotations

import click

from agentsession.cli import sources
from agentsession.cli.commands import (
    Command,
    allow_newer_option,
    complete_file,
    json_option,
    source_arguments,
)
from agentsession.cli.output import Output, open_output, open_plain
from agentsession.cli.report import Report
from agentsession.findings import counts
from agentsession.recovery import REPORT_SUFFIX, Salvaged, repair


@click.command("repair", cls=Command)
@source_arguments
@click.option(
    "-o",
    "-output",
    "--output",
    metavar="OUT",
    required=True,
    help="Write the clean file here.",
    shell_complete=complete_file,
)
@click.option(
    "-report",
    "--report",
    "report_file",
    metavar="FILE",
    default="",
    help="Write the damage report here; by default to OUT.damage.json.",
    shell_complete=complete_file,
)
@click.option("-force", "--force", is_flag=True, help="Replace OUT and its report.")
@allow_newer_option
@json_option
def command(
    *,
    source: str,
    session_id: str,
    output: str,
    report_file: str,
    force: bool,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """Write a clean file of a damaged session file, and a report of what was damaged.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one; it
    is only read. The clean file holds everything that can be had, and reads without
    error; the report says of every byte that is left out where it was and why. Exits with 1
    when there was damage.

    A file of a version not known here is taken as it is; in a store such a session is found
    with --allow-newer.
    """
    report = report_file or output + REPORT_SUFFIX
    name = f"{source} {session_id}".rstrip()
    with sources.session_path(source, session_id, allow_newer=allow_newer) as path:
        found = repair(path, output, report=report, force=force, name=name)
    if as_json:
        with open_plain() as out:
            _write_report(out, source, output, report, found)
    else:
        with open_output() as out:
            _write_text(out, output, report, found)
    return 0 if found.ok else 1


def _write_text(out: Output, output: str, report: str, found: Salvaged) -> None:
    for damage in found.damages:
        place = f"{damage.where}: " if damage.where else ""
        times = f" ({damage.count} times)" if damage.count > 1 else ""
        out.line((damage.code, "bad"), f"  {place}{damage.sentence}{times}")
    lost = f"{found.lost} of {found.size} bytes are left out"
    out.line(
        f"{len(found.damages)} {sources.damages(len(found.damages))}, {lost}"
        if found.damages
        else "nothing is damaged",
        f"; {len(found.session)} entries are in {output}, the report is in {report}",
    )


def _write_report(out: Output, source: str, output: str, report: str, found: Salvaged) -> None:
    with Report(out, "repair") as written:
        written.member("source", source)
        written.member("output", output)
        written.member("report", report)
        written.member("session", found.session.id)
        written.member("ok", found.ok)
        written.member("entries", len(found.session))
        written.member("lines", found.lines)
        written.member("bytes", found.size)
        written.member("bytes_lost", found.lost)
        written.elements(
            "codes", ({"code": code, "count": n} for code, n in counts(found.damages).items())
        )
        written.elements("damages", (damage.to_dict() for damage in found.damages))
