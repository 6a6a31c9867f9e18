"""Writing: what is sent at each place of a session of pi, made the context of a draft.

Where what is sent is not the context at a node, the general fold says it, or the session
goes on above what was taken out at its end.

Spec: pi 6, decisions D3 and D5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsession.entries import BranchSummaryEntry, Entry
from agentsession.header import Header
from agentsession.importers.accounts import Accounts
from agentsession.importers.drafting import Node, TextUnit, TreeDraft, Unit, spelled
from agentsession.importers.numbers import ODD
from agentsession.importers.pi import records as pi
from agentsession.importers.pi.codes import CODES
from agentsession.importers.pi.evidence import Release
from agentsession.importers.pi.lowering import kept
from agentsession.importers.pi.records import string
from agentsession.importers.pi.settings import NAMESPACE, Setting, change
from agentsession.importers.pi.times import EPOCH, of, times
from agentsession.importers.pi.totals import Totals
from agentsession.importers.pi.transcript import Native, Transcript
from agentsession.importers.pi.turns import Turns
from agentsession.importers.pi.usage import is_odd, usage_of
from agentsession.importers.pi.window import Lowered, Window, build
from agentsession.importers.settling import Settled
from agentsession.importers.telling import Told, tell
from agentsession.parts import Harness
from agentsession.record_entries import RunEntry

FORMAT: Final = "agentsession/0.3"
HARNESS: Final = "pi"

PLACED: Final = frozenset({"id", "parentId", "timestamp"})
"""The members of a record that its entry's envelope says."""

_HEADED: Final = frozenset({"type", "id", "timestamp", "cwd"})


class Writing:
    """A session of pi on its way into a draft.

    Args:
        transcript: its file, read.
        origin: the session it was forked from; empty for none.
        release: who sent its first request.
    """

    def __init__(self, transcript: Transcript, origin: str, release: Release) -> None:
        self._transcript = transcript
        self._origin = origin
        self._accounts = Accounts(CODES)
        self._totals = Totals()
        self._times, self._untimed = times(transcript)
        self._lowered = Lowered(transcript.entries, self._times)
        self._by_id = transcript.by_id()
        self._draft = TreeDraft(self._header(), NAMESPACE)
        self._draft.root.state = Setting()
        self._numbers: list[int] = []
        self._nodes: dict[int, Node] = {}
        self._homes: dict[int, str] = {}
        # By entry, the call it holds; ``None`` where a user says something.
        self._items: dict[str, str | None] = {}
        self._answered = Settled()
        self._folds: set[str] = set()
        self._newest = ""
        self._turns = Turns()
        self._release = release
        # The last context edit above each entry below which nothing was sent yet.
        self._edits: dict[int, Native] = {}
        self._synced = False
        # The window at an entry, and how much of it stands at a node of the draft.
        self._window = Window(release, self._lowered)
        self._at: Native | None = None
        self._is_built = False
        self._tip: Node | None = None
        self._agreed = 0

    def _header(self) -> Header:
        transcript = self._transcript
        created = of(transcript.created)
        first = self._times[0] if self._times else EPOCH
        told = _HEADED - {"id"} if transcript.refused_id else _HEADED
        beside = {n: v for n, v in transcript.header.items() if n not in told}
        return Header(
            format=FORMAT,
            id=transcript.session_id,
            created_at=created.text if created is not None else first,
            harness=Harness(HARNESS),
            cwd=string(transcript.header.get("cwd")),
            parent_session=self._origin,
            unknown={NAMESPACE: kept(beside)} if kept(beside) else None,
        )

    # What was sent.

    def _window_at(self, parent: Native | None, release: Release) -> Window:
        """Return what is sent below an entry."""
        fits = self._is_built and self._at is parent and self._window.release == release
        if not fits:
            path = [] if parent is None else parent.path()
            self._window = build(path, release, self._lowered)
            self._at, self._is_built, self._tip = parent, True, None
        return self._window

    def _sync(self, entry: Native, node: Node) -> Node:
        """Make the context at a node what is sent; return where that is so."""
        self._synced = True
        sent = self._window.units
        agreed = self._agreed
        if self._tip is not node or self._tip is None:
            keys = self._draft.keys_at(node)[0]
            agreed = 0
            while agreed < min(len(keys), len(sent)) and keys[agreed] == sent[agreed].key:
                agreed += 1
            if agreed < len(keys):
                back = self._rewound(entry, node, agreed) if agreed == len(sent) else None
                node = self._folded(entry, node) if back is None else back
                agreed = len(sent)
        for unit in sent[agreed:]:
            node = self._put(node, unit)
        self._tip, self._agreed = node, len(sent)
        return node

    def _rewound(self, entry: Native, node: Node, depth: int) -> Node | None:
        """Return the node above whose context is all that is sent; ``None`` for none."""
        if not depth:
            self._accounts.find("context-emptied", entry.name)
            return self._draft.root
        at: Node | None = node
        while at is not None and at.depth != depth:
            at = at.parent
        sent = [unit.key for unit in self._window.units]
        if at is None or self._draft.keys_at(at)[0] != sent:
            return None
        self._accounts.find("context-rewound", entry.name)
        return at

    def _folded(self, entry: Native, node: Node, **told: Any) -> Node:
        """Write the compaction after which the context is what is sent."""
        self._synced = True
        sent = self._window.units
        state = node.state
        node = self._draft.fold(node, sent, entry.name, self._times[entry.place], **told)
        node.state = state
        if node.entry_id not in self._folds:
            # What was sent a second time from one place has its compaction already.
            self._folds.add(node.entry_id)
            self._new(node)
            self._totals.written(told.get("usage"))
        if not told:
            self._accounts.find("context-folded", entry.name)
        self._tip, self._agreed = node, len(sent)
        return node

    def _edited(self, above: Native | None, node: Node) -> Node:
        """Carry out context edits above a place, as their own doing and not what follows'."""
        edit = self._edits.get(above.place) if above is not None else None
        if edit is None:
            return node
        self._window_at(above, self._release)
        return self._sync(edit, node)

    # Writing.

    def _put(self, node: Node, unit: Unit, response: str = "") -> Node:
        state = node.state
        entry = self._transcript.entries[unit.record] if unit.record >= 0 else None
        added: BranchSummaryEntry | None = None
        if entry is not None and entry.record.type == pi.BRANCH_SUMMARY:
            added = self._branch_summary(entry, unit)
        if added is not None:
            node = self._draft.put(node, unit, added)
            self._totals.written(added.usage)
        else:
            node = self._item(node, unit, response)
        self._new(node).state = state
        if entry is None:
            self._accounts.find("call-noticed", unit.native_id)
        else:
            self._account(entry, node)
        return node

    def _item(self, node: Node, unit: Unit, response: str) -> Node:
        origin = spelled(unit.origin) if unit.origin else b""
        said = TextUnit(unit.key, unit.native_id, spelled(unit.item), origin, unit.ts)
        said.role, said.response = unit.role, response
        said.native, said.hidden = unit.native, unit.hidden
        node = self._draft.put_text(node, said)
        self._turns.item(unit.item, response)
        kind = unit.item.get("type")
        if kind == "function_call":
            self._items[node.entry_id] = string(unit.item.get("call_id"))
        elif kind == "function_call_output":
            self._answered.take(string(unit.item.get("call_id")), node)
        elif kind == "message" and unit.item.get("role") == "user":
            self._items[node.entry_id] = None
        return node

    def _new(self, node: Node) -> Node:
        """Take note of an entry that was just written."""
        self._newest = node.entry_id
        self._turns.wrote(node)
        return node

    def _used_by_summary(self, entry: Native) -> dict[str, Any] | None:
        """Return what the call that made a summary used, ``None`` where that is not stored."""
        value = entry.record.value
        used = usage_of(value.get("usage"))
        self._totals.add(value.get("usage"), used)
        self._doubt(entry, value.get("usage"))
        if used is None and value.get("fromHook") is not True:
            self._accounts.find("summary-usage-not-stored", entry.name)
        return used

    def _doubt(self, entry: Native, used: object) -> None:
        """Say of a call whose counts are no numbers of tokens that they are none."""
        if is_odd(used):
            self._accounts.find(ODD, entry.name)

    def _branch_summary(self, entry: Native, unit: Unit) -> BranchSummaryEntry:
        value = entry.record.value
        used = self._used_by_summary(entry)
        left = self._by_id.get(string(value.get("fromId")))
        if left is not None and left is entry.parent:
            # Before 0.87 the place that was gone to stands where the one left should.
            self._accounts.find("branch-left-guessed", entry.name)
            left = self._transcript.entries[entry.place - 1] if entry.place else None
        home = self._nodes.get(left.place) if left is not None else None
        told = PLACED | {"type", "summary", "fromId"}
        beside = kept({n: v for n, v in value.items() if n not in told})
        return BranchSummaryEntry(
            home.entry_id if home is not None else "",
            dict(unit.item),
            usage=used,
            unknown={NAMESPACE: beside} if beside else None,
        )

    def _configure(
        self, entry: Native, node: Node, wanted: Setting, native: Mapping[str, Any] | None = None
    ) -> Node:
        """Write a config entry where the settings are not those in force."""
        if node.state == wanted and native is None:
            return node
        config = change(node.state, wanted, native or {})
        role = "config" if native is None else "entry"
        node = self._added(node, config, entry.name, role, self._times[entry.place])
        node.state = wanted
        return node

    def _configured(
        self, entry: Native, node: Node, wanted: Setting, native: Mapping[str, Any]
    ) -> Node:
        node = self._configure(entry, node, wanted, native)
        self._account(entry, node)
        return node

    def _add(self, entry: Native, node: Node, added: Entry, role: str) -> Node:
        node = self._added(node, added, entry.name, role, self._times[entry.place])
        self._account(entry, node)
        return node

    def _note(self, entry: Native, node: Node, code: str = "") -> Node:
        value = {n: v for n, v in entry.record.value.items() if n not in PLACED}
        data = kept(value) or b"{}"
        ts = self._times[entry.place]
        new = self._new(self._draft.note(node, data, entry.name, "note", ts))
        node = self._carried(node, new)
        self._account(entry, node, code)
        return node

    def _added(self, node: Node, added: Entry, name: str, role: str, ts: str) -> Node:
        return self._carried(node, self._new(self._draft.add(node, added, name, role, ts)))

    def _told(
        self,
        node: Node,
        entry_type: type[Entry],
        members: Mapping[str, Any],
        name: str,
        *,
        role: str,
        ts: str,
    ) -> Node:
        new = tell(self._draft, node, Told(entry_type, members), name, role=role, ts=ts)
        return self._carried(node, self._new(new))

    def _settled(self, entry: Native, node: Node) -> Node:
        """Answer the calls that an earlier run left, before what begins a new one."""
        window = self._window
        if not window.waits and not (window.units and window.units[-1].record < 0):
            return node
        window.close()
        return self._sync(entry, node)

    def _begun(self, entry: Native, node: Node) -> Node:
        """Write that a run begins, where one does."""
        if not self._turns.begins(entry):
            return node
        told, ts = self._turns.begin(entry), self._times[entry.place]
        return self._told(node, RunEntry, told, entry.name, role="run", ts=ts)

    def _ended(self, entry: Native, node: Node) -> Node:
        """Write that a run ends, where an answer ends one."""
        told = self._turns.end(self._draft, node, entry.record.message)
        if told is None:
            return node
        ts = self._times[entry.place]
        return self._told(node, RunEntry, told, entry.name, role="end", ts=ts)

    def _carried(self, node: Node, new: Node) -> Node:
        """What stood at a node stands at one that adds no item as well."""
        if self._tip is node:
            self._tip = new
        return new

    def _account(self, entry: Native, node: Node, code: str = "") -> None:
        self._homes.setdefault(entry.place, node.entry_id)
        self._accounts.entry(self._numbers[entry.place], node.entry_id, code=code)
