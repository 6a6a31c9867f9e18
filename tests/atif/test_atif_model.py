"""Reading and writing documents: nothing lost, nothing shared, nothing too deep."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import pytest
from atif_documents import DATA, FILES, damaged, value_of
from hypothesis import given, settings

from agentsession import atif, text
from agentsession.atif.model import TYPES
from agentsession.atif.shape import SHAPES
from agentsession.errors import AgentSessionError, InvalidEntry, NotJSON, UnsupportedFormat

MINIMAL = value_of("valid/minimal.json")
UNREADABLE = {"invalid/arguments-as-string.json", "lenient/step-id-as-text-and-float.json"}


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: 2 and 2.0 are one number, True and 1 are not, NaN is itself."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right) or repr(left) == repr(right) == "nan"


def test_classes_and_tables_have_the_same_members() -> None:
    for name, kind in TYPES.items():
        own = {one.name for one in fields(kind)} - {"unknown", "nulls", "missing"}
        assert own == set(SHAPES[name])


@pytest.mark.parametrize("name", [name for name in FILES if name not in UNREADABLE])
def test_files_round_trip(name: str) -> None:
    written = (DATA / name).read_bytes()
    document = atif.parse(DATA / name)
    assert document == atif.parse(written) == atif.parse(written.decode())
    assert document.to_dict() == value_of(name)
    assert text.equal(document.to_json(), written)
    assert text.equal(document.to_json(indent=2), written)
    assert pickle.loads(pickle.dumps(document)) == document
    assert atif.validate(document) == atif.validate(value_of(name))


@settings(max_examples=200, deadline=None)
@given(damaged(tuple(FILES)))
def test_whatever_is_read_is_written_back(value: Any) -> None:
    try:
        document = atif.parse(value)
    except (atif.InvalidDocument, UnsupportedFormat):
        return
    assert _same(document.to_dict(), value)
    assert repr(document)


def test_order_of_members_is_that_of_the_tables_then_the_unknown() -> None:
    document = atif.parse(b'{"later":1,"steps":[],"agent":{"version":"1","zz":2,"name":"a"}}')
    assert document.to_json() == b'{"agent":{"name":"a","version":"1","zz":2},"steps":[],"later":1}'
    assert document.unknown == {"later": 1}
    assert document.has_unknown
    assert not atif.parse(MINIMAL).has_unknown
    assert atif.parse(value_of("invalid/part-with-extra-member.json")).has_unknown


def test_nulls_can_be_left_out() -> None:
    document = atif.parse(value_of("valid/explicit-nulls.json"))
    lean = document.to_dict(nulls=False)
    assert None not in lean.values()
    assert list(lean["steps"][0]) == ["step_id", "source", "message"]
    assert atif.parse(lean) == document


def test_a_replaced_member_is_written_though_it_was_null_or_missing() -> None:
    document = atif.parse({"agent": None, "steps": [{"message": None}]})
    assert document.steps[0].message == ""
    assert document.to_dict() == {"agent": None, "steps": [{"message": None}]}
    changed = replace(document, agent=atif.Agent(name="a", version="1"), session_id="s")
    assert changed.to_dict()["agent"] == {"name": "a", "version": "1"}
    assert changed.to_dict()["session_id"] == "s"


def test_values_are_immutable_and_share_nothing_with_what_was_read() -> None:
    value = {**MINIMAL, "extra": {"a": [1]}}
    document = atif.parse(value)
    value["extra"]["a"].append(2)
    document.to_dict()["extra"]["a"].append(3)
    assert document.extra == {"a": [1]}
    with pytest.raises(FrozenInstanceError):
        document.session_id = "x"  # type: ignore[misc]


def test_reading_is_lenient() -> None:
    later = atif.parse({**MINIMAL, "schema_version": "ATIF-v1.12", "new": {"x": None}})
    assert later.schema_version == "ATIF-v1.12"
    document = atif.parse(value_of("awkward/atif-unlinked-and-duplicate-calls.json"))
    observation = document.steps[0].observation
    assert observation is not None
    assert [r.content for r in observation.results] == ["1", "unlinked", "no such call"]
    marked = atif.parse(b"\xef\xbb\xbf" + document.to_json())
    assert marked == document
    odd = atif.parse('{"agent":{"name":"a","version":"1"},"steps":[],"extra":{"a":NaN}}')
    with pytest.raises(InvalidEntry, match="nan"):
        odd.to_json()


def test_surrogates_and_bad_bytes_are_replaced() -> None:
    written = b'{"agent":{"name":"\\ud800","version":"\xff"},"steps":[]}'
    assert atif.parse(written).agent == atif.Agent(name="\ufffd", version="\ufffd")
    assert atif.parse('{"steps":[],"notes":"\ud800"}').notes == "\ufffd"


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        (b"", NotJSON, "empty"),
        (b'{"a":NaN', NotJSON, "at byte"),
        (b"[" * 20_000, NotJSON, "deeper"),
        (b"[]", atif.InvalidDocument, r"^\$: expected an object, found a list of 0$"),
        ({"steps": {}}, atif.InvalidDocument, r"^\$\.steps: expected a list"),
        ({"steps": [{"step_id": "1"}]}, atif.InvalidDocument, r'^\$\.steps\[0\]\.step_id: .*"1"'),
        ({"steps": [{"step_id": 1.5}]}, atif.InvalidDocument, "expected an integer, found 1.5"),
        ({"steps": [{"message": 5}]}, atif.InvalidDocument, "expected a string or a list"),
        ({"steps": [None]}, atif.InvalidDocument, "expected an object, found null"),
        ({"subagent_trajectories": [3]}, atif.InvalidDocument, r"_trajectories\[0\]: expected"),
        ({"schema_version": "ATIF-v2.0"}, UnsupportedFormat, r"ATIF-v2\.0"),
    ],
)
def test_what_cannot_be_read(source: Any, error: type[AgentSessionError], words: str) -> None:
    with pytest.raises(error, match=words):
        atif.parse(source)


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atif.parse(tmp_path / "none.json")


def test_nesting_is_no_limit() -> None:
    deep: Any = []
    for _ in range(9_000):
        deep = [deep]
    document = atif.parse({**MINIMAL, "extra": {"deep": deep}})
    assert atif.validate(document, strict=True) == ()
    assert atif.parse(document.to_json(indent=2)).to_json() == document.to_json()
    assert repr(document)

    nested = MINIMAL
    for _ in range(2_000):
        nested = {**MINIMAL, "subagent_trajectories": [{**nested, "trajectory_id": "x"}]}
    document = atif.parse(nested)
    assert sum(1 for _ in document.documents()) == 2_001
    assert text.encode(document.to_dict()) == document.to_json()
    assert not document.has_unknown
    assert [p.rule for p in atif.validate(document)] == ["nesting"]


def test_documents_and_parts_in_order() -> None:
    document = atif.parse(value_of("valid/embedded-subagents-nested.json"))
    ids = [one.trajectory_id for one in document.documents()]
    assert ids == ["p1", "child/a", "grand/x", "child/b"]
    media = atif.parse(value_of("valid/image-and-audio-parts.json"))
    assert media.has_multimodal_content
    assert {part.type for part in media.parts()} >= {"image", "audio"}
    assert not atif.parse(MINIMAL).has_multimodal_content
