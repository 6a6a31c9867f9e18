"""A message's entries spelled at once: each is what the exact way gives, or none is given."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.importers.base import Outcome
from agentsession.importers.opencode import spelling
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.draft import NAMESPACE
from agentsession.importers.opencode.convert.together import spelled_together
from agentsession.importers.opencode.convert.units import (
    Unit,
    assistant_item,
    call_item,
    media_part,
    output_item,
    reasoning_item,
    text_part,
)
from agentsession.importers.opencode.objects import plain_object

WORDS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.sampled_from(
        ['","output":"', ',"call_id":', "\u2028", "\u2029x", "\U0001f642", "\uff5e", "a\\b\n"]
    ),
)
NUMBERS = st.sampled_from([0, -1, 2**53, 2**53 + 1, 10**15, 10**16, 0.25, 123.5])
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, WORDS.map(lambda word: word * 900))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=4)
ORIGINS = OBJECTS.map(lambda more: {"message": "msg_1", **more})


def _unit(item: dict[str, Any], origin: dict[str, Any], native: dict[str, Any]) -> Unit:
    return Unit((item["id"], ""), item, origin, None, native, 0, plain=True)


OWN = st.one_of(
    st.builds(assistant_item, WORDS, WORDS, cut=st.booleans()),
    st.builds(reasoning_item, WORDS, WORDS, WORDS),
    st.builds(call_item, WORDS, WORDS, WORDS, WORDS),
)
MEDIA = st.builds(lambda said, url: [text_part(said), media_part("image/png", url)], WORDS, WORDS)
OUTPUTS = st.builds(output_item, WORDS, WORDS, st.one_of(WORDS, MEDIA))


def _exact(members: dict[str, Any]) -> spelling.Spelling:
    return text.encode(members), canonical_json(members)


@given(
    st.lists(st.builds(_unit, OWN, ORIGINS, OBJECTS), max_size=3),
    st.lists(st.builds(_unit, OUTPUTS, ORIGINS, OBJECTS), max_size=3),
    WORDS,
    OBJECTS,
)
@settings(max_examples=200)
def test_a_message_is_spelled_as_each_of_its_entries_is(
    own: list[Unit], outputs: list[Unit], response: str, members: dict[str, Any]
) -> None:
    read = json.dumps([[u.native, u.origin] for u in (*own, *outputs)] + [[members]])
    assume(plain_object(b'{"":' + read.encode() + b"}") is not None)
    found = spelled_together(own, outputs, response, members)
    if found is None:
        return
    mine, returned, responded = found
    assert responded == _exact(members)
    for units, spellings, beside in (
        (own, mine, {"response": response} if response else {}),
        (outputs, returned, {}),
    ):
        expected = []
        for unit in units:
            native = {NAMESPACE: unit.native} if unit.native else {}
            expected.append(_exact({"item": unit.item, **beside, **native, "origin": unit.origin}))
        assert spellings == expected


def test_an_ordinary_message_is_spelled_at_once() -> None:
    native = {"state": {"metadata": {"preview": "é" * 5000, "exit": 0}, "time": {"end": 5}}}
    call = _unit(call_item("prt_1", "call_1", "read", "{}"), {"message": "msg_1"}, {})
    output = _unit(output_item("prt_1", "call_1", "text"), {"message": "msg_1"}, native)
    assert spelled_together([call], [output], "msg_1", {"response_id": "msg_1"}) is not None


def test_a_number_no_double_holds_is_left_to_the_exact_way() -> None:
    for filler in ("", "x" * 10_000):
        native = {"exit": 2**53 + 1, "said": filler}
        unit = _unit(assistant_item("prt_1", "said"), {"message": "msg_1"}, native)
        assert spelled_together([unit], [], "msg_1", {"response_id": "msg_1"}) is None


@given(WORDS)
def test_a_dispatch_is_spelled_as_its_members_are(call_id: str) -> None:
    members = {"call_id": call_id, "target": "0123456789abcdef"}
    assert spelling.dispatch_spelling(call_id, "0123456789abcdef") == _exact(members)


def test_records_told_of_together_stand_in_the_account_as_each_alone() -> None:
    together, alone = Accounts(), Accounts()
    for accounts in (together, alone):
        accounts.open_all("part", ["a", "b", "c", "d"])
    together.entries([0, 1, 1, 1], ["e0", "e1", "e2", "e1"])
    together.folded_all([1, 2, 2, 3], "e3")
    for number, entry_id in zip([0, 1, 1, 1], ["e0", "e1", "e2", "e1"], strict=True):
        alone.entry(number, entry_id)
    for number in (1, 2, 2, 3):
        alone.folded(number, "e3")
    assert together.dispositions() == alone.dispositions()
    assert [one.disposition for one in together.dispositions()] == [
        Outcome.ENTRY,
        Outcome.ENTRY,
        Outcome.FOLDED,
        Outcome.FOLDED,
    ]


def test_what_nothing_was_said_of_is_left_out() -> None:
    accounts = Accounts()
    accounts.open("part", "a")
    (found,) = accounts.dispositions()
    assert (found.disposition, found.code, found.sentence) == (Outcome.LEFT_OUT, "", "")
