"""Ending: what was never sent, what changes with every look, and the rest of the account.

What stands here hangs below the last entry of the conversation, so that a grown file adds
to it and changes nothing before. Spec: decision D6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentsession import text
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import SNAPSHOT, kind_of
from agentsession.importers.claude_code.history import is_sent, stretch_to
from agentsession.importers.claude_code.known import OTHERS
from agentsession.importers.claude_code.lines import is_blank, value_of
from agentsession.importers.claude_code.measuring import Measuring
from agentsession.importers.claude_code.records import Record
from agentsession.importers.drafting import Node
from agentsession.importers.unknown import NOTED, Strange, Unknown
from agentsession.record_entries import InfoEntry, LinkEntry, QueuedEntry

if TYPE_CHECKING:
    from agentsession.importers.claude_code.convert import Conversion

_LISTED: Final = frozenset(
    {
        "pr-link",
        "tag",
        "worktree-state",
        "relocated",
        names.CONTINUED,
        names.DERIVED,
        names.REPLACEMENT,
    }
)
"""Bookkeeping of which each record counts, not only the last."""

_NOTED: Final = NOTED.encode()
_COPY: Final = 2048
"""Undo copies above this size are left out."""


class Ending:
    """Ends a conversion.

    Args:
        conversion: the conversion.
    """

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._accounts = conversion.accounts
        self._transcript = conversion.transcript
        self._kept: dict[str, Any] = {}
        self._unknown: list[Record] = []

    def write(self) -> None:
        """Write what is left, and account for every record."""
        self._branches()
        node, waiting = self._leaf()
        for record in self._open():
            if self._accounts.is_open(record.number):
                self._settle(record)
        measuring = Measuring(self._conversion)
        self._differing(measuring.unknown)
        self._finish(node, waiting, measuring.unknown)
        measuring.tell()
        self._tell()

    def _open(self) -> list[Record]:
        """The records that nothing was said of yet; the account begins with all records."""
        records = self._conversion.records
        return [records[number] for number in self._accounts.unsettled if number < len(records)]

    # What was never answered.

    def _is_pending(self, record: Record) -> bool:
        return (
            record.is_tree
            and record.original is None
            and self._accounts.is_open(record.number)
            and record.type in (names.USER, names.ASSISTANT)
        )

    def _current(self) -> Record | None:
        """The record that the conversation would go on from."""
        for record in reversed(self._conversion.records):
            if record.type == names.LAST_PROMPT:
                named = self._transcript.named(record.text("leafUuid"))
                if named is not None:
                    return named
            elif not record.is_tree or record in self._conversion.asides:
                continue
            elif record.original is None and record.type != names.PROGRESS:
                return record
        return None

    def _branches(self) -> None:
        """Write what was said and left, before any answer came, where it stands."""
        pending = [record for record in self._open() if self._is_pending(record)]
        current = self._current() if pending else None
        line = {current, *self._transcript.above(current)} if current is not None else set()
        for record in [record for record in pending if record not in line]:
            if not self._accounts.is_open(record.number) or not self._fits(record):
                continue
            node = self._conversion.compacting.at(record, record.index + 1)
            self._accounts.find("unanswered-branch", record.where)
            if self._accounts.is_open(record.number):
                self._accounts.folded(record.number, node.entry_id)

    def _fits(self, record: Record) -> bool:
        if self._transcript.answer_of(record) is not None:
            return False
        rules = self._conversion.sending.rules(record)
        return is_sent(record, rules, record.file) and bool(self._conversion.units.of(record))

    def _leaf(self) -> tuple[Node, list[Record]]:
        """The node that the conversation would go on from, and what waits there."""
        current = self._current()
        if current is None:
            return self._conversion.draft.root, []
        conversion = self._conversion
        stretch = stretch_to(self._transcript, current, None)
        before = stretch.before
        if stretch.boundary is not None:
            node, _ = conversion.compacting.node(stretch.boundary)
        elif before is not None:
            node = conversion.done(before)
        else:
            node = conversion.draft.root
        waiting = [r for r in stretch.chain if self._is_pending(r)]
        rules = conversion.sending.rules(current)
        stored = any(r.type == names.ATTACHMENT for r in stretch.chain)
        if waiting and not rules.stores_attachments and not stored:
            # Nothing can come between these and an answer: they are in their place already.
            node = conversion.compacting.at(current, current.index + 1)
            waiting = [r for r in waiting if self._is_pending(r)]
        return node, waiting

    # The account.

    def _settle(self, record: Record) -> None:
        accounts = self._accounts
        if record.is_damaged:
            blank = is_blank(record.raw)
            accounts.left_out(record.number, "blank-line" if blank else "unreadable-record")
        elif record.original is not None:
            original = record.original
            accounts.left_out(record.number, "copied-record")
            accounts.find("copied-record", original.where)
        elif record in self._conversion.orphans:
            accounts.left_out(record.number, "copied-record")
        elif record.type == names.PROGRESS and record.uuid:
            accounts.left_out(record.number, "progress")
        elif record.type in names.FILE_COPIES and record.size > _COPY:
            accounts.left_out(record.number, "file-copy")
        elif record.type in (names.REQUEST, names.SHAPE, names.BLOB):
            self._settle_logged(record)
        elif record.type in names.BOOKKEEPING and not record.uuid:
            self._keep(record)
        elif record.type in names.FILE_COPIES:
            self._keep(record, record.type)
        elif record.type in names.TREE and record.uuid:
            self._keep(record, "waiting")
        else:
            self._unknown.append(record)

    def _settle_logged(self, record: Record) -> None:
        if record.type == names.REQUEST:
            self._accounts.left_out(record.number, "request-unanswered")
            self._accounts.find("request-unanswered", record.text("id"))
        elif self._conversion.log:
            self._accounts.folded(record.number)
        else:
            self._accounts.left_out(record.number, "request-unanswered")

    def _differing(self, unknown: Unknown) -> None:
        """Keep logged messages that are not those of their hashes. Spec: claude-code 4."""
        for record in self._conversion.log.differing():
            if record.index >= 0:
                value = value_of(record.get("message"))
                unknown.keep(Strange("message", "message", value), record.where, record.number)
                self._accounts.find("logged-message-differs", record.where)

    def _keep(self, record: Record, group: str = "") -> None:
        """Keep what a record says in the entry that trails; of most kinds the last one counts."""
        if record.type == names.ATTACHMENT and kind_of(record) == SNAPSHOT:
            self._accounts.left_out(record.number, "not-sent-yet")
            return
        value = text.parse(record.beside(_said_elsewhere(record)) or b"{}")
        if group:
            self._kept.setdefault(group, []).append(value)
        elif record.type in _LISTED:
            self._kept.setdefault(record.type, []).append(value)
        elif record.type == names.QUEUE:
            self._queue(record, value)
        else:
            self._kept[record.type] = value
        record.noted = "waiting" if group == "waiting" else "bookkeeping"

    def _queue(self, record: Record, value: Any) -> None:
        """Note prompts that were taken in while the model worked. Spec: claude-code 5.3."""
        queue = self._kept.setdefault("queue", [])
        operation = record.text("operation")
        if operation == "enqueue":
            queue.append(value)
        elif operation in ("dequeue", "popAll") and queue:
            queue.pop(0)
            if operation == "popAll":
                queue.clear()
        elif operation == "remove" and queue:
            taken = queue.pop(0)
            if not self._has_words(taken.get("content")):
                self._kept.setdefault("queued-prompts", []).append(taken)
                self._accounts.find("queued-prompt-not-stored", record.where)

    def _has_words(self, words: object) -> bool:
        if not isinstance(words, str):
            return True
        wanted = text.encode(words)[1:-1]
        for record in self._transcript.originals():
            raw = record.get("attachment") if record.type == names.ATTACHMENT else None
            if record.type == names.USER:
                raw = record.get("message")
            if raw is not None and wanted in bytes(raw):
                return True
        return False

    # The entries that trail.

    def _finish(self, node: Node, waiting: list[Record], unknown: Unknown) -> None:
        conversion = self._conversion
        last = max([record.time for record in conversion.records], default="")
        ts = last or conversion.times.of(conversion.records[0]) if conversion.records else ""
        ts = ts or conversion.start
        for record in waiting:
            if is_sent(record, conversion.sending.rules(record), record.file):
                node = self._queued(node, record)
            else:
                node = self._unsent(node, record, ts)
        for value in self._kept.get(names.CONTINUED, ()):
            name = value.get("continuedInSessionId") if isinstance(value, dict) else None
            if isinstance(name, str) and name:
                link = LinkEntry("continued_in", name)
                node = conversion.draft.add(node, link, conversion.id, f"link {name}", ts)
        title = conversion.title
        if title:
            node = conversion.draft.add(node, InfoEntry(title), conversion.id, "title", ts)
        if not self._kept.get("queue"):
            self._kept.pop("queue", None)
        told = {"session": self._kept}
        node = conversion.draft.note(node, told, conversion.id, "session", ts)
        for record in conversion.records:
            if record.noted:
                code = "not-sent-yet" if record.noted == "waiting" else "bookkeeping"
                self._accounts.folded(record.number, node.entry_id, code=code)
        # Nothing else stands below what a grown file says again, so that a store has it once.
        for record in self._unknown:
            node = self._keep_unknown(node, record, ts, unknown)
        if unknown.note:
            node = conversion.draft.note(node, unknown.note, conversion.id, "unknown", ts)
            unknown.noted(node.entry_id)

    def _unsent(self, node: Node, record: Record, ts: str) -> Node:
        """Keep what was shown and is not going to be sent, such as a notice of an error."""
        record.noted = ""
        kept = record.beside(names.ENVELOPE - {"message", "timestamp", "uuid"}) or b"{}"
        told = b'{"records":[%b]}' % kept
        node = self._conversion.draft.note(node, told, record.where, "beside", ts)
        code = "synthetic-reply" if record.is_synthetic else "not-sent"
        self._accounts.entry(record.number, node.entry_id, code=code)
        return node

    def _queued(self, node: Node, record: Record) -> Node:
        conversion = self._conversion
        record.noted = ""
        for place, piece in enumerate(conversion.units.of(record)):
            item = piece.item
            native = record.beside(names.ENVELOPE)
            entry = QueuedEntry(
                item,
                "followup",
                ref=record.uuid,
                unknown={names.NAMESPACE: native} if native and not place else None,
            )
            ts = conversion.times.of(record)
            node = conversion.draft.add(node, entry, record.uuid, f"queued{place}", ts)
            self._accounts.entry(record.number, node.entry_id, code="not-sent-yet")
        return node

    def _keep_unknown(self, node: Node, record: Record, ts: str, unknown: Unknown) -> Node:
        conversion = self._conversion
        kept = record.beside(frozenset()) or b"{}"
        node = conversion.draft.note(
            node,
            b'{"%b":[{"record":%b,"members":%b}]}' % (_NOTED, text.encode(record.where), kept),
            record.where,
            "unknown",
            record.time or ts,
        )
        self._accounts.entry(record.number, node.entry_id, code="unknown-record")
        unknown.name("unknown-record", record.type or "of no type", record.where)
        return node

    def _tell(self) -> None:
        conversion = self._conversion
        where = conversion.id
        writer = conversion.writer
        if writer.responses and not (conversion.log or writer.snapshots):
            self._accounts.find("system-prompt-not-stored", where, writer.responses)
            self._accounts.find("tools-not-stored", where, writer.responses)
        if writer.responses and not conversion.log:
            self._accounts.find("model-from-answer", where, writer.responses)
        if self._transcript.broken:
            self._accounts.find("parent-missing", where, self._transcript.broken)
        if conversion.times.missing:
            self._accounts.find("time-missing", where, conversion.times.missing)

    def totals(self) -> Mapping[str, Any]:
        """Return what was counted, native and converted side by side."""
        conversion = self._conversion
        kinds, outcomes = self._accounts.counted()
        return {
            "records": len(conversion.records),
            "kinds": kinds,
            "dispositions": outcomes,
            "entries": conversion.draft.counts(),
            "native": self._native(),
            "converted": {"responses": conversion.writer.responses, **conversion.writer.usage},
        }

    def _native(self) -> dict[str, int]:
        """The answers and their tokens, counted apart from what was written."""
        found = {"responses": 0, "input_tokens": 0, "output_tokens": 0}
        for answer in self._transcript.answers:
            if answer.id not in self._conversion.copied:
                found["responses"] += 1
                usage = answer.used.usage or {}
                found["input_tokens"] += usage.get("input_tokens", 0)
                found["output_tokens"] += usage.get("output_tokens", 0)
        return found


def _said_elsewhere(record: Record) -> frozenset[str]:
    """The members that the entry that trails does not repeat: it is written with every growth.

    What is not known of a record has a note of its own.
    """
    known = OTHERS.get(record.type)
    strange = record.members.keys() - known.members if known is not None else ()
    return frozenset({"sessionId", *strange})
