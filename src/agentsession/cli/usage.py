"""``agentsession usage``: what model calls used and cost, each call once.

Spec: decisions B4, C and D12.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from agentsession import places
from agentsession.cli import sources
from agentsession.cli.agents import agents_option, but_unread
from agentsession.cli.commands import Command, allow_newer_option, complete_file, json_option
from agentsession.cli.output import Output, complain, open_output, open_plain
from agentsession.cli.report import Report
from agentsession.cli.table import row, width_of
from agentsession.errors import AgentSessionError, DamagedFile
from agentsession.findings import Finding
from agentsession.findings import Report as Counted
from agentsession.importers import registry
from agentsession.importers.base import Importer, Source
from agentsession.importers.counted import By, Count
from agentsession.importers.prices import load_prices
from agentsession.importers.usage import (
    UNREADABLE,
    Tell,
    UsageRecord,
    of_session,
    of_source,
)
from agentsession.reading import read

_HEADINGS: Final = (
    "CALLS",
    "INPUT",
    "CACHE READ",
    "CACHE WRITE",
    "FOR 1H",
    "OUTPUT",
    "REASONING",
    "COST",
)
_NUMBERS: Final = (
    "calls",
    "input_tokens",
    "cached_tokens",
    "cache_creation_tokens",
    "cache_creation_1h_tokens",
    "output_tokens",
    "reasoning_tokens",
)


@click.command("usage", cls=Command)
@click.argument("given", metavar="[STORE|PATH]...", nargs=-1, shell_complete=complete_file)
@click.option(
    "-by",
    "--by",
    "by",
    type=click.Choice([str(by) for by in By]),
    default=str(By.MODEL),
    help="What to group by; by model when not given.",
)
@agents_option("Only this agent's files.")
@click.option(
    "-prices",
    "--prices",
    "prices",
    metavar="FILE",
    default="",
    help="Prices of models, for calls without a recorded cost.",
)
@allow_newer_option
@json_option
def command(
    *,
    given: tuple[str, ...],
    by: str,
    agents: tuple[str, ...],
    prices: str,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """Add up the tokens that model calls used, and what they cost.

    STORE is a store or a session file; PATH is an agent's own data, which is read as it is
    and need not be imported. Without either: the data of all agents on this machine, then
    the default store. Each call counts once, whatever the copies, and in whatever sources
    they stand. Exits with 1 when something could not be read.
    """
    count = Count(load_prices(prices) if prices else None)
    known = [registry.load(name) for name in agents or registry.names()]
    stores = None if agents else _Stores(count.tell, allow_newer)
    for place, (where, records) in enumerate(_sources(known, given, count.tell, stores)):
        _add(count, place, where, records)
    done = count.report(By(by))
    if as_json:
        with open_plain() as out:
            _write_json(out, done)
    else:
        with open_output() as out:
            _write_text(out, done)
    for finding in count.alarms:
        complain(str(finding))
    return 0 if count.ok else 1


_Named = tuple[str, Iterator[UsageRecord]]


class _Stores(NamedTuple):
    """How sessions of this format are read.

    Attributes:
        tell: called with what could not be read.
        allow_newer: whether sessions of a version not known here are.
    """

    tell: Tell
    allow_newer: bool

    def of(self, place: str) -> Iterator[UsageRecord]:
        """Yield the usage of every session of a store, one session at a time."""
        from agentsession.stores import Summary  # noqa: PLC0415 - not needed for agents' files

        with sources.open_store(place, allow_newer=self.allow_newer) as store:
            for found in store.list():
                if not isinstance(found, Summary):
                    self.tell(Finding(UNREADABLE, _problem(found, place), place))
                    continue
                try:
                    session = store.open(found.id)
                except (AgentSessionError, OSError) as error:
                    self.tell(Finding(UNREADABLE, str(error), f"{place}, session {found.id}"))
                    continue
                yield from of_session(session)


def _sources(
    importers: Sequence[Importer], given: Sequence[str], tell: Tell, stores: _Stores | None
) -> Iterator[_Named]:
    """Yield where usage is recorded, and the records; without ``stores`` of agents alone."""
    if not given:
        for importer in importers:
            yield from _of_agent(importer, importer.find(), tell)
        store = places.default_store()
        if stores and store.exists():
            yield str(store), stores.of(str(store))
        return
    for word in given:
        path = Path(word)
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), word)
        if stores and _is_own_database(word):
            # An agent's databases are SQLite too, and its importer would look in this one.
            yield word, stores.of(word)
            continue
        found = [
            one
            for importer in importers
            for one in _of_agent(importer, importer.find([path]), tell)
        ]
        if found:
            yield from found
        elif not stores:
            named = ", ".join(importer.name for importer in importers)
            raise AgentSessionError(f"{word} holds nothing of {named}{but_unread(word)}")
        elif sources.is_store(word):
            yield word, stores.of(word)
        else:
            yield word, of_session(read(word, allow_newer=stores.allow_newer))


def _problem(error: AgentSessionError, place: str) -> str:
    """What is wrong, without the place where that is told beside it."""
    if isinstance(error, DamagedFile) and error.path == Path(place) and not error.line:
        return error.problem
    return str(error)


def _is_own_database(word: str) -> bool:
    try:
        if not sources.is_store(word) or Path(word).is_dir():
            return False
        with sources.open_store(word):
            return True
    except (AgentSessionError, OSError):
        # An agent's importer says why it cannot be read, and counts the rest.
        return False


def _of_agent(importer: Importer, found: Sequence[Source], tell: Tell) -> Iterator[_Named]:
    for source in found:
        yield f"{importer.name} {source}", of_source(importer, source, tell)


def _add(count: Count, place: int, where: str, records: Iterator[UsageRecord]) -> None:
    """Count a source; what cannot be read of it must not end the whole."""
    try:
        for record in records:
            count.add(record, place)
    except (AgentSessionError, OSError) as error:
        count.failed(where, str(error))


def _write_json(out: Output, done: Counted) -> None:
    with Report(out, "usage") as report:
        report.member("totals", done.totals)
        report.member("findings", [finding.to_dict() for finding in done.findings])
        report.member("by", done.more["by"])
        report.elements("groups", done.more["groups"])


def _write_text(out: Output, done: Counted) -> None:
    head = str(done.more["by"]).upper()
    rows: list[tuple[str, ...]] = [(head, *_HEADINGS)]
    rows += [(group["key"], *_cells(group)) for group in done.more["groups"]]
    rows.append(("total", *_cells(done.totals)))
    widths = [width_of(column) for column in zip(*rows, strict=True)]
    for place, texts in enumerate(rows):
        if out.closed:
            return
        shown = (texts[0], *(t.rjust(w) for t, w in zip(texts[1:], widths[1:], strict=True)))
        out.line(*row(shown, widths, ("heading",) * len(shown) if not place else ("name",)))
    for finding in done.findings:
        out.line(f"note: {finding}")


def _cells(sums: Any) -> tuple[str, ...]:
    cost = sums["cost_usd"]
    shown = "-" if cost is None else f"{cost:.4f}"
    if cost is not None and sums["costed_calls"] < sums["calls"]:
        shown += "+"
    return (*(str(sums[name]) for name in _NUMBERS), shown)
