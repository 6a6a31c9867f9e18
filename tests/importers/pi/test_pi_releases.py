"""Which release of pi sent a request, as its records give it away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pi_files import Lines, assistant, entry, header, result, user, written

from agentsession.importers.pi.releases import releases
from agentsession.importers.pi.transcript import load

RANDOM = "0a1b2c3d-0000-4000-8000-000000000000"
TIMED = "01a22e3e-5428-7035-98b3-e80e60a1e3d3"
SIGNED_CALL = {
    "type": "toolCall",
    "id": "call_1|fc_1",
    "name": "bash",
    "arguments": {},
    "partialJson": "{}",
}
USAGE = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0}


def told(place: Path, lines: Lines) -> list[tuple[int, int]]:
    return list(releases(load(str(written(place / "s.jsonl", lines)))).values())


def plain(name: str, parent: str, **more: Any) -> dict[str, Any]:
    """An assistant's message that gives nothing away but what is named."""
    entry = assistant(name, parent, "Yes.", **{"usage": USAGE, **more})
    for member in {"responseId", "rawStopReason"} - more.keys():
        del entry["message"][member]
    return entry


@pytest.mark.parametrize(
    ("session", "more", "release"),
    [
        (RANDOM, {}, (0, 49)),
        (RANDOM, {"responseId": "r"}, (0, 60)),
        (TIMED, {}, (0, 68)),
        (TIMED, {"responseId": "r"}, (0, 68)),
        (TIMED, {"usage": {**USAGE, "reasoning": 0}}, (0, 82)),
        (TIMED, {"usage": {**USAGE, "cacheWrite1h": 0}}, (0, 78)),
        ("mine", {"responseId": "r"}, (0, 78)),
        ("mine", {"api": "mine", "responseId": "r"}, (0, 84)),
        (TIMED, {"rawStopReason": "stop"}, (0, 84)),
        (TIMED, {"durationMs": 5}, (1, 4)),
    ],
)
def test_what_a_message_gives_away(
    tmp_path: Path, session: str, more: dict[str, Any], release: tuple[int, int]
) -> None:
    lines = [header(session), user("u1", None), plain("a1", "u1", **more)]
    assert told(tmp_path, lines) == [release]


def test_an_older_release_that_goes_on_is_told_by_what_its_answers_lack(tmp_path: Path) -> None:
    lines = [
        header(TIMED),
        user("u1", None),
        plain("a1", "u1", durationMs=7, rawStopReason="toolUse", responseId="r1"),
        result("r1", "a1", "c1", "out", durationMs=7),
        plain("a2", "r1", rawStopReason="stop", responseId="r2"),
        user("u2", "a2"),
        plain("a3", "u2", responseId="r3"),
        user("u3", "a3"),
        plain("a4", "u3"),
        user("u4", "a4"),
        plain("a5", "u4", durationMs=7, rawStopReason="stop", responseId="r5"),
    ]
    assert told(tmp_path, lines) == [(1, 4), (0, 84), (0, 60), (0, 49), (1, 4)]


def test_an_answer_without_a_name_is_no_older_where_its_provider_names_none(
    tmp_path: Path,
) -> None:
    usage = {**USAGE, "reasoning": 0}
    lines = [
        header(TIMED),
        user("u1", None),
        plain("a1", "u1", usage=usage, rawStopReason="stop"),
        user("u2", "a1"),
        plain("a2", "u2", usage=usage, rawStopReason="stop"),
        user("u3", "a2"),
        plain("a3", "u3", provider="q"),
    ]
    assert told(tmp_path, lines) == [(0, 84), (0, 84), (0, 49)]


@pytest.mark.parametrize(
    ("tool", "words", "more", "release"),
    [
        ("write", "Successfully wrote 3 bytes to a.txt", {}, (0, 60)),
        ("edit", "Successfully replaced 1 block(s) in a.txt.", {}, (0, 62)),
        ("edit", "Done.", {"details": {"diff": "d", "patch": "p"}}, (0, 78)),
        ("read", "Read image\n[Current model does not support images. So.]", {}, (0, 68)),
        ("mine", "Successfully replaced 1 block(s) in a.txt.", {}, (0, 60)),
    ],
)
def test_what_a_tool_says_is_of_its_release(
    tmp_path: Path, tool: str, words: str, more: dict[str, Any], release: tuple[int, int]
) -> None:
    lines = [
        header(RANDOM),
        user("u1", None),
        plain("a1", "u1", responseId="r1"),
        result("t1", "a1", "c1", words, toolName=tool, **more),
        plain("a2", "t1", responseId="r2"),
    ]
    assert told(tmp_path, lines) == [release, release]


@pytest.mark.parametrize(
    ("later", "release"),
    [
        ({"responseId": "r", "api": "openai-responses", "content": [SIGNED_CALL]}, (0, 62)),
        ({"responseId": "r"}, (0, 62)),
        ({"rawStopReason": "stop", "responseId": "r"}, (0, 62)),
    ],
)
def test_a_release_is_none_newer_than_what_follows_gives_away(
    tmp_path: Path, later: dict[str, Any], release: tuple[int, int]
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": "0.64.0"}))
    lines = [
        header(RANDOM),
        user("u1", None),
        plain("a1", "u1", responseId="r1"),
        user("u2", "a1"),
        plain("a2", "u2", **later),
    ]
    assert told(tmp_path / "sessions" / "--x--", lines)[0] == release
    lines.insert(3, result("t1", "a1", "c1", "Successfully replaced text in a.", toolName="edit"))
    assert told(tmp_path / "sessions" / "--x--", lines)[0] == (0, 60)


def test_a_failed_message_is_of_the_release_before_it(tmp_path: Path) -> None:
    lines = [
        header(RANDOM),
        user("u1", None),
        plain("a1", "u1", responseId="r"),
        user("u2", "a1"),
        plain("a2", "u2", stopReason="error"),
    ]
    assert told(tmp_path, lines) == [(0, 60), (0, 60)]


@pytest.mark.parametrize(("version", "release"), [(None, (0, 27)), (2, (0, 31))])
def test_old_files_say_their_version(
    tmp_path: Path, version: int | None, release: tuple[int, int]
) -> None:
    head = header(RANDOM, version=version)
    lines = [head, user("u1", None), plain("a1", "u1")]
    if version is None:
        del head["version"]
        for line in lines[1:]:
            del line["id"], line["parentId"]
    assert told(tmp_path, lines) == [release]


@pytest.mark.parametrize(
    ("newest", "more", "release"),
    [
        ("0.45.7", {}, (0, 45)),
        ("0.52.12", {}, (0, 51)),
        ("0.58.4", {}, (0, 58)),
        # None of those that can have written it: the likely one.
        ("0.73.1", {}, (0, 49)),
        ("0.55.4", {"responseId": "r"}, (0, 60)),
        ("0.62.0", {"responseId": "r"}, (0, 62)),
        ("0.79.10", {"responseId": "r"}, (0, 78)),
        ("1.6.0", {"responseId": "r"}, (0, 60)),
        ("0.81.1", {"usage": {**USAGE, "reasoning": 0}}, (0, 81)),
        ("0.84.4", {"rawStopReason": "stop"}, (0, 84)),
        ("0.87.1", {"rawStopReason": "stop"}, (0, 87)),
        ("1.0.3", {"durationMs": 5}, (1, 0)),
        ("1.3.0", {"thinkingLevel": "off"}, (1, 3)),
        ("1.6.0", {"durationMs": 5}, (1, 4)),
    ],
)
def test_the_settings_name_the_release_where_a_message_does_not(
    tmp_path: Path, newest: str, more: dict[str, Any], release: tuple[int, int]
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": newest}))
    place = tmp_path / "sessions" / "--x--"
    lines = [header(RANDOM), user("u1", None), plain("a1", "u1", **more)]
    assert told(place, lines) == [release]


def test_a_text_with_a_phase_is_of_0_57_or_later(tmp_path: Path) -> None:
    signed = {"type": "text", "text": "x", "textSignature": '{"v":1,"id":"msg_1"}'}
    lines = [header(RANDOM), user("u1", None), plain("a1", "u1", content=[signed])]
    assert told(tmp_path, lines) == [(0, 58)]


def test_a_prompt_that_is_kept_or_an_edit_of_its_own_answer_is_of_0_86_or_later(
    tmp_path: Path,
) -> None:
    cut = plain("a1", "u1", responseId="r1", rawStopReason="length", stopReason="length")
    edit = entry("context_edit", "c1", "a1", targetId="a1", replacement=None)
    lines = [header(TIMED), user("u1", None), cut, edit]
    assert told(tmp_path, lines) == [(0, 87)]
    edit["targetId"] = "u1"
    assert told(tmp_path, lines) == [(0, 84)]
    prompt = entry("message", "s1", None, message={"role": "system", "sections": {"a": "b"}})
    assert told(tmp_path, [header(TIMED), prompt, *lines[1:]]) == [(0, 87)]


@pytest.mark.parametrize(
    ("more", "release"),
    [
        ({"usage": {**USAGE, "input": 1}, "summary": "s", "fromHook": False}, (0, 84)),
        ({"summary": "s", "fromHook": False}, (0, 82)),
        ({"summary": "s", "fromHook": True}, (0, 84)),
    ],
)
def test_what_a_summary_gives_away(
    tmp_path: Path, more: dict[str, Any], release: tuple[int, int]
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": "0.84.4"}))
    lines = [
        header("mine"),
        user("u1", None),
        entry("compaction", "k1", "u1", firstKeptEntryId="u1", tokensBefore=5, **more),
        user("u2", "k1"),
        plain("a1", "u2", api="mine", responseId="r1"),
    ]
    if release == (0, 82):
        # Who answers next has what was kept since.
        lines[-1] = plain("a1", "u2", usage={**USAGE, "reasoning": 0}, responseId="r1")
    assert told(tmp_path / "sessions" / "--x--", lines) == [release]


def test_the_settings_say_nothing_of_what_was_before_an_older_release_went_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": "0.62.0"}))
    lines = [
        header(RANDOM),
        user("u1", None),
        plain("a1", "u1", responseId="r1"),
        user("u2", "a1"),
        plain("a2", "u2", responseId="r2", usage={**USAGE, "reasoning": 0}),
        user("u3", "a2"),
        plain("a3", "u3", responseId="r3"),
    ]
    assert told(tmp_path / "sessions" / "--x--", lines) == [(0, 60), (0, 82), (0, 62)]
