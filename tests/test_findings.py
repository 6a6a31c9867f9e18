"""Findings and reports: one shape, as a value and as JSON."""

from __future__ import annotations

import doctest
import json

from agentsession import findings
from agentsession.findings import Finding, Report, counts, merged


def test_a_finding_is_plain_values() -> None:
    finding = Finding("cut-line", "the record is cut", "line 4", 2)
    assert finding.to_dict() == {
        "code": "cut-line",
        "sentence": "the record is cut",
        "where": "line 4",
        "count": 2,
    }
    assert str(finding) == "line 4: the record is cut (2 times)"
    assert str(Finding("a", "it is so")) == "it is so"


def test_merging_adds_counts_and_keeps_the_first_place() -> None:
    given = [Finding("b", "x", "1"), Finding("a", "x", "2"), Finding("b", "x", "3", 4)]
    assert merged(given) == (Finding("b", "x", "1", 5), Finding("a", "x", "2"))
    assert counts(given) == {"a": 1, "b": 5}
    assert list(counts(given)) == ["a", "b"]


def test_a_report_as_value_and_as_json() -> None:
    report = Report({"entries": 3}, (Finding("a", "x"),), {"source": "s\ud800"})
    value = report.to_dict()
    assert list(value) == ["schema", "totals", "findings", "source"]
    assert value["totals"] == {"entries": 3}
    line = report.to_json()
    assert b"\n" not in line
    assert json.loads(line) == {**value, "source": "s\N{REPLACEMENT CHARACTER}"}
    assert json.loads(report.to_json(indent=2)) == json.loads(line)
    assert report.to_json(indent=2).endswith(b"}\n")
    assert Report({}).to_dict() == {"schema": 1, "totals": {}, "findings": []}


def test_examples() -> None:
    assert doctest.testmod(findings).failed == 0
