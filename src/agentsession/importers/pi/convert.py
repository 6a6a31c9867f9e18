"""Converting: a session of pi as a session of this format.

The tree maps one to one, but for what was sent: where that is not the path, the general fold
says it, and a failed message that later requests left out is a branch.

Spec: pi 5 to 7, 10, decisions D3 to D8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from agentsession.entries import LEAF_LABEL, ResponseEntry
from agentsession.importers.base import UNKNOWN_CONTENT, Converted
from agentsession.importers.drafting import Node
from agentsession.importers.numbers import count
from agentsession.importers.pi import records as pi
from agentsession.importers.pi.answers import dispatch_of, made_request, response_of
from agentsession.importers.pi.evidence import PROMPTS_KEPT, Sent
from agentsession.importers.pi.images import imageless
from agentsession.importers.pi.known import unknown_in
from agentsession.importers.pi.lowering import kept
from agentsession.importers.pi.records import mapping, objects, string
from agentsession.importers.pi.releases import releases
from agentsession.importers.pi.settings import Setting
from agentsession.importers.pi.times import EPOCH, of
from agentsession.importers.pi.transcript import Native, Transcript
from agentsession.importers.pi.window import build
from agentsession.importers.pi.writing import PLACED, Writing
from agentsession.importers.unknown import Unknown
from agentsession.record_entries import DispatchEntry, InfoEntry, LabelEntry, LinkEntry
from agentsession.wire.profiles_pi import NEWEST


@dataclass(frozen=True, slots=True)
class Forked:
    """Where a session comes from.

    Attributes:
        session: the id of the session it was forked from; empty for none.
        known: whether that session is in the source.
        copies: the places of the entries that were copied from it.
    """

    session: str = ""
    known: bool = False
    copies: Collection[int] = ()


def convert(
    transcript: Transcript,
    forked: Forked,
    others: Sequence[tuple[str, int]] = (),
    known: Mapping[str, Sent] = MappingProxyType({}),
) -> Converted:
    """Return a session converted.

    Args:
        transcript: its file, read.
        forked: where it comes from.
        others: the other copies of it, by name, with the number of their records.
        known: see :func:`~agentsession.importers.pi.releases.releases`.
    """
    return _Conversion(transcript, forked, others, known).run()


class _Conversion(Writing):
    def __init__(
        self,
        transcript: Transcript,
        forked: Forked,
        others: Sequence[tuple[str, int]],
        known: Mapping[str, Sent],
    ) -> None:
        self._forked = forked
        self._others = others
        self._releases = releases(transcript, known)
        self._imageless = imageless(transcript.entries, self._releases, known)
        super().__init__(transcript, forked.session, next(iter(self._releases.values()), NEWEST))
        self._unknown = Unknown(self._accounts)
        self._wanted: dict[int, Setting] = {}
        self._linked = not forked.session

    def run(self) -> Converted:
        transcript, accounts = self._transcript, self._accounts
        header = accounts.open("session", transcript.session_id) if transcript.header else -1
        self._numbers = [accounts.open(e.record.kind, e.name) for e in transcript.entries]
        for entry in transcript.order:
            self._entry(entry)
        node = self._finish()
        if header >= 0:
            accounts.entry(header)
        else:
            accounts.find("unreadable-header", transcript.session_id)
        if transcript.refused_id:
            accounts.find("id-impossible", transcript.session_id)
        self._rest(node)
        return self._converted()

    # The entries.

    def _entry(self, entry: Native) -> None:
        parent = entry.parent
        node = self._draft.root if parent is None else self._nodes[parent.place]
        wanted = self._base() if parent is None else self._wanted[parent.place]
        if entry.lost:
            self._accounts.find("parent-missing", entry.name)
        if not self._linked and entry.place not in self._forked.copies:
            node = self._link(node)
        self._synced = False
        self._turns.enter(entry)
        node, wanted = self._written(entry, node, wanted)
        self._turns.leave(entry)
        self._nodes[entry.place], self._wanted[entry.place] = node, wanted
        if not self._synced and parent is not None and parent.place in self._edits:
            self._edits.setdefault(entry.place, self._edits[parent.place])
        if self._at is parent:
            self._at = entry

    def _base(self) -> Setting:
        """Return the settings that the header of the first releases names. Spec: pi 2."""
        header = self._transcript.header
        return Setting(
            model=string(header.get("modelId")),
            provider=string(header.get("provider")),
            level=string(header.get("thinkingLevel")),
        )

    def _written(self, entry: Native, node: Node, wanted: Setting) -> tuple[Node, Setting]:
        """Write an entry below a node; return where its children go, and the settings there."""
        record = entry.record
        kind, value = record.type, record.value
        if record.role == pi.ASSISTANT:
            return self._assistant(entry, node, wanted)
        if record.role == pi.SYSTEM:
            wanted = wanted.instructed(record.message)
            return self._configured(entry, node, wanted, _sampling(record.message)), wanted
        if kind == pi.MODEL_CHANGE:
            model, provider = string(value.get("modelId")), string(value.get("provider"))
            wanted = replace(wanted, model=model, provider=provider)
            return self._configured(entry, node, wanted, {"type": kind}), wanted
        if kind == pi.LEVEL_CHANGE:
            wanted = replace(wanted, level=string(value.get("thinkingLevel")))
            return self._configured(entry, node, wanted, {"type": kind}), wanted
        if kind == pi.COMPACTION:
            return self._compaction(entry, node, wanted)
        if kind == pi.LABEL:
            return self._label(entry, node), wanted
        if kind == pi.SESSION_INFO and string(value.get("name")):
            info = InfoEntry(string(value["name"]))
            return self._add(entry, node, info, "info"), wanted
        return self._said(entry, node), wanted

    def _said(self, entry: Native, node: Node) -> Node:
        """Write what a later request holds, and a note of anything else."""
        record = entry.record
        if record.type == pi.CONTEXT_EDIT:
            self._accounts.find("context-edited", entry.name)
            self._release = max(self._release, PROMPTS_KEPT)
            if not self._is_moot(entry):
                self._is_built = False
                self._edits[entry.place] = entry
            return self._note(entry, node)
        if not self._lowered.units(entry):
            unknown = "unknown-role" if record.type == pi.MESSAGE else "unknown-record"
            code = "" if record.is_known else unknown
            if record.role == pi.BASH:
                code = "excluded-command"
            if code and not record.is_known:
                self._unknown.name(code, record.role or record.type, entry.name)
            return self._note(entry, node, code)
        node = self._edited(entry.parent, node)
        window = self._window_at(entry.parent, self._release)
        if record.role == pi.USER and entry.place not in self._forked.copies:
            if self._turns.begins(entry):
                node = self._settled(entry, node)
            node = self._begun(entry, node)
        if record.role == pi.RESULT:
            node = self._dispatched(entry, node)
        window.push(entry)
        return self._sync(entry, node)

    def _is_moot(self, edit: Native) -> bool:
        """Return whether a context edit takes out a failed attempt that is not sent anyway.

        The newest releases write one behind every attempt that failed. Spec: pi 7.
        """
        target = self._by_id.get(string(edit.record.value.get("targetId")))
        if target is None or target is not edit.parent or target.name != target.record.id:
            return False
        known = self._is_built and self._at is target and not self._window.waits
        return known and self._lowered.is_left_out(target, self._window.release)

    def _dispatched(self, entry: Native, node: Node) -> Node:
        """Write when a tool began to run, where that was recorded. Spec: pi 4."""
        found = dispatch_of(entry, node, self._items, self._times[entry.place])
        if found is None or self._answered.knows(found[0]["call_id"], node):
            return node
        members, ts = found
        return self._told(node, DispatchEntry, members, entry.name, role="dispatch", ts=ts)

    def _label(self, entry: Native, node: Node) -> Node:
        value = entry.record.value
        target = self._by_id.get(string(value.get("targetId")))
        home = self._homes.get(target.place, "") if target is not None else ""
        label = string(value.get("label")) or None
        if not home:
            return self._note(entry, node, "label-target-unknown")
        if label == LEAF_LABEL:
            return self._note(entry, node, "reserved-label")
        return self._add(entry, node, LabelEntry(home, label), "label")

    def _compaction(self, entry: Native, node: Node, wanted: Setting) -> tuple[Node, Setting]:
        value = entry.record.value
        self._window = build(entry.path(), self._release, self._lowered)
        self._at, self._is_built = entry.parent, True
        used = self._used_by_summary(entry)
        told = PLACED | {"type", "summary", "firstKeptEntryId", "firstKeptEntryIndex"}
        told |= {"tokensBefore", "systemMessage"}
        node = self._folded(
            entry,
            node,
            tokens_before=count(value.get("tokensBefore")),
            usage=used,
            native=kept({n: v for n, v in value.items() if n not in told}),
        )
        self._account(entry, node)
        if isinstance(value.get("systemMessage"), dict):
            wanted = wanted.instructed(value["systemMessage"], anew=True)
            node = self._configure(entry, node, wanted)
        return node, wanted

    # Model calls.

    def _assistant(self, entry: Native, node: Node, wanted: Setting) -> tuple[Node, Setting]:
        message = entry.record.message
        release = self._release = self._releases[entry.place]
        node = self._edited(entry.parent, node)
        window = self._window_at(entry.parent, release)
        copied = entry.place in self._forked.copies
        requested = not copied and made_request(entry)
        if requested and release >= (0, 67):
            window.close()
        wanted = replace(
            wanted,
            model=string(message.get("model")) or wanted.model,
            provider=string(message.get("provider")) or wanted.provider,
            level=string(message.get("thinkingLevel")) or wanted.level,
        )
        if requested:
            node = self._begun(entry, self._sync(entry, node))
            node = self._configure(entry, node, wanted)
            self._count(entry, wanted)
        self._totals.message(message, copied=copied)
        if not copied:
            self._doubt(entry, message.get("usage"))
        if self._lowered.is_left_out(entry, release):
            return self._failed(entry, node, wanted, requested=requested), wanted
        answer = self._answer(entry, node, wanted, requested=requested)
        before = len(window.units)
        window.push(entry)
        same = self._tip is node and self._agreed == before
        if same and len(window.units) - before == answer.depth - node.depth:
            self._tip, self._agreed = answer, len(window.units)
        return self._ended(entry, answer), wanted

    def _failed(self, entry: Native, node: Node, wanted: Setting, *, requested: bool) -> Node:
        """Write an answer that later requests leave out; return where the session goes on."""
        tip, open_run = self._tip, self._turns.branch() if requested else None
        answer = self._answer(entry, node, wanted, requested=requested)
        answer = self._ended(entry, answer)
        self._window.push(entry)
        if not requested:
            return answer
        self._accounts.find("failed-message-branched", entry.name)
        self._turns.back(open_run)
        self._tip = tip
        return node

    def _answer(self, entry: Native, node: Node, wanted: Setting, *, requested: bool) -> Node:
        """Write the items of a message and, when it answers a request, the response."""
        message, ts = entry.record.message, self._times[entry.place]
        release = self._releases[entry.place]
        name = string(message.get("responseId")) or entry.name
        failed = self._lowered.is_left_out(entry, release)
        if requested or not failed:
            for unit in self._lowered.units(entry):
                node = self._put(node, unit, name if requested else "")
        if requested:
            images = entry.place not in self._imageless
            response = response_of(entry, name, release, wanted.level, images=images)
            self._totals.written(response.get("usage"))
            node = self._told(node, ResponseEntry, response, entry.name, role="response", ts=ts)
            whole = "error" not in response and "incomplete" not in response
            self._turns.responded(name, whole=whole)
        else:
            code = "fork-copy" if entry.place in self._forked.copies else "no-request"
            self._accounts.find(code, entry.name)
            data = {n: v for n, v in message.items() if n != "content" or failed}
            data = {"type": pi.MESSAGE, "message": data}
            note = self._draft.note(node, kept(data) or b"{}", entry.name, "message", ts)
            node = self._new(note)
        self._account(entry, node)
        return node

    def _count(self, entry: Native, wanted: Setting) -> None:
        self._accounts.find("release-inferred", entry.name)
        if not wanted.prompt:
            self._accounts.find("system-prompt-not-stored", entry.name)
        if not wanted.tools:
            self._accounts.find("tools-not-stored", entry.name)

    def _link(self, node: Node) -> Node:
        """Write the link to a fork's origin, where what was copied ends."""
        self._linked = True
        link = LinkEntry("fork_of", self._forked.session)
        created = of(self._transcript.created)
        ts = created.text if created is not None else EPOCH
        return self._added(node, link, self._transcript.session_id, "fork", ts)

    # The end.

    def _finish(self) -> Node:
        """Leave the session at its leaf, with the context that the next request has."""
        transcript, draft = self._transcript, self._draft
        if not transcript.entries:
            return draft.root if self._linked else self._link(draft.root)
        last = transcript.entries[-1]
        node = self._nodes[last.place]
        if not self._linked:
            node = self._link(node)
        node = self._edited(last, node)
        self._window_at(last, self._release)
        self._tip = None
        node = self._sync(last, node)
        if not node.entry_id or node.entry_id != self._newest:
            ts = self._times[last.place]
            node = self._new(draft.note(node, {"leaf": last.name}, last.name, "leaf", ts))
        return node

    def _rest(self, node: Node) -> None:
        """Account for what is no entry."""
        transcript, accounts = self._transcript, self._accounts
        for record in transcript.unreadable:
            number = accounts.open(record.kind, f"line {record.line}")
            accounts.left_out(number, "unreadable-record")
        for code, given in (
            ("repeated-header", transcript.headers),
            ("repeated-record", transcript.repeated),
        ):
            for record in given:
                number = accounts.open(record.kind, record.id or f"line {record.line}")
                accounts.left_out(number, code)
        for name, records in self._others:
            for place in range(records):
                accounts.left_out(accounts.open("record", f"{name}: {place + 1}"), "other-copy")
            accounts.find("other-copy", name, records)
        for place in self._untimed:
            accounts.find("time-missing", transcript.entries[place].name)
        for entry in transcript.entries:
            if entry.record.changed:
                accounts.find("value-not-kept", entry.name)
        if self._forked.session and not self._forked.known:
            accounts.find("fork-origin-unknown", transcript.session_id)
        self._look_for_unknown(node)

    def _look_for_unknown(self, node: Node) -> None:
        """Name what pi never wrote, and keep in a last entry what no other one holds."""
        transcript, unknown = self._transcript, self._unknown
        if transcript.header_record is not None:
            for one, _ in unknown_in(transcript.header_record):
                unknown.found(one, transcript.session_id)
        for entry, number in zip(transcript.entries, self._numbers, strict=True):
            for one, is_held in unknown_in(entry.record):
                unknown.found(one, entry.name, -1 if is_held else number)
        if unknown.note:
            ts = self._times[-1] if self._times else EPOCH
            data = kept(unknown.note)
            note = self._draft.note(node, data, transcript.session_id, "unknown", ts)
            unknown.noted(note.entry_id)
        if unknown.is_loud(transcript.size, transcript.unknown):
            self._accounts.find(UNKNOWN_CONTENT, transcript.session_id)

    def _converted(self) -> Converted:
        dispositions = self._accounts.dispositions()
        totals = self._totals.to_dict(self._draft.counts(), dispositions)
        return Converted(self._draft.finished(), dispositions, self._accounts.findings, totals)


def _sampling(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the arguments of added tools are held to their schemas. Spec: pi 4."""
    found = {
        string(tool.get("name")): tool["constrainedSampling"]
        for tool in objects(message.get("toolsAdded"))
        if mapping(tool.get("constrainedSampling"))
    }
    return {"type": "system", **({"constrainedSampling": found} if found else {})}
