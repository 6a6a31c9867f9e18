"""Settings and config deltas: context 2."""

from __future__ import annotations

import pytest

from agentsession.canonical import sha256
from agentsession.entries import ConfigEntry
from agentsession.members import MISSING
from agentsession.parts import InstructionsPart
from agentsession.settings import Settings, parts_in_force


def tool(name: str, **more: object) -> dict[str, object]:
    return {"type": "function", "name": name, **more}


def names(settings: Settings) -> list[object]:
    return [tool.get("name") for tool in settings.tools]


def after(*configs: ConfigEntry, start: Settings | None = None) -> Settings:
    found = start or Settings()
    for config in configs:
        found = found.apply(config)
    return found


def test_members_are_set_and_left() -> None:
    first = ConfigEntry(model="m-1", instructions="Be kind.", reasoning={"effort": "low"})
    found = after(first, ConfigEntry(text={"verbosity": "low"}))
    assert found.to_dict() == {
        "model": "m-1",
        "instructions": "Be kind.",
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low"},
    }
    assert after(first, ConfigEntry(model="")).model == "m-1"


def test_apply_leaves_its_input() -> None:
    before = after(ConfigEntry(model="m-1", extra={"a": 1}))
    kept = before.to_dict()
    before.apply(ConfigEntry(model="m-2", extra={"a": None}, replace=True))
    assert before.to_dict() == kept


def test_empty_values_clear() -> None:
    found = after(
        ConfigEntry(model="m", instructions="x", reasoning={"effort": "low"}, extra={"a": 1}),
        ConfigEntry(instructions="", reasoning={}, extra={"a": None}),
    )
    assert found.to_dict() == {"model": "m"}


def test_objects_are_replaced_whole() -> None:
    found = after(
        ConfigEntry(reasoning={"effort": "low"}, extra={"a": {"x": 1}}),
        ConfigEntry(reasoning={"summary": "auto"}, extra={"a": {"y": 2}}),
    )
    assert found.reasoning == {"summary": "auto"}
    assert found.extra == {"a": {"y": 2}}


def test_replace_throws_everything_away() -> None:
    found = after(
        ConfigEntry(model="m-1", instructions="x", tools_added=[tool("ls")], extra={"a": 1}),
        ConfigEntry(model="m-2", replace=True),
    )
    assert found.to_dict() == {"model": "m-2"}


def test_tools_move_to_the_end_when_replaced() -> None:
    found = after(
        ConfigEntry(tools_added=[tool("a"), tool("b"), tool("c")]),
        ConfigEntry(tools_added=[tool("a", description="new")]),
    )
    assert names(found) == ["b", "c", "a"]
    assert found.tools[-1]["description"] == "new"


def test_tools_are_removed_before_they_are_added() -> None:
    found = after(
        ConfigEntry(tools_added=[tool("a"), tool("b")]),
        ConfigEntry(tools_removed=["a", "nope"], tools_added=[tool("a"), tool("d"), tool("d")]),
    )
    assert names(found) == ["b", "a", "d"]


def test_tools_without_a_name() -> None:
    hosted = {"type": "web_search"}
    twice = after(ConfigEntry(tools_added=[hosted, tool("a")]), ConfigEntry(tools_added=[hosted]))
    assert names(twice) == [None, "a", None]
    assert names(after(ConfigEntry(tools_removed=[""]), start=twice)) == ["a"]
    assert after(ConfigEntry(tools_removed=["", "a"]), start=twice).to_dict() == {}


def test_spellings_stay() -> None:
    config = ConfigEntry(
        extra={"temperature": b"1.0", "a": b"1e2"}, tools_added=[b'{"type":"x","n":1.50}']
    )
    found = after(config, ConfigEntry(model="m"))
    assert found.json_text == (
        b'{"model":"m","tools":[{"type":"x","n":1.50}],"extra":{"a":1e2,"temperature":1.0}}'
    )


def test_extra_value_tells_absent_from_null() -> None:
    found = Settings(extra={"a": None, "b": 2})
    assert found.extra_value("a") is None
    assert found.extra_value("b") == 2
    assert found.extra_value("c") is MISSING


# Instructions in parts.

KIND = InstructionsPart("kind", "Be kind.", "layer-1")
BRIEF = InstructionsPart("brief", "Be brief.")


def by_hash(part: InstructionsPart, **members: str) -> InstructionsPart:
    return InstructionsPart(part.id, hash=sha256(part.text.encode()), **members)


def test_parts_are_joined() -> None:
    found = after(ConfigEntry(instructions_parts=[KIND, BRIEF]))
    assert found.instructions == "Be kind.\n\nBe brief."
    assert found.instructions_parts == (KIND, BRIEF)


def test_parts_named_by_hash_keep_text_and_source() -> None:
    first = ConfigEntry(instructions_parts=[KIND, BRIEF])
    found = after(first, ConfigEntry(instructions_parts=[by_hash(BRIEF), by_hash(KIND)]))
    assert found.instructions_parts == (BRIEF, KIND)
    moved = after(first, ConfigEntry(instructions_parts=[by_hash(KIND, source="layer-2")]))
    assert moved.instructions_parts == (InstructionsPart("kind", "Be kind.", "layer-2"),)


def test_the_hash_itself_is_not_compared() -> None:
    assert parts_in_force([InstructionsPart("kind", hash="sha256:00")], [KIND]) == (KIND,)


def test_an_unresolved_part_needs_the_instructions() -> None:
    unresolved = by_hash(BRIEF)
    found = after(ConfigEntry(instructions_parts=[KIND, unresolved]))
    assert found.instructions == "Be kind.\n\n"
    assert found.instructions_parts == (KIND, unresolved)
    told = ConfigEntry(instructions_parts=[KIND, unresolved], instructions="Be kind.\n\nBe brief.")
    assert after(told).instructions == "Be kind.\n\nBe brief."


def test_replace_resolves_against_nothing() -> None:
    found = after(
        ConfigEntry(instructions_parts=[KIND]),
        ConfigEntry(instructions_parts=[by_hash(KIND)], instructions="Be kind.", replace=True),
    )
    assert found.instructions == "Be kind."
    assert found.instructions_parts[0].text == ""


def test_plain_instructions_drop_the_parts() -> None:
    found = after(ConfigEntry(instructions_parts=[KIND]), ConfigEntry(instructions="x"))
    assert found.to_dict() == {"instructions": "x"}


def test_delta_of_nothing_new_is_none() -> None:
    assert Settings().instructions_delta([]) is None
    in_force = after(ConfigEntry(instructions_parts=[KIND, BRIEF]))
    assert in_force.instructions_delta([KIND, BRIEF]) is None


def test_delta_to_no_parts_clears() -> None:
    cleared = after(ConfigEntry(instructions="x")).instructions_delta([])
    assert cleared is not None
    assert cleared.instructions == ""


@pytest.mark.parametrize(
    "wanted",
    [
        [BRIEF, KIND],
        [KIND],
        [KIND, InstructionsPart("brief", "Be brief!")],
        [InstructionsPart("kind", "Be kind.", "layer-2"), BRIEF],
        [KIND, BRIEF, InstructionsPart("new", "é")],
    ],
)
def test_delta_brings_the_parts_into_force(wanted: list[InstructionsPart]) -> None:
    in_force = after(ConfigEntry(instructions_parts=[KIND, BRIEF]))
    delta = in_force.instructions_delta(wanted)
    assert delta is not None
    assert delta.check_append() == ""
    unchanged = {KIND, BRIEF}
    for part, listed in zip(wanted, delta.instructions_parts, strict=True):
        assert (listed.text == "") == (part in unchanged)
    assert in_force.apply(delta).instructions_parts == tuple(wanted)
