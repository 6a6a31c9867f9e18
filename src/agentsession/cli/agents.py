"""The option ``--from``: which agents' data a command takes.

Spec: decisions C and D.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from agentsession.importers import registry
from agentsession.importers.unread import unread_below

F = TypeVar("F", bound=Callable[..., Any])


def agents_option(words: str) -> Callable[[F], F]:
    """Add ``--from``; a name that is no agent's is wrong usage.

    Args:
        words: the option's line in the help.
    """
    return click.option(
        "-from",
        "--from",
        "agents",
        metavar="AGENT",
        multiple=True,
        callback=_known,
        help=words,
    )


def but_unread(path: str | os.PathLike[str]) -> str:
    """Return what to say behind "holds nothing" where not all that is there can be read."""
    found = unread_below(path)
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"; {found[0]}{more}" if found else ""


def _known(_ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    known = registry.names()
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is no agent; there are: {', '.join(known)}")
    return names
