"""The command's entry point: commands by name, errors as one sentence, exit codes.

Exit codes: 0 success, 1 a problem was found or an error happened, 2 wrong usage; 130
after Ctrl-C.

Spec: command A.1, decision C.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

import click

from agentsession.cli.commands import CONTEXT, Group, UnknownCommand
from agentsession.cli.output import complain, note
from agentsession.errors import AgentSessionError

PROGRAM = "agentsession"

DEBUG_VARIABLE = "AGENTSESSION_DEBUG"
"""Set it to see where an unexpected error comes from."""

_ROOMS = {
    "show": ("agentsession.cli.show", "Print a session: header, entries, context."),
    "verify": ("agentsession.cli.verify", "Rebuild every request and check its hash."),
    "list": ("agentsession.cli.listing", "List the sessions of a store, newest first."),
    "copy": ("agentsession.cli.copy", "Copy sessions from one store to another."),
    "repair": ("agentsession.cli.repair", "Write a clean file of a damaged one."),
    "migrate": ("agentsession.cli.migrate", "Write a session file in a later format."),
    "export": ("agentsession.cli.exporting", "Export sessions as ATIF documents and tables."),
    "import": ("agentsession.cli.importing", "Import the sessions of other agents."),
    "usage": ("agentsession.cli.usage", "Add up the tokens and costs of model calls."),
    "trace": ("agentsession.cli.trace", "Send a session as OpenTelemetry spans."),
    "atif": ("agentsession.cli.atif", "Work with ATIF documents."),
    "completion": ("agentsession.cli.completion", "Print a completion script for a shell."),
    "version": ("agentsession.cli.about", "Print the version."),
    "help": ("agentsession.cli.help", "Print help, also of one command."),
}


@click.group(cls=Group, rooms=_ROOMS, context_settings=CONTEXT, invoke_without_command=True)
@click.option("-version", "--version", is_flag=True, help="Print the version.")
@click.pass_context
def cli(ctx: click.Context, *, version: bool) -> int | None:
    """Check, show and list recorded sessions of coding agents.

    Without a command: what is on this machine, and what to type next.
    """
    if version:
        ctx.exit(ctx.invoke(importlib.import_module(_ROOMS["version"][0]).command))
    if ctx.invoked_subcommand is not None:
        return None
    from agentsession.cli.overview import print_overview  # noqa: PLC0415 - only without a command

    return print_overview()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; nothing but a bug in Python escapes.

    Args:
        argv: the arguments after the program's name; those of the process by default.
    """
    try:
        return _run(argv)
    finally:
        _settle_stdout()


def _run(argv: Sequence[str] | None) -> int:
    try:
        code = cli.main(
            args=None if argv is None else list(argv), prog_name=PROGRAM, standalone_mode=False
        )
    except click.UsageError as error:
        return _wrong_usage(error)
    except click.ClickException as error:
        complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return 130
    except AgentSessionError as error:
        complain(str(error))
    except OSError as error:
        complain(_system_error(error))
    except MemoryError:
        complain("there is not enough memory for this")
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}; please report it, "
            f"{DEBUG_VARIABLE}=1 shows where it comes from"
        )
    else:
        return code if isinstance(code, int) else 0
    return 1


def _wrong_usage(error: click.UsageError) -> int:
    message = " ".join(error.format_message().split()).rstrip(".,")
    complain(message[:1].lower() + message[1:])
    if isinstance(error, UnknownCommand) and error.suggestion():
        note(f"Did you mean {error.suggestion()}?")
    ctx = error.ctx
    if ctx is not None:
        note(*ctx.get_usage().splitlines())
        if isinstance(ctx.command, Group):
            note(f"Commands: {', '.join(ctx.command.rooms)}")
        note(f"Try '{ctx.command_path} --help'.")
    return 2


def _system_error(error: OSError) -> str:
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([*names, reason])


def _settle_stdout() -> None:
    """Drop what Python still holds for a reader that is gone, or it complains at exit."""
    stream = sys.stdout
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
