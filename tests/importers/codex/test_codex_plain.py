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
    lines = [*environment, *turn("one", [said("assistant", "A")])]
    lines += [*turn("cut", []), *turn("two", [said("assistant", "B")])]
    lines += [
        *environment,
        *turn("three", [said("assistant", "C")]),
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
