"""Ordinary steps: what the quick way writes is what the way of all other messages would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_opencode_convert import START, native

import agentsession as ags
from agentsession import text
from agentsession.canonical import canonical_json
from agentsession.importers.base import Converted, Outcome
from agentsession.importers.opencode import (
    Memory,
    MessageRecord,
    convert,
    decode_message,
    decode_part,
)
from agentsession.importers.opencode.convert import v1
from agentsession.importers.opencode.convert.accounts import Accounts
from agentsession.importers.opencode.convert.ordinary import ordinary
from agentsession.importers.opencode.objects import plain_object, plain_objects
from agentsession.importers.spelling import dispatch_spelling, is_word

Data = dict[str, Any]

ODD = [
    None, True, 0, -1, 1.0, 1e-7, 2**53 + 1, 2**70, "", "invalid", "error", "\u2028", "\U0001f642",
    [], {}, [None], {"a": 1}, {"\U0001f642": 1, "\uff5e": 2}, {"sessionID": "s"}, "x\u2029" * 900,
]  # fmt: skip
NAMES = ["prt_1", 'p"q', "p\\x", "p\u2028", "prt-2", "é", "\U0001f642", ""]
MEMBERS = [
    "id", "type", "text", "time", "metadata", "state", "callID", "tool", "status", "input",
    "output", "attachments", "compacted", "start", "end", "providerExecuted", "sessionId", "error",
    "summary", "system", "tokens", "cost", "finish", "agent", "variant", "\u2028", "\U0001f642",
]  # fmt: skip
WORDS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.sampled_from(
        ["\u2028", "\U0001f642 \uff5e", 'a\\b"\n', "word " * 700, "1,1234567890123456"]
    ),
)
SPAN = st.integers(0, 10**6).map(lambda at: {"start": START + at, "end": START + at + 7})
LEAVES = st.one_of(st.none(), st.booleans(), st.sampled_from([0, 7, 0.25, 2**53, 10**15]), WORDS)
OBJECTS = st.dictionaries(
    WORDS, LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(WORDS, LEAVES), max_size=3
)
SECRETS = st.fixed_dictionaries({"anthropic": st.fixed_dictionaries({"signature": WORDS})})
SPOKEN = st.builds(
    lambda kind, words, time, metadata: {
        "type": kind,
        "text": words,
        "time": time,
        **({} if metadata is None else {"metadata": metadata}),
    },
    st.sampled_from(["text", "reasoning"]),
    WORDS,
    SPAN,
    st.none() | SECRETS | OBJECTS,
)


@st.composite
def calls(draw: st.DrawFn) -> Data:
    output, metadata = draw(WORDS), draw(OBJECTS)
    if draw(st.booleans()):
        metadata["output"] = output
    state = {"status": "completed", "input": draw(OBJECTS), "output": output}
    state |= {"metadata": metadata, "title": draw(WORDS), "time": draw(SPAN)}
    number = draw(st.integers(0, 99))
    told = {"type": "tool", "tool": "bash", "callID": f"call_{number}", "state": state}
    return {**told, "metadata": draw(OBJECTS)} if draw(st.booleans()) else told


BESIDE = st.sampled_from(
    [
        {
            "type": "step-finish",
            "reason": "stop",
            "cost": 0.25,
            "tokens": {"input": 3, "output": 4},
        },
        {"type": "patch", "hash": "abc", "files": ["a.py"]},
        {"type": "snapshot", "snapshot": "abc"},
    ]
)


@st.composite
def steps(draw: st.DrawFn) -> tuple[Data, list[Data]]:
    """Return an ordinary step: its info and its parts."""
    items = draw(st.lists(SPOKEN | calls(), min_size=1, max_size=4))
    parts = [{"type": "step-start"}, *items, *draw(st.lists(BESIDE, max_size=2))]
    info = {"role": "assistant", "parentID": "msg_0", "modelID": "m", "providerID": "p"}
    info |= {"path": {"cwd": draw(st.sampled_from(["/a", "/b"]))}, "cost": 0.25}
    info |= {"mode": draw(st.sampled_from(["build", "build", "plan"]))}
    info |= {"tokens": {"input": 5, "output": 7, "cache": {"read": 2}}, "time": {"created": START}}
    return {**info, "finish": draw(st.sampled_from(["tool-calls", "stop", "length"]))}, parts


def spoil(draw: st.DrawFn, value: Data) -> None:
    """Change one thing in an object, somewhere."""
    holder = value
    while inner := [one for one in holder.values() if isinstance(one, dict) and one]:
        if draw(st.booleans()):
            break
        holder = draw(st.sampled_from(inner))
    how = draw(st.sampled_from(["set", "add", "remove", "turn"]))
    if how == "add" or not holder:
        holder[draw(st.sampled_from(MEMBERS))] = draw(st.sampled_from(ODD))
        return
    name = draw(st.sampled_from(sorted(holder)))
    if how == "set":
        holder[name] = draw(st.sampled_from(ODD))
    else:
        taken = holder.pop(name)
        if how == "turn":
            holder[name] = taken


@st.composite
def messages(draw: st.DrawFn) -> list[MessageRecord]:
    """Return messages of a session, most of them ordinary steps."""
    found = []
    for number in range(draw(st.integers(1, 5))):
        info, parts = json.loads(json.dumps(draw(steps())))
        if draw(st.integers(0, 4)) == 0:
            info = {"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}}
            parts = [{"type": "text", "text": "Go on"}]
        for value in (info, *parts):
            if draw(st.integers(0, 7)) == 0:
                spoil(draw, value)
        names = [f"prt_{number}{place}" for place in range(len(parts))]
        if draw(st.integers(0, 7)) == 0:
            names[0] = draw(st.sampled_from(NAMES))
        found.append(record(f"msg_{number}", info, parts, names))
    return found


def record(
    name: str, info: Data, parts: Sequence[Data], names: Sequence[str] = ()
) -> MessageRecord:
    made = [
        decode_part(f"part/{at}", part_name, name, "ses_a", json.dumps(part).encode())
        for at, (part, part_name) in enumerate(
            zip(parts, names or [f"prt_{at}" for at in range(len(parts))], strict=True)
        )
    ]
    at = START + 1000 * int(name[4:])
    raw = json.dumps(info).encode()
    return decode_message(f"message/{name}", name, "ses_a", at, raw, parts=tuple(made))


def from_records(records: Sequence[MessageRecord]) -> Converted:
    again = [
        decode_message(
            one.unit,
            one.id,
            "ses_a",
            one.created,
            one.raw,
            parts=tuple(decode_part(p.unit, p.id, one.id, "ses_a", p.raw) for p in one.parts),
        )
        for one in records
    ]
    store = Memory(session_list=[native()], messages_of={"ses_a": again})
    with convert.Source(stores=[store]) as source:
        return convert.convert(source, "ses_a")


def slowly(records: Sequence[MessageRecord]) -> Converted:
    """Return the session of messages of which none counts as ordinary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(v1, "ordinary", lambda _record: None)
        return from_records(records)


@given(messages())
@settings(max_examples=150, deadline=None)
def test_both_ways_write_the_same(records: list[MessageRecord]) -> None:
    quick, slow = from_records(records), slowly(records)
    assert ags.dump(quick.session) == ags.dump(slow.session)
    assert quick.records == slow.records
    assert quick.findings == slow.findings
    assert quick.totals == slow.totals


def test_a_call_may_have_metadata_of_its_provider() -> None:
    parts = [{"type": "step-start"}, {**CALL, "metadata": {"openai": {"itemId": "fc_1"}}}]
    assert ordinary(record("msg_1", WROTE, parts)) is not None
    parts = [{"type": "step-start"}, {**CALL, "metadata": {"providerExecuted": True}}]
    assert ordinary(record("msg_1", WROTE, parts)) is None


def test_a_message_as_it_nearly_always_is_counts_as_ordinary() -> None:
    found = ordinary(step())
    assert found is not None
    assert [key for key, _ in found.keys] == ["prt_1", "prt_2", "prt_2.output"]
    assert found.parts == [1, 2, 2]
    assert [*found.beside] == [0, 3]


TIME = {"start": START, "end": START + 5}
SAID = {"type": "text", "text": "Hi", "time": TIME}
CALL: Data = {
    "type": "tool",
    "tool": "read",
    "callID": "call_1",
    "state": {
        "status": "completed",
        "input": {},
        "output": "x",
        "metadata": {"n": 1},
        "title": "T",
        "time": TIME,
    },
}
WROTE = {"role": "assistant", "modelID": "m", "providerID": "p"}


def step(call: Data | None = None, spoken: Data | None = None, **info: Any) -> MessageRecord:
    """Return an ordinary step with some members of its call, its text or itself changed."""
    told = {**SAID, **(spoken or {})}
    parts = [
        {"type": "step-start"},
        told,
        {**CALL, "state": {**CALL["state"], **(call or {})}},
        {"type": "step-finish", "tokens": {"input": 1}},
    ]
    return record("msg_1", {**WROTE, "finish": "stop", **info}, parts)


@pytest.mark.parametrize(
    "odd",
    [
        step({"status": "error", "error": "no"}),
        step({"time": {**TIME, "compacted": START + 9}}),
        step({"attachments": [{"type": "file", "mime": "image/png", "url": "data:,"}]}),
        step({"metadata": {"sessionId": "ses_b"}}),
        step({"metadata": {"n": 2**53 + 1}}),
        step({"output": "\u2028"}),
        step(spoken={"time": {"start": START}}),
        step(spoken={"synthetic": True}),
        step(spoken={"type": "file"}),
        step(error={"name": "MessageAbortedError"}),
        step(summary=True),
        step(modelID=None),
        step(cost=1e-9),
        record("msg_1", WROTE, []),
        record("msg_1", WROTE, [{"type": "step-start"}, SAID, {"type": "step-start"}, SAID]),
    ],
)
def test_what_is_odd_is_not_ordinary(odd: MessageRecord) -> None:
    assert ordinary(odd) is None


def test_the_same_odd_member_twice_is_no_harm_however_deep_it_is() -> None:
    deep = b'{"role":"assistant","modelID":"m","agent":' + b"[" * 3000 + b"]" * 3000 + b"}"
    records = [decode_message("u", f"msg_{n}", "ses_a", START + n, deep) for n in range(3)]
    assert len(from_records(records).records) == 4


TEXTS = st.sampled_from(
    [
        b"{}",
        b'{"a":1}',
        b'{"a":0.5}',
        b'{"a":1.0}',
        b'{\n"a":1}',
        b"{}\n",
        b"{}\n{}",
        b"",
        b" ",
        b"[]",
    ]
)


@given(st.lists(TEXTS, max_size=4))
def test_objects_read_together_are_what_each_is_alone(texts: list[bytes]) -> None:
    found = plain_objects(texts)
    assert found is None or found == [plain_object(one) for one in texts]


def test_plain_objects_are_read_together() -> None:
    assert plain_objects([b'{"a":1}', b"{}"]) == [{"a": 1}, {}]


@given(WORDS)
def test_a_dispatch_is_spelled_as_its_members_are(call_id: str) -> None:
    members = {"call_id": call_id, "target": "0123456789abcdef"}
    expected = text.encode(members), canonical_json(members)
    assert dispatch_spelling(call_id, "0123456789abcdef") == expected


@given(st.text(max_size=8) | st.sampled_from(["call_1", "toolu_é", "a-b", "9", ""]))
def test_a_word_reads_the_same_everywhere(name: str) -> None:
    if is_word(name):
        quoted = f'"{name}"'.encode()
        assert text.encode(name) == canonical_json(name) == quoted


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
