"""Stores: where sessions are kept, and who may write to them.

Spec: stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsession.stores.base import Keeper, ListFilter, Put, Store, Summary
from agentsession.stores.jsonl import JSONLStore
from agentsession.stores.locks import LockHolder
from agentsession.stores.memory import MemoryStore
from agentsession.stores.opening import open_store
from agentsession.stores.policy import SyncPolicy

if TYPE_CHECKING:
    from agentsession.stores.sqlite import SQLiteStore

__all__ = [
    "JSONLStore",
    "Keeper",
    "ListFilter",
    "LockHolder",
    "MemoryStore",
    "Put",
    "SQLiteStore",
    "Store",
    "Summary",
    "SyncPolicy",
    "open_store",
]


def __getattr__(name: str) -> object:
    # SQLite is loaded when it is used: a program that keeps files never needs it.
    if name == "SQLiteStore":
        from agentsession.stores.sqlite import SQLiteStore  # noqa: PLC0415

        return SQLiteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
