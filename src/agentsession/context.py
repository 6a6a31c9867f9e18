"""The context: what the model is sent at a point of a path.

Spec: context 1, 3 and 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsession import versions
from agentsession.entries import CompactionEntry, ConfigEntry, Entry, ItemEntry, ResponseEntry
from agentsession.errors import InvalidEntry, NoContext, NoEntry
from agentsession.items import Item
from agentsession.lineage import Lineage, Listed, asked
from agentsession.normalise import Form
from agentsession.parts import OmittedPart
from agentsession.request import build_request, hash_of
from agentsession.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The settings and the input of a request, and the entries they come from.

    Attributes:
        settings: the settings in force.
        items: the input, in order.
        entries: the entries selected, in order, with those that contribute no item.
        item_entries: for each item the entry it came from.
        omitted: the item entries among them that the settings leave out of requests, by id,
            each with the reason: ``items`` when its id is listed, ``other_models`` for the
            reasoning of another model (0.11).

    ``entries`` and ``item_entries`` are read-only sequences that make an entry when it is asked
    for, so that a long context costs no entry it does not use.

    Spec: context 1, later drafts 8.3.
    """

    settings: Settings
    items: tuple[Item, ...]
    entries: Sequence[Entry]
    item_entries: Sequence[Entry]
    omitted: Mapping[str, str] = field(default_factory=dict)

    @property
    def instructions_omitted(self) -> tuple[OmittedPart, ...]:
        """The instructions parts the writer left out.

        Up to 0.4 that is the newest list among the entries, later the one in force.

        Spec: format 4.3.2, later drafts 8.2.
        """
        if self.entries and versions.has_later_settings(self.entries[-1].version):
            return self.settings.instructions_omitted
        steps = asked(self.entries)
        configs = (steps[place] for place in reversed(steps.of_type(ConfigEntry)))
        lists = (entry.instructions_omitted for entry in configs if isinstance(entry, ConfigEntry))
        return next(filter(None, lists), ())

    def request(self, form: Form = Form.NORMALISED) -> dict[str, Any]:
        """Return the canonical request as plain values, free to be changed (context 4)."""
        return build_request(self.settings, self.items, form)

    def request_hash(self, form: Form = Form.NORMALISED) -> str:
        """Return the hash of the canonical request (context 5).

        Raises:
            CannotHash: when the request holds a number beyond any double.
        """
        return hash_of(self.settings, self.items, form)

    def to_dict(self) -> dict[str, Any]:
        """Return the context as plain values, entries by their ids."""
        return {
            "settings": self.settings.to_dict(),
            "items": [item.to_dict() for item in self.items],
            "entries": [entry.id for entry in self.entries],
            "item_entries": [entry.id for entry in self.item_entries],
        }


def build_context(path: Sequence[Entry]) -> Context:
    """Return the context at the end of a root-first path; the empty one for no path.

    Of a path that makes its entries when asked (:class:`~agentsession.lineage.Lineage`) it
    makes only those that say something about the settings.

    Spec: context 1.

    Raises:
        NoContext: when the path's last compaction keeps from an entry not before it.
    """
    steps = asked(path)
    compaction, kept, start = _last_compaction(steps)
    settings = _settings(compaction, steps, start)
    omitted = left_out(path, settings)
    window: Sequence[int] = range(len(path))
    if start:
        window = [*range(kept, start - 1), *range(start, len(path))]
    found = steps.contributions(window)
    if omitted:
        found = [
            None if path[place].id in omitted else item
            for item, place in zip(found, window, strict=True)
        ]
    opened = opening(compaction) if compaction is not None else ()
    first = [start - 1] if start else []
    contributing = [place for item, place in zip(found, window, strict=True) if item is not None]
    entries = steps.picked([*first, *window] if first else window)
    return Context(
        settings=settings,
        items=(*opened, *[item for item in found if item is not None]),
        entries=entries,
        item_entries=steps.picked([*first * len(opened), *contributing]),
        omitted={entry.id: omitted[entry.id] for entry in entries if entry.id in omitted}
        if omitted
        else {},
    )


def left_out(path: Sequence[Entry], settings: Settings) -> Mapping[str, str]:
    """Return the item entries of a path that the settings at its end leave out of requests.

    Spec: later drafts 8.3.
    """
    if not path or not versions.has_later_settings(path[-1].version):
        return {}
    return settings.omission.omitted(path, settings.model)


def settings_at(path: Sequence[Entry]) -> Settings:
    """Return the settings at the end of a path, whether or not its context can be built."""
    steps = asked(path)
    compactions = steps.of_type(CompactionEntry)
    if not compactions:
        return _settings(None, steps, 0)
    compaction = path[compactions[-1]]
    assert isinstance(compaction, CompactionEntry)
    return _settings(compaction, steps, compactions[-1] + 1)


def _settings(compaction: CompactionEntry | None, steps: Lineage | Listed, start: int) -> Settings:
    settings = Settings() if compaction is None else compaction.config
    for place in steps.of_type(ConfigEntry, start):
        entry = steps[place]
        if isinstance(entry, ConfigEntry):
            settings = settings.apply(entry)
    return settings


def _last_compaction(steps: Lineage | Listed) -> tuple[CompactionEntry | None, int, int]:
    """The last compaction, where its window starts, and where the path goes on after it."""
    compactions = steps.of_type(CompactionEntry)
    if not compactions:
        return None, 0, 0
    position = compactions[-1]
    entry = steps[position]
    assert isinstance(entry, CompactionEntry)
    kept = steps.place(entry.first_kept, position)
    if kept is None:
        raise lost_window(entry)
    return entry, kept, position + 1


def lost_window(compaction: CompactionEntry) -> NoContext:
    """Return the error for a compaction whose ``first_kept`` is not on the path before it."""
    return NoContext(
        f'compaction {compaction.id} keeps from "{compaction.first_kept}", which is not on the '
        "path before it",
        entry_id=compaction.id,
    )


def opening(compaction: CompactionEntry) -> tuple[Item, ...]:
    """Return the items a compaction opens a context with: its summary, then its pinned items."""
    return (compaction.summary, *compaction.pinned)


def in_context(entry: Entry) -> bool:
    """Return whether an entry's type adds items to a context (context 1)."""
    return entry.CONTEXT


def request_context(path: Sequence[Entry]) -> Context:
    """Return the context of the request that the response at the end of a path answered.

    Spec: context 3.

    Raises:
        InvalidEntry: when the path does not end in a response.
        NoContext: when the context cannot be built.
    """
    response = response_of(path)
    produced = {id(entry) for entry in output_entries(path, response)}
    return build_context([entry for entry in path[:-1] if id(entry) not in produced])


def response_of(path: Sequence[Entry]) -> ResponseEntry:
    """Return the response a path ends in.

    Raises:
        InvalidEntry: when it ends in another entry.
    """
    last = path[-1] if path else None
    if isinstance(last, ResponseEntry):
        return last
    found = f"{last.type} entry {last.id}" if last is not None else "an empty path"
    raise InvalidEntry(f"{found} is no response, so it answers no request")


def output_entries(path: Sequence[Entry], response: ResponseEntry) -> tuple[Entry, ...]:
    """Return the item entries a response produced, in path order.

    The path may or may not still hold the response at its end.

    Spec: context 3, the walk-back rule.
    """
    return tuple(reversed(list(_produced(path, response.response_id))))


def _produced(path: Sequence[Entry], response_id: str) -> Iterator[Entry]:
    for entry in reversed(path):
        if not isinstance(entry, ItemEntry):
            continue
        if not response_id or entry.response != response_id:
            return
        yield entry


def compact(path: Sequence[Entry], first_kept: str, summary: object) -> CompactionEntry:
    """Return a compaction at the end of a path that keeps it from an entry on.

    Spec: context 11.

    Raises:
        InvalidEntry: without a summary.
        NoContext: when the context at the end of the path cannot be built.
        NoEntry: when ``first_kept`` is not on the path.
    """
    if summary is None:
        raise InvalidEntry("a compaction needs a summary", type="compaction", member="summary")
    settings = build_context(path).settings
    if versions.has_later_settings(path[-1].version if path else versions.NEWEST_SHORT):
        settings = settings.checkpoint()
    if not any(entry.id == first_kept for entry in path):
        raise NoEntry(
            f'entry "{first_kept}" is not on the path to {path[-1].id if path else "the leaf"}; '
            "a compaction keeps from an entry of its own path",
            entry_id=first_kept,
        )
    return CompactionEntry(first_kept, summary, config=settings)


def compact_from(path: Sequence[Entry], index: int, summary: object) -> CompactionEntry:
    """Return a compaction at the end of a path that keeps the context's items from an index.

    Spec: context 11.

    Raises:
        InvalidEntry: when there is no such item, or it came from a compaction.
        NoContext: when the context at the end of the path cannot be built.
    """
    kept = build_context(path).item_entries
    if not 0 <= index < len(kept):
        raise InvalidEntry(
            f"the context has {len(kept)} items, so none can be kept from {index} on; count from 0",
            type="compaction",
            member="first_kept",
        )
    entry = kept[index]
    if isinstance(entry, CompactionEntry):
        raise InvalidEntry(
            f"item {index} of the context belongs to compaction {entry.id}; a later compaction "
            "replaces an earlier summary and cannot keep it",
            type="compaction",
            member="first_kept",
        )
    return compact(path, entry.id, summary)


def compact_keeping(path: Sequence[Entry], kept: int, summary: object) -> CompactionEntry:
    """Return a compaction at the end of a path that keeps the context's last items.

    Spec: context 11.

    Raises:
        InvalidEntry: when there are not that many, or one came from a compaction.
        NoContext: when the context at the end of the path cannot be built.
    """
    found = len(build_context(path).items)
    if not 1 <= kept <= found:
        raise InvalidEntry(
            f"the context has {found} items, so {kept} cannot be kept; give 1 to {found}",
            type="compaction",
            member="first_kept",
        )
    return compact_from(path, found - kept, summary)
