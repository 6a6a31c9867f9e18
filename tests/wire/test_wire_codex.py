"""How Codex's releases spell what they send: as they were seen to, run against a mock server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentsession import wire
from agentsession.items import Item
from agentsession.wire.profiles_codex import codex_profile

Items = list[dict[str, Any]]

CALL = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}
BYTES = {"mode": "bytes", "limit": 10_000}
TOKENS = {"mode": "tokens", "limit": 10_000}


def lowered(
    items: Items,
    version: tuple[int, ...],
    model: str = "gpt-5-codex",
    policy: Mapping[str, Any] | None = None,
    *,
    chat: bool = False,
) -> Items:
    pieces = [wire.Piece(Item(one), wire.Origin()) for one in items]
    profile = codex_profile(version, model, "", policy or {})
    lower = wire.chat_messages if chat else wire.responses_input
    return lower(pieces, wire.Target("p", model), profile)


def sent(
    output: Any,
    version: tuple[int, ...],
    model: str,
    policy: Mapping[str, Any] | None = None,
    *,
    before: bool = False,
) -> Any:
    """The output of a call, of the turn that runs or of one before."""
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    items = [CALL, item, *([said("user", "On")] if before else [])]
    return lowered(items, version, model, policy)[1]["output"]


def said(role: str, words: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def thought(words: str) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": words}],
    }


def called(name: str) -> dict[str, Any]:
    return {**CALL, "call_id": name}


def returned(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": "done"}


# Outputs.


@pytest.mark.parametrize("version", [(0, 63), (0, 77), (0, 101), (0, 114)])
def test_what_a_process_found_is_cut_twice(version: tuple[int, ...]) -> None:
    first, last = "a" * 20_000, "b" * 20_000
    cut = sent(first + last, version, "gpt-5", before=True)
    # The second cut takes out the note of the first, and leaves one of its own.
    assert cut == "a" * 6_000 + "…23 chars truncated…" + "b" * 6_000


@pytest.mark.parametrize(("version", "before"), [((0, 77), False), ((0, 115), True)])
def test_what_was_taken_up_once_is_cut_once(version: tuple[int, ...], before: bool) -> None:
    first, last = "a" * 20_000, "b" * 20_000
    cut = sent(first + last, version, "gpt-5", before=before)
    assert cut == "a" * 6_000 + "…28000 chars truncated…" + "b" * 6_000


def test_a_model_that_counts_tokens_is_cut_in_tokens() -> None:
    first, last = "a" * 100_000, "b" * 87_917
    cut = sent(first + last, (0, 77), "gpt-5-codex")
    assert cut == "a" * 24_000 + "…34980 tokens truncated…" + "b" * 24_000
    again = sent(first + last, (0, 77), "gpt-5-codex", before=True)
    assert again == "a" * 24_000 + "…7 tokens truncated…" + "b" * 24_000


def test_the_recorded_policy_goes_before_the_models_name() -> None:
    words = "a" * 40_000
    assert len(sent(words, (0, 123), "gpt-5-codex", BYTES)) < 12_100
    assert sent(words, (0, 115), "gpt-5", TOKENS) == words


@pytest.mark.parametrize("policy", [{"mode": "lines", "limit": 1}, {"mode": "bytes"}])
def test_a_policy_that_says_nothing_is_none(policy: Mapping[str, Any]) -> None:
    assert sent("a" * 40_000, (0, 115), "gpt-5-codex", policy) == "a" * 40_000


def test_no_character_is_cut_in_two() -> None:
    cut = sent("€" * 5_000, (0, 101), "gpt-5")
    assert cut.count("€") == 4_000
    assert "�" not in cut


@pytest.mark.parametrize(
    ("version", "model"),
    [((0, 50), "gpt-5"), ((0, 77), "gpt-5-codex"), ((0, 122), "gpt-5-codex"), ((0, 171), "gpt-5")],
)
def test_others_are_sent_outputs_as_they_are_stored(version: tuple[int, ...], model: str) -> None:
    assert sent("a" * 20_000, version, model) == "a" * 20_000


def test_an_output_that_fits_is_left_alone() -> None:
    assert sent("a" * 12_000, (0, 77), "gpt-5") == "a" * 12_000


def test_texts_of_parts_share_one_limit() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    texts = [{"type": "input_text", "text": words * 8_000} for words in "abc"]
    cut = sent([texts[0], image, *texts[1:]], (0, 101), "gpt-5")
    assert cut == [
        texts[0],
        image,
        {"type": "input_text", "text": "b" * 2_000 + "…4000 chars truncated…" + "b" * 2_000},
        {"type": "input_text", "text": "[omitted 1 text items ...]"},
    ]


def test_what_is_stored_cut_is_cut_again_by_its_note() -> None:
    stored = "a" * 6_000 + "…90000 chars truncated…" + "b" * 6_000
    cut = sent(stored, (0, 145), "gpt-5-codex")
    assert cut == "a" * 6_000 + "…23 chars truncated…" + "b" * 6_000
    in_tokens = "a" * 24_000 + "…90000 tokens truncated…" + "b" * 24_000
    cut = sent(in_tokens, (0, 150), "gpt-5.4")
    assert cut == "a" * 24_000 + "…7 tokens truncated…" + "b" * 24_000


def test_parts_that_are_stored_cut_are_cut_again_in_tokens() -> None:
    head = {"type": "input_text", "text": "Wall time: 0.0154 seconds\nOutput:"}
    words = "a" * 5_983 + "…158543 chars truncated…" + "b" * 5_984
    cut = sent([head, {"type": "input_text", "text": words}], (0, 171), "gpt-5-codex")
    short = "a" * 5_982 + "…8 tokens truncated…" + "b" * 5_982
    assert cut == [head, {"type": "input_text", "text": short}]


@pytest.mark.parametrize("version", [(0, 53), (0, 58)])
def test_a_long_line_is_sent_by_its_beginning(version: tuple[int, ...]) -> None:
    note = "\n[... output truncated to fit 10240 bytes ...]\n\n"
    expected = "Total output lines: 1\n\n" + "a" * 5_120 + note
    assert sent("a" * 20_000, version, "gpt-5") == expected


def test_many_lines_are_sent_by_the_first_and_the_last() -> None:
    lines = [f"{at}\n" for at in range(300)]
    expected = "".join(lines[:128]) + "\n[... omitted 44 of 300 lines ...]\n\n"
    expected = "Total output lines: 300\n\n" + expected + "".join(lines[-128:])
    assert sent("".join(lines), (0, 58), "gpt-5") == expected


def test_json_that_was_cut_is_no_json_any_more() -> None:
    output = '{"output":"' + "a" * 20_000 + '","metadata":{"exit_code":0,"duration_seconds":0.1}}'
    call = {**CALL, "name": "shell"}
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    words = lowered([call, item], (0, 58))[1]["output"]
    assert words.startswith('Total output lines: 1\n\n{"output":"aaa')


@pytest.mark.parametrize(
    ("model", "version", "is_text"),
    [
        ("gpt-5-codex", (0, 44), False),
        ("gpt-5-codex", (0, 45), True),
        ("gpt-5-codex", (0, 122), True),
        ("gpt-5-codex", (0, 123), False),
        ("gpt-5.1-codex-max", (0, 53), False),
        ("gpt-5.1-codex-max", (0, 58), True),
        ("gpt-5.1", (0, 101), True),
        ("gpt-5.2", (0, 66), False),
        ("gpt-5.2", (0, 72), True),
        ("gpt-5.3-codex", (0, 98), False),
        ("gpt-5.3-codex", (0, 131), True),
        ("gpt-5.4-mini", (0, 111), False),
        ("some/gpt-5.4-mini", (0, 113), True),
        ("gpt-5.5", (0, 131), True),
        ("gpt-5.5", (0, 132), False),
        ("gpt-oss-20b", (0, 105), True),
        ("codex-mini-latest", (0, 101), False),
        ("gpt-5", (0, 101), False),
    ],
)
def test_outputs_are_text_for_models_whose_patch_tool_takes_text(
    model: str, version: tuple[int, ...], *, is_text: bool
) -> None:
    stored = '{"output":"Success.","metadata":{"exit_code":0,"duration_seconds":0.0}}'
    call = {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": ""}
    item = {"type": "custom_tool_call_output", "call_id": "c", "output": stored}
    words = lowered([call, item], version, model)[1]["output"]
    text = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."
    assert words == (text if is_text else stored)


@pytest.mark.parametrize(
    ("model", "version", "cut"),
    [
        ("gpt-5-codex", (0, 145), "…8000 chars truncated…"),
        ("gpt-5-codex", (0, 171), "…8000 chars truncated…"),
        ("gpt-5.4", (0, 145), ""),
        ("gpt-5.4", (0, 160), "…8000 chars truncated…"),
        ("gpt-5.5", (0, 160), ""),
        ("gpt-6.2-sol", (0, 171), ""),
    ],
)
def test_what_older_releases_stored_whole_is_cut_by_those_that_go_on(
    model: str, version: tuple[int, ...], cut: str
) -> None:
    own = "c" * 6_000 + "…44 chars truncated…" + "d" * 5_900
    items = [
        {**CALL, "call_id": "old"},
        {"type": "function_call_output", "call_id": "old", "output": "a" * 20_000},
        {**CALL, "call_id": "own"},
        {"type": "function_call_output", "call_id": "own", "output": own},
    ]
    pieces = [wire.Piece(Item(one), wire.Origin()) for one in items]
    profile = codex_profile(version, model, whole=True)
    _, old, _, new = wire.responses_input(pieces, wire.Target("p", model), profile)
    assert old["output"] == ("a" * 6_000 + cut + "a" * 6_000 if cut else "a" * 20_000)
    assert new["output"] == own


@pytest.mark.parametrize(
    ("version", "has_id"), [((0, 115), True), ((0, 140), True), ((0, 145), False), ((0, 150), True)]
)
def test_a_made_image_has_its_id(version: tuple[int, ...], *, has_id: bool) -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AA"}
    (item,) = lowered([made], version)
    assert ("id" in item) is has_id


@pytest.mark.parametrize(("version", "has_id"), [((0, 145), False), ((0, 146, 1), True)])
def test_ids_are_sent_from_0_146_on(version: tuple[int, ...], has_id: bool) -> None:
    (item,) = lowered([{**said("user", "Hi"), "id": "msg_1"}], version)
    assert ("id" in item) is has_id


# The chat wire.


def test_raw_reasoning_goes_with_what_stands_beside_it() -> None:
    """As long as the user has said nothing since."""
    talk = [
        said("user", "Look"),
        thought("First."),
        called("c1"),
        called("c2"),
        thought("First."),
        said("assistant", "Looking."),
        returned("c1"),
        returned("c2"),
        thought("More."),
        said("assistant", "Seen."),
        thought("Late."),
    ]
    found = lowered(talk, (0, 77), chat=True)
    assert [(m["role"], m.get("reasoning")) for m in found] == [
        ("user", None),
        ("assistant", "First."),
        ("assistant", None),
        ("assistant", "First."),
        ("tool", None),
        ("tool", None),
        ("assistant", "More.Late."),
    ]
    later = lowered([*talk, said("user", "On")], (0, 77), chat=True)
    assert [m for m in later if "reasoning" in m] == []


def test_calls_in_a_row_are_one_message_from_0_79_on() -> None:
    talk = [said("user", "Look"), thought("A"), called("c1"), called("c2"), thought("B")]
    talk += [called("c3"), returned("c1"), returned("c2"), returned("c3")]
    found = lowered(talk, (0, 79), chat=True)
    assert [m["role"] for m in found] == ["user", "assistant", "tool", "tool", "tool"]
    assert [call["id"] for call in found[1]["tool_calls"]] == ["c1", "c2", "c3"]
    assert found[1]["reasoning"] == "A\nB"
    assert [m["role"] for m in lowered(talk, (0, 77), chat=True)[1:4]] == ["assistant"] * 3


def test_the_same_text_again_is_not_sent() -> None:
    talk = [said(role, words) for role, words in (("user", "1"), ("assistant", "Same."))]
    talk += [said("user", "2"), said("assistant", "Same."), said("user", "3")]
    found = lowered(talk, (0, 90), chat=True)
    assert [m["content"] for m in found] == ["1", "Same.", "2", "3"]


@pytest.mark.parametrize("odd", [{"a": 1}, [None], 7])
def test_a_name_that_is_none_names_no_shell(odd: Any) -> None:
    """Nothing a damaged log has there raises."""
    call = {**called("c"), "name": odd}
    other = {**called("d"), "call_id": odd}
    output = {**returned("c"), "output": '{"output":"x","metadata":{"exit_code":0}}'}
    items = [call, other, output, {**output, "call_id": odd}]
    found = lowered(items, (0, 101, 0), "gpt-5-codex")
    assert [one["output"] for one in found[2:]] == [output["output"]] * 2
