"""``agentsession migrate``: a session file in a later draft of the format.

Spec: later drafts 12, decision A1.
"""

from __future__ import annotations

import click

from agentsession import versions
from agentsession.cli import sources
from agentsession.cli.commands import (
    Command,
    allow_newer_option,
    complete_file,
    json_option,
    source_arguments,
)
from agentsession.cli.output import Output, open_output, open_plain
from agentsession.cli.report import Report, session_fields
from agentsession.cli.words import short_id
from agentsession.errors import UnsupportedFormat
from agentsession.migration import Migrated, migrate_file


def _version(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    try:
        versions.migration_target(value)
    except UnsupportedFormat as error:
        raise click.BadParameter(str(error)) from None
    return value


@click.command("migrate", cls=Command)
@source_arguments
@click.option(
    "-to",
    "--to",
    "to",
    metavar="VERSION",
    default="0.11",
    callback=_version,
    help="The format; 0.11 by default.",
)
@click.option(
    "-o",
    "-output",
    "--output",
    metavar="OUT",
    required=True,
    help="Write the new file here.",
    shell_complete=complete_file,
)
@click.option("-force", "--force", is_flag=True, help="Replace OUT.")
@allow_newer_option
@json_option
def command(
    *,
    source: str,
    session_id: str,
    to: str,
    output: str,
    force: bool,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """Write a session file in a later format, and check the new file.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one; it
    is only read. Entries get hashes as ids and keep their old id as legacy_id. What
    cannot be rewritten, such as what another session is called by, is kept as it was and
    named; then, or when a request hash is lost, the exit code is 1.

    A session of a later version than is written here cannot be migrated, whether it is read
    with --allow-newer or not.
    """
    with sources.session_path(source, session_id, allow_newer=allow_newer) as path:
        found = migrate_file(path, output, to=to, force=force, allow_newer=allow_newer)
    if as_json:
        with open_plain() as out:
            _write_report(out, source, output, found)
    else:
        with open_output() as out:
            _write_text(out, output, found)
    return 0 if found.whole else 1


def _write_text(out: Output, output: str, found: Migrated) -> None:
    for sentence in found.unresolved:
        out.line(("not rewritten", "bad"), f"  {sentence}")
    for entry_id in found.lost:
        out.line(("hash lost", "bad"), "  ", (short_id(entry_id), "id"))
    out.line(
        f"{len(found.session)} entries are in {output} as {found.session.header.format}; "
        f"their ids and {found.hashes} request hashes verify"
    )
    for note in found.session.notes:
        out.line(("note: ", "note"), note)


def _write_report(out: Output, source: str, output: str, found: Migrated) -> None:
    with Report(out, "migrate") as report:
        report.member("source", source)
        report.member("output", output)
        report.member("session", session_fields(found.session))
        report.member("ok", found.whole)
        report.member("entries", len(found.session))
        report.member("verified", found.hashes)
        report.elements("unresolved", ({"sentence": text} for text in found.unresolved))
        report.member("lost_hashes", list(found.lost))
        report.member("notes", list(found.session.notes))
