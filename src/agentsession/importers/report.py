"""The report of an import: what was found, what became of it, and what was lost.

Every native record is counted once: as an entry, as part of one, or as left out with a
code.

Spec: decisions B4 and D11, design decision 11.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

import msgspec

from agentsession import text
from agentsession.findings import Finding, Report, merged
from agentsession.importers.base import (
    Converted,
    Disposition,
    NativeSession,
    Outcome,
    Rest,
    Source,
    is_alarm,
)
from agentsession.importers.plans import Action, Plan

FAILED: Final = "failed"
"""The action of a session that could not be imported."""

SESSION_FAILED: Final = "session-failed"
NOT_WRITTEN: Final = "the record is of a session that could not be imported"
SOURCE_FAILED: Final = "source-failed"
NOT_ACCOUNTED: Final = "records-not-accounted"

_SHOWN: Final = 20
_LINE: Final = re.compile(r"(?::|: line )[0-9]+\Z")
"""Behind the name of a file or a session, which line of it."""

_PATHS: Final = 3


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one session; small, and made of plain values.

    Attributes:
        id, title, source: which session.
        copies: the stores that hold a copy of it.
        action: what happened to the session in the store, an :class:`Action` or ``failed``.
        entries: how many entries the session has.
        appended: how many of them the import wrote, or would write.
        outcomes: how many records became what.
        codes: by code, its sentence and how many records have it.
        alarms: the records that could not be read, each as a finding.
        findings: differences of meaning, and what the merge had to tell.
        totals: what the importer counted.
        records: the records themselves, when they were asked for.
        error: why the session could not be imported; empty when it could.
    """

    id: str
    title: str = ""
    source: str = ""
    copies: tuple[str, ...] = ()
    action: str = FAILED
    entries: int = 0
    appended: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    alarms: tuple[Finding, ...] = ()
    findings: tuple[Finding, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
    records: tuple[Disposition, ...] = ()
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the records."""
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "copies": list(self.copies),
            "action": self.action,
            "entries": self.entries,
            "appended": self.appended,
            "records": _outcomes(self.outcomes),
            "totals": dict(self.totals),
            "codes": sorted({finding.code for finding in self.findings} | set(self.codes)),
            "error": self.error or None,
        }


def imported(
    native: NativeSession, source: Source, converted: Converted, done: Plan, *, records: bool
) -> Imported:
    """Return what became of a session that was converted.

    Args:
        native: the session as the source lists it.
        source: the source.
        converted: the session converted, with the account of its records.
        done: what the merge did.
        records: keep every record, not only their numbers.
    """
    kept = converted.records
    return Imported(
        id=native.id,
        title=native.title,
        source=str(source),
        copies=tuple(native.copies),
        action=str(done.action),
        entries=len(converted.session),
        appended=len(done.entries),
        outcomes=_counted(kept),
        codes=_codes(kept),
        alarms=_alarms(kept, native.id),
        findings=(*converted.findings, *done.findings),
        totals=_plain(converted.totals),
        records=kept if records else (),
    )


def failed(
    native: NativeSession,
    source: Source,
    problem: str,
    converted: Converted | None = None,
    *,
    records: bool = False,
) -> Imported:
    """Return what there is to say of a session that could not be imported.

    Args:
        native: the session as the source lists it.
        source: the source.
        problem: why, in a sentence.
        converted: the session converted, where that was done: its records are in no entry.
        records: keep every record, not only their numbers.
    """
    kept = tuple(
        msgspec.structs.replace(
            record,
            disposition=Outcome.LEFT_OUT,
            entry_ids=(),
            code=SESSION_FAILED,
            sentence=NOT_WRITTEN,
        )
        for record in (converted.records if converted is not None else ())
    )
    return Imported(
        native.id,
        native.title,
        str(source),
        tuple(native.copies),
        error=problem,
        outcomes=_counted(kept),
        codes=_codes(kept),
        records=kept if records else (),
    )


def _counted(records: Iterable[Disposition]) -> dict[str, int]:
    found = Counter([record.disposition for record in records])
    return {str(outcome): count for outcome, count in found.items()}


def _codes(records: Iterable[Disposition]) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for record in records:
        if record.code:
            sentence, count = found.get(record.code, (record.sentence, 0))
            found[record.code] = (sentence, count + 1)
    return found


def _alarms(records: Iterable[Disposition], where: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(record.code, record.sentence, f"{where}: {_named(record)}")
        for record in records
        if record.code and is_alarm(record.code)
    )


def _named(record: Disposition) -> str:
    """A record's kind and id; a line that is no record has its place as its id."""
    name = record.native_id
    return name if name.startswith(f"{record.kind} ") else f"{record.kind} {name}"


class Tally:
    """A report being made: sessions and sources are added as they are done.

    Args:
        records: a file that takes one line of JSON for each record; there may be too many
            to hold.
    """

    def __init__(self, records: BinaryIO | None = None) -> None:
        self._records = records
        self._sources: list[dict[str, Any]] = []
        self._sessions: list[dict[str, Any]] = []
        self._actions: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._codes: dict[str, tuple[str, int]] = {}
        self._native: dict[str, Any] = {}
        self._entries = 0
        self._appended = 0
        self._found = 0
        self._findings: list[Finding] = []
        self._alarms: list[Finding] = []

    def source(self, source: Source, found: int) -> None:
        """Say that a source was opened, and how many sessions it has."""
        self._found += found
        self._sources.append(
            {"importer": source.importer, "paths": list(source.paths), "sessions": found}
        )

    def failed_source(self, source: Source, problem: str) -> None:
        """Say that a source could not be read at all."""
        self._sources.append(
            {"importer": source.importer, "paths": list(source.paths), "sessions": None}
        )
        self._alarms.append(Finding(SOURCE_FAILED, problem, str(source)))

    def add(self, session: Imported) -> None:
        """Add a session."""
        self._sessions.append(session.to_dict())
        self._actions[session.action] += 1
        self._entries += session.entries
        self._appended += session.appended
        self._count(session.outcomes, session.codes)
        self._native = _sum(self._native, session.totals)
        self._findings += session.findings
        self._alarms += session.alarms
        self._alarms += [
            Finding(f.code, f.sentence, f.where or session.id, f.count)
            for f in session.findings
            if is_alarm(f.code)
        ]
        if session.error:
            self._alarms.append(Finding(SESSION_FAILED, session.error, session.id))
        self._keep(session.id, session.records)

    def rest(self, source: Source, rest: Rest, *, accounted: int | None) -> None:
        """Add what a source holds beside its sessions.

        Args:
            source: the source.
            rest: what it holds.
            accounted: how many records its sessions have, when all were converted: with
                these they must be all there are.
        """
        self._count(_counted(rest.records), _codes(rest.records))
        self._alarms += _alarms(rest.records, str(source))
        self._findings += rest.findings
        self._alarms += [f for f in rest.findings if is_alarm(f.code)]
        self._keep("", rest.records)
        for known in self._sources:
            if known["paths"] == list(source.paths) and known["importer"] == source.importer:
                known["tables"] = dict(rest.tables)
                known["records"] = rest.read
        if accounted is None or rest.read is None:
            return
        accounted += len(rest.records)
        if rest.read != accounted:
            self._alarms.append(
                Finding(
                    NOT_ACCOUNTED,
                    f"{rest.read} records were read and {accounted} are accounted for",
                    str(source),
                )
            )

    def _count(self, outcomes: Mapping[str, int], codes: Mapping[str, tuple[str, int]]) -> None:
        self._outcomes.update(outcomes)
        for code, (sentence, count) in codes.items():
            self._codes[code] = (sentence, self._codes.get(code, ("", 0))[1] + count)

    def _keep(self, session_id: str, records: Iterable[Disposition]) -> None:
        if self._records is not None:
            for record in records:
                line = text.encode({"session": session_id, **record.to_dict()})
                self._records.write(line + b"\n")

    def report(self, *, dry_run: bool = False) -> ImportReport:
        """Return the report of what was added so far."""
        totals = {
            "dry_run": dry_run,
            "sources": len(self._sources),
            "sessions": {
                "found": self._found,
                "selected": sum(self._actions.values()),
                **{str(action): self._actions[str(action)] for action in (*Action, FAILED)},
            },
            "records": {"read": sum(self._outcomes.values()), **_outcomes(self._outcomes)},
            "entries": {"converted": self._entries, "appended": self._appended},
            "native": self._native,
        }
        more: dict[str, Any] = {
            "sources": self._sources,
            "sessions": self._sessions,
            "codes": [
                {"code": code, "count": count, "sentence": sentence}
                for code, (sentence, count) in sorted(self._codes.items())
            ],
            "alarms": [finding.to_dict() for finding in self._alarms],
        }
        return ImportReport(totals, merged(self._findings), more)


class ImportReport(Report):
    """What an import found and did.

    Its JSON has, beside ``schema``, ``totals`` and ``findings``: ``sources``, ``sessions``,
    ``codes`` (of the records) and ``alarms`` (what could not be read, or does not add up).
    """

    @property
    def ok(self) -> bool:
        """Whether all there is was read, and adds up."""
        return not self.more["alarms"]

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text for people."""
        for source in self.more["sources"]:
            paths = source["paths"]
            more = f" and {len(paths) - _PATHS} more" if len(paths) > _PATHS else ""
            yield f"{source['importer']:8} {', '.join(paths[:_PATHS])}{more}"
        yield _line("sessions", self.totals["sessions"], ("found", "selected"))
        yield _line("records", self.totals["records"], ("read",))
        yield _line("entries", self.totals["entries"], ("converted", "appended"))
        if self.more["codes"]:
            yield "records with a code:"
            yield from (_listed(c["code"], c["count"], c["sentence"]) for c in self.more["codes"])
        if self.findings:
            yield "differences:"
            for finding in self.findings:
                told = finding.to_dict()
                yield _listed(told["code"], finding.count, told["sentence"])
        alarms = self.more["alarms"]
        if alarms:
            yield "could not be read, or does not add up:"
            groups = _grouped(alarms)
            yield from (f"  {group}" for group in groups[:_SHOWN])
            unseen = sum(group.count for group in groups[_SHOWN:])
            if unseen:
                yield f"  and {unseen} more"
            if len(alarms) > min(len(groups), _SHOWN):
                yield "  --report json lists them all"
        if self.totals["dry_run"]:
            yield "dry run: nothing was written"


def _grouped(alarms: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Alarms that say the same of one file as one: where it is first, and how often."""
    kept: dict[tuple[str, str], Finding] = {}
    for alarm in alarms:
        key = (_LINE.sub("", alarm["where"]), alarm["sentence"])
        first = kept.get(key) or Finding(alarm["code"], key[1], alarm["where"], 0)
        kept[key] = replace(first, count=first.count + alarm["count"])
    return list(kept.values())


def _line(name: str, counted: Mapping[str, int], always: Sequence[str]) -> str:
    shown = [f"{n} {what}" for what, n in counted.items() if what in always or n]
    return f"{name:9}{', '.join(shown)}"


def _listed(code: str, count: int, sentence: str) -> str:
    return f"  {code:28} {count:>7}  {sentence}"


def _outcomes(counted: Mapping[str, int]) -> dict[str, int]:
    return {str(outcome): counted.get(str(outcome), 0) for outcome in Outcome}


def _plain(value: Any) -> Any:
    """A copy of mappings and sequences that any process can be given."""
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def _sum(so_far: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Totals added member by member; what is no number is left out."""
    added = dict(so_far)
    for name, value in more.items():
        if isinstance(value, Mapping):
            inner = added.get(name)
            added[name] = _sum(inner if isinstance(inner, Mapping) else {}, value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            before = added.get(name, 0)
            added[name] = (before if isinstance(before, (int, float)) else 0) + value
    return added
