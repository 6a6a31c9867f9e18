"""What the commands share: option spellings, help, arguments.

Spec: command A.1, decision C.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from agentsession.cli.output import open_plain

F = TypeVar("F", bound=Callable[..., Any])

HELP_OPTIONS = ("-h", "-help", "--help")

CONTEXT = {"help_option_names": list(HELP_OPTIONS), "max_content_width": 88}


class Command(click.Command):
    """A command whose help goes to standard output in one piece."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart; wrong usage always says of which command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option that prints the help."""
        return _help_option()


class UnknownCommand(click.UsageError):
    """A word that is no command.

    Attributes:
        name: the word.
    """

    def __init__(self, name: str, ctx: click.Context) -> None:
        super().__init__(f'unknown command "{name}"', ctx)
        self.name = name

    def suggestion(self) -> str:
        """Return the command that was probably meant, or an empty string."""
        known = self.ctx.command.rooms if self.ctx and isinstance(self.ctx.command, Group) else {}
        return next(iter(difflib.get_close_matches(self.name, known, 1)), "")


class Group(click.Group):
    """The top command: its subcommands are loaded when they are used.

    Args:
        rooms: by name, the module of a command and its line in the overview.
    """

    def __init__(self, *args: Any, rooms: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rooms = rooms

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C comes out as :class:`click.Abort`.

        Of another interrupt click would make an empty line before it says the same.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option that prints the help."""
        return _help_option()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the overview."""
        return list(self.rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name; its module is imported now."""
        if cmd_name not in self.rooms:
            return None
        command = importlib.import_module(self.rooms[cmd_name][0]).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command the arguments name, with the arguments left for it."""
        name = args[0]
        if not name.startswith("-") and name not in self.rooms:
            raise UnknownCommand(name, ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview of the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.rooms.items()])


def _help_option() -> click.Option:
    return click.Option(
        list(HELP_OPTIONS),
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_help,
        help="Print this help.",
    )


def _print_help(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        print_help(ctx)
        ctx.exit()


def print_help(ctx: click.Context) -> None:
    """Print the help of a context's command on standard output."""
    with open_plain() as out:
        for line in ctx.get_help().splitlines():
            out.line(line)


def complete_file(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Tell a shell that completes words to complete a file name."""
    return [CompletionItem(incomplete, type="file")]


def source_arguments(function: F) -> F:
    """Add SOURCE and ID: a session by its file, or by a store and an id."""
    with_id = click.argument("session_id", metavar="[ID]", default="", required=False)(function)
    return click.argument("source", metavar="SOURCE", shell_complete=complete_file)(with_id)


def allow_newer_option(function: F) -> F:
    """Add ``--allow-newer``."""
    return click.option(
        "-allow-newer",
        "--allow-newer",
        is_flag=True,
        help="Read sessions of a version not known here.",
    )(function)


def jobs_option(words: str) -> Callable[[F], F]:
    """Add ``--jobs``; ``None`` when it is not given.

    Args:
        words: what N processes do, without the full stop.
    """
    told = f"{words}; by default one for each processor for 32 MB and more, else one."
    return click.option("-jobs", "--jobs", metavar="N", type=click.IntRange(min=1), help=told)


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)
