"""``docs/cli.md`` lists what the command prints: help texts and the fields of reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from cli_runner import Caller

from agentsession.cli import main
from agentsession.cli.report import SCHEMA
from agentsession.header import Header
from agentsession.parts import Harness
from agentsession.stores import JSONLStore

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
# Payloads, documented as they stand in a session.
VERBATIM = {"context.settings", "context.items[].item"}
COMMANDS = main.cli.list_commands(click.Context(main.cli))


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_texts(call: Caller, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = call(*filter(None, [name]), "--help").out
    heading = f"## {name}".strip() if name else "## agentsession"
    section = PAGE.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    assert f"```text\n{shown}```\n" in section


def documented(name: str) -> set[str]:
    table = PAGE.partition(f"| field of `{name} --json`")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    fields = {field for row in rows for field in re.findall(r"`([^`]+)`", row)}
    if "session.*" in fields:
        fields |= {field for field in documented("show") if field.startswith(("session.", "trunc"))}
    if "sessions[].*" in fields:
        fields |= {
            field.replace("session.", "sessions[].")
            for field in documented("show")
            if field.startswith("session.")
        }
    return fields - {"session.*", "sessions[].*"}


def emitted(value: Any, path: str = "") -> set[str]:
    """The paths of a report's fields; objects and lists of objects stand for what they hold."""
    if path in VERBATIM:
        return {path}
    if isinstance(value, dict):
        own = {path} if path.endswith((".harness", "context", "truncated")) else set()
        inner = (emitted(v, f"{path}.{k}" if path else k) for k, v in value.items())
        return own.union(*inner)
    if isinstance(value, list):
        if not value or not isinstance(value[0], dict):
            return {f"{path}[]"} if path else set()
        return set().union(*(emitted(element, f"{path}[]") for element in value))
    return {path}


def settled(reports: list[Any], command: str) -> set[str]:
    found: set[str] = set()
    for report in reports:
        assert list(report)[:2] == ["schema", "command"]
        assert (report.pop("schema"), report.pop("command")) == (SCHEMA, command)
        found |= emitted(report)
    # A list that was empty once and held objects another time is documented by its objects.
    return {field for field in found if not (field.endswith("[]") and _holds(field, found))}


def _holds(field: str, fields: set[str]) -> bool:
    return any(other.startswith(f"{field}.") for other in fields)


def test_fields_of_show_and_verify(call: Caller, session_file: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    bare.write_bytes(
        b'{"type":"session","format":"agentsession/0.4","id":"s","created_at":"2026-01-01T00:00:00Z"'
        b',"payload":"openresponses/1"}\n'
        b'{"type":"info","id":"x","parent":null,"ts":"2026-01-01T00:00:00Z",'
        b'"parents":[{"session":"s9","entry":"y"}]}\n{"type":'
    )
    for name in ("show", "verify"):
        reports = [call(name, "--json", path).json for path in (session_file, bare)]
        if name == "show":
            reports.append(call("show", "--salvage", "--json", bare).json)
        assert settled(reports, name) == documented(name)


def test_fields_of_repair(call: Caller, session_file: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    lines = session_file.read_bytes().splitlines(keepends=True)
    torn.write_bytes(b"".join(lines[:4] + lines[3:]) + b"{")
    reports = [
        call("repair", "--json", path, "-o", tmp_path / f"{path.name}.clean").json
        for path in (session_file, torn)
    ]
    assert settled(reports, "repair") == documented("repair")


def test_fields_of_list(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as store:
        store.create(Header(harness=Harness("tester")))
    report = call("list", "--json", tmp_path).json
    assert settled([report], "list") == documented("list")


def test_fields_of_version(call: Caller) -> None:
    assert settled([call("version", "--json").json], "version") == documented("version")
