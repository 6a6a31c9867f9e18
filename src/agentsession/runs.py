"""Runs on a path: their segments, their end reasons, and whether records agree.

Spec: context 9, 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsession.entries import Entry
from agentsession.header import Header
from agentsession.record_entries import QueuedEntry, RunEntry


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the entries of a path from its start to its end."""

    start: RunEntry
    segment: tuple[Entry, ...]
    end: RunEntry | None = None
    path: tuple[Entry, ...] = ()

    @property
    def id(self) -> str:
        return self.start.run_id

    def pending(self) -> tuple[str, ...]:
        raise NotImplementedError

    def reason(self) -> str:
        raise NotImplementedError

    def verify(self) -> None:
        raise NotImplementedError


def runs(path: Sequence[Entry]) -> list[Run]:
    raise NotImplementedError


def open_run(path: Sequence[Entry]) -> Run | None:
    raise NotImplementedError


def end_run(path: Sequence[Entry], reason: str, ref: str = "") -> RunEntry:
    raise NotImplementedError


def compute_reason(segment: Sequence[Entry], path: Sequence[Entry] | None = None) -> str:
    raise NotImplementedError


def verify_records(path: Sequence[Entry], header: Header) -> tuple[str, ...]:
    raise NotImplementedError


def open_queued(path: Sequence[Entry]) -> tuple[QueuedEntry, ...]:
    raise NotImplementedError
