"""What a request of pi held, on small sessions: which entries, in which order."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from pi_files import Lines, assistant, call, entry, header, result, user, written

from agentsession import wire
from agentsession.entries import ResponseEntry
from agentsession.importers import pi
from agentsession.session import Session

TALK = [
    header(),
    user("u1", None, "one"),
    assistant("a1", "u1", "A"),
    user("u2", "a1", "two"),
    assistant("a2", "u2", "B"),
]


def converted(place: Path, lines: Lines) -> Session:
    written(place / "sessions" / "--x--" / "t_s1.jsonl", lines)
    sessions = pi.Sessions(str(place))
    (native,) = sessions
    return sessions.convert(native.id).session


def sent(session: Session) -> list[str]:
    """What the last request held: texts, a summary as its own words."""
    entry = [e for e in session.entries if isinstance(e, ResponseEntry)][-1]
    pieces = wire.request_pieces(session.path(entry.id))
    messages = wire.chat_messages(pieces, wire.target_of(entry), pi.profile_of_response(entry))
    return [_words(message) for message in messages]


def _words(message: dict[str, Any]) -> str:
    content = message.get("content")
    words = content if isinstance(content, str) else (content or [{}])[0].get("text", "a call")
    _, summary, rest = words.partition("<summary>\n")
    return rest.partition("</summary>")[0].strip() if summary else words


def compaction(name: str, parent: str, first: str) -> dict[str, Any]:
    return entry("compaction", name, parent, summary=name, firstKeptEntryId=first, tokensBefore=5)


def edit(name: str, parent: str, target: str, words: str | None) -> dict[str, Any]:
    replacement = None if words is None else {"content": words}
    return entry("context_edit", name, parent, targetId=target, replacement=replacement)


def asked(parent: str) -> list[dict[str, Any]]:
    return [user("u9", parent, "now"), assistant("a9", "u9", "Z", durationMs=1)]


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        ([compaction("k1", "a2", "u2")], ["k1", "two", "B"]),
        ([compaction("k1", "a2", "k1")], ["k1"]),
        ([compaction("k1", "a2", "gone")], ["k1"]),
        # An older compaction inside what is kept contributes nothing.
        (
            [
                compaction("k1", "a2", "u2"),
                user("u3", "k1", "three"),
                assistant("a3", "u3", "C"),
                compaction("k2", "a3", "u2"),
            ],
            ["k2", "two", "B", "three", "C"],
        ),
        # Of several edits of one entry the last counts, also one from before a compaction.
        ([edit("c1", "a2", "u1", "X"), edit("c2", "c1", "u1", None)], ["A", "two", "B"]),
        ([edit("c1", "a2", "u1", None), edit("c2", "c1", "u1", "X")], ["X", "A", "two", "B"]),
        ([edit("c1", "a2", "u2", "X"), compaction("k1", "c1", "u2")], ["k1", "X", "B"]),
        ([compaction("k1", "a2", "a2"), edit("c1", "k1", "u1", "X")], ["k1", "B"]),
    ],
)
def test_what_is_left_of_a_talk(
    tmp_path: Path, lines: list[dict[str, Any]], held: list[str]
) -> None:
    session = converted(tmp_path, [*TALK, *lines, *asked(lines[-1]["id"])])
    assert sent(session) == [*held, "now"]


def test_a_branch_from_before_a_compaction_knows_nothing_of_it(tmp_path: Path) -> None:
    later = [compaction("k1", "a2", "u2"), user("u3", "k1", "three"), assistant("a3", "u3", "C")]
    assert sent(converted(tmp_path, [*TALK, *later, *asked("a1")])) == ["one", "A", "now"]


def test_a_compaction_between_a_call_and_its_result(tmp_path: Path) -> None:
    called = [header(), user("u1", None, "one"), assistant("a1", "u1", call("c1"))]
    killed = [*called, compaction("k1", "a1", "a1"), *asked("k1")]
    assert sent(converted(tmp_path / "killed", killed)) == [
        "k1",
        "a call",
        "No result provided",
        "now",
    ]
    ran = [*called, result("r1", "a1", "c1", "out"), compaction("k1", "r1", "r1"), *asked("k1")]
    assert sent(converted(tmp_path / "ran", ran)) == ["k1", "out", "now"]


def test_the_prompt_is_replayed_by_section(tmp_path: Path) -> None:
    def system(name: str, parent: str | None, **more: Any) -> dict[str, Any]:
        return entry("message", name, parent, message={"role": "system", **more})

    def tool(name: str) -> dict[str, Any]:
        return {"name": name, "description": "d", "parameters": {}}

    anew = {"role": "system", "content": "New", "sections": {"z": "Z"}, "toolsAdded": [tool("y")]}
    lines = [
        header(),
        system("s1", None, content="Head", sections={"a": "A", "b": "B"}, toolsAdded=[tool("x")]),
        user("u1", "s1", "one"),
        assistant("a1", "u1", "A"),
        system("s2", "a1", sections={"a": None, "b": "B2", "c": "C"}),
        user("u2", "s2", "two"),
        assistant("a2", "u2", "B"),
        {**compaction("k1", "a2", "u2"), "systemMessage": anew},
        user("u3", "k1", "three"),
        assistant("a3", "u3", "C"),
        system("s3", "a3", toolsRemoved=[{"name": "y"}]),
        user("u4", "s3", "four"),
        assistant("a4", "u4", "D"),
    ]
    session = converted(tmp_path, lines)
    found = [
        session.request_context(entry.id).settings
        for entry in session.entries
        if isinstance(entry, ResponseEntry)
    ]
    assert [(settings.instructions, [t["name"] for t in settings.tools]) for settings in found] == [
        ("Head\n\nA\n\nB", ["x"]),
        ("Head\n\nB2\n\nC", ["x"]),
        ("New\n\nZ", ["y"]),
        ("New\n\nZ", []),
    ]


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("0.79.10", ["second", "B", "three", "C", "four"]),
        ("0.80.10", ["second", "B", "first", "three", "C", "four"]),
        ("0.86.1", ["second", "B", "first", "three", "C", "four"]),
        ("0.87.0", ["second", "B", "three", "C", "four"]),
    ],
)
def test_a_summary_that_was_kept(tmp_path: Path, release: str, words: list[str]) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": release}))
    usage = {"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cacheWrite1h": 0}
    if release > "0.80":
        usage["reasoning"] = 0
    lines = [
        *copy.deepcopy(TALK),
        {**compaction("k1", "a2", "a2"), "summary": "first"},
        user("u3", "k1", "three"),
        assistant("a3", "u3", "C", usage=usage),
        {**compaction("k2", "a3", "a2"), "summary": "second"},
        user("u4", "k2", "four"),
        assistant("a4", "u4", "D", usage=usage),
    ]
    if release < "0.83":
        for line in lines:
            line.get("message", {}).pop("rawStopReason", None)
    assert sent(converted(tmp_path, lines)) == words


def test_what_was_tried_again_is_left_out_before_that_was_the_rule(tmp_path: Path) -> None:
    lines = [
        {**header(), "version": 2},
        user("u1", None, "one"),
        assistant("a1", "u1", "half", stopReason="error", errorMessage="broken"),
        assistant("a2", "a1", "whole"),
        user("u2", "a2", "two"),
        assistant("a3", "u2", "half", stopReason="error", errorMessage="broken"),
        user("u3", "a3", "three"),
        assistant("a4", "u3", "B"),
    ]
    assert sent(converted(tmp_path, lines)) == ["one", "whole", "two", "half", "three"]


@pytest.mark.parametrize(
    ("release", "output", "words"),
    [
        ("0.84.4", 20, ["one", "two"]),
        ("0.84.4", 4096, ["one", "cut", "two"]),
        ("0.87.1", 20, ["one", "cut", "two"]),
    ],
)
def test_an_answer_cut_short_of_the_limit(
    tmp_path: Path, release: str, output: int, words: list[str]
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"lastChangelogVersion": release}))
    usage = {"input": 10, "output": output, "cacheRead": 0, "cacheWrite": 0}
    lines = [
        header(),
        user("u1", None, "one"),
        assistant("a1", "u1", "cut", stopReason="length", rawStopReason="length", usage=usage),
        user("u2", "a1", "two"),
        assistant("a2", "u2", "B"),
    ]
    assert sent(converted(tmp_path, lines)) == words


def test_an_older_release_passes_over_the_edits_of_a_newer_one(tmp_path: Path) -> None:
    lines = [*copy.deepcopy(TALK), edit("c1", "a2", "u1", None), user("u3", "c1", "three")]
    old = assistant("a3", "u3", "C")
    del old["message"]["rawStopReason"]
    assert sent(converted(tmp_path, [*lines, old])) == ["one", "A", "two", "B", "three"]
    new = assistant("a4", "u4", "D", durationMs=1)
    later = [*lines, old, user("u4", "a3", "four"), new]
    assert sent(converted(tmp_path, later)) == ["A", "two", "B", "three", "C", "four"]
