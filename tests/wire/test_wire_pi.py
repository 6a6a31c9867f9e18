"""The spelling of pi's releases."""

from __future__ import annotations

from typing import Any

import pytest

import agentsession as ags
from agentsession import wire
from agentsession.wire import Origin, Piece, Target
from agentsession.wire._pi_messages import Release, foreign_call_id, short_hash
from agentsession.wire.profiles_pi import pi_profile

URL = "data:image/png;base64,iVBORw0KGgo="
IMAGE = {"type": "input_image", "image_url": URL, "detail": "auto"}
OWN, OTHER = Target("p", "m"), Target("p", "n")
CHAT, ANTHROPIC, RESPONSES = "openai-completions", "anthropic-messages", "openai-responses"
OLD: Release = (0, 30)


def piece(item: dict[str, Any], name: str = "a", api: str = CHAT, **more: Any) -> Piece:
    metadata = {"api": api, **more.pop("metadata", {})}
    origin = Origin(message=name, provider="p", model="m", metadata=metadata, **more)
    return Piece(ags.Item(item), origin)


def user(*parts: Any) -> Piece:
    content = [{"type": "input_text", "text": p} if isinstance(p, str) else p for p in parts]
    return Piece(ags.Item({"type": "message", "role": "user", "content": content}), Origin())


def text(words: str, **more: Any) -> Piece:
    said = [{"type": "output_text", "text": words, "annotations": []}]
    return piece({"type": "message", "role": "assistant", "content": said}, **more)


def thought(words: str, signature: str = "", **more: Any) -> Piece:
    item: dict[str, Any] = {"type": "reasoning", "summary": []}
    if words:
        item["summary"] = [{"type": "summary_text", "text": words}]
    if more.get("encrypted"):
        item["encrypted_content"] = signature
    elif signature:
        more["metadata"] = {"signature": signature}
    return piece(item, **more)


def call(call_id: str = "k", **more: Any) -> Piece:
    item = {"type": "function_call", "call_id": call_id, "name": "read", "arguments": '{"a":1}'}
    return piece(item, **more)


def output(what: Any, call_id: str = "k", **more: Any) -> Piece:
    item = {"type": "function_call_output", "call_id": call_id, "output": what}
    return piece(item, name="r", **more)


def chat(release: Release, *pieces: Piece, target: Target = OWN) -> list[Any]:
    return wire.chat_messages(pieces, target, pi_profile(release, CHAT))


def anthropic(release: Release, *pieces: Piece, target: Target = OWN) -> list[Any]:
    return wire.anthropic_messages(pieces, target, pi_profile(release, ANTHROPIC))


def responses(release: Release, *pieces: Piece, target: Target = OWN) -> list[Any]:
    return wire.responses_input(pieces, target, pi_profile(release, RESPONSES))


def test_reasoning_of_another_model() -> None:
    told = [thought("hm", "reasoning_content"), text("so")]
    assert chat((0, 30), *told, target=Target("q", "m"))[0]["content"] == [
        {"type": "text", "text": "<thinking>\nhm\n</thinking>"},
        {"type": "text", "text": "so"},
    ]
    # Up to 0.48 another model of the same provider was no other.
    assert chat((0, 37), *told, target=OTHER)[0]["reasoning_content"] == "hm"
    assert chat((0, 49), *told, target=OTHER)[0]["content"][0]["text"] == "hm"
    assert chat((0, 84), *told, target=OTHER)[0]["content"] == "hmso"
    assert chat((1, 0), *told, target=OTHER)[0]["content"] == "hmso"
    assert chat((1, 3), *told, target=OTHER) == [{"role": "assistant", "content": "so"}]


def test_reasoning_alone_is_not_sent_on_chat() -> None:
    assert chat((1, 0), thought("hm", "reasoning_content")) == []
    assert chat((1, 0), thought("hm", "unknown"), text("x")) == [
        {"role": "assistant", "content": "x"}
    ]
    assert chat((0, 73), thought("hm", "unknown"), text("x"))[0]["unknown"] == "hm"
    details = thought("hm", '[{"type":"reasoning.text"}]')
    spoken = chat((1, 0), details, text("x"))[0]
    assert spoken["reasoning_details"] == [{"type": "reasoning.text"}]


def test_blank_texts() -> None:
    assert chat(OLD, text(" "))[0]["content"] == [{"type": "text", "text": " "}]
    assert chat((0, 37), text(" ")) == []
    assert chat((1, 0), user("", "x"))[0]["content"] == [{"type": "text", "text": "x"}]
    assert anthropic((1, 0), user(" ")) == []
    assert chat((1, 0), user("")) == []


@pytest.mark.parametrize(("release", "inside"), [((0, 49), False), ((0, 61), True)])
def test_images_of_outputs(release: Release, inside: bool) -> None:
    told = [call(), call("l"), output(["x", IMAGE][1:]), output("y", "l")]
    spoken = chat(release, *told)
    roles = [message["role"] for message in spoken]
    if inside:
        assert roles == ["assistant", "tool", "tool", "user"]
    else:
        assert roles == ["assistant", "tool", "user", "tool"]
    assert spoken[1]["content"] == "(see attached image)"
    sent = responses(release, *told)
    found = next(item for item in sent if item["type"] == "function_call_output")
    assert isinstance(found["output"], list) is inside
    blocks = anthropic(release, *told)[1]["content"][0]["content"]
    assert [block["type"] for block in blocks] == ["text", "image"]


def test_outputs_that_say_nothing() -> None:
    assert chat((0, 73), call(), output(""))[1]["content"] == "(see attached image)"
    assert chat((0, 84), call(), output(""))[1]["content"] == "(no tool output)"
    assert chat((1, 3), call(), output(" "))[1]["content"] == " "
    assert chat((1, 4), call(), output(" "))[1]["content"] == "(no tool output)"
    assert responses((1, 0), call(), output(""))[1]["output"] == "(no tool output)"
    assert anthropic((1, 0), call(), output(""))[1]["content"][0]["content"] == ""


def test_images_of_a_failed_call_stand_behind_the_results() -> None:
    told = [call(), output([{"type": "input_text", "text": "no"}, IMAGE, IMAGE], error=True)]
    result, lead, *images = anthropic((1, 3), *told)[1]["content"]
    assert result["content"] == "no\n(image attached after the tool results)"
    assert lead["text"] == "Images from the error result of tool call k (read):"
    assert len(images) == 2
    assert isinstance(anthropic((1, 0), *told)[1]["content"][0]["content"], list)


def test_signed_and_redacted_reasoning() -> None:
    signed = thought("hm", "SIG", encrypted="signature", api=ANTHROPIC)
    redacted = thought("", "DATA", encrypted="redactedData", api=ANTHROPIC)
    unsigned = thought("half", api=ANTHROPIC)
    (message,) = anthropic((1, 0), signed, redacted, unsigned)
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "redacted_thinking", "data": "DATA"},
        {"type": "text", "text": "half"},
    ]
    silent = thought("", "SIG", encrypted="signature", api=ANTHROPIC)
    assert anthropic((0, 61), silent) == []
    assert anthropic((0, 84), silent)[0]["content"][0]["signature"] == "SIG"


def test_releases_that_knew_no_redacted_reasoning_sent_it_as_any_other() -> None:
    redacted = thought("[hidden]", "DATA", encrypted="redactedData", api=ANTHROPIC)
    (block,) = anthropic((0, 51), redacted)[0]["content"]
    assert block == {"type": "thinking", "thinking": "[hidden]", "signature": "DATA"}
    assert chat((0, 51), redacted, target=OTHER)[0]["content"][0]["text"] == "[hidden]"
    assert chat((0, 55), redacted, target=OTHER) == []


def test_a_model_that_takes_no_images_is_sent_texts_for_them() -> None:
    told = [
        user("a", IMAGE, IMAGE, "b"),
        call(),
        output([{"type": "input_text", "text": "x"}, IMAGE]),
    ]
    late, early = (pi_profile(release, CHAT, images=False) for release in ((0, 68), (0, 49)))
    said, _, result = wire.chat_messages(told, OWN, late)
    none = "(image omitted: model does not support images)"
    assert [part["text"] for part in said["content"]] == ["a", none, "b"]
    assert result["content"] == "x\n(tool image omitted: model does not support images)"
    # Releases before left them out.
    said, _, result = wire.chat_messages(told, OWN, early)
    assert [part["text"] for part in said["content"]] == ["a", "b"]
    assert result["content"] == "x"
    only = [user(IMAGE), call(), output([IMAGE])]
    assert wire.chat_messages(only, OWN, early)[1]["content"] == "(see attached image)"
    assert wire.responses_input(only, OWN, early)[0]["type"] == "function_call"
    # On Anthropic's wire they kept those of outputs.
    early = pi_profile((0, 49), ANTHROPIC, images=False)
    (block,) = wire.anthropic_messages(only, OWN, early)[-1]["content"]
    assert [part["type"] for part in block["content"]] == ["text", "image"]
    assert late.without_images() is None


def test_the_last_message_is_marked_for_the_cache() -> None:
    mark = {"type": "ephemeral"}
    assert anthropic((1, 0), user("a"))[0]["content"][0]["cache_control"] == mark
    plain = Piece(ags.Item({"type": "message", "role": "user", "content": "a"}), Origin())
    assert anthropic((0, 49), plain) == [{"role": "user", "content": "a"}]
    assert anthropic((0, 61), plain)[0]["content"][0]["cache_control"] == mark


def test_ids_of_texts_on_responses() -> None:
    told = [user("q"), text("a", api=RESPONSES), text("b", api=RESPONSES)]
    assert [m["id"] for m in responses((0, 73), *told)[1:]] == ["msg_1", "msg_1"]
    assert [m["id"] for m in responses((0, 84), *told)[1:]] == ["msg_pi_1", "msg_pi_1_1"]
    signature = '{"v":1,"id":"msg_x","phase":"commentary"}'
    signed = text("a", api=RESPONSES, metadata={"signature": signature})
    (sent,) = responses((1, 0), signed)
    assert (sent["id"], sent["phase"]) == ("msg_x", "commentary")
    long = text("a", api=RESPONSES, metadata={"signature": "m" * 70})
    assert responses((0, 49), long)[0]["id"] == f"msg_{short_hash('m' * 70)}"
    # Another model's signature is not sent.
    assert responses((1, 0), signed, target=OTHER)[0]["id"] == "msg_pi_0"


def test_ids_of_calls_on_responses() -> None:
    joined = call("k", api=RESPONSES, metadata={"id": "k|fc_1"})
    assert responses((1, 0), joined)[0]["id"] == "fc_1"
    assert "id" not in responses((1, 0), joined, target=OTHER)[0]
    odd = call("k", api=RESPONSES, metadata={"id": "k|ctc_1"})
    assert responses((0, 73), odd)[0]["id"] == "ctc_1"
    assert "id" not in responses((0, 84), odd)[0]
    failed = call("k", api=RESPONSES, metadata={"id": "k|fc_1"}, error=True)
    assert responses(OLD, failed) == []


@pytest.mark.parametrize(
    ("release", "api", "provider", "given", "expected"),
    [
        ((0, 37), CHAT, "p", "k|fc_1", "k|fc_1"),
        ((0, 49), CHAT, "p", "k|fc_1", "k|fc_1"),
        ((0, 49), CHAT, "openai", "k" * 50, "k" * 40),
        ((0, 73), CHAT, "p", "k.1|fc_1", "k_1"),
        ((0, 84), CHAT, "p", "k.1|fc/1", "k_1_fc_1"),
        ((1, 0), CHAT, "p", "k" * 50 + "|f", "k" * 31 + "_" + short_hash("k" * 50 + "|f")[:8]),
        ((1, 0), ANTHROPIC, "p", "k|fc_1", "k_fc_1"),
        ((0, 49), ANTHROPIC, "p", "k" * 70, "k" * 64),
        ((0, 49), RESPONSES, "p", "k|fc_1", "k|fc_1"),
        ((0, 61), RESPONSES, "p", "k|fc_1_", "k_fc_1"),
        ((0, 49), RESPONSES, "openai", "k|x", "k|fc_x"),
        ((0, 61), RESPONSES, "openai", "k|x_", "k|fc_x"),
        ((0, 73), RESPONSES, "openai", "k|x", f"k|fc_{short_hash('x')}"),
    ],
)
def test_ids_of_another_models_calls(
    release: Release, api: str, provider: str, given: str, expected: str
) -> None:
    assert foreign_call_id(given, api, provider, release, sibling=False) == expected


def test_the_short_hash() -> None:
    """As the agent's own function gives it."""
    assert short_hash("") == "k4n83c7h0j2b"
    assert short_hash("fc_0123456789") == "eq96c92kliyj"
    assert short_hash("call_1|fc_ünï😀") == "ld6y9t11k4d6b"
