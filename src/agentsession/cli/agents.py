"""The option ``--from``: which agents' data a command takes.

Spec: decisions C and D.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from agentsession.importers import registry

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


def _known(_ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    known = registry.names()
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is no agent; there are: {', '.join(known)}")
    return names
