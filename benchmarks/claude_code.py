"""A long Claude Code log against one pass of a JSON decoder over it: usage, import, memory.

The log is that of :mod:`benchmarks.claude_log`. The store is on a disk or not, as the place
of the inputs is; an import writes it and reads it back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson

from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers.run import Work, import_sessions
from benchmarks.claude_log import claude_log
from benchmarks.harness import Report, Row, at_most, peak_bytes

_BASELINE = "one orjson.loads pass over the log"
_LOADED = """
from pathlib import Path
import agentsession.stores.jsonl
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.claude_code.importer import ClaudeCode
from agentsession.importers import registry
for name in registry.names():
    registry.owner(name)
"""
_IMPORT = """
importer = ClaudeCode()
import_sessions([Work(importer, importer.find([Path({root!r})]))], {store!r})
"""


def claude_code(report: Report, place: Path, size: int) -> None:
    """Usage, import and the memory of an import of a log of about so many bytes."""
    root = place / f"claude-{size}"
    shutil.rmtree(root, ignore_errors=True)
    log = claude_log(root, size)
    store = place / "claude-store"

    def decode() -> None:
        with log.open("rb") as file:
            for line in file:
                orjson.loads(line)

    def usage() -> None:
        importer = ClaudeCode()
        (source,) = importer.find([root])
        for _ in importer.usage_records(source):
            pass

    def convert() -> None:
        shutil.rmtree(store, ignore_errors=True)
        importer = ClaudeCode()
        done = import_sessions([Work(importer, importer.find([root]))], store)
        if not done.ok:
            raise AssertionError(done.more["alarms"])

    report.add(at_most("Claude Code log: usage", _BASELINE, 1.5, decode, usage))
    report.add(at_most("Claude Code log: import", _BASELINE, 5, decode, convert, rounds=5))
    shutil.rmtree(store, ignore_errors=True)
    report.add(_memory(root, store, log.stat().st_size))
    shutil.rmtree(store, ignore_errors=True)


def _memory(root: Path, store: Path, size: int) -> Row:
    # Of every agent it is asked whether the store's place is its own: that code is no session's.
    before = peak_bytes(_LOADED)
    peak = peak_bytes(_LOADED + _IMPORT.format(root=str(root), store=str(store)))
    ratio = (peak - before) / size
    return Row("Claude Code log: memory", "the size of the log", "< 3x", (ratio,), ratio < 3)
