"""How Codex's releases spell what they send."""

from __future__ import annotations

import pytest

from agentsession import wire
from agentsession.items import Item
from agentsession.wire.profiles_codex import codex_profile


def sent(output: str, version: tuple[int, ...], model: str) -> str:
    call = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    pieces = [wire.Piece(Item(one), wire.Origin()) for one in (call, item)]
    found = wire.responses_input(pieces, wire.Target("p", model), codex_profile(version, model))
    words = found[1]["output"]
    assert isinstance(words, str)
    return words


def test_a_model_that_counts_bytes_is_sent_long_outputs_cut_twice() -> None:
    first, last = "a" * 20_000, "b" * 20_000
    cut = sent(first + last, (0, 77), "gpt-5")
    # The second cut takes out the note of the first, and leaves one of its own.
    assert cut == "a" * 6_000 + "…23 chars truncated…" + "b" * 6_000


def test_no_character_is_cut_in_two() -> None:
    cut = sent("€" * 5_000, (0, 101), "gpt-5")
    assert cut.count("€") == 4_000
    assert "�" not in cut


@pytest.mark.parametrize(
    ("version", "model"),
    [((0, 77), "gpt-5-codex"), ((0, 58), "gpt-5"), ((0, 115), "gpt-5"), ((0, 171), "gpt-5")],
)
def test_others_are_sent_outputs_as_they_are_stored(version: tuple[int, ...], model: str) -> None:
    assert sent("a" * 20_000, version, model) == "a" * 20_000


def test_an_output_that_fits_is_left_alone() -> None:
    assert sent("a" * 12_000, (0, 77), "gpt-5") == "a" * 12_000
