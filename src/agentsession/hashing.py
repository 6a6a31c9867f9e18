"""Hashes of the requests of a whole session, in about one pass over its canonical bytes.

The canonical request sorts its members, so it is: the members before ``input``, the items,
the members after. Along a path the first stay the same and the items only grow; a SHA-256
state over both is carried from entry to entry, and copied and finished for each response.
What changes the beginning (a compaction, a setting that sorts before ``input``) starts a new
state over the items' canonical bytes, which are kept.

Spec: context 3 to 5, decision A9, design decision 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentsession.canonical import canonical_json
from agentsession.context import left_out, lost_window, opening, request_context
from agentsession.entries import BranchSummaryEntry, CompactionEntry, ConfigEntry, Entry, ItemEntry
from agentsession.errors import CannotHash, NoContext
from agentsession.items import Item
from agentsession.normalise import Form
from agentsession.request import hash_of, item_bytes, setting_values
from agentsession.settings import Settings

_ROOT = -1
"""The index above every root."""

_INPUT = "input".encode("utf-16-be")

_Contribution = tuple[Entry, Item]


@dataclass(slots=True)
class Cost:
    """What hashing a session's requests had to do; equal work gives equal counts.

    Attributes:
        items_encoded: items whose canonical bytes were computed.
        items_hashed: items fed to a hash state.
        settings_encoded: settings whose canonical bytes were computed.
        restarts: hash states started over the items of a compaction's window, or because a
            member that sorts before ``input`` changed.
        rebuilds: requests hashed from the start by themselves.
    """

    items_encoded: int = 0
    items_hashed: int = 0
    settings_encoded: int = 0
    restarts: int = 0
    rebuilds: int = 0


class RequestHasher:
    """The hashes of the requests that the responses of a session answered.

    Args:
        entries: all entries, parents before their children.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.cost = Cost()
        self._tree = _Tree(entries)
        self._chains: dict[Form, _Chain] = {}

    def check_context(self, index: int) -> None:
        """Return when the context of the request of the response at an index can be built.

        Raises:
            NoContext: when it cannot.
        """
        above, between = self._tree.request_end(index)
        if any(isinstance(entry, CompactionEntry) for entry in between):
            request_context(self._tree.path(index))
            return
        error = self._chain(Form.AS_WRITTEN).state(above).error
        if isinstance(error, NoContext):
            raise error

    def request_hash(self, index: int, form: Form) -> str:
        """Return the hash of the request of the response at an index.

        Raises:
            NoContext: when its context cannot be built.
            CannotHash: when it holds a number beyond any double.
        """
        above, between = self._tree.request_end(index)
        chain = self._chain(form)
        state: _State | None = chain.state(above)
        for entry in between:
            state = state and chain.appended(state, entry)
        if state is not None:
            return state.finish()
        self.cost.rebuilds += 1
        context = request_context(self._tree.path(index))
        return hash_of(context.settings, context.items, form)

    def _chain(self, form: Form) -> _Chain:
        if form not in self._chains:
            self._chains[form] = _Chain(self._tree, form, self.cost)
        return self._chains[form]


class _Tree:
    """Where entries stand to each other, by index; one pass over the entries.

    Along a path indices grow, so comparing two of them says which lies deeper.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        index = {entry.id: position for position, entry in enumerate(entries)}
        self.parents = [index[entry.parent] if entry.parent else _ROOT for entry in entries]
        self.children = [0] * len(entries)
        # The nearest item entry and the nearest other entry with a say in the context, at or
        # above each entry; for an item the first of the run its response produced.
        self._item = [_ROOT] * (len(entries) + 1)
        self._change = [_ROOT] * (len(entries) + 1)
        self._run_start = [_ROOT] * len(entries)
        for position, entry in enumerate(entries):
            self._place(position, entry)

    def _place(self, position: int, entry: Entry) -> None:
        parent = self.parents[position]
        if parent != _ROOT:
            self.children[parent] += 1
        self._item[position] = self._item[parent]
        self._change[position] = self._change[parent]
        if isinstance(entry, ItemEntry):
            above = self._item[parent]
            self._item[position] = position
            same = above != _ROOT and self._response(above) == entry.response
            self._run_start[position] = self._run_start[above] if same else position
        elif isinstance(entry, (ConfigEntry, CompactionEntry, BranchSummaryEntry)):
            self._change[position] = position

    def _response(self, position: int) -> str:
        entry = self.entries[position]
        return entry.response if isinstance(entry, ItemEntry) else ""

    def request_end(self, index: int) -> tuple[int, list[Entry]]:
        """Where the request of a response ends, and the entries after it that count for it.

        Those are the entries with a say in the context that stand among the output items.
        """
        response: Any = self.entries[index]
        item = self._item[index]
        response_id = response.response_id
        if item == _ROOT or not response_id or self._response(item) != response_id:
            return self.parents[index], []
        first = self._run_start[item]
        between = []
        change = self._change[index]
        while change > first:
            between.append(self.entries[change])
            change = self._change[self.parents[change]]
        return self.parents[first], between[::-1]

    def path(self, index: int) -> list[Entry]:
        return [self.entries[position] for position in self.up(index)][::-1]

    def up(self, index: int) -> Iterator[int]:
        """The index and those above it, deepest first."""
        while index != _ROOT:
            yield index
            index = self.parents[index]


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The canonical text of settings around the items.

    ``before`` opens the object; one of the two ``after`` closes it.
    """

    settings: Settings
    before: bytes
    after: bytes
    after_no_items: bytes
    error: CannotHash | None
    no_items_error: CannotHash | None


@dataclass(frozen=True, slots=True)
class _State:
    """The hash of a request up to its last item.

    ``sha`` has taken ``around.before`` and the items; it is copied and never changed. With an
    error there is no hash until the items start anew.
    """

    around: _Surroundings
    sha: Any
    count: int = 0
    error: CannotHash | NoContext | None = None

    def finish(self) -> str:
        error = self.error or (self.around.error if self.count else self.around.no_items_error)
        if error is not None:
            raise error
        sha = self.sha.copy()
        sha.update(self.around.after if self.count else self.around.after_no_items)
        return f"sha256:{sha.hexdigest()}"


class _Chain:
    """The hash states of a tree's paths in one form."""

    def __init__(self, tree: _Tree, form: Form, cost: Cost) -> None:
        self._tree = tree
        self._form = form
        self._cost = cost
        # By the identity of the item, which its entry keeps alive.
        self._encoded: dict[int, bytes] = {}
        self._states = {_ROOT: _started(self._surroundings(Settings()))}

    def state(self, index: int) -> _State:
        """The state after the entry at an index."""
        todo = []
        state = self._states[_ROOT]
        for position in self._tree.up(index):
            if position in self._states:
                state = self._states[position]
                break
            todo.append(position)
            if isinstance(self._tree.entries[position], CompactionEntry):
                break  # nothing above it counts
        for position in reversed(todo):
            state = self._after(state, position)
            # Only where paths part, or a response asked, is a state needed again.
            if position == index or self._tree.children[position] > 1:
                self._states[position] = state
        return state

    def _after(self, state: _State, position: int) -> _State:
        entry = self._tree.entries[position]
        if isinstance(entry, CompactionEntry):
            return self._restarted(entry.config, position)
        return self.appended(state, entry) or self._restarted(
            _configured(state.around.settings, entry), position
        )

    def appended(self, state: _State, entry: Entry) -> _State | None:
        """The state after one more entry, or None when the items have to start anew."""
        if isinstance(entry, CompactionEntry):
            return None
        if not isinstance(entry, ConfigEntry):
            item = entry.contribution()
            return state if item is None else self._fed(state, [(entry, item)])
        around = self._surroundings(_configured(state.around.settings, entry))
        if _left_out(around.settings) != _left_out(state.around.settings):
            return None
        if around.before == state.around.before:
            return replace(state, around=around)
        return None if state.count or state.error else _started(around)

    def _restarted(self, settings: Settings, position: int) -> _State:
        """The state of the context at an index, from its first item on."""
        self._cost.restarts += 1
        state = _started(self._surroundings(settings))
        try:
            return self._fed(state, self._contributions(position, settings))
        except NoContext as error:
            return replace(state, error=error)

    def _contributions(self, position: int, settings: Settings) -> list[_Contribution]:
        """The items of the context at an index, with their entries."""
        omitted = left_out(self._tree.path(position), settings) if settings.omit else {}
        found: list[_Contribution] = []
        compaction: CompactionEntry | None = None
        for above in self._tree.up(position):
            entry = self._tree.entries[above]
            if compaction is None and isinstance(entry, CompactionEntry):
                compaction = entry
                continue
            item = entry.contribution()
            if item is not None and entry.id not in omitted:
                found.append((entry, item))
            if compaction is not None and entry.id == compaction.first_kept:
                break
        else:
            if compaction is not None:
                raise lost_window(compaction)
        found.reverse()
        first = opening(compaction) if compaction is not None else ()
        return [*((compaction, item) for item in first if compaction), *found]

    def _fed(self, state: _State, contributions: Iterable[_Contribution]) -> _State:
        if state.error is not None:
            return state
        sha, count = state.sha.copy(), state.count
        try:
            for entry, item in contributions:
                encoded = self._item_bytes(entry, item)
                sha.update(b"," if count else _input_opener(state.around))
                sha.update(encoded)
                count += 1
        except CannotHash as error:
            return replace(state, error=error)
        self._cost.items_hashed += count - state.count
        return _State(state.around, sha, count)

    def _item_bytes(self, entry: Entry, item: Item) -> bytes:
        encoded = self._encoded.get(id(item))
        if encoded is None:
            self._cost.items_encoded += 1
            try:
                encoded = item_bytes(item.json_text, self._form)
            except CannotHash as error:
                raise CannotHash(f"{entry.type} entry {entry.id}: {error}") from error
            self._encoded[id(item)] = encoded
        return encoded

    def _surroundings(self, settings: Settings) -> _Surroundings:
        self._cost.settings_encoded += 1
        before: list[tuple[bytes, bytes]] = []
        after: list[tuple[bytes, bytes]] = []
        own_input: list[tuple[bytes, bytes]] = []
        error = no_items_error = None
        for name, value in setting_values(settings, self._form):
            key = name.encode("utf-16-be")
            members = before if key < _INPUT else after if key > _INPUT else own_input
            try:
                members.append((key, canonical_json({name: value})[1:-1]))
            except CannotHash as problem:
                if members is not own_input:
                    error = error or problem
                no_items_error = no_items_error or problem
        opened = b"{" + _joined([] if error else before)
        return _Surroundings(
            settings,
            before=opened,
            after=b"]," + _joined(after) + b"}",
            # An extra member called input counts where there are no items.
            after_no_items=(b"" if opened == b"{" else b",") + _joined(own_input + after) + b"}",
            error=error,
            no_items_error=no_items_error,
        )


def _joined(members: list[tuple[bytes, bytes]]) -> bytes:
    return b",".join(member for _, member in sorted(members))


def _configured(settings: Settings, entry: Entry) -> Settings:
    return settings.apply(entry) if isinstance(entry, ConfigEntry) else settings


def _left_out(settings: Settings) -> object:
    """What decides which items already on the path the settings leave out of requests."""
    omission = settings.omission
    return omission, settings.model if omission.reasoning else ""


def _started(around: _Surroundings) -> _State:
    return _State(around, hashlib.sha256(around.before))


def _input_opener(around: _Surroundings) -> bytes:
    return b'"input":[' if around.before == b"{" else b',"input":['
