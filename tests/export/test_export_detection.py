"""The detector: a labelled corpus, its documented precision and recall, and its edges."""

from __future__ import annotations

import base64
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
from agentsession.testing import SessionBuilder

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
    key = "ghp_" + "a1B2" * 9
    url = "data:text/plain;base64," + base64.b64encode(f"token {key}".encode()).decode()
    assert export.detect_secrets()(url) == "[REDACTED]"
    harmless = "data:text/plain;base64," + base64.b64encode(b"nothing in here").decode()
    assert export.detect_secrets()(harmless) == harmless


AWS = "AKIA" + "Q2W4E6R7T2Y3U5I7"


@pytest.mark.parametrize("kind", ["text/plain", "application/json;charset=utf-8", "", "TEXT/X"])
def test_data_urls_are_looked_into_wherever_they_stand(kind: str) -> None:
    detector = export.detect_secrets()
    url = f"data:{kind};base64," + base64.b64encode(f"key {AWS}".encode()).decode()
    for text, want in ((url, "[REDACTED]"), (f'{{"u": "{url}"}}', '{"u": "[REDACTED]"}')):
        assert detector.may_hold(text)
        assert detector(text) == want
    build = SessionBuilder()
    content = [{"type": "input_file", "filename": "a.txt", "file_data": url}]
    build.item({"type": "message", "role": "user", "content": content})
    trajectory = next(export.trajectories(build.session))
    plain = export.to_atif(trajectory)
    assert export.find_secrets(plain)
    clean = export.to_atif(trajectory, export.Options(redactors=[detector]))
    assert export.find_secrets(clean) == ()
    assert url not in clean.to_json().decode()


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="daDAtT:;,ba sE64x/i\u0130\u212a", max_size=60), st.booleans())
def test_what_is_in_a_data_url_is_never_ruled_out(head: str, whole: bool) -> None:
    detector = export.detect_secrets()
    text = f"{'data:' if whole else ''}{head};base64," + base64.b64encode(AWS.encode()).decode()
    assert bool(detector.detect(text)) <= detector.may_hold(f"before\n{text}\nafter")


@pytest.mark.parametrize(
    "text",
    [
        "sk-" * 40_000,
        ("sk-aB1-" * 34 + " ") * 400,
        "-----BEGIN PRIVATE KEY-----" * 5_000,
        "-----BEGIN PRIVATE KEY-----" + "A" * 500_000,
        "BEGIN " + "A" * 300_000,
        "key=" * 40_000,
        "PWD=" * 40_000,
        "key" + "\\" * 200_000,
        "k-" * 50_000,
        "xoxb-" * 40_000,
        "glpat-" * 40_000,
        "eyJ" * 50_000,
        ".eyJ" * 40_000,
        "password=" * 20_000,
        "a://b:c" * 20_000,
        "data:a;base64," * 20_000,
        "data:" * 40_000 + ";base64,",
        "@" * 99_999,
        "basic aaaaaaaa" * 20_000,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_ends_soon(text: str) -> None:
    assert len(export.detect_secrets().detect(text)) < 2_000


if __name__ == "__main__":
    print(table())
