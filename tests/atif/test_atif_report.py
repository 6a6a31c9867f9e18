"""The check from bytes to report, and the warnings."""

from __future__ import annotations

import json

import pytest
from atif_documents import DATA, EXPECTED, FILES, value_of
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsession import atif, text

MINIMAL = (DATA / "valid/minimal.json").read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_files_as_text(name: str) -> None:
    report = atif.validate_text((DATA / name).read_bytes())
    assert report.valid is EXPECTED[name]["valid"]
    assert report.problems == atif.validate(value_of(name))
    assert text.parse(text.encode(report.to_dict())) == report.to_dict()


def test_the_report_as_json() -> None:
    report = atif.validate_text(
        (DATA / "lenient/step-id-as-text-and-float.json").read_text(), strict=True
    )
    assert report.to_dict() == {
        "schema": 1,
        "valid": False,
        "strict": True,
        "schema_version": "ATIF-v1.8",
        "totals": {"documents": 1, "steps": 2, "problems": 2, "warnings": 0},
        "findings": [
            {
                "level": "error",
                "path": f"$.steps[{at}].step_id",
                "rule": "coerced",
                "message": f"expected an integer as such, found {shown}",
                "value": value,
            }
            for at, (shown, value) in enumerate([('"1"', "1"), ("2.0", 2.0)])
        ],
    }


@pytest.mark.parametrize(
    ("data", "rules"),
    [
        (b"", ["json"]),
        (b"{", ["json"]),
        (MINIMAL + b"x", ["json"]),
        (b"[" * 20_000, ["json"]),
        (b"\xef\xbb\xbf" + MINIMAL, ["byte-order-mark"]),
        ("\ufeff" + MINIMAL.decode(), ["byte-order-mark"]),
        (MINIMAL.replace(b"Hello.", b"\xff"), ["utf-8"]),
        (MINIMAL.decode().encode("utf-16"), ["utf-8", "json"]),
        (b"[]", ["type"]),
        (b"null", ["type"]),
    ],
)
def test_text_that_is_no_document(data: bytes | str, rules: list[str]) -> None:
    assert [found.rule for found in atif.validate_text(data).problems] == rules


def test_constants_that_only_python_reads() -> None:
    data = MINIMAL.replace(b'"steps"', b'"extra": {"a": NaN}, "steps"')
    assert atif.validate_text(data).valid
    rules = [found.rule for found in atif.validate_text(data, strict=True).problems]
    assert rules == ["json-constant", "number-range"]


def test_repeated_names_and_surrogates_pass() -> None:
    data = MINIMAL.replace(b'"steps"', b'"notes": 1, "notes": "\\ud800", "steps"')
    assert atif.validate_text(data, strict=True).valid


@settings(max_examples=100, deadline=None)
@given(
    st.binary(max_size=40)
    | st.text(max_size=40).map(lambda s: MINIMAL.replace(b"Hello.", s.encode(errors="replace")))
    | st.tuples(st.integers(0, len(MINIMAL)), st.binary(max_size=3)).map(
        lambda cut: MINIMAL[: cut[0]] + cut[1] + MINIMAL[cut[0] :]
    )
)
def test_no_text_is_too_odd(data: bytes) -> None:
    for strict in (False, True):
        json.dumps(atif.validate_text(data, strict=strict).to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("valid/minimal.json", set()),
        ("valid/every-member-every-source.json", set()),
        ("valid/audio-aliases.json", {"media-alias"}),
        ("valid/effort-number-and-old-version.json", {"session-id"}),
        ("valid/file-ref-and-unresolved-id.json", {"ref-unresolved"}),
        ("valid/embedded-subagents-nested.json", set()),
        ("lenient/duplicate-call-ids-in-one-step.json", {"call-id-twice"}),
        (
            "lenient/negative-tokens-and-cached-over-prompt.json",
            {"negative-tokens", "cached-over-prompt"},
        ),
        ("lenient/total-steps-unexplained.json", {"total-steps"}),
        ("lenient/time-runs-backwards.json", set()),
    ],
)
def test_warnings(name: str, rules: set[str]) -> None:
    report = atif.validate_text((DATA / name).read_bytes())
    assert report.valid
    assert {found.rule for found in report.warnings} == rules


def test_parts_later_than_the_version() -> None:
    data = (DATA / "valid/image-and-audio-parts.json").read_bytes()
    report = atif.validate_text(data.replace(b"ATIF-v1.8", b"ATIF-v1.7"))
    assert {(w.rule, w.value) for w in report.warnings} == {("part-version", "audio")}
