"""What is certainly appendable is also what the full check lets pass. Spec: format 8.3."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession.appendable import Judge, judge
from agentsession.codec import ENTRY_TYPES, check_appendable
from agentsession.entries import Entry
from agentsession.members import Version
from session_strategies import entries

VERSIONS: tuple[Version, ...] = ((0, 1), (0, 2), (0, 3), (0, 11))
TEXTS = st.sampled_from(
    b'"" "x" null 0 -1 1e400 true [] ["x"] [1] {} {"type":"message"} {"id":"x"} {"keep":1} '
    b'"start" "end" "reject"'.split()
)


@given(entries(), st.sampled_from(VERSIONS))
@settings(max_examples=150)
def test_what_is_built_in_python(entry: ags.Entry, version: Version) -> None:
    if judge(version).is_certain(entry):
        check_appendable(entry, version)


@given(st.data(), st.sampled_from(sorted(ENTRY_TYPES)), st.sampled_from(VERSIONS))
@settings(max_examples=200)
def test_members_of_any_form(data: st.DataObject, entry_type: str, version: Version) -> None:
    kind = ENTRY_TYPES[entry_type]
    names = st.sampled_from([*kind.MEMBERS, "unheard_of"])
    entry = kind.from_line(b"", entry_type, "", None, "2026-03-01T08:15:30Z")
    entry._texts = data.draw(st.dictionaries(names, TEXTS, max_size=8))
    if Judge(version).is_certain(entry):
        check_appendable(entry, version)


MESSAGE = {"type": "message", "role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    "entry",
    [
        ags.ItemEntry(MESSAGE, response="r", visible=False),
        ags.ResponseEntry("r", status="completed", usage={"input_tokens": 1}),
        ags.ConfigEntry(model="m", tools_added=[{"type": "function"}]),
        ags.InfoEntry("name"),
        ags.LabelEntry("x", "label"),
        ags.CustomEntry("n", {"a": 1}),
    ],
)
def test_everyday_entries_need_no_closer_look(entry: Entry) -> None:
    assert all(judge(version).is_certain(entry) for version in VERSIONS)


class _Strict(ags.ItemEntry):
    def check_append(self) -> str:
        """Refuse all."""
        return "no"


def test_rules_of_a_class_are_asked() -> None:
    session = ags.Session()
    session.append(ags.ItemEntry(MESSAGE))
    with pytest.raises(ags.InvalidEntry, match="no"):
        session.append(_Strict(MESSAGE))


def test_one_judge_a_version() -> None:
    found: Any = judge((0, 2))
    assert found is judge((0, 2))
    assert found is not judge((0, 3))
