"""``agentsession version``."""

from __future__ import annotations

import click

import agentsession
from agentsession import versions
from agentsession.cli.commands import Command, json_option
from agentsession.cli.output import open_plain
from agentsession.cli.report import Report


@click.command("version", cls=Command)
@json_option
def command(*, as_json: bool) -> int:
    """Print the version of this release and the formats it knows."""
    reads = [
        versions.format_name(version) for version in (versions.WRITABLE[0], versions.NEWEST_READ)
    ]
    writes = [versions.format_name(version) for version in versions.WRITABLE]
    with open_plain() as out:
        if as_json:
            with Report(out, "version") as report:
                report.member("version", agentsession.__version__)
                report.member("reads", reads)
                report.member("writes", writes)
        else:
            out.line(f"agentsession {agentsession.__version__}")
            out.line(f"reads {' to '.join(reads)}, writes {', '.join(writes)}")
    return 0
