"""The wires: one neutral form, spelled as each provider wants it."""

from __future__ import annotations

import doctest
from dataclasses import replace
from typing import Any

import pytest

import agentsession as ags
from agentsession import wire
from agentsession.wire import Foreign, Media, Origin, Piece, Profile, References, Target

PIXEL = "data:image/png;base64,iVBORw0KGgo="
OWN = Target("p", "m")
OTHER = Target("q", "n")


def said(text: str, role: str = "user") -> Piece:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return Piece(ags.Item({"type": "message", "role": role, "content": content}), Origin())


def of(item: dict[str, Any], **more: Any) -> Piece:
    return Piece(ags.Item(item), Origin(message="msg", provider="p", model="m", **more))


def text(words: str, **more: Any) -> Piece:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return of({"type": "message", "role": "assistant", "content": content}, **more)


def reasoning(words: str, secret: str = "", **more: Any) -> Piece:
    item: dict[str, Any] = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": words}],
    }
    if secret:
        item["encrypted_content"] = secret
    return of(item, **more)


def call(call_id: str = "call_1", name: str = "ls", arguments: str = '{"a":1}') -> Piece:
    item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return of(item)


def output(result: object, call_id: str = "call_1", **more: Any) -> Piece:
    return of({"type": "function_call_output", "call_id": call_id, "output": result}, **more)


def seen(words: str) -> list[dict[str, Any]]:
    return [
        {"type": "input_text", "text": words},
        {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
    ]


STEP = [
    said("Hi"),
    reasoning("Hm.", "SIG", encrypted="anthropic.signature"),
    text("Let me look."),
    call(),
    output("a.txt"),
]


def test_chat_completions() -> None:
    assert wire.chat_messages(STEP, OWN) == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "ls", "arguments": '{"a":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"},
    ]


def test_anthropic() -> None:
    marked = Profile(cache_control=True)
    cached = {"cache_control": {"type": "ephemeral"}}
    assert wire.anthropic_messages(STEP, OWN, marked) == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "SIG"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "call_1", "name": "ls", "input": {"a": 1}, **cached},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "a.txt", **cached}
            ],
        },
    ]


def test_responses() -> None:
    assert wire.responses_input(STEP, OWN) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {
            "type": "reasoning",
            "encrypted_content": "SIG",
            "summary": [{"type": "summary_text", "text": "Hm."}],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
        {"type": "function_call", "call_id": "call_1", "name": "ls", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"},
    ]


@pytest.mark.parametrize(
    ("foreign", "content", "thought"),
    [
        (Foreign.DROP, "Let me look.", None),
        (Foreign.BARE, "Let me look.", "Hm."),
        (Foreign.TEXT, "Hm.Let me look.", None),
        (Foreign.WHOLE, "Let me look.", "Hm."),
    ],
)
def test_reasoning_of_another_model(foreign: Foreign, content: str, thought: str | None) -> None:
    message = wire.chat_messages(STEP, OTHER, Profile(foreign=foreign))[1]
    assert message["content"] == content
    assert message.get("reasoning_content") == thought


@pytest.mark.parametrize("foreign", sorted(set(Foreign) - {Foreign.WHOLE}))
def test_no_signature_travels_to_another_model(foreign: Foreign) -> None:
    profile = Profile(foreign=foreign)
    for lowered in (wire.anthropic_messages, wire.responses_input):
        assert "SIG" not in repr(lowered(STEP, OTHER, profile))


def test_what_is_sent_whole_is_taken_by_the_wire_whose_name_space_it_is_in() -> None:
    profile = Profile(foreign=Foreign.WHOLE)
    assert wire.anthropic_messages(STEP, OTHER, profile)[1]["content"][0] == {
        "type": "thinking",
        "thinking": "Hm.",
        "signature": "SIG",
    }
    assert "SIG" not in repr(wire.responses_input(STEP, OTHER, profile))
    custom = [reasoning("Hm.", "ENC", encrypted="custom.reasoningEncryptedContent"), text("A")]
    assert "ENC" not in repr(wire.responses_input(custom, OWN, profile))
    renamed, home = replace(profile, space_renamed=True), Target("custom", "another")
    assert "ENC" in repr(wire.responses_input(custom, home, renamed))
    assert "ENC" not in repr(wire.responses_input(custom, OTHER, renamed))
    named = [reasoning("Hm.", "ENC", encrypted="openai.reasoningEncryptedContent"), text("A")]
    assert "ENC" in repr(wire.responses_input(named, OTHER, profile))


def test_summaries_of_one_reasoning_are_one_item() -> None:
    place = "openai.reasoningEncryptedContent"
    mine = {"metadata": {"openai": {"itemId": "rs_1"}}}
    pieces = [
        reasoning("First.", **mine),
        reasoning("Second.", "ENC", encrypted=place, **mine),
        reasoning("Other.", "ENC2", encrypted=place, metadata={"openai": {"itemId": "rs_2"}}),
        reasoning("Never told back.", metadata={"openai": {"itemId": "rs_3"}}),
    ]
    assert wire.responses_input(pieces, OWN) == [
        {
            "type": "reasoning",
            "encrypted_content": secret,
            "summary": [{"type": "summary_text", "text": words} for words in summary],
        }
        for secret, summary in (("ENC", ("First.", "Second.")), ("ENC2", ("Other.",)))
    ]
    assert wire.responses_input(pieces, OTHER, Profile(foreign=Foreign.BARE)) == []
    apart = wire.responses_input(pieces, OWN, Profile(summaries_joined=False))
    assert [item["summary"][0]["text"] for item in apart] == ["Second.", "Other."]


def test_what_responses_keeps_may_be_named_by_its_id() -> None:
    first = reasoning("First.", metadata={"openai": {"itemId": "rs_1"}})
    second = text("A", metadata={"openai": {"itemId": "msg_1"}})
    place = "openai.reasoningEncryptedContent"
    more = {"openai": {"itemId": "rs_2"}}
    secret = reasoning("Third.", "ENC", encrypted=place, metadata=more)
    pieces = [first, first, second, call(), output("a.txt")]
    codex = [Target("q", "gpt-5-codex"), Target("my-codex", "gpt-5")]
    for references, others, own in (
        (References.BY_MODEL, codex[1:], codex[0]),
        (References.BY_PROVIDER, codex[:1], codex[1]),
    ):
        profile = Profile(foreign=Foreign.WHOLE, references=references)
        for target in [OTHER, Target("openai", "gpt-5"), Target("q", "codex"), *others]:
            sent = wire.responses_input(pieces, target, profile)
            assert [item.get("id") for item in sent] == ["rs_1", "msg_1", None, None]
            assert sent[0]["type"] == "item_reference"
        # What is kept nowhere is sent, under its id.
        sent = wire.responses_input([*pieces[2:], secret], own, profile)
        assert sent[0]["content"][0]["text"] == "A"
        assert [item.get("id") for item in sent] == ["msg_1", None, None, "rs_2"]


def test_texts_on_responses_carry_what_their_provider_wants_back() -> None:
    mine = {"metadata": {"openai": {"itemId": "msg_1", "phase": "commentary"}}}
    pieces = [text("", **mine), text("A", **mine), text("")]
    sent = [{"type": "output_text", "text": words} for words in ("", "A")]
    assert wire.responses_input(pieces, OWN) == [
        {"role": "assistant", "content": [part], "phase": "commentary"} for part in sent
    ]
    assert wire.responses_input(pieces, OTHER) == [{"role": "assistant", "content": [sent[1]]}]


def test_a_blank_reasoning_of_another_model_is_no_text() -> None:
    pieces = [reasoning(" \n"), text("A")]
    assert wire.chat_messages(pieces, OTHER, Profile(foreign=Foreign.TEXT)) == [
        {"role": "assistant", "content": "A"}
    ]


def test_redacted_thinking_goes_back_as_it_came() -> None:
    pieces = [reasoning("", "RED", encrypted="anthropic.redactedData"), text("A"), said("B")]
    assert wire.anthropic_messages(pieces, OWN)[0]["content"][0] == {
        "type": "redacted_thinking",
        "data": "RED",
    }


def test_items_of_two_messages_stay_two_messages() -> None:
    pieces = [text("A"), Piece(text("B").item, Origin(message="other", provider="p", model="m"))]
    assert [m["content"] for m in wire.chat_messages(pieces, OWN)] == ["A", "B"]
    steps = [text("A"), text("B", step=1)]
    assert [m["content"] for m in wire.chat_messages(steps, OWN)] == ["A", "B"]


def test_users_stay_apart_on_chat_and_are_joined_for_anthropic() -> None:
    pieces = [said("A"), said("B")]
    assert [m["content"] for m in wire.chat_messages(pieces)] == ["A", "B"]
    assert wire.anthropic_messages(pieces) == [
        {"role": "user", "content": [{"type": "text", "text": t} for t in "AB"]}
    ]


def test_empty_texts_are_sent_on_chat_and_not_to_anthropic() -> None:
    pieces = [said("A"), text(""), said("B")]
    assert wire.chat_messages(pieces, OWN)[1] == {"role": "assistant", "content": ""}
    assert len(wire.anthropic_messages(pieces, OWN)) == 1


def test_an_empty_text_beside_signed_reasoning_may_be_a_space() -> None:
    pieces = [reasoning("Hm.", "SIG", encrypted="anthropic.signature"), text(""), said("B")]
    profile = Profile(keep_empty=True)
    blocks = wire.anthropic_messages(pieces, OWN, profile)[0]["content"]
    assert blocks[1] == {"type": "text", "text": " "}
    # The signature counts, not whether it goes along.
    assert wire.chat_messages(pieces, OTHER, profile)[0] == {"role": "assistant", "content": " "}
    sent = wire.responses_input(pieces, OTHER, profile)[0]["content"]
    assert sent == [{"type": "output_text", "text": " "}]
    assert wire.responses_input([text(""), said("B")], OTHER, profile)[0]["role"] == "user"


def test_thinking_is_never_marked_for_the_cache() -> None:
    alone = [said("A"), reasoning("Hm.", "SIG", encrypted="anthropic.signature"), said("B")]
    block = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
    profile = Profile(cache_control=True)
    assert wire.anthropic_messages(alone, OWN, profile)[1]["content"] == [block]
    lost = Profile(cache_control=True, mark_for_signature=True, emptied_sent=True)
    assert wire.anthropic_messages(alone, OWN, lost)[1]["content"] == []
    named = [Piece(one.item, replace(one.origin, provider="anthropic")) for one in alone]
    itself = Target("anthropic", "m")
    assert wire.anthropic_messages(named, itself, lost)[1]["content"] == [block]


def test_a_message_of_another_models_reasoning_alone_may_be_sent_empty() -> None:
    pieces = [said("A"), reasoning("Hm.", "SIG", encrypted="anthropic.signature")]
    bare = Profile(foreign=Foreign.BARE)
    assert len(wire.anthropic_messages(pieces, OTHER, bare)) == 1
    emptied = wire.anthropic_messages(pieces, OTHER, replace(bare, emptied_sent=True))
    assert emptied[1] == {"role": "assistant", "content": []}


def test_a_failed_call_says_so_to_anthropic() -> None:
    pieces = [call(), output("No such file", error=True)]
    block = wire.anthropic_messages(pieces, OWN)[1]["content"][0]
    assert block["is_error"] is True


def test_call_ids_of_other_providers_suit_anthropic() -> None:
    pieces = [call("call.1:x"), output("A", "call.1:x")]
    messages = wire.anthropic_messages(pieces, OWN)
    assert messages[0]["content"][0]["id"] == "call_1_x"
    assert messages[1]["content"][0]["tool_use_id"] == "call_1_x"


def test_media_stands_in_the_result_where_it_fits() -> None:
    pieces = [call(), output(seen("An image"))]
    result = wire.anthropic_messages(pieces, OWN)[1]["content"][0]
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    assert wire.responses_input(pieces, OWN)[1]["output"][1] == {
        "type": "input_image",
        "image_url": PIXEL,
    }
    chat = wire.chat_messages(pieces, OWN)
    assert chat[1] == {"role": "tool", "tool_call_id": "call_1", "content": "An image"}
    assert chat[2] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "Attached media from tool result:"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
        ],
    }


def test_reasoning_without_words_by_profile() -> None:
    redacted = reasoning("", "RED", encrypted="anthropic.redactedData")
    pieces = [redacted, reasoning("", "SIG"), reasoning("Hm", "SIG2"), text("A"), said("B")]
    kinds = [
        [block["type"] for block in wire.anthropic_messages(pieces, OWN, profile)[0]["content"]]
        for profile in (Profile(), Profile(blank_reasoning=False))
    ]
    assert kinds == [
        ["redacted_thinking", "thinking", "thinking", "text"],
        ["thinking", "text"],
    ]


def test_media_beside_results_names_each_tool() -> None:
    pieces = [
        call("call_1", "read"),
        call("call_2", "shot"),
        output(seen("One"), "call_1"),
        output(seen("Two"), "call_2"),
        said("Go on"),
    ]
    profile = Profile(media=Media.BESIDE, media_lead="Tool {tool} returned an attachment:")
    messages = wire.chat_messages(pieces, OWN, profile)
    assert [m["role"] for m in messages] == ["assistant", "tool", "tool", "user", "user", "user"]
    assert messages[3]["content"][0]["text"] == "Tool read returned an attachment:"
    assert messages[4]["content"][0]["text"] == "Tool shot returned an attachment:"


def test_media_before_the_message_that_called() -> None:
    pieces = [
        said("Look"),
        call("call_1", "read"),
        call("call_2", "shot"),
        output(seen("One"), "call_1"),
        output(seen("Two"), "call_2"),
        said("Go on"),
    ]
    profile = Profile(media=Media.BEFORE, media_lead="Tool {tool} returned an attachment:")
    messages = wire.chat_messages(pieces, OWN, profile)
    roles = ["user", "user", "user", "assistant", "tool", "tool", "user"]
    assert [m["role"] for m in messages] == roles
    assert messages[1]["content"][0]["text"] == "Tool read returned an attachment:"
    assert messages[2]["content"][0]["text"] == "Tool shot returned an attachment:"


@pytest.mark.parametrize("media", [Media.BESIDE, Media.BEFORE])
def test_a_result_whose_media_is_elsewhere_is_its_text(media: Media) -> None:
    pieces = [said("Look"), call(), output(seen("One")), said("Go on")]
    profile = Profile(media=media)
    results = [
        block["content"]
        for message in wire.anthropic_messages(pieces, OWN, profile)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert results == ["One"]
    items = wire.responses_input(pieces, OWN, profile)
    assert [i["output"] for i in items if i.get("type") == "function_call_output"] == ["One"]


def test_media_of_one_message_is_collected() -> None:
    pieces = [call("a"), call("b"), output(seen("One"), "a"), output(seen("Two"), "b"), said("C")]
    messages = wire.chat_messages(pieces, OWN)
    assert [m["role"] for m in messages] == ["assistant", "tool", "tool", "user", "user"]
    assert len(messages[3]["content"]) == 3


def test_texts_and_media_of_a_user() -> None:
    item = {"type": "message", "role": "user", "content": seen("See")}
    pieces = [Piece(ags.Item(item), Origin())]
    assert wire.chat_messages(pieces) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": PIXEL}},
            ],
        }
    ]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert wire.anthropic_messages(pieces)[0]["content"][1] == {"type": "image", "source": source}


@pytest.mark.parametrize("name", ["chat_messages", "anthropic_messages", "responses_input"])
def test_odd_items_are_no_error(name: str) -> None:
    lower = getattr(wire, name)
    odd: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": 7},
        {"type": "message"},
        {"type": "function_call"},
        {"type": "function_call", "arguments": "{"},
        {"type": "function_call_output", "output": None},
        {"type": "function_call_output", "output": [{}, {"type": "input_image"}]},
        {"type": "reasoning"},
        {"type": "compaction", "encrypted_content": "X"},
        {"type": "acme:thing"},
        {},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_file", "file_url": "http://x/y.pdf"}],
        },
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_file", "file_data": "data:audio/wav;base64,AA=="}],
        },
    ]
    for item in odd:
        assert isinstance(lower([Piece(ags.Item(item), Origin())]), list)
    assert isinstance(lower([Piece(ags.Item(item), Origin()) for item in odd]), list)


def session_with(*entries: ags.Entry) -> ags.Session:
    session = ags.Session(ags.Header(format="agentsession/0.3"))
    for entry in entries:
        session.append(entry)
    return session


def test_origins_come_from_entries_responses_and_compactions() -> None:
    words = [{"type": "output_text", "text": "A"}]
    own = {"type": "message", "id": "i1", "role": "assistant", "content": words}
    known = {"message": "msg", "provider": "p", "model": "m"}
    session = session_with(
        ags.ItemEntry(own, response="r1", unknown={"origin": known}),
        ags.ResponseEntry("r1", model="m", unknown={"provider": "p"}),
    )
    summary = {**own, "id": "i2"}
    session.append(
        ags.CompactionEntry(
            session.leaf or "",
            summary,
            pinned=[own, {**own, "id": "i3"}],
            unknown={"origins": {"i2": {"provider": "s"}}},
        )
    )
    found = [piece.origin for piece in wire.pieces(session.path())]
    assert [origin.provider for origin in found] == ["s", "p", ""]
    response = session.entries[1]
    assert isinstance(response, ags.ResponseEntry)
    assert wire.target_of(response) == OWN
    assert wire.request_pieces(session.path(response.id)) == ()


def test_without_an_origin_items_of_one_response_travel_together() -> None:
    words = [{"type": "output_text", "text": "A"}]
    item = {"type": "message", "role": "assistant", "content": words}
    session = session_with(
        ags.ItemEntry(item, response="r1"),
        ags.ItemEntry(item, response="r2"),
    )
    assert len(wire.chat_messages(wire.pieces(session.path()))) == 2


@pytest.mark.parametrize("value", [None, 7, "x", [], {"step": True, "metadata": 3, "message": 1}])
def test_an_odd_origin_is_an_empty_one(value: object) -> None:
    assert Origin.of(value) == Origin()


def test_an_origin_and_its_plain_values_are_one() -> None:
    origin = Origin("msg", 2, "p", "m", {"a": {"b": 1}}, "a.b", error=True, executed=True)
    assert Origin.of(origin.to_dict()) == origin


def test_the_example_of_the_package_works() -> None:
    assert doctest.testmod(wire).failed == 0
