"""The general fold as a law: after it, the context is what was sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentsession as ags
from agentsession.importers.fold import continues, fold

WORDS = st.lists(st.sampled_from("abcdef"), max_size=8)


def item(word: str) -> dict[str, object]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": word}]}


@given(path=WORDS, sent=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), data=st.data())
def test_the_fold_gives_what_was_sent_and_keeps_all_it_can(
    path: list[str], sent: list[str], data: st.DataObject
) -> None:
    keepable = data.draw(st.integers(0, len(path)))
    folding = fold(path, sent, keepable)
    kept = path[len(path) - folding.kept :]
    assert sent[: folding.changed] + kept == sent
    assert folding.changed >= 1
    assert folding.kept <= keepable
    more = folding.kept + 1
    if more <= min(keepable, len(path), len(sent) - 1):
        assert path[-more:] != sent[-more:]


@given(path=WORDS, sent=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8))
def test_a_session_folded_so_has_the_context_that_was_sent(
    path: list[str], sent: list[str]
) -> None:
    session = ags.Session(ags.Header(format="agentsession/0.3"))
    ids = [session.append(ags.ItemEntry(item(word))) for word in path]
    folding = fold(path, sent, len(path))
    anchor = ids[-folding.kept] if folding.kept else session.append(ags.InfoEntry("anchor"))
    changed = [item(word) for word in sent[: folding.changed]]
    session.append(ags.CompactionEntry(anchor, changed[0], pinned=changed[1:]))
    assert [found.text for found in session.context().items] == sent


def test_nothing_sent_cannot_be_folded() -> None:
    with pytest.raises(ValueError, match="nothing was sent"):
        fold("ab", "", 2)


@pytest.mark.parametrize(
    ("path", "sent", "expected"),
    [("ab", "abc", True), ("ab", "ab", True), ("ab", "a", False), ("ab", "xb", False)],
)
def test_what_was_sent_goes_on_from_the_path(path: str, sent: str, expected: bool) -> None:
    assert continues(path, sent) is expected


def test_what_is_known_to_agree_is_not_compared_again() -> None:
    assert continues("xb", "ab", agreed=1)
