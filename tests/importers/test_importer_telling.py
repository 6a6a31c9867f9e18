"""An entry told by its members has the line and the id that the entry itself would have."""

from __future__ import annotations

from typing import Any

import pytest

from agentsession.entries import Entry, ResponseEntry
from agentsession.header import Header
from agentsession.importers.drafting import TreeDraft
from agentsession.importers.telling import Told, given, tell
from agentsession.record_entries import DispatchEntry

TS = "2026-03-04T05:06:07Z"
USAGE = {"input_tokens": 1, "output_tokens": 2.0, "note": "a\u2028b"}


def header() -> Header:
    return Header(format="agentsession/0.3", id="s", created_at=TS)


@pytest.mark.parametrize("huge", [1, 2**60, 1e300, -0.0])
@pytest.mark.parametrize("model", ["", "größe"])
def test_a_response(model: str, huge: float) -> None:
    native = {"release": "1", "odd": huge}
    unknown = {"provider": "p", "codex": native}
    entry = ResponseEntry("r", model=model, status="completed", usage=USAGE, unknown=unknown)
    members = {
        "response_id": "r",
        **given(model=model),
        "status": "completed",
        **given(usage=USAGE, incomplete=None, error=None, latency_ms=0),
        "codex": native,
        "provider": "p",
    }
    same(entry, members, ResponseEntry)


def test_a_dispatch() -> None:
    same(DispatchEntry("c", "t"), {"call_id": "c", "target": "t"}, DispatchEntry)


def same(entry: Entry, members: dict[str, Any], entry_type: type[Entry]) -> None:
    one, other = TreeDraft(header(), "codex"), TreeDraft(header(), "codex")
    first = one.add(one.root, entry, "n", "r", TS)
    one.add(first, entry, "n", "r", TS)
    one.add(one.root, entry, "n", "r", TS)
    at = tell(other, other.root, Told(entry_type, members), "n", role="r", ts=TS)
    tell(other, at, Told(entry_type, members), "n", role="r", ts=TS)
    tell(other, other.root, Told(entry_type, members), "n", role="r", ts=TS)
    assert list(other.finished().lines()) == list(one.finished().lines())
