"""Ids: their forms, and the pinned subsession ids."""

from __future__ import annotations

import random
import re
import time
import uuid

import pytest

from agentsession.ids import is_content_id, new_entry_id, new_session_id, subsession_id

PARENT = "01995b2a-7c3e-7d10-8a44-0f5b6c7d8e9f"


def test_entry_ids_are_short_hex() -> None:
    ids = {new_entry_id() for _ in range(200)}
    assert all(re.fullmatch("[0-9a-f]{8}", entry_id) for entry_id in ids)
    assert len(ids) > 195


def test_entry_ids_grow_when_all_short_ones_are_taken() -> None:
    class AllShort:
        tries = 0

        def __contains__(self, entry_id: object) -> bool:
            self.tries += 1
            return isinstance(entry_id, str) and len(entry_id) == 8

    taken = AllShort()
    assert re.fullmatch("[0-9a-f]{32}", new_entry_id(taken))
    assert taken.tries == 8


def test_session_ids_are_uuid7() -> None:
    before = time.time_ns() // 1_000_000
    session_id = new_session_id()
    after = time.time_ns() // 1_000_000
    value = uuid.UUID(session_id)
    assert session_id == str(value)
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert before <= value.int >> 80 <= after


def test_session_ids_differ_and_leave_the_random_module_alone() -> None:
    state = random.getstate()
    assert len({new_session_id() for _ in range(1000)}) == 1000
    new_entry_id()
    assert random.getstate() == state


def test_session_ids_sort_by_creation() -> None:
    first = new_session_id()
    start = time.time_ns()
    while time.time_ns() - start < 2_000_000:
        pass
    assert first < new_session_id()


@pytest.mark.parametrize(
    ("parent", "call", "attempt", "expected"),
    [
        (PARENT, "call_1", 0, "147625bc-4ab3-5b48-89c4-caeb28afb4a8"),
        ("sess-1", "call_abc", 0, "ad8a2e89-5c6b-518a-a116-4bcc25c2e83f"),
        (
            "01995b2a-0000-7000-8000-000000000001",
            "call_\u00e9",
            0,
            "25d21351-1155-5ddc-adb1-aa0e90bee0f3",
        ),
        (
            "01995b2a-0000-7000-8000-000000000001",
            "call_1",
            0,
            "91d0242a-bd8b-551a-a26c-d3b0d4889b4f",
        ),
        (PARENT, "call_1", 2, "1e8faa09-56db-56dd-9225-c348587b9772"),
    ],
)
def test_subsession_ids(parent: str, call: str, attempt: int, expected: str) -> None:
    assert subsession_id(parent, call, attempt) == expected


def test_subsession_id_of_a_lone_surrogate() -> None:
    assert subsession_id("s", "call_\ud800") == subsession_id("s", "call_\ufffd")


def test_subsession_attempt_must_not_be_negative() -> None:
    with pytest.raises(ValueError, match="attempt -1"):
        subsession_id("s", "c", -1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sha256:" + "0123456789abcdef" * 4, True),
        ("sha256:" + "0123456789ABCDEF" * 4, False),
        ("sha256:" + "0" * 63, False),
        ("sha256:" + "0" * 65, False),
        ("sha256:" + "0" * 64 + "\n", False),
        ("sha512:" + "0" * 64, False),
        ("9f31c2aa", False),
        ("", False),
    ],
)
def test_content_ids(text: str, *, expected: bool) -> None:
    assert is_content_id(text) is expected
