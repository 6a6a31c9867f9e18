"""``agentsession show``: a session's header, its entries, and a context.

Spec: command A.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from agentsession.cli import sources
from agentsession.cli.commands import Command, allow_newer_option, json_option, source_arguments
from agentsession.cli.output import Output, Span, complain, open_output, open_plain
from agentsession.cli.report import Report, payload, session_fields, truncated_fields
from agentsession.cli.summaries import (
    entry_summary,
    item_summary,
    joined_names,
    omitted_label,
    text_size,
)
from agentsession.cli.table import GAP, pairs, row, width_of
from agentsession.cli.words import cells, clean, fitted, short, short_id
from agentsession.context import Context
from agentsession.damage import Damage
from agentsession.entries import Entry
from agentsession.errors import AgentSessionError, NoEntry
from agentsession.items import tool_name
from agentsession.parts import InstructionsPart, OmittedPart
from agentsession.session import Session
from agentsession.timestamp import Timestamp

_HEADINGS = ("ID", "PARENT", "TYPE", "SUMMARY")
_STYLES = ("id", "", "type", "")
_NARROWEST_SUMMARY = 24


@click.command("show", cls=Command)
@source_arguments
@click.option("-leaf", "--leaf", metavar="ID", help="Show the context at this entry.")
@click.option("-v", "--verbose", is_flag=True, help="Print the data of custom entries.")
@click.option(
    "-f", "-follow", "--follow", is_flag=True, help="Go on with entries as they are appended."
)
@sources.salvage_option
@allow_newer_option
@json_option
def command(
    *,
    source: str,
    session_id: str,
    salvaging: bool,
    allow_newer: bool,
    leaf: str | None,
    verbose: bool,
    follow: bool,
    as_json: bool,
) -> int:
    """Print a session: its header, its entries in file order, and the context at a leaf.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one.
    """
    if follow:
        _refuse_beside_follow({"--salvage": salvaging, "--leaf": leaf, "--json": as_json})
        session = sources.open_session(source, session_id, allow_newer=allow_newer)
        return _follow(source, View(session, verbose=verbose), allow_newer=allow_newer)
    damaged = None
    if salvaging:
        damaged = sources.salvage_session(source, session_id, allow_newer=allow_newer)
        session = damaged.session
    else:
        session = sources.open_session(source, session_id, allow_newer=allow_newer)
    at = session.leaf if leaf is None else entry_named(session, leaf)
    view = View(session, verbose=verbose)
    if as_json:
        with open_plain() as out:
            problem = _write_report(out, source, view, at, damaged.damages if damaged else ())
    else:
        with open_output() as out:
            problem = _write_text(out, view, at)
    if problem:
        complain(problem)
    if damaged is not None:
        sources.tell_damages(damaged)
    return 1 if problem or (damaged is not None and not damaged.ok) else 0


def _refuse_beside_follow(options: dict[str, object]) -> None:
    wrong = [name for name, value in options.items() if value]
    if wrong:
        raise click.UsageError(
            f"--follow does not go with {' and '.join(wrong)}",
            click.get_current_context(silent=True),
        )


def _follow(source: str, view: View, *, allow_newer: bool) -> int:
    from agentsession.cli.live import follow  # noqa: PLC0415 - only when asked for

    return follow(source, view, allow_newer=allow_newer)


def entry_named(session: Session, name: str) -> str:
    """The id of the entry a user names: an id, or the digits that are shown of a hash."""
    if name in session or not name:
        return session[name].id
    found = [entry.id for entry in session if _is_shown_as(entry.id, name)]
    if len(found) > 1:
        raise NoEntry(f'"{name}" begins {len(found)} entry ids of session {session.id}: give more')
    return found[0] if found else session[name].id


def _is_shown_as(entry_id: str, name: str) -> bool:
    return entry_id != short_id(entry_id) and entry_id.partition(":")[2].startswith(name)


class View:
    """A session with what each of its rows asks for."""

    def __init__(self, session: Session, *, verbose: bool) -> None:
        self.session = session
        self.labels = session.labels
        self.has_convergence = session.header.version >= Entry.parents.since
        self._verbose = verbose

    def summary(self, entry: Entry) -> str:
        """Return an entry in one line."""
        return entry_summary(entry, verbose=self._verbose)

    def marks(self, entry: Entry) -> list[str]:
        """Return what is to be said of an entry's place in the tree."""
        children = len(self.session.children(entry.id))
        marks = []
        if children > 1:
            marks.append(f"fork×{children}")  # noqa: RUF001 - as specified
        elif not children:
            marks.append("leaf")
        if self.has_convergence and entry.parents:
            marks.append("converging")
        label = self.labels.get(entry.id)
        if label is not None:
            marks.append(f"[{label}]")
        return marks


def _write_text(out: Output, view: View, at: str | None) -> str:
    session = view.session
    write_header(out, session)
    for line in _entry_lines(view, out.width):
        if out.closed:
            return ""
        out.line(*line)
    context, problem = _context_at(session, at)
    if at is not None and context is not None:
        out.line()
        _write_context(out, at, context)
    for note in session.notes:
        out.line(("note: ", "note"), note)
    if session.truncated is not None:
        cut = session.truncated
        out.line(
            ("truncated: ", "bad"),
            f"line {cut.line} was cut short and is not loaded: {cut.error}",
        )
    return problem


def _context_at(session: Session, at: str | None) -> tuple[Context | None, str]:
    """The context at an entry, or why there is none."""
    if at is None:
        return None, ""
    try:
        return session.context_at(at), ""
    except AgentSessionError as error:
        return None, f"no context at {short_id(at)}: {error}"


def write_header(out: Output, session: Session) -> None:
    """Write the block of the header, and an empty line."""
    for line in pairs(_header_rows(session)):
        out.line(*line)
    out.line()
    out.flush()


def _header_rows(session: Session) -> list[tuple[str, str]]:
    header = session.header
    harness = header.harness
    rows = [
        ("session", header.id),
        ("created", _utc(header.created_at)),
        ("format", f"{header.format} ({header.payload})"),
        ("harness", f"{harness.name} {harness.version}".strip() if harness else ""),
        ("cwd", header.cwd),
        ("parent", header.parent_session),
        ("spawned by", header.spawned_by),
        ("records", ", ".join(header.records)),
        ("media", header.media),
        ("name", session.name),
        ("entries", _entry_counts(session)),
    ]
    return [(name, value) for name, value in rows if value]


def _utc(time: Timestamp | None) -> str:
    if time is None:
        return "-"
    try:
        return time.normal()
    except ValueError:
        return time.text


def _entry_counts(session: Session) -> str:
    leaf = short_id(session.leaf) if session.leaf else "-"
    roots, leaves = len(session.roots), len(session.leaves)
    return f"{len(session)} in {roots} root(s), {leaves} leaf(s), leaf {leaf}"


def _entry_lines(view: View, width: int) -> Iterator[list[Span]]:
    columns = Columns(view.session.entries, width)
    yield columns.heading
    for entry in view.session.entries:
        yield columns.row(entry, view.summary(entry), view.marks(entry))


class Columns:
    """The columns of the table of entries, as wide as some entries need.

    Args:
        entries: those entries.
        width: the columns of the terminal; 0 where nobody looks.

    Attributes:
        heading: the first line.
    """

    def __init__(self, entries: Sequence[Entry], width: int) -> None:
        ids = max(width_of(short_id(entry.id) for entry in entries), cells(_HEADINGS[0]))
        types = max(width_of(entry.type for entry in entries), cells(_HEADINGS[2]))
        # A parent is the id of another row, so one width serves both columns.
        self._widths = (ids, max(ids, cells(_HEADINGS[1])), types)
        room = width - sum(self._widths) - 3 * len(GAP)
        self._room = max(room, _NARROWEST_SUMMARY) if width else 0
        self.heading = row(_HEADINGS, self._widths, ("heading",) * 4)

    def row(self, entry: Entry, summary: str, marks: Sequence[str]) -> list[Span]:
        """Return the line of an entry."""
        room, summary = self._room, clean(summary)
        if room and marks:
            summary = fitted(summary, max(room - cells(GAP + " ".join(marks)), _NARROWEST_SUMMARY))
        elif room:
            summary = fitted(summary, room)
        parent = short_id(entry.parent) if entry.parent else "-"
        line = row((short_id(entry.id), parent, entry.type, summary), self._widths, _STYLES)
        if marks:
            line += [GAP, (" ".join(marks), "mark")]
        return line


def _write_context(out: Output, at: str, context: Context) -> None:
    counts = f"{len(context.items)} item(s) from {len(context.entries)} entries"
    out.line(("context at ", "heading"), (short_id(at), "id"), (f": {counts}", "heading"))
    for line in pairs(_setting_rows(context), indent="  "):
        out.line(*line)
    room = max(out.width - 7, _NARROWEST_SUMMARY) if out.width else 0
    for number, item in enumerate(context.items, 1):
        if out.closed:
            return
        summary = clean(item_summary(item))
        out.line(
            ("  ", ""), (f"{number:>3}", "name"), "  ", fitted(summary, room) if room else summary
        )


def _setting_rows(context: Context) -> list[tuple[str, str]]:
    settings = context.settings
    rows = [
        ("model", settings.model or "-"),
        ("instructions", short(settings.instructions) if settings.instructions else ""),
        ("parts", ", ".join(_part(part) for part in settings.instructions_parts)),
        ("omitted", ", ".join(_omitted(part) for part in context.instructions_omitted)),
        ("tools", joined_names(tool_name(tool) for tool in settings.tools)),
        ("extra", ", ".join(sorted(settings.extra))),
    ]
    return [(name, value) for name, value in rows if value]


def _part(part: InstructionsPart) -> str:
    source = f" from {part.source}" if part.source else ""
    return f"{part.id} {text_size(part.text)}B{source}"


def _omitted(part: OmittedPart) -> str:
    if part.keep:
        return omitted_label(part)
    reason = f" ({part.reason})" if part.reason else ""
    return f"{part.id} {part.size}B{reason}"


def _write_report(
    out: Output, source: str, view: View, at: str | None, damages: Sequence[Damage]
) -> str:
    session = view.session
    context, problem = _context_at(session, at)
    with Report(out, "show") as report:
        report.member("source", source)
        report.member("session", session_fields(session))
        report.member("leaf", session.leaf)
        report.member("roots", [entry.id for entry in session.roots])
        report.member("leaves", [entry.id for entry in session.leaves])
        report.elements("entries", (_entry_fields(view, entry) for entry in session.entries))
        report.member("context", None if context is None else _context_fields(at, context))
        report.member("problem", problem or None)
        report.member("truncated", truncated_fields(session.truncated))
        report.member("notes", list(session.notes))
        report.elements("damages", (damage.to_dict() for damage in damages))
    return problem


def _entry_fields(view: View, entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "parent": entry.parent,
        "type": entry.type,
        "ts": str(entry.ts),
        "summary": clean(view.summary(entry)),
        "children": len(view.session.children(entry.id)),
        "converges_from": [
            {"session": part.session, "entry": part.entry}
            for part in (entry.parents if view.has_convergence else ())
        ],
        "label": view.labels.get(entry.id),
    }


def _context_fields(at: str | None, context: Context) -> dict[str, Any]:
    return {
        "at": at,
        "settings": payload(context.settings.json_text),
        "omitted": [
            {"id": part.id, "size": part.size, "reason": part.reason}
            for part in context.instructions_omitted
        ],
        "entries": [entry.id for entry in context.entries],
        "items": [
            {
                "entry": entry.id,
                "summary": clean(item_summary(item)),
                "item": payload(item.json_text),
            }
            for item, entry in zip(context.items, context.item_entries, strict=True)
        ],
    }
