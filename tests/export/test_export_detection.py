"""The detector: a labelled corpus, its documented precision and recall, and its edges."""

from __future__ import annotations

import json
import pickle
import re
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import export
from agentsession.export.patterns import ANCHORS

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "data" / "secrets" / "corpus.jsonl"


@dataclass
class Score:
    """What became of the secrets of one kind."""

    there: int = 0
    found: int = 0
    wrong: int = 0


def scores() -> dict[str, Score]:
    """Score the detector on the corpus: by kind as labelled; wrong ones by kind as found."""
    detector = export.detect_secrets()
    table: dict[str, Score] = {}
    for line in CORPUS.read_text("utf-8").splitlines():
        record = json.loads(line)
        text, secrets = record["text"], record["secrets"]
        left = detector(text)
        for secret in secrets:
            score = table.setdefault(secret["kind"], Score())
            score.there += 1
            score.found += secret["value"] not in left
        for one in detector.detect(text):
            value = text[one.start : one.end]
            if not any(value in s["value"] or s["value"] in value for s in secrets):
                table.setdefault(one.kind, Score()).wrong += 1
    return table


def table() -> str:
    """The table of docs/redaction.md."""
    found = scores()
    rows = ["| kind | in the corpus | found | wrongly found | precision | recall |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    total = Score()
    for kind, score in sorted(found.items()):
        rows.append(_row(kind, score))
        total.there += score.there
        total.found += score.found
        total.wrong += score.wrong
    return "\n".join([*rows, _row("**all**", total)])


def _row(kind: str, score: Score) -> str:
    precision = score.found / (score.found + score.wrong) if score.found + score.wrong else 1
    recall = score.found / score.there if score.there else 1
    return (
        f"| {kind} | {score.there} | {score.found} | {score.wrong} "
        f"| {precision:.1%} | {recall:.1%} |"
    )


def test_the_corpus_is_what_its_script_writes() -> None:
    made = runpy.run_path(str(CORPUS.with_name("make.py")))["lines"]()
    assert CORPUS.read_text("utf-8") == "".join(f"{line}\n" for line in made)


def test_precision_and_recall_are_as_documented() -> None:
    documented = (ROOT / "docs" / "redaction.md").read_text("utf-8")
    assert table() in documented
    found = scores().values()
    there, hit, wrong = (sum(getattr(s, n) for s in found) for n in ("there", "found", "wrong"))
    assert hit / there > 0.94
    assert hit / (hit + wrong) > 0.97


def test_what_is_taken_out_is_not_found_again() -> None:
    detector = export.detect_secrets()
    for line in CORPUS.read_text("utf-8").splitlines():
        assert detector.detect(detector(json.loads(line)["text"])) == ()


def test_every_anchor_finds_its_own_kinds() -> None:
    kinds = {pattern.kind for anchor in ANCHORS for pattern in anchor.patterns}
    assert kinds == {kind for kind, score in scores().items() if score.there}


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("kKwWxgAJB@=: \"'\\/sk-_eyJ.ghp_pwdtoken1aZ\n"), max_size=120)
)
def test_no_text_makes_it_fail(text: str) -> None:
    detector = export.detect_secrets()
    found = detector.detect(text)
    assert bool(found) <= detector.may_hold(text)
    ends = [0, *(one.end for one in found)]
    assert all(one.start >= end for one, end in zip(found, ends, strict=False))


def test_own_patterns_are_found_too() -> None:
    detector = export.detect_secrets(
        {"acme": r"acme-[0-9a-f]{8}", "pin": r"PIN: (?P<secret>[0-9]{4})"}
    )
    assert detector("acme-0123abcd, PIN: 1234") == "[REDACTED], PIN: [REDACTED]"
    assert detector.found == {"acme": 1, "pin": 1}
    again = pickle.loads(pickle.dumps(detector))
    assert again("acme-0123abcd") == "[REDACTED]"


@pytest.mark.parametrize(
    ("name", "pattern", "says"),
    [
        ("bad", "(", "no regular expression"),
        ("empty", "x*", "empty text"),
        ("", "x", "needs a name"),
    ],
)
def test_a_pattern_that_cannot_be_used_says_why(name: str, pattern: str, says: str) -> None:
    with pytest.raises(export.BadPattern, match=re.escape(says)):
        export.detect_secrets({name: pattern})


def test_a_data_url_of_text_is_taken_out_whole() -> None:
    import base64

    key = "ghp_" + "a1B2" * 9
    url = "data:text/plain;base64," + base64.b64encode(f"token {key}".encode()).decode()
    assert export.detect_secrets()(url) == "[REDACTED]"
    harmless = "data:text/plain;base64," + base64.b64encode(b"nothing in here").decode()
    assert export.detect_secrets()(harmless) == harmless


def test_long_runs_of_near_misses_stay_quick() -> None:
    detector = export.detect_secrets()
    for text in (
        "k-" * 50_000,
        "eyJ" * 50_000,
        "password=" * 20_000,
        "a://b:c" * 20_000,
        "@" * 99_999,
    ):
        detector.detect(text)


if __name__ == "__main__":
    print(table())
