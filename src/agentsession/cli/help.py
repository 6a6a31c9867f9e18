"""``agentsession help``."""

from __future__ import annotations

import click

from agentsession.cli.commands import Command, Group, print_help


@click.command("help", cls=Command)
@click.argument("name", metavar="[COMMAND]", default="", required=False)
@click.pass_context
def command(ctx: click.Context, name: str) -> int:
    """Print help: of the program, or of one command."""
    top = ctx.parent
    if top is None or not isinstance(top.command, Group):
        print_help(ctx)
        return 0
    if not name:
        print_help(top)
        return 0
    _, found, _ = top.command.resolve_command(top, [name])
    if found is not None:
        print_help(click.Context(found, info_name=name, parent=top))
    return 0
