"""The context: what the model is sent at a point of a path.

Spec: context 1, 3, 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentsession.entries import CompactionEntry, Entry, ResponseEntry
from agentsession.items import Item
from agentsession.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The settings and input of a request."""

    settings: Settings
    items: tuple[Item, ...]
    entries: tuple[Entry, ...]
    item_entries: tuple[Entry, ...]

    def request(self) -> dict[str, Any]:
        raise NotImplementedError

    def request_hash(self) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError


def build_context(path: Sequence[Entry]) -> Context:
    raise NotImplementedError


def request_context(path: Sequence[Entry]) -> Context:
    raise NotImplementedError


def output_entries(path: Sequence[Entry], response: ResponseEntry) -> tuple[Entry, ...]:
    raise NotImplementedError


def in_context(entry: Entry) -> bool:
    return entry.CONTEXT


def compact(path: Sequence[Entry], first_kept: str, summary: object) -> CompactionEntry:
    raise NotImplementedError


def compact_from(path: Sequence[Entry], index: int, summary: object) -> CompactionEntry:
    raise NotImplementedError


def compact_keeping(path: Sequence[Entry], kept: int, summary: object) -> CompactionEntry:
    raise NotImplementedError
