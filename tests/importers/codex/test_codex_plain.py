"""Plain files, whose lines name no release: what stands there tells how it sent the history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codex_files import THREAD, codes, convert, write

from agentsession import wire
from agentsession.entries import ResponseEntry
from agentsession.importers.base import Converted
from agentsession.importers.codex import profile_of_response

IN_LINES = "<environment_context>\nCurrent working directory: /p\n</environment_context>"
IN_TAGS = "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"
KIND = "<user_instructions>\n\nBe kind.\n\n\n</user_instructions>"
STATE = {"record_type": "state"}

Lines = list[dict[str, Any]]


def header(instructions: str | None = "Be kind.\n") -> dict[str, Any]:
    return {"id": THREAD, "timestamp": "2025-08-01T10:00:00.000Z", "instructions": instructions}


def said(role: str, words: str, native_id: str | None = None) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": words}]
    return {"type": "message", "id": native_id, "role": role, "content": content}


def tool(name: str) -> Lines:
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": name}
    return [call, {"type": "function_call_output", "call_id": name, "output": "out"}]


def turn(words: str, *answers: Lines) -> Lines:
    lines = [STATE, said("user", words)]
    for answer in answers:
        lines += [STATE, STATE, *answer]
    return lines


def sent(converted: Converted) -> list[list[str]]:
    """What each request held on the wire: texts, and the types of other items."""
    session = converted.session
    found = []
    for entry in session.entries:
        if isinstance(entry, ResponseEntry):
            pieces = wire.request_pieces(session.path(entry.id))
            profile = profile_of_response(entry)
            items = wire.responses_input(pieces, wire.target_of(entry), profile)
            found.append(
                [one["content"][0]["text"] if "content" in one else one["type"] for one in items]
            )
    return found


def test_instructions_that_no_item_says_were_sent_as_a_message(tmp_path: Path) -> None:
    """0.20 and 0.21."""
    write(tmp_path, [header(), *turn("one", [said("assistant", "A", "msg_1")]), *turn("two")])
    converted = convert(tmp_path)
    assert sent(converted) == [[KIND, "one"]]
    assert "environment-not-stored" in codes(converted)


def test_no_instructions_are_no_message(tmp_path: Path) -> None:
    write(tmp_path, [header(None), *turn("one", [said("assistant", "A")])])
    assert sent(convert(tmp_path)) == [["one"]]


def test_instructions_that_an_item_says_are_not_said_again(tmp_path: Path) -> None:
    """0.22 to 0.29, which stored the environment too."""
    context = [STATE, said("user", KIND), said("user", IN_LINES)]
    write(tmp_path, [header(), *context, *turn("one", [said("assistant", "A")])])
    converted = convert(tmp_path)
    assert sent(converted) == [[KIND, IN_LINES, "one"]]
    assert "environment-not-stored" not in codes(converted)


def test_markers_that_name_a_response_are_of_a_release_without_that_message(tmp_path: Path) -> None:
    """0.8: the server kept the history, and the instructions were no message."""
    marker = {"record_type": "state", "previous_response_id": None}
    after = {"record_type": "state", "previous_response_id": "resp_1"}
    first = [marker, said("user", "one"), marker, after, said("assistant", "A")]
    second = [after, said("user", "two"), after, after, said("assistant", "B")]
    write(tmp_path, [header(), *first, *second])
    assert sent(convert(tmp_path)) == [["one"], ["one", "A", "two"]]


def chained(name: str | None) -> dict[str, Any]:
    return {**STATE, "previous_response_id": name}


def test_a_request_goes_on_from_the_last_answer_and_not_from_a_request_without_one(
    tmp_path: Path,
) -> None:
    """0.8: what was said in a turn that nothing answered was not said again."""
    first = [chained(None), said("user", "one"), chained(None), chained("resp_1")]
    first += [*tool("a"), chained("resp_1"), chained("resp_2"), said("assistant", "A")]
    cut = [chained("resp_2"), said("user", "cut"), chained("resp_2"), chained("resp_2")]
    last = [said("user", "two"), chained("resp_2"), chained("resp_4"), said("assistant", "B")]
    write(tmp_path, [header(), *first, *cut, *last])
    converted = convert(tmp_path)
    kept = ["one", "function_call", "function_call_output", "A"]
    assert sent(converted) == [["one"], kept[:3], [*kept, "cut"], [*kept, "two"]]
    assert "request-not-chained" in codes(converted)
    named = [e.response_id for e in converted.session.entries if isinstance(e, ResponseEntry)]
    assert named == ["resp_1", "resp_2", "call-3", "resp_4"]


def test_what_is_put_into_a_turn_is_sent_twice_at_first(tmp_path: Path) -> None:
    """Up to 0.47; 0.8 did so only where it sent the whole history."""
    lines = [STATE, said("user", IN_TAGS), STATE, said("user", "one"), STATE, STATE, *tool("a")]
    lines += [STATE, said("user", "also"), said("user", "and"), STATE, said("assistant", "A")]
    write(tmp_path, [header(None), *lines, *turn("two", [said("assistant", "B")])])
    begun = [IN_TAGS, "one", "function_call", "function_call_output", "also", "and"]
    assert sent(convert(tmp_path)) == [begun[:2], [*begun, "also", "and"], [*begun, "A", "two"]]


def test_outputs_that_were_sent_and_a_turn_after_them(tmp_path: Path) -> None:
    lines = turn("one", tool("a"), [])
    write(tmp_path, [header(None), *lines, *turn("two", [said("assistant", "B", "msg_1")])])
    assert sent(convert(tmp_path))[-1][-1:] == ["two"]


def test_on_the_chat_wire_no_partial_text_was_kept(tmp_path: Path) -> None:
    """Items of a model without a name of the server's are of that wire."""
    answers = turn("one", [said("assistant", "A"), *tool("a")], [said("assistant", "B")])
    cut = [*turn("cut", []), *turn("two", [said("assistant", "C")])]
    write(tmp_path, [header(None), *answers, *cut])
    converted = convert(tmp_path)
    assert "partial-answer-not-kept" not in codes(converted)
    (response, *_) = [e for e in reversed(converted.session.entries) if e.type == "response"]
    assert isinstance(response, ResponseEntry)
    pieces = wire.request_pieces(converted.session.path(response.id))
    target, profile = wire.target_of(response), profile_of_response(response)
    messages = wire.chat_messages(pieces, target, profile)
    assert [m["content"] for m in messages] == ["one", "A", None, "out", "B", "cut", "two"]


def test_texts_that_meet_are_one_message_on_the_chat_wire(tmp_path: Path) -> None:
    answers = turn("one", [*tool("a"), said("assistant", "A")], [said("assistant", "B")])
    write(tmp_path, [header(None), *answers, *turn("two", [said("assistant", "C")])])
    session = convert(tmp_path).session
    response = [e for e in session.entries if isinstance(e, ResponseEntry)][-1]
    pieces = wire.request_pieces(session.path(response.id))
    target, profile = wire.target_of(response), profile_of_response(response)
    messages = wire.chat_messages(pieces, target, profile)
    assert [m["content"] for m in messages] == ["one", None, "out", "AB", "two"]


def test_a_file_that_begins_with_the_items_of_another(tmp_path: Path) -> None:
    """0.27 to 0.29 resume in a new file: what it begins with caused no request again."""
    context = [STATE, said("user", IN_TAGS)]
    answers = [said("assistant", "A", "msg_1"), *tool("a")]
    write(tmp_path, [header(None), *context, *turn("one", answers)])
    other = "0b6f4f1a-0000-4000-8000-00000000000b"
    head = {**header(None), "id": other, "timestamp": "2025-08-01T11:00:00.000Z"}
    again = [*context, said("user", "one"), *answers, *turn("two", [said("assistant", "B")])]
    write(tmp_path, [head, *again], other)
    first, second = convert(tmp_path), convert(tmp_path, other)
    assert len(sent(first)) == 1
    assert sent(second) == [[IN_TAGS, "one", "A", "function_call", "function_call_output", "two"]]
    assert second.session.header.parent_session == THREAD


def test_streamed_texts_meet_those_of_the_items(tmp_path: Path) -> None:
    """Up to 0.23: a text that comes behind its calls is streamed before they are recorded."""
    first = [*tool("a"), said("assistant", "Two", "msg_1")]
    lines = turn("one", first, [said("assistant", "Done")])
    write(tmp_path, [header(None), *lines, *turn("two", [said("assistant", "x")])])
    call = ["function_call", "function_call_output"]
    assert sent(convert(tmp_path)) == [
        ["one"],
        ["one", "Two", *call, "Two"],
        ["one", "Two", *call, "TwoDoneDone", "two"],
    ]


def test_an_environment_in_tags_tells_that_texts_stand_once(tmp_path: Path) -> None:
    """0.25 to 0.29; and a text that broke off is not kept there."""
    lines = [STATE, said("user", IN_TAGS), *turn("one", [said("assistant", "A")])]
    lines += [*turn("two", []), *turn("three", [said("assistant", "C")])]
    write(tmp_path, [header(None), *lines])
    converted = convert(tmp_path)
    assert sent(converted)[-1] == [IN_TAGS, "one", "A", "two", "three"]
    assert "partial-answer-not-kept" not in codes(converted)


def test_a_process_that_goes_on_has_the_history_of_the_file(tmp_path: Path) -> None:
    """0.22 and 0.23 tell the environment again where they resume."""
    environment = [STATE, said("user", IN_LINES)]
    lines = [*environment, *turn("one", [said("assistant", "A", "msg_1")])]
    lines += [*turn("cut", []), *turn("two", [said("assistant", "B", "msg_2")])]
    lines += [
        *environment,
        *turn("three", [said("assistant", "C", "msg_3")]),
        *turn("four", [said("assistant", "D")]),
    ]
    write(tmp_path, [header(None), *lines])
    converted = convert(tmp_path)
    assert sent(converted)[-1] == [
        IN_LINES, "one", "A", "cut", "two", "B", IN_LINES, "three", "CC", "four",
    ]  # fmt: skip
    native = [
        entry.unknown["codex"]
        for entry in converted.session.entries
        if isinstance(entry, ResponseEntry)
    ]
    lost = ["history" in one for one in native]
    assert lost == [False, False, True, False, False]


def test_another_environment_is_no_other_process(tmp_path: Path) -> None:
    environment = [STATE, said("user", IN_LINES)]
    other = [STATE, said("user", IN_LINES.replace("/p", "/q"))]
    lines = [*environment, *turn("one", [said("assistant", "A")])]
    write(tmp_path, [header(None), *lines, *other, *turn("two", [said("assistant", "B")])])
    assert sent(convert(tmp_path))[-1][2] == "AA"
