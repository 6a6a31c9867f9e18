"""Counts that are no numbers of tokens, and lines that cannot be read: told, never an error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers import registry
from agentsession.importers.counted import Count
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import of_session, of_source
from agentsession.stores import MemoryStore
from agentsession.timestamp import Timestamp

DATA = Path(__file__).parents[1] / "data"
AGENTS = ("claude-code", "codex", "pi")
NAMES = {
    "claude-code": "x.jsonl",
    "pi": "2026-03-04T05-06-00-000Z_9100.jsonl",
    "codex": "rollout-2026-03-04T05-06-00-0c0de000-0000-7000-8000-00000000000c.jsonl",
}
INPUTS = {
    "claude-code": DATA / "claude-code" / "claude-parallel-tools-tree.jsonl",
    "pi": DATA / "pi-hostile" / "parent.jsonl",
    "codex": DATA / "usage" / "codex-token-count-reemitted.jsonl",
}


def damaged(kind: str, lines: list[bytes]) -> list[bytes]:
    at = max(place for place, line in enumerate(lines) if b"usage" in line)
    line = lines[at]
    if kind == "nul":
        return [*lines[:at], b"\0" * 64 + line, *lines[at + 1 :]]
    if kind == "glued":
        return [*lines[: at - 1], lines[at - 1].rstrip() + line, *lines[at + 1 :]]
    if kind == "stub":
        return [*lines[:at], line[:40] + line, *lines[at + 1 :]]
    if kind == "cut":
        return [*lines[:at], line[:-30] + b"\n", *lines[at + 1 :]]
    if kind == "cut short":
        return [*lines[:at], line[:20] + b"\n", *lines[at + 1 :]]
    return [*lines[:at], b"[1]\n", b"\n", line.replace(b"timestamp", b"time\xffstamp", 1)]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("kind", ["nul", "glued", "stub", "cut", "cut short", "no object"])
def test_usage_reads_what_an_import_reads(agent: str, kind: str, tmp_path: Path) -> None:
    """The same calls, and the same lines told as unreadable."""
    lines = INPUTS[agent].read_bytes().splitlines(keepends=True)
    log = tmp_path / NAMES[agent]
    log.write_bytes(b"".join(damaged(kind, lines)))
    importer = registry.load(agent)
    (source,) = importer.find([log])
    count = Count()
    for record in of_source(importer, source, count.tell):
        count.add(record)
    imported, unreadable = Count(), 0
    for native in importer.sessions(source):
        converted = importer.convert(source, native.id)
        unreadable += sum(d.code == "unreadable-record" for d in converted.records)
        for record in of_session(converted.session):
            imported.add(record)
    assert count.report().totals == imported.report().totals
    assert sum(alarm.count for alarm in count.alarms) == unreadable
    for alarm in count.alarms:
        assert alarm.code == "unreadable-source"
        assert str(log) in alarm.where


def counted(agent: str, log: Path) -> tuple[Count, Count, dict[str, int]]:
    """What a file counts, what its import counts, and the findings of the import."""
    importer = registry.load(agent)
    (source,) = importer.find([log])
    count, imported, store = Count(), Count(), MemoryStore()
    for record in of_source(importer, source, count.tell):
        count.add(record)
    report = import_sessions([Work(importer, (source,))], store)
    assert not report.totals["sessions"]["failed"]
    for native in importer.sessions(source):
        for record in of_session(store.open(native.id)):
            imported.add(record)
    found = {finding.code: finding.count for finding in report.findings}
    return count, imported, {one["code"]: one["count"] for one in report.more["codes"]} | found


def respelled(value: Any, *, counts: bool = False) -> Any:
    """The same with each number of tokens as a float."""
    if isinstance(value, dict):
        return {
            name: respelled(inner, counts=name != "cost" and (counts or "usage" in name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [respelled(inner) for inner in value]
    return float(value) if counts and type(value) is int else value


@pytest.mark.parametrize("agent", AGENTS)
def test_a_whole_number_counts_however_it_is_spelled(agent: str, tmp_path: Path) -> None:
    log, plain = tmp_path / NAMES[agent], tmp_path / "plain" / NAMES[agent]
    plain.parent.mkdir()
    plain.write_bytes(INPUTS[agent].read_bytes())
    lines = [json.dumps(respelled(json.loads(line))) for line in plain.read_text().splitlines()]
    assert sum(line.count(".0,") for line in lines) > 2
    log.write_text("".join(f"{line}\n" for line in lines))
    expected = counted(agent, plain)[0].report().totals
    assert expected["calls"] > 0
    count, imported, findings = counted(agent, log)
    assert count.report().totals == imported.report().totals == expected
    assert count.ok
    assert not {"counts-unreadable", "unreadable-counts", "unknown-member"} & findings.keys()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("number", [b'"7"', b"-7", b"99999999999999999999", b"1.25", b"1e300"])
def test_counts_that_are_none_are_told(agent: str, number: bytes, tmp_path: Path) -> None:
    given = INPUTS[agent].read_bytes()
    odd = re.sub(rb'("output(?:_tokens)?":) ?\d+', rb"\g<1>" + number, given)
    assert odd != given
    log = tmp_path / NAMES[agent]
    log.write_bytes(odd)
    count, imported, findings = counted(agent, log)
    for one in (count, imported):
        totals = one.report().totals
        found = {finding.code: finding.count for finding in one.report().findings}
        assert found.get("counts-unreadable") == totals["calls"] > 0
        assert totals["output_tokens"] == 0
        assert one.ok
    assert findings.get("counts-unreadable") == count.report().totals["calls"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("number", [b"NaN", b"1e400", b"-Infinity"])
def test_numbers_that_are_no_json_numbers_are_told(
    agent: str, number: bytes, tmp_path: Path
) -> None:
    given = INPUTS[agent].read_bytes()
    log = tmp_path / NAMES[agent]
    log.write_bytes(re.sub(rb'("output(?:_tokens)?":) ?\d+', rb"\g<1>" + number, given))
    count, imported, findings = counted(agent, log)
    assert count.report().totals == imported.report().totals
    is_json = number == b"1e400"
    told = {finding.code for finding in count.report().findings}
    assert ("counts-unreadable" if is_json else "unreadable-source") in told
    assert ("counts-unreadable" if is_json else "unreadable-record") in findings


def test_a_call_of_pi_that_says_nothing_else_is_told(tmp_path: Path) -> None:
    """It is a call all the same, with no tokens."""
    log = tmp_path / NAMES["pi"]
    given = INPUTS["pi"].read_text().splitlines()
    lines = [json.loads(line) for line in given]
    for line in lines:
        if "usage" in line.get("message", {}):
            line["message"]["usage"] = {"input": 0, "output": 1.5}
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    count, imported, findings = counted("pi", log)
    for one in (count, imported):
        assert one.report().totals["calls"] == findings["counts-unreadable"] > 0
        assert one.report().totals["output_tokens"] == 0
        assert {finding.code for finding in one.report().findings} == {"counts-unreadable"}


def test_counters_that_say_nothing_are_told(tmp_path: Path) -> None:
    """All of their numbers are text: whether they count a call is not known."""
    log = tmp_path / NAMES["codex"]
    log.write_bytes(re.sub(rb'(tokens":) ?\d+', rb'\g<1>"7"', INPUTS["codex"].read_bytes()))
    importer, count = registry.load("codex"), Count()
    for source in importer.find([log]):
        for record in of_source(importer, source, count.tell):
            count.add(record)
    assert not count.ok
    assert count.report().totals["calls"] == 0
    # Lines that say what the line before them said are told once, and an import tells as many.
    told = sum(alarm.count for alarm in count.alarms)
    (source,) = importer.find([log])
    (native,) = importer.sessions(source)
    codes = [record.code for record in importer.convert(source, native.id).records]
    assert codes.count("unreadable-counts") == told > 0


@pytest.mark.parametrize("number", [b'"12"', b"-3", b"1.5"])
def test_odd_counters_that_are_written_again_are_no_damage(number: bytes, tmp_path: Path) -> None:
    log = tmp_path / NAMES["codex"]
    line = b"".join(
        one for one in INPUTS["codex"].read_bytes().splitlines(True) if b"token_count" not in one
    )
    used = b'{"input_tokens":9,"output_tokens":%s,"total_tokens":9}' % number
    counted = (
        b'{"timestamp":"2026-03-04T05:06:09.000Z","type":"event_msg","payload":{"type":'
        b'"token_count","info":{"total_token_usage":%s,"last_token_usage":%s}}}\n' % (used, used)
    )
    log.write_bytes(line + counted * 3)
    importer, count = registry.load("codex"), Count()
    (source,) = importer.find([log])
    for record in of_source(importer, source, count.tell):
        count.add(record)
    assert count.ok
    assert [f.code for f in count.report().findings] == ["counts-unreadable"]
    (native,) = importer.sessions(source)
    records = importer.convert(source, native.id).records
    assert [r.code for r in records].count("usage-repeated") == 2


@pytest.mark.parametrize(
    "spelled",
    ["2026-03-01T00:00:59.999Z", "2026-02-30T00:00:00.000Z", "2026-03-01T00:00:60.000Z",
     "1969-12-31T23:59:59.123Z", "2026-03-01T01:02:03.12+01:00", "a time in some way.000Z"],
)  # fmt: skip
def test_times_of_claude_code_are_those_of_the_format(spelled: str, tmp_path: Path) -> None:
    log = tmp_path / "x.jsonl"
    given = INPUTS["claude-code"].read_bytes()
    log.write_bytes(re.sub(rb'"timestamp":"[^"]*"', b'"timestamp":"%b"' % spelled.encode(), given))
    try:
        expected = Timestamp.parse(spelled)
    except ValueError:
        expected = None
    importer = registry.load("claude-code")
    records = [r for source in importer.find([log]) for r in of_source(importer, source)]
    assert {record.ts for record in records} == {expected}
