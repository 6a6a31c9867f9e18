"""Lines to entries: every rule of format 7.2, in its order."""

from __future__ import annotations

import pytest

import agentsession as ags
from agentsession.codec import Undecodable, decode_entry, is_extension

T = b'"2026-03-01T08:15:31Z"'


def line(**members: bytes) -> bytes:
    texts = {"type": b'"info"', "id": b'"a"', "parent": b"null", "ts": T, **members}
    return b"{" + b",".join(b'"%s":%s' % (k.encode(), v) for k, v in texts.items() if v) + b"}"


@pytest.mark.parametrize(
    ("text", "words", "is_json"),
    [
        (b"", "not JSON", False),
        (b"   ", "not JSON", False),
        (b"{", "not JSON", False),
        (b"nonsense", "not JSON", False),
        (b"\x00\x00", "NUL", False),
        (line() + b"{}", "not JSON", False),
        (line() + b"]", "not JSON", False),
        (line(x=b"01"), "not JSON", False),
        (line(x=b"NaN"), "not JSON", False),
        (line(x=b'"\x01"'), "not JSON", False),
        (b"[]", "not a JSON object", True),
        (b'"text"', "not a JSON object", True),
        (b"3", "not a JSON object", True),
        (b"null", "not a JSON object", True),
        (b"{}", "has no type", True),
        (line(parent=b"3", type=b""), "parent", True),
        (line(parent=b"[]"), "parent", True),
        (line(ts=b"3"), "ts", True),
        (line(ts=b'"2026-03-01"', type=b""), "ts", True),
        (line(ts=b'"2026-03-01T08:15:60Z"'), "seconds", True),
        (line(ts=b'"2026-03-01t08:15:31Z"'), "ts", True),
        (line(type=b""), "has no type", True),
        (line(type=b'""'), "has no type", True),
        (line(type=b"3"), "has no type", True),
        (line(id=b""), "has no id", True),
        (line(id=b'""'), "has no id", True),
        (line(id=b"7"), "has no id", True),
        (line(ts=b""), "has no ts", True),
        (line(ts=b"null"), "has no ts", True),
        (line(ts=b'"0001-01-01T00:00:00Z"'), "has no ts", True),
        (line(name=b"3"), "name must be a string", True),
        (line(type=b'"item"'), "item is required", True),
        (line(type=b'"item"', item=b"null"), "item is required", True),
        (line(type=b'"item"', item=b'"x"'), "item must be an object", True),
        (line(type=b'"item"', item=b"{}", visible=b"1"), "visible must be true or false", True),
        (line(type=b'"compaction"', first_kept=b'"a"'), "summary is required", True),
        (line(type=b'"compaction"', summary=b"{}", config=b"[]"), "config must be", True),
        (line(type=b'"compaction"', summary=b"{}", config=b'{"model":1}'), "config must be", True),
        (line(type=b'"compaction"', summary=b"{}", pinned=b"[1]"), "pinned must be", True),
        (line(type=b'"response"', latency_ms=b"1.0"), "latency_ms must be a whole number", True),
        (line(type=b'"response"', latency_ms=b"1e3"), "latency_ms must be a whole number", True),
        (
            line(type=b'"response"', latency_ms=b"9" * 5000),
            "latency_ms must be a whole number",
            True,
        ),
        (line(type=b'"response"', usage=b"[]"), "usage must be an object", True),
        (line(type=b'"run"', run_id=b'"r"', phase=b'"middle"'), "phase", True),
        (line(type=b'"run"', run_id=b'""', phase=b'"start"'), "run_id", True),
        (line(type=b'"run"', run_id=b'"r"', phase=b'"start"'), "source", True),
        (line(type=b'"run"', run_id=b'"r"', phase=b'"end"'), "reason", True),
        (line(type=b'"dispatch"', call_id=b'"c"'), "target is required", True),
        (line(type=b'"decision"', call_id=b'"c"', target=b'"t"'), "verdict is required", True),
        (
            line(type=b'"decision"', call_id=b'"c"', target=b'"t"', verdict=b'"reject"'),
            "reason",
            True,
        ),
        (line(type=b'"queued"', item=b"{}"), "mode is required", True),
        (line(type=b'"label"', label=b"3"), "label must be a string", True),
        (line(type=b'"env"', files=b'{"read":{"a":1}}'), "files must be", True),
        (line(type=b'"env"', vcs=b'{"dirty":"yes"}'), "vcs must be", True),
        (line(type=b'"outcome"', score=b'"1"'), "score must be a number", True),
        (line(type=b'"outcome"', score=b"1e400"), "score must be a number", True),
        (line(type=b'"config"', tools_added=b"{}"), "tools_added must be", True),
        (line(type=b'"config"', tools_removed=b"[1]"), "tools_removed must be", True),
        (
            line(type=b'"config"', instructions_parts=b'[{"id":1}]'),
            "instructions_parts must be",
            True,
        ),
        (line(type=b'"config"', extra=b"[]"), "extra must be an object", True),
    ],
)
def test_undecodable_lines(text: bytes, words: str, is_json: bool) -> None:
    with pytest.raises(Undecodable, match=words) as caught:
        decode_entry(text, (0, 3))
    assert caught.value.is_json is is_json


@pytest.mark.parametrize(
    "text",
    [
        line(),
        line(parent=b""),
        line(parent=b'""'),
        line(name=b"null"),
        line(type=b'"run"', run_id=b'"r"', phase=b'"end"', reason=b'"own word"', pending=b"null"),
        line(type=b'"decision"', call_id=b'"c"', target=b'"t"', verdict=b'"own"', args=b"null"),
        line(type=b'"label"'),
        line(type=b'"item"', item=b'{"type":7,"content":[3]}'),
        line(type=b'"item"', item=b"{}", response=b"null", visible=b"null"),
        line(type=b'"response"', usage=b'{"input_tokens":"many"}', error=b'{"code":[]}'),
        line(type=b'"response"', latency_ms=b"123456789012345678901234567890"),
        line(type=b'"acme:note"', item=b"7"),
        line(type=b'"note"', item=b"7"),
        line(type=b'"item"', item=b'{"n":1e400,"s":"\\ud83d"}'),
        line(x=b"[" * 3000 + b"]" * 3000),
    ],
)
def test_decodable_lines(text: bytes) -> None:
    entry = decode_entry(text, (0, 3))
    assert entry.line == text
    assert entry.parent is None
    for member in entry.MEMBERS.values():
        getattr(entry, member.name)
    assert isinstance(entry.unknown, dict)


def test_the_last_of_two_equal_names_wins() -> None:
    entry = decode_entry(line()[:-1] + b',"name":"first","name":"second","id":"b"}', (0, 3))
    assert isinstance(entry, ags.InfoEntry)
    assert (entry.id, entry.name) == ("b", "second")


def test_names_are_case_sensitive() -> None:
    entry = decode_entry(line(Name=b'"x"'), (0, 3))
    assert isinstance(entry, ags.InfoEntry)
    assert entry.name == ""
    assert entry.unknown == {"Name": "x"}


def test_escaped_member_names_are_the_names_they_spell() -> None:
    entry = decode_entry(line()[:-1] + b',"n\\u0061me":"x"}', (0, 3))
    assert isinstance(entry, ags.InfoEntry)
    assert entry.name == "x"


def test_a_huge_integer_is_read_exactly() -> None:
    digits = b"9" * 4200
    entry = decode_entry(line(type=b'"response"', latency_ms=digits), (0, 3))
    assert isinstance(entry, ags.ResponseEntry)
    assert entry.latency_ms == 10**4200 - 1


def test_extension_types() -> None:
    assert is_extension("acme:note")
    assert not is_extension("note")


def test_unmarshal_takes_text_and_reports_damage() -> None:
    assert ags.unmarshal_entry(line(name=b'"x"').decode() + "\n").type == "info"
    with pytest.raises(ags.DamagedFile, match="no id"):
        ags.unmarshal_entry(line(id=b""))
