"""The rules: the files with known verdicts, a second statement of the rules, and strictness."""

from __future__ import annotations

import atif_oracle
import pytest
from atif_documents import DATA, EXPECTED, FILES, damaged, value_of
from hypothesis import given, settings

from agentsession import atif

CARELESS_BUT_CLEAR = {
    "lenient/duplicate-call-ids-in-one-step.json",
    "lenient/negative-tokens-and-cached-over-prompt.json",
    "lenient/time-runs-backwards.json",
    "lenient/total-steps-unexplained.json",
}
# What each file of invalid/ breaks; every file breaks exactly one rule.
BROKEN_RULE = {
    "agent-missing": ("$.agent", "required"),
    "agent-version-missing": ("$.agent.version", "required"),
    "arguments-as-string": ("$.steps[1].tool_calls[0].arguments", "type"),
    "audio-media-type-opus": ("$.steps[0].message[0].source.media_type", "media-type"),
    "audio-part-with-image-source": ("$.steps[0].message[0].source.media_type", "media-type"),
    "embedded-subagent-without-id": ("$.subagent_trajectories[0].trajectory_id", "embedded-id"),
    "embedded-subagents-same-id": (
        "$.subagent_trajectories[1].trajectory_id",
        "embedded-id-twice",
    ),
    "final-metrics-negative-steps": ("$.final_metrics.total_steps", "minimum"),
    "image-media-type-jpg-alias": ("$.steps[0].message[0].source.media_type", "media-type"),
    "image-media-type-svg": ("$.steps[0].message[0].source.media_type", "media-type"),
    "image-part-with-text-member": ("$.steps[0].message[0].text", "part-member"),
    "llm-call-count-negative": ("$.steps[1].llm_call_count", "minimum"),
    "metrics-reasoning-tokens-at-top": ("$.steps[1].metrics.reasoning_tokens", "unknown-member"),
    "observation-without-results": ("$.steps[1].observation.results", "required"),
    "part-with-extra-member": ("$.steps[0].message[0].extra", "unknown-member"),
    "result-names-call-of-earlier-step": (
        "$.steps[1].observation.results[0].source_call_id",
        "call-reference",
    ),
    "result-names-unknown-call": (
        "$.steps[1].observation.results[0].source_call_id",
        "call-reference",
    ),
    "schema-version-null": ("$.schema_version", "type"),
    "schema-version-unknown-minor": ("$.schema_version", "schema-version"),
    "step-id-from-zero": ("$.steps[0].step_id", "minimum"),
    "step-id-gap": ("$.steps[1].step_id", "step-number"),
    "step-message-missing": ("$.steps[0].message", "required"),
    "step-message-null": ("$.steps[0].message", "type"),
    "step-source-assistant": ("$.steps[0].source", "source"),
    "steps-empty": ("$.steps", "too-few"),
    "steps-missing": ("$.steps", "required"),
    "subagent-ref-session-only": (
        "$.steps[1].observation.results[0].subagent_trajectory_ref[0]",
        "ref-target",
    ),
    "system-step-with-metrics": ("$.steps[0].metrics", "agent-only"),
    "text-part-with-source": ("$.steps[0].message[0].source", "part-member"),
    "timestamp-leap-second": ("$.steps[0].timestamp", "timestamp"),
    "timestamp-not-iso": ("$.steps[0].timestamp", "timestamp"),
    "unknown-root-member": ("$.outcome", "unknown-member"),
    "user-step-with-empty-tool-calls": ("$.steps[0].tool_calls", "agent-only"),
    "user-step-with-model-name": ("$.steps[0].model_name", "agent-only"),
    "zero-calls-with-metrics": ("$.steps[1].metrics", "zero-calls"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_verdict_of_each_file_is_harbors(name: str) -> None:
    value = value_of(name)
    assert (atif.validate(value) == ()) is EXPECTED[name]["valid"]
    assert atif_oracle.accepts(value) is EXPECTED[name]["valid"]


@pytest.mark.parametrize("name", FILES)
def test_strict_refuses_what_the_reference_refuses_too(name: str) -> None:
    strict = atif.validate(value_of(name), strict=True) == ()
    assert strict is (name.startswith("valid/") or name in CARELESS_BUT_CLEAR)


@pytest.mark.parametrize("name", sorted(BROKEN_RULE))
def test_a_refusal_names_place_and_rule(name: str) -> None:
    (found,) = atif.validate(value_of(f"invalid/{name}.json"))
    assert (found.path, found.rule) == BROKEN_RULE[name]
    assert found.message


def test_every_invalid_file_is_told_apart() -> None:
    assert {f"{name}.json" for name in BROKEN_RULE} == {
        path.name for path in (DATA / "invalid").iterdir()
    }


@settings(max_examples=200, deadline=None)
@given(damaged(tuple(name for name in FILES if not name.startswith("awkward/"))))
def test_verdicts_agree_with_a_second_statement_of_the_rules(value: object) -> None:
    problems = atif.validate(value)
    assert (problems == ()) is atif_oracle.accepts(value), [str(p) for p in problems]


@settings(max_examples=100, deadline=None)
@given(damaged(tuple(FILES)))
def test_strict_only_adds_problems(value: object) -> None:
    lax = {(p.path, p.rule) for p in atif.validate(value)}
    strict = {(p.path, p.rule) for p in atif.validate(value, strict=True)}
    assert {place for place, _ in lax} <= {place for place, _ in strict}


def test_every_problem_is_reported() -> None:
    document = {
        "schema_version": "ATIF-v2.0",
        "agent": {"name": 1},
        "steps": [
            {"step_id": 1, "source": "user", "message": None, "metrics": {"prompt_tokens": "x"}},
            {"step_id": 7, "source": "agent", "message": [{"type": "video"}], "odd one": 1},
        ],
    }
    found = {(p.path, p.rule) for p in atif.validate(document)}
    assert found == {
        ("$.schema_version", "schema-version"),
        ("$.agent.name", "type"),
        ("$.agent.version", "required"),
        ("$.steps[0].message", "type"),
        ("$.steps[0].metrics", "agent-only"),
        ("$.steps[0].metrics.prompt_tokens", "type"),
        ("$.steps[1].step_id", "step-number"),
        ("$.steps[1].message[0].type", "part-type"),
        ('$.steps[1]["odd one"]', "unknown-member"),
    }


def test_check_raises_with_all_problems() -> None:
    with pytest.raises(atif.InvalidDocument, match=r"^\$\.agent: .* \(and 1 more\)$") as caught:
        atif.check({}, strict=False)
    assert [p.rule for p in caught.value.problems] == ["required", "required"]
    with pytest.raises(ValueError, match="schema_version is missing"):
        atif.check(value_of("lenient/schema-version-absent.json"))
    atif.check(value_of("valid/minimal.json"))


def _with_step(**members: object) -> dict[str, object]:
    step = {"step_id": 1, "source": "agent", "message": "", **members}
    agent = {"name": "a", "version": "1"}
    return {"schema_version": "ATIF-v1.8", "agent": agent, "steps": [step]}


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"llm_call_count": True}, "coerced"),
        ({"is_copied_context": 1}, "coerced"),
        ({"reasoning_effort": False}, "coerced"),
        ({"metrics": {"cost_usd": "0.5"}}, "coerced"),
        ({"metrics": {"cost_usd": float("nan")}}, "number-range"),
        ({"metrics": {"prompt_tokens": 2**63}}, "number-range"),
        ({"extra": {"a": [{"b": float("inf")}]}}, "number-range"),
        ({"timestamp": "2026-09-17 12:00:02Z"}, "timestamp-form"),
        ({"timestamp": "2026-09-17T12"}, "timestamp-form"),
        (
            {"observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": ""}]}]}},
            "ref-target",
        ),
    ],
)
def test_strict_rules(members: dict[str, object], rule: str) -> None:
    document = _with_step(**members)
    assert atif.validate(document) == ()
    assert [p.rule for p in atif.validate(document, strict=True)] == [rule]


def test_an_empty_id_of_an_embedded_document_is_one_only_to_lax_readers() -> None:
    document = {**_with_step(), "subagent_trajectories": [{**_with_step(), "trajectory_id": ""}]}
    assert atif.validate(document) == ()
    assert [p.rule for p in atif.validate(document, strict=True)] == ["embedded-id"]


@pytest.mark.parametrize("levels", [254, 255])
def test_documents_embedded_as_deep_as_readers_go(levels: int) -> None:
    document = _with_step()
    for _ in range(levels):
        document = {**_with_step(), "subagent_trajectories": [{**document, "trajectory_id": "x"}]}
    assert (atif.validate(document) == ()) is (levels == 254)
    assert atif_oracle.accepts(document) is (levels == 254)


@pytest.mark.parametrize("value", [None, [], "x", 1, b"{}", object(), {1: 2}])
def test_what_is_no_document_at_all(value: object) -> None:
    assert atif.validate(value)


def test_problems_are_printable_whatever_the_value() -> None:
    document = _with_step(timestamp="\ud800\n" * 100, source='"\u202e')
    for found in atif.validate(document):
        assert str(found).isprintable()
        assert len(str(found)) < 700
        str(found).encode()
