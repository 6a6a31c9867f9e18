"""``agentsession atif validate``: whether files hold valid ATIF documents.

Spec: atif 4, decisions C and E1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from agentsession.atif import Report as Checked
from agentsession.atif import validate_text
from agentsession.cli.commands import Command, complete_file, json_option
from agentsession.cli.output import Output, open_output, open_plain
from agentsession.cli.report import Report

_STDIN = "-"


@click.command("validate", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_file)
@click.option(
    "-strict",
    "--strict",
    is_flag=True,
    help="Refuse also what only the reference implementation refuses.",
)
@json_option
def command(*, files: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Check ATIF documents and name each problem by its JSON path.

    FILE is a document, or - for standard input. Exits with 1 when a document is refused or
    a file cannot be read.
    """
    results = (_result(name, strict=strict) for name in files)
    if as_json:
        with open_plain() as out:
            return _write_report(out, results)
    with open_output() as out:
        return max([_write_text(out, result) for result in results])


@dataclass(frozen=True, slots=True)
class _Result:
    file: str
    checked: Checked | None
    error: str = ""

    @property
    def valid(self) -> bool:
        return self.checked is not None and self.checked.valid


def _result(name: str, *, strict: bool) -> _Result:
    try:
        data = sys.stdin.buffer.read() if name == _STDIN else Path(name).read_bytes()
    except OSError as error:
        return _Result(name, None, (error.strerror or str(error)).lower())
    return _Result(name, validate_text(data, strict=strict))


def _write_text(out: Output, result: _Result) -> int:
    if result.checked is None:
        out.line(result.file, "  ", ("ERROR", "bad"), f" {result.error}")
        return 1
    checked = result.checked
    for problem in checked.problems:
        out.line(result.file, "  ", ("INVALID", "bad"), f" {problem}")
    for warning in checked.warnings:
        out.line(result.file, "  ", ("note", "note"), f" {warning}")
    if checked.valid:
        embedded = f", {checked.documents - 1} embedded" if checked.documents > 1 else ""
        version = checked.schema_version
        steps = f"{checked.steps} step{'' if checked.steps == 1 else 's'}"
        out.line(result.file, "  ", ("valid", "good"), f" {version}, {steps}{embedded}")
    return 0 if checked.valid else 1


def _write_report(out: Output, results: Iterator[_Result]) -> int:
    code = 0
    with Report(out, "atif validate") as report:

        def fields() -> Iterator[dict[str, object]]:
            nonlocal code
            for result in results:
                code = code if result.valid else 1
                checked = result.checked
                found = checked.to_dict() if checked is not None else {}
                found.pop("schema", None)
                yield {"file": result.file, "valid": False, "error": result.error or None, **found}

        report.elements("files", fields())
        report.member("ok", code == 0)
    return code
