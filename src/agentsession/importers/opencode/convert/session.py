"""Converting one session of a source, whatever copies of it there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from agentsession import text
from agentsession._collecting import uncollected
from agentsession.errors import AgentSessionError
from agentsession.findings import Finding
from agentsession.header import Header
from agentsession.importers.base import Converted
from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.choosing import Chosen, choose
from agentsession.importers.opencode.convert.clock import iso
from agentsession.importers.opencode.convert.draft import Draft
from agentsession.importers.opencode.convert.rows import LoweredRow, lower_row
from agentsession.importers.opencode.convert.source import Copy, Source
from agentsession.importers.opencode.convert.strays import place_finding
from agentsession.importers.opencode.convert.timeline import Releases, Timeline
from agentsession.importers.opencode.convert.v1 import V1Conversion
from agentsession.importers.opencode.convert.v2 import V2Conversion
from agentsession.importers.opencode.convert.weighing import all_bytes, unknown_bytes
from agentsession.importers.opencode.names import G3
from agentsession.importers.opencode.records import (
    MESSAGE,
    PART,
    PLACES,
    ROW,
    MessageRecord,
    QueueRow,
    Row2,
    Session,
    Stray,
)
from agentsession.parts import Harness
from agentsession.record_entries import LabelEntry, QueuedEntry

FORMAT = "agentsession/0.3"
HARNESS = "opencode"
_LOUD = 20
"""Of how many bytes one may be of an unknown type: 5%."""
_DIFFS = frozenset({"diffs", "summary_diffs"})


def convert_session(
    source: Source, session_id: str, known: Releases = (), origin: str | None = None
) -> Converted:
    """Return one session converted, with the account of all its copies' records.

    Args:
        source: the source.
        session_id: the session.
        known: when a release is known to have run, beside what the source says.
        origin: the session that a fork was copied from, as far as it was known when it was
            stored; ``None`` to look for it.

    Raises:
        NoSession: when the source has no such session.
    """
    with uncollected():
        return _Conversion(source, session_id, known, origin).run()


class _Conversion:
    def __init__(
        self, source: Source, session_id: str, known: Releases, origin: str | None
    ) -> None:
        self._source = source
        self._known = known
        self._known_origin = origin
        self._id = session_id
        self._chosen: Chosen = choose(source.copies(session_id))
        self._accounts = Accounts()
        self._unread: list[Finding] = []
        home = self._chosen.messages or self._chosen.rows
        assert home is not None
        self._home: Copy = home
        self._session: Session = home.session
        self._v1: V1Conversion | None = None
        self._v2: V2Conversion | None = None

    def run(self) -> Converted:
        accounts, session = self._accounts, self._session
        records = self._chosen.read.messages
        number = accounts.open("session", session.id)
        releases = self._source.releases
        if self._known:
            releases = sorted([*releases, *self._known])
        timeline = Timeline(session, records, releases, accounts, self._chosen.since_tables)
        copies = 0 if session.parent_id else _copied(session, records)
        origin = self._origin(copies)
        draft = Draft(self._header(timeline.start, origin))
        if records:
            home = self._chosen.messages
            self._v1 = V1Conversion(
                draft,
                records,
                timeline,
                accounts,
                copies=copies,
                origin=origin,
                revert=session.staged_revert(),
                gone=self._chosen.gone,
                parts_lost=PART in home.damaged if home is not None else False,
            )
            self._v1.run()
        self._rows(draft, timeline.start, origin)
        self._weigh()
        self._strays()
        last = self._finish(draft, timeline.start)
        if session.problem:
            accounts.folded(number, last, code="unreadable-record")
        else:
            accounts.entry(number, last)
        rows = self._chosen.rows
        if rows is not None and rows is not self._home:
            # A session that went on in OpenCode 2 has a record in both tables.
            accounts.folded(accounts.open("session", f"{rows.name}: {self._id}"), last)
        self._other_copies()
        return self._converted(draft)

    # The header and its links.

    def _header(self, start: int, origin: str) -> Header:
        session = self._session
        call = ""
        parent = session.parent_id or origin
        if session.parent_id:
            call = self._source.spawning_call(session)
            if session.parent_id not in self._source:
                self._accounts.find("child-without-parent", session.id)
            elif not call:
                self._accounts.find("child-without-call", session.id)
        return Header(
            format=FORMAT,
            id=session.id,
            created_at=iso(start),
            harness=Harness(HARNESS, session.version),
            cwd=session.directory,
            parent_session=parent,
            spawned_by=call,
        )

    def _origin(self, copies: int) -> str:
        session = self._session
        fork = session.fork()
        if fork is not None:
            return fork.session_id
        if not copies or self._chosen.messages is None:
            return ""
        first = self._chosen.read.messages[0]
        found = self._known_origin
        if found is None:
            found = self._source.fork_origin(self._chosen.messages, first)
        if not found or found not in self._source:
            self._accounts.find("fork-origin-unknown", session.id)
        return found

    # Rows.

    def _rows(self, draft: Draft, start: int, origin: str) -> None:
        copy, rows = self._chosen.rows, self._chosen.rows_read.rows
        if copy is None or not rows:
            return
        markers = self._v1 is not None and copy.session.generation != G3
        if markers or self._chosen.native_from >= len(rows):
            code = "switch-marker" if markers else "other-copy"
            for row in rows:
                number = self._accounts.open("row", row.id or row.unit)
                self._accounts.left_out(number, "unreadable-record" if row.problem else code)
            return
        if self._chosen.native_from:
            self._accounts.find("continued-in-rows", self._id)
        forked = copy.session.fork() is not None
        self._v2 = V2Conversion(
            draft,
            rows,
            start,
            self._accounts,
            preview=copy.session.generation != G3,
            native_from=self._chosen.native_from,
            copies=_copied_rows(copy.session, rows) if forked else 0,
            origin=origin if forked else "",
            revert=copy.session.staged_revert(),
            release=copy.session.version,
        )
        self._v2.run()

    def _weigh(self) -> None:
        """Be loud about content of types that nobody knows. Spec: decision D11."""
        read, rows = self._chosen.read.messages, self._chosen.rows_read.rows
        ordinary = self._v1.frame.ordinary if self._v1 is not None else frozenset[int]()
        unknown = unknown_bytes(read, rows, ordinary)
        if unknown and unknown * _LOUD > all_bytes(read, rows):
            self._accounts.find("unknown-content", self._id)

    # What is written after the fact.

    def _finish(self, draft: Draft, start: int) -> str:
        """Write what changes with every look at the store; return the last entry's id."""
        reverted_at = None
        v1 = self._v1.steps if self._v1 is not None else None
        for written in (v1, self._v2):
            if written is not None and written.reverted_at is not None:
                reverted_at = written.reverted_at
                self._accounts.find("staged-revert", self._id, written.reverted)
        at = max(self._session.updated or 0, start)
        if reverted_at is not None:
            # The label goes below the turns that are hidden, what follows below its target.
            draft.add(LabelEntry(reverted_at, "leaf"), self._id, "leaf", at)
            draft.rest_at(reverted_at)
        self._queue(draft, at)
        if self._session.title:
            draft.write("info", {"name": self._session.title}, self._id, "title", at)
        data: dict[str, Any] = {"session": self._bare(_record(self._session))}
        if self._v1 is not None:
            if self._v1.summaries:
                summaries = self._v1.summaries.items()
                data["summaries"] = {name: self._bare(value) for name, value in summaries}
            if self._v1.steps.unsettled:
                data["unsettled"] = self._v1.steps.unsettled
            if self._v1.waiting:
                data["waiting"] = [*self._v1.waiting.values()]
        last = draft.note(data, self._id, "session", at)
        if self._v1 is not None:
            self._v1.settle_waiting(last)
        return last

    def _bare(self, value: Any) -> Any:
        """Return what was written after the fact without the diffs of files."""
        if not isinstance(value, dict):
            return value
        if any(values.truthy(value.get(name)) and value[name] != [] for name in _DIFFS):
            self._accounts.find("file-diffs-left-out", self._id)
        rest = {name: member for name, member in value.items() if name not in _DIFFS}
        if isinstance(rest.get("summary"), dict):
            rest["summary"] = self._bare(rest["summary"])
        return rest

    def _queue(self, draft: Draft, at: int) -> None:
        row_copy = self._chosen.rows
        if row_copy is None:
            return
        rows = {row.id: row for row in self._chosen.rows_read.rows}
        for queued in self._chosen.rows_read.queue:
            number = self._accounts.open("queue", queued.id or queued.unit)
            if queued.problem or queued.payload is None:
                self._accounts.left_out(number, "unreadable-record")
                continue
            if queued.id in rows or queued.promoted is not None:
                home = draft.home.get(queued.id, "")
                self._accounts.folded(number, *filter(None, [home]), code="delivered-input")
                continue
            lowered = _queued_input(queued)
            mode = "steer" if queued.delivery == "steer" else "followup"
            if lowered is not None and lowered.own:
                unit = lowered.own[0]
                unknown = {names.DATABASE_NAME.partition(".")[0]: draft.kept(_row(queued))}
                entry = QueuedEntry(dict(unit.item), mode, ref=queued.id, unknown=unknown)
                entry_id = draft.add(entry, queued.id, "queued", at)
            else:
                entry_id = draft.note({"queued": _row(queued)}, queued.id, "queued", at)
            self._accounts.entry(number, entry_id)
            self._accounts.find("queued-input", queued.id)

    # The other copies, and the account.

    def _strays(self) -> None:
        strays = [*self._chosen.read.strays, *self._chosen.rows_read.strays]
        for stray in strays:
            if stray.kind in PLACES:
                self._place(stray)
                continue
            number = self._accounts.open(stray.kind, stray.id or stray.unit)
            code = "unreadable-record" if stray.malformed else "stray"
            if code == "stray" and stray.kind == PART:
                lost = MESSAGE in self._home.damaged
                code = "message-lost" if lost else "part-without-message"
                self._accounts.find(code, self._id)
            self._accounts.left_out(number, code)

    def _place(self, stray: Stray) -> None:
        found = place_finding(stray)
        if stray.malformed:
            # Each with its place and its reason: calls may be lost there.
            self._unread.append(found)
        else:
            self._accounts.find(found.code, found.where)

    def _other_copies(self) -> None:
        used = set(self._chosen.added)
        healed = {(id(copy), one.kind, one.id): one for copy, one in self._chosen.healed}
        self._damaged_records()
        for copy, messages, rows in self._chosen.others:
            where = copy.name
            opened = [self._accounts.open("session", f"{where}: {self._id}")]
            records: list[tuple[str, str]] = []
            for message in messages.messages:
                if message.id in used:
                    # It is converted; a third copy of it is not.
                    used.discard(message.id)
                    continue
                records.append((MESSAGE, message.id))
                records += [(PART, part.id) for part in message.parts]
            records += [(ROW, row.id) for row in rows.rows]
            opened += [
                self._accounts.open(kind, f"{where}: {name}")
                for kind, name in records
                # What was read here in the place of a damaged record is converted.
                if healed.pop((id(copy), kind, name), None) is None
            ]
            opened += [self._accounts.open("queue", f"{where}: {q.id}") for q in rows.queue]
            for stray in (*messages.strays, *rows.strays):
                if stray.kind in PLACES:
                    if stray.malformed:
                        self._place(stray)
                    continue
                opened.append(self._accounts.open(stray.kind, f"{where}: {stray.id or stray.unit}"))
            for number in opened:
                self._accounts.left_out(number, "other-copy")
            self._accounts.find("other-copy", f"{where}: {self._id}", len(opened))

    def _damaged_records(self) -> None:
        """Account for what the copy taken cannot give and another one did."""
        for copy, one in self._chosen.healed:
            self._accounts.find("read-from-other-copy", f"{copy.name}: {one.id}")
            if one.there:
                number = self._accounts.open(one.kind, f"{self._home.name}: {one.id}")
                self._accounts.left_out(number, "unreadable-record")

    def _converted(self, draft: Draft) -> Converted:
        accounts = self._accounts
        if draft.lost:
            accounts.find("value-too-deep", self._id, draft.lost)
        types = draft.counts()
        responses = types["response"]
        if responses:
            if not draft.instructed:
                accounts.find("system-prompt-not-stored", self._id, responses)
            accounts.find("tools-not-stored", self._id, responses)
        records = accounts.dispositions()
        totals = self._totals(types, records)
        findings = (*accounts.findings, *self._unread)
        return Converted(draft.finished(), records, findings, totals)

    def _totals(self, types: Counter[str], records: tuple[Any, ...]) -> Mapping[str, Any]:
        kinds = Counter([record.kind for record in records])
        # Not the outcomes themselves: to hash a member of an enumeration takes a call.
        outcomes = Counter([str(record.disposition) for record in records])
        v1 = self._v1.frame if self._v1 is not None else None
        conversions = [c for c in (v1, self._v2) if c is not None]
        sums = {
            name: [getattr(conversion, name) for conversion in conversions]
            for name in ("native", "converted", "copied")
        }
        return {
            "records": len(records),
            "kinds": dict(kinds),
            "dispositions": dict(outcomes),
            "copies": [copy.name for copy in self._source.copies(self._id)],
            "taken": self._home.name,
            "why": self._chosen.why,
            "entries": dict(types),
            **{name: _added(found) for name, found in sums.items()},
        }


def _added(sums: list[Any]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for one in sums:
        for name, value in one.to_dict().items():
            total[name] = round(total.get(name, 0) + value, 10) if value else total.get(name, 0)
    return total


def _copied(session: Session, records: tuple[MessageRecord, ...]) -> int:
    """Return how many messages at the beginning were copied from a fork's origin.

    Spec: opencode 4.3.
    """
    if session.created is None:
        return 0
    count = 0
    for record in records:
        if record.created is None or record.created >= session.created:
            break
        count += 1
    return count


def _copied_rows(session: Session, rows: tuple[Row2, ...]) -> int:
    if session.created is None:
        return 0
    count = 0
    for row in rows:
        made = values.millis(row.data.time.created) if row.data and row.data.time else row.created
        if made is None or made >= session.created:
            break
        count += 1
    return count


def _record(session: Session) -> Any:
    try:
        return text.parse(session.record)
    except AgentSessionError:
        return None


def _row(queued: QueueRow) -> dict[str, Any]:
    try:
        value = text.parse(queued.record)
    except AgentSessionError:
        return {}
    return value if isinstance(value, dict) else {}


def _queued_input(queued: QueueRow) -> LoweredRow | None:
    row = Row2(
        queued.unit,
        queued.id,
        queued.session_id,
        queued.type,
        queued.seq,
        queued.created,
        None,
        queued.payload,
        queued.record,
    )
    return lower_row(row, preview=False) if queued.payload is not None else None
