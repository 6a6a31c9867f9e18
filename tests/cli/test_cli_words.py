"""Short texts, safe texts and widths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsession.cli import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '""'),
        (" \t\n\u2028 ", '""'),
        ("  two\n\n words ", '"two words"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\x1b[31mb", '"a\\x1b[31mb"'),
        ("a\x9bb", '"a\\u009bb"'),
        ("\x1c", '"\\x1c"'),
        ("\u202edrow", '"\\u202edrow"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ud800", '"\\ud800"'),
        ("ünïcode 日本", '"ünïcode 日本"'),
        ("x" * 72, '"' + "x" * 72 + '"'),
        ("x" * 73, '"' + "x" * 71 + '…"'),
        ("ab " * 40, '"' + ("ab " * 40)[:71] + '…"'),
    ],
)
def test_short(text: str, expected: str) -> None:
    assert words.short(text) == expected


@given(st.text())
def test_clean_text_only_prints_and_is_cleaned_once(text: str) -> None:
    cleaned = words.clean(text)
    assert cleaned.isprintable()
    assert words.clean(cleaned) == cleaned


@given(st.text(), st.integers(1, 100))
def test_collapsed_is_the_whole_text_or_a_cut_of_it(text: str, limit: int) -> None:
    whole = words.collapsed(text, len(text) + 1)
    cut = words.collapsed(text, limit)
    assert cut == (whole if len(whole) <= limit else whole[: limit - 1] + "…")


def test_one_word_of_megabytes_is_cut() -> None:
    assert len(words.short("x" * 5_000_000)) == 74


@given(st.text(), st.integers(1, 30))
def test_fitted_text_fits(text: str, width: int) -> None:
    fitted = words.fitted(text, width)
    assert words.cells(fitted) <= width
    assert fitted == text or fitted.endswith("…")


def test_wide_and_combining_characters_have_their_columns() -> None:
    assert words.cells("日本") == 4
    assert words.cells("e\u0301") == 1


def test_short_ids() -> None:
    assert words.short_id("sha256:" + "ab" * 32) == "abababababab"
    assert words.short_id("i0000001") == "i0000001"
