"""``agentsession export``: sessions as ATIF documents, and as tables of their steps.

Spec: command A.4, decisions B4, C and E.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from agentsession import export
from agentsession._processes import size_at, worth
from agentsession.cli import sources
from agentsession.cli.commands import (
    Command,
    allow_newer_option,
    complete_file,
    jobs_option,
    json_option,
    source_arguments,
)
from agentsession.cli.export_progress import Steps
from agentsession.cli.export_source import Loader
from agentsession.cli.output import Output, note, open_output, open_plain
from agentsession.cli.report import Report
from agentsession.export.preferences import Preference
from agentsession.export.redact import Redactor
from agentsession.export.sinks import clash
from agentsession.findings import Report as Reported

F = TypeVar("F", bound=Callable[..., Any])

_FINDINGS_TOLD = 20


def _preference(_ctx: click.Context, _param: click.Parameter, rules: tuple[str, ...]) -> list[Any]:
    return [_rule(rule) for rule in rules]


def _rule(rule: str) -> Preference:
    name, _, label = rule.partition("=")
    if name == "label" and label:
        return export.prefer_label(label)
    known: dict[str, Preference] = {
        "leaf": export.prefer_current_leaf,
        "score": export.prefer_score,
        "latest": export.prefer_latest,
    }
    if rule not in known:
        raise click.BadParameter(f'"{rule}" is not leaf, score, latest or label=<name>')
    return known[rule]


def _patterns(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    found = {}
    for pattern in given:
        name, equals, expression = pattern.partition("=")
        if not (name and equals and expression):
            raise click.BadParameter(f'"{pattern}" is not NAME=REGEX')
        found[name] = expression
    return found


def _file_option(name: str, words: str) -> Callable[[F], F]:
    return click.option(
        f"-{name}", f"--{name}", metavar="FILE", default=None, type=Path, help=words
    )


@click.command("export", cls=Command)
@source_arguments
@click.option(
    "-out",
    "--out",
    metavar="DIR",
    type=Path,
    default=None,
    shell_complete=complete_file,
    help="One ATIF file for each document, media beside them.",
)
@_file_option("jsonl", "One ATIF document a line.")
@_file_option("flat", "One step a line, fixed columns.")
@_file_option("parquet", "The same rows as a Parquet file.")
@click.option(
    "-leaves",
    "--leaves",
    type=click.Choice(["auto", "all", "current"]),
    default="auto",
    help="Which paths; auto: the current one of imported sessions, all of others.",
)
@click.option(
    "-history",
    "--history",
    type=click.Choice(["context", "path"]),
    default="context",
    help="What the model would be sent, or every step of the path once.",
)
@click.option(
    "-prefer",
    "--prefer",
    "preferences",
    metavar="RULE",
    multiple=True,
    callback=_preference,
    help="Which branch counts as kept: leaf, score, latest, label=<name>.",
)
@click.option("-embed", "--embed", is_flag=True, help="Put linked sessions into the document.")
@click.option(
    "-secret", "--secret", "secrets", metavar="VALUE", multiple=True, help="Take out this value."
)
@click.option("-redact-home", "--redact-home", is_flag=True, help="Write ~ for the home directory.")
@click.option("-redact-env", "--redact-env", is_flag=True, help="Leave out the environment.")
@click.option(
    "-redact",
    "--redact",
    type=click.Choice(["auto"]),
    default=None,
    help="Take out what looks like a credential.",
)
@click.option(
    "-pattern",
    "--pattern",
    "patterns",
    metavar="NAME=REGEX",
    multiple=True,
    callback=_patterns,
    help="Another kind of credential, beside the built-in ones.",
)
@click.option(
    "-check",
    "--check",
    is_flag=True,
    help="Exit with 1 when something like a credential is left.",
)
@click.option("-no-passthrough", "--no-passthrough", is_flag=True, help="Leave out the raw items.")
@click.option(
    "-schema-version",
    "--schema-version",
    type=click.Choice(["ATIF-v1.7", "ATIF-v1.8"]),
    default="ATIF-v1.8",
    help="The version to write.",
)
@click.option("-instructions", "--instructions", is_flag=True, help="Instructions as first step.")
@click.option("-text-only", "--text-only", is_flag=True, help="Placeholders for media.")
@click.option(
    "-failed-calls",
    "--failed-calls",
    type=click.Choice(["keep", "mark", "drop"]),
    default="keep",
    help="What to do with model calls that failed.",
)
@click.option("-model-name", "--model-name", metavar="NAME", default="", help="Report this model.")
@jobs_option("Export a store with N processes")
@sources.salvage_option
@allow_newer_option
@json_option
def command(
    *,
    source: str,
    session_id: str,
    out: Path | None,
    jsonl: Path | None,
    flat: Path | None,
    parquet: Path | None,
    jobs: int | None,
    salvaging: bool,
    allow_newer: bool,
    as_json: bool,
    **choices: Any,
) -> int:
    """Export sessions as ATIF documents.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one;
    without ID, every session of the store. At least one of --out, --jsonl, --flat and
    --parquet is needed. Linked sessions of a file are embedded when their files are found.

    Prints the path of each document, and on standard error what the report says. Exits with
    1 when something was left out or damaged, or when --check finds something.

    --pattern adds to the credentials that --redact auto knows, and takes all of them out
    even without it. With --check but without --redact auto, it only adds to what is checked.
    """
    targets = export.Targets(directory=out, jsonl=jsonl, flat=flat, parquet=parquet)
    if targets == export.Targets():
        raise click.UsageError(
            "name a target: --out DIR, --jsonl FILE, --flat FILE or --parquet FILE",
            click.get_current_context(silent=True),
        )
    problem = clash(targets)
    if problem:
        raise click.UsageError(problem, click.get_current_context(silent=True))
    load = Loader(source, salvaging=salvaging, allow_newer=allow_newer)
    try:
        work = _work(targets, embed=choices.pop("embed") or not load.is_store, **choices)
    except (export.RefusedSecret, export.BadPattern) as error:
        raise click.UsageError(str(error), click.get_current_context(silent=True)) from error
    with load, Steps(sys.stderr) as progress:
        done = export.export_sessions(
            load,
            load.ids(session_id),
            work,
            jobs=jobs or worth(size_at(source)),
            progress=progress.at,
        )
    if as_json:
        with open_plain() as output:
            _write_report(output, source, done)
    else:
        with open_output() as output:
            for path in done.more["files"]:
                output.line(path)
        _tell(done)
    return 0 if export.is_whole(done) and not load.damaged else 1


def _work(
    targets: export.Targets,
    *,
    leaves: Literal["auto", "all", "current"],
    history: Literal["context", "path"],
    preferences: Sequence[Preference],
    embed: bool,
    secrets: Sequence[str],
    redact_home: bool,
    redact_env: bool,
    redact: str | None,
    patterns: dict[str, str],
    check: bool,
    no_passthrough: bool,
    schema_version: Literal["ATIF-v1.7", "ATIF-v1.8"],
    instructions: bool,
    text_only: bool,
    failed_calls: Literal["keep", "mark", "drop"],
    model_name: str,
) -> export.Work:
    """The work that the options describe; redactors in the reference's order."""
    detector = export.detect_secrets(patterns)
    redactors: list[Redactor] = []
    if secrets:
        redactors.append(export.secrets(*secrets))
    if redact_home:
        redactors.append(export.home_paths(os.path.expanduser("~")))
    if redact_env:
        redactors.append(export.environment())
    if redact == "auto" or (patterns and not check):
        redactors.append(detector)
    if no_passthrough:
        redactors.append(export.no_passthrough())
    options = export.Options(
        model_name=model_name,
        preferences=preferences,
        redactors=redactors,
        history=history,
        schema_version=schema_version,
        instructions=instructions,
        text_only=text_only,
        failed_calls=failed_calls,
    )
    return export.Work(
        targets=targets,
        options=options,
        leaves=leaves,
        embed=embed,
        check=detector if check else None,
    )


def _tell(done: Reported) -> None:
    """Say on standard error what was done and what was found."""
    totals = done.totals
    written = ", ".join(
        f"{number} {_named(name, number)}" for name, number in totals.items() if number
    )
    note(f"exported: {written or 'nothing'}")
    for finding in done.findings[:_FINDINGS_TOLD]:
        note(f"  {finding.code}: {finding}")
    more = len(done.findings) - _FINDINGS_TOLD
    if more > 0:
        note(f"  and {more} more; --json lists all")


def _named(total: str, number: int) -> str:
    """What a total counts, for people."""
    words = total.replace("_", " ")
    if number != 1:
        return words
    head, s, rest = words.partition("s left out")
    return f"{head} left out{rest}" if s else words.removesuffix("s")


def _write_report(out: Output, source: str, done: Reported) -> None:
    with Report(out, "export") as report:
        report.member("source", source)
        report.member("totals", dict(done.totals))
        report.elements("findings", (finding.to_dict() for finding in done.findings))
        report.elements("files", iter(done.more["files"]))
        report.elements("media", iter(done.more["media"]))
