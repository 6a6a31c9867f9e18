"""Items: text kept, values on demand."""

from __future__ import annotations

import pytest

from agentsession import InvalidEntry, Item, tool_name
from agentsession.items import part_types, parts_text


class Dumped:
    """Stands for a model of an SDK."""

    def __init__(self, value: object) -> None:
        self.value = value

    def model_dump(self, *, mode: str, exclude_unset: bool) -> object:
        assert mode == "json"
        assert exclude_unset
        return self.value


class TwoWays(Dumped):
    def to_dict(self, *, mode: str) -> object:
        assert mode == "json"
        return {"type": "from_to_dict"}


MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}


def test_an_item_comes_from_a_mapping_text_bytes_another_item_or_a_model() -> None:
    json_text = (
        b'{ "type": "message", "role":"user", "content":[{"type":"input_text","text":"Hi"}] }'
    )
    for given in (MESSAGE, json_text, json_text.decode(), Item(MESSAGE), Dumped(MESSAGE)):
        assert Item(given) == Item(MESSAGE)
        assert Item(given) == MESSAGE
    assert Item(TwoWays(MESSAGE)).type == "from_to_dict"


def test_models_inside_mappings_and_lists_are_taken_too() -> None:
    item = Item({"type": "message", "content": [Dumped({"type": "input_text", "text": "A"})]})
    assert item.text == "A"


@pytest.mark.parametrize("given", ["[1]", b"7", "nonsense", 7, None, [MESSAGE], object(), {1: 2}])
def test_anything_but_an_object_is_refused(given: object) -> None:
    with pytest.raises(InvalidEntry):
        Item(given)


def test_the_text_an_item_arrived_in_is_kept() -> None:
    json_text = b'{"type":"acme:x","n":1.50,"big":12345678901234567890,"e":"\\u00e9\\/"}'
    assert Item(json_text).json_text == json_text


def test_the_typed_view() -> None:
    call = Item(
        {
            "type": "function_call",
            "id": "fc",
            "status": "completed",
            "call_id": "c",
            "name": "ls",
            "arguments": '{"a": 1}',
        }
    )
    assert (call.type, call.id, call.status, call.call_id, call.name, call.arguments) == (
        "function_call",
        "fc",
        "completed",
        "c",
        "ls",
        '{"a": 1}',
    )
    assert Item({"type": "function_call_output", "output": "done"}).text == "done"
    assert (
        Item({"type": "function_call_output", "output": [{"type": "input_text", "text": "x"}]}).text
        == "x"
    )
    assert (
        Item({"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]}).text
        == "why"
    )
    assert Item({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}).text == "no"


@pytest.mark.parametrize(
    "odd",
    [
        {"type": 7, "role": None, "content": 3, "call_id": [], "name": {}},
        {"content": [1, None, {"text": 4}]},
        {},
    ],
)
def test_members_of_another_type_read_as_empty(odd: dict[str, object]) -> None:
    item = Item(odd)
    assert (item.type, item.role, item.text, item.call_id, item.name) == ("", "", "", "", "")
    assert not item.is_known


def test_to_dict_gives_a_copy() -> None:
    item = Item(MESSAGE)
    item.to_dict()["content"].append("x")
    assert item == MESSAGE
    assert item.json_text == Item(MESSAGE).json_text


def test_equal_items_hash_alike() -> None:
    assert hash(Item('{"type":"a","n":1}')) == hash(Item('{"n":1.0,"type":"a"}'))
    assert Item('{"type":"a","n":1}') == Item('{"n":1.0,"type":"a"}')


def test_a_lone_surrogate_and_deep_nesting_do_no_harm() -> None:
    assert Item(b'{"type":"message","content":"\\ud83d"}').text == "\ufffd"
    deep = b'{"type":"x","a":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert Item(deep).type == "x"


def test_tool_names() -> None:
    assert tool_name({"type": "function", "name": "ls"}) == "ls"
    assert tool_name({"type": "web_search"}) == ""
    assert tool_name({"name": 3}) == ""
    assert tool_name("ls") == ""


def test_parts() -> None:
    assert parts_text("plain") == "plain"
    assert parts_text(None) == ""
    assert part_types([{"type": "input_image"}, 3]) == ["input_image"]
    assert part_types("x") == []
