"""Numbers of equal values, and which of them a logged value is."""

from __future__ import annotations

from agentsession.importers.numbering import Numbering, shared
from agentsession.importers.replayed import hash_of


def test_equal_values_share_a_number() -> None:
    numbering = Numbering()
    ours = numbering.numbers([{"a": [1, "x"], "b": None}, {"b": None, "a": [1.0, "x"]}, {"a": []}])
    assert ours == (0, 0, 1)
    assert numbering.count == 2
    assert numbering.find({"a": {}}) == frozenset()
    assert numbering.find({"a": []}) == {1}


def test_a_value_that_a_log_cut_is_found_by_its_hash() -> None:
    numbering = Numbering()
    numbering.numbers([{"text": "hello world"}, {"text": "hello"}])
    hidden = {"chars": 5, "sha256": hash_of("hello")}
    cut = f"hel…[cut; chars=11; sha256={hash_of('hello world')}]"
    assert numbering.find({"text": hidden}) == {1}
    assert numbering.find({"text": cut}) == {0}
    assert numbering.find({"text": cut.replace("hel…", "hal…")}) == frozenset()


def test_what_two_lists_share_ends_at_the_first_that_differs() -> None:
    one, two, none = frozenset({1}), frozenset({2, 3}), frozenset[int]()
    assert shared([one, two], (1, 3, 4)) == 2
    assert shared([one, none, two], (1, 2, 3)) == 1
    assert shared([], (1,)) == 0
