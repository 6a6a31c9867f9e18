"""Models that take no images, as a file that was read says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pi_files import Lines, assistant, call, header, result, user, written

from agentsession import wire
from agentsession.entries import ResponseEntry
from agentsession.importers.pi import Sessions, profile_of_response
from agentsession.importers.pi.profiles import sent_in
from agentsession.session import Session

PNG = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
NOTE = "Read image file [image/png]\n[Current model does not support images. So.]"
OMITTED = "(image omitted: model does not support images)"


def shown(name: str, parent: str, words: str) -> dict[str, Any]:
    """What reading an image returned."""
    content = [{"type": "text", "text": words}, PNG]
    return result(name, parent, f"c-{parent}", "", toolName="read", content=content)


def read(name: str, parent: str, **more: Any) -> dict[str, Any]:
    return assistant(name, parent, {**call(f"c-{name}"), "name": "read"}, **more)


def converted(place: Path, lines: Lines, known: Session | None = None) -> Session:
    sessions = Sessions(str(written(place / "s.jsonl", lines).parent))
    return sessions.convert("s1", sent_in(known) if known else None).session


def takes_images(session: Session) -> list[bool]:
    responses = [e for e in session.entries if isinstance(e, ResponseEntry)]
    return [profile_of_response(entry).images for entry in responses]


TALK = [
    header(),
    user("u1", None, [PNG]),
    read("a1", "u1"),
    shown("r1", "a1", NOTE),
    assistant("a2", "r1", "B"),
]


def test_what_a_file_says_holds_for_its_model_alone(tmp_path: Path) -> None:
    lines = [
        *TALK,
        user("u2", "a2"),
        assistant("a3", "u2", "C", model="n"),
        user("u3", "a3"),
        assistant("a4", "u3", "D", provider="q"),
    ]
    session = converted(tmp_path, lines)
    assert takes_images(session) == [False, False, True, True]
    last = [e for e in session.entries if isinstance(e, ResponseEntry)][1]
    pieces = wire.request_pieces(session.path(last.id))
    sent = wire.chat_messages(pieces, wire.target_of(last), profile_of_response(last))
    assert OMITTED in json.dumps(sent[0])


def test_a_model_that_is_shown_an_image_takes_them_again(tmp_path: Path) -> None:
    again = [read("a3", "a2"), shown("r3", "a3", "Read image file [image/png]")]
    lines = [*TALK, *again, assistant("a4", "r3", "D")]
    assert takes_images(converted(tmp_path, lines)) == [False, False, False, True]


@pytest.mark.parametrize("words", ["Read image file [image/png]", NOTE])
def test_what_an_earlier_import_found_stays(tmp_path: Path, words: str) -> None:
    first = converted(tmp_path, TALK[:3])
    assert takes_images(first) == [True]
    lines = [*TALK[:3], shown("r1", "a1", words), TALK[4]]
    again = converted(tmp_path, lines, first)
    assert takes_images(again) == [True, words != NOTE]
    assert [e.id for e in first.entries] == [e.id for e in again.entries][: len(first.entries)]


def test_releases_that_said_nothing_of_it_tell_nothing(tmp_path: Path) -> None:
    plain = {"responseId": "r", "rawStopReason": None}
    lines = [
        *TALK,
        read("a3", "a2", **plain),
        shown("r3", "a3", "Read image file [image/png]"),
        assistant("a4", "r3", "D"),
    ]
    for line in lines[5:6]:
        del line["message"]["rawStopReason"]
    assert takes_images(converted(tmp_path, lines)) == [False] * 4
