"""Stores: where sessions are kept, and who may write to them.

Spec: stores.
"""

from __future__ import annotations

from agentsession.stores.base import ListFilter, Store, Summary
from agentsession.stores.jsonl import JSONLStore
from agentsession.stores.locks import LockHolder
from agentsession.stores.memory import MemoryStore
from agentsession.stores.policy import SyncPolicy

__all__ = [
    "JSONLStore",
    "ListFilter",
    "LockHolder",
    "MemoryStore",
    "Store",
    "Summary",
    "SyncPolicy",
]
