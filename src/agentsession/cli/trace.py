"""``agentsession trace``: a session as OpenTelemetry spans.

Spec: decisions C and F.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentsession.cli import sources
from agentsession.cli.commands import (
    Command,
    allow_newer_option,
    complete_file,
    json_option,
    source_arguments,
)
from agentsession.cli.output import Output, Span, complain, note, open_output, open_plain
from agentsession.cli.report import Report, session_fields, truncated_fields
from agentsession.cli.show import entry_named
from agentsession.errors import AgentSessionError, StoreFailed
from agentsession.session import Session

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from agentsession.otel.sending import Endpoint, Sent
    from agentsession.otel.tree import Trace

_NEEDED = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.common.trace_encoder")
_TIMEOUT = 10.0
_SECOND = 1_000_000_000


@click.command("trace", cls=Command)
@source_arguments
@click.option("-otlp", "--otlp", metavar="URL", default="", help="Send to an OTLP endpoint.")
@click.option("-console", "--console", is_flag=True, help="Print the spans as a tree.")
@click.option(
    "-file",
    "--file",
    "target",
    metavar="OUT",
    default="",
    shell_complete=complete_file,
    help="Write OTLP JSON lines to a new file.",
)
@click.option("-leaf", "--leaf", metavar="ID", default=None, help="Only the path to this entry.")
@click.option("-content", "--content", is_flag=True, help="Put what was said on the spans.")
@click.option(
    "-secret",
    "--secret",
    "secrets",
    metavar="VALUE",
    multiple=True,
    help="Take this value out of every text.",
)
@click.option("-redact-home", "--redact-home", is_flag=True, help="Write the home directory as ~.")
@click.option(
    "-protocol",
    "--protocol",
    type=click.Choice(["http", "grpc"]),
    default=None,
    help="What the endpoint speaks; by default told from its URL.",
)
@click.option(
    "-header",
    "--header",
    "headers",
    metavar="NAME=VALUE",
    multiple=True,
    help="Send this header with each request.",
)
@click.option(
    "-timeout",
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0.01, 3600),
    default=_TIMEOUT,
    help="How long a request may take; 10 by default.",
)
@allow_newer_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    source: str,
    session_id: str,
    otlp: str,
    console: bool,
    target: str,
    leaf: str | None,
    content: bool,
    secrets: tuple[str, ...],
    redact_home: bool,
    protocol: str | None,
    headers: tuple[str, ...],
    timeout: float,
    allow_newer: bool,
    as_json: bool,
) -> int:
    """Send a session as OpenTelemetry spans: every leaf, shared parts once.

    SOURCE is a session file, or a store with the ID of a session or the beginning of one.
    The same session gives the same trace and span ids. What was said stays out unless
    --content asks for it; what looks like a credential is taken out of every text.
    """
    if bool(otlp) + console + bool(target) != 1:
        raise click.UsageError("give one of --otlp, --console and --file", ctx)
    if math.isnan(timeout):
        raise click.UsageError("--timeout: nan is no number of seconds", ctx)
    if console and as_json:
        raise click.UsageError("--console prints a tree and takes no --json", ctx)
    _check_installed()
    endpoint = _endpoint(ctx, otlp, protocol) if otlp else None
    sent_headers = _headers(ctx, headers)
    redact = _redactor(secrets, home=redact_home)
    session = sources.open_session(source, session_id, allow_newer=allow_newer)

    if leaf is not None:
        leaf = entry_named(session, leaf)

    from agentsession.otel.tree import trace_session  # noqa: PLC0415 - needs the extra

    trace = trace_session(session, leaf, content=content, redact=redact)
    if session.truncated is not None:
        note(f"truncated: {session.truncated}")
    if console:
        _print_tree(trace)
        return 0
    sent = _send(trace, endpoint, sent_headers, timeout) if endpoint else _write(trace, target)
    where = endpoint.shown if endpoint else target
    if as_json:
        with open_plain() as out:
            _write_report(out, source, session, trace, where=where, sent=sent)
    elif not sent.left:
        with open_output() as out:
            done = "sent" if endpoint else "written"
            out.line(f"{sent.sent} span(s) of {len(trace.leaves)} leaf(s) {done} to {where}")
            out.line(f"trace {trace.trace_id:032x}")
    if sent.left:
        complain(f"{sent.left} of {len(trace.spans)} span(s) not taken by {where}: {sent.reason}")
        return 1
    return 0


def _check_installed() -> None:
    try:
        for module in _NEEDED:
            importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise AgentSessionError(
            f"{error.name} is not installed; install agentsession[otel] to trace sessions"
        ) from error
    except ValueError as error:  # a limit in the environment that is no number
        raise AgentSessionError(
            f"OpenTelemetry does not take its settings from the environment: {error}"
        ) from error


def _endpoint(ctx: click.Context, url: str, protocol: str | None) -> Endpoint:
    from agentsession.otel.sending import Endpoint  # noqa: PLC0415 - needs the extra

    try:
        return Endpoint.of(url, protocol or "")
    except ValueError as error:
        raise click.UsageError(f"--otlp: {error}", ctx) from error


def _headers(ctx: click.Context, given: Sequence[str]) -> dict[str, str]:
    headers = {}
    for number, header in enumerate(given, 1):
        name, equals, value = header.partition("=")
        if not equals or not name.strip() or not (name + value).isascii():
            # What it says is not told: it may be a token.
            raise click.UsageError(f"--header: number {number} is not NAME=VALUE", ctx)
        headers[name.strip()] = value.strip()
    return headers


def _redactor(secrets: Sequence[str], *, home: bool) -> Callable[[str], str]:
    """What every text passes: the values given, the home directory, what looks like a secret."""
    from agentsession import export  # noqa: PLC0415 - only needed here

    steps: list[Callable[[str], str]] = []
    if secrets:
        steps.append(export.secrets(*secrets))
    if home:
        steps.append(export.home_paths(os.path.expanduser("~")))
    steps.append(export.detect_secrets())

    def redacted(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return redacted


def _send(trace: Trace, endpoint: Endpoint, headers: dict[str, str], timeout: float) -> Sent:
    from agentsession.otel.sending import send  # noqa: PLC0415 - needs the extra

    return send(trace.spans, endpoint.exporter(headers, timeout))


def _write(trace: Trace, target: str) -> Sent:
    from agentsession.otel.sending import Sent, write_lines  # noqa: PLC0415 - needs the extra

    path = Path(target)
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise StoreFailed(f"{target} is there already; remove it or name another file") from error
    except ValueError as error:
        raise AgentSessionError(f'"{target}" is no file name: {error}') from error
    try:
        with file:
            write_lines(trace.spans, file)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Sent(len(trace.spans), 0, "")


def _write_report(
    out: Output, source: str, session: Session, trace: Trace, *, where: str, sent: Sent
) -> None:
    with Report(out, "trace") as report:
        report.member("source", source)
        report.member("session", session_fields(session))
        report.member("to", where)
        report.member("trace", f"{trace.trace_id:032x}")
        report.member("leaves", list(trace.leaves))
        report.member("spans", len(trace.spans))
        report.member("sent", sent.sent)
        report.member("problem", sent.reason or None)
        report.member("truncated", truncated_fields(session.truncated))


# The tree.


def _print_tree(trace: Trace) -> None:
    with open_output() as out:
        for line in _tree(trace.spans):
            if out.closed:
                return
            out.line(*line)
        out.line(f"{len(trace.spans)} span(s), trace {trace.trace_id:032x}")


def _tree(spans: Sequence[ReadableSpan]) -> Iterator[list[Span]]:
    below: dict[int | None, list[ReadableSpan]] = {}
    for span in spans:
        below.setdefault(span.parent.span_id if span.parent else None, []).append(span)
    pending = [(span, 0) for span in reversed(below.get(None, []))]
    while pending:
        span, depth = pending.pop()
        yield _row(span, depth)
        inner = below.get(span.context.span_id, [])
        pending += [(child, depth + 1) for child in reversed(inner)]


def _row(span: ReadableSpan, depth: int) -> list[Span]:
    took = ((span.end_time or 0) - (span.start_time or 0)) / _SECOND
    row: list[Span] = ["  " * depth, (span.name, "id"), f"  {took:.3f} s"]
    facts = [str(found) for found in _facts(span) if found not in (None, "")]
    if facts:
        row.append(f"  {', '.join(facts)}")
    if not span.status.is_ok:
        row += ["  ", (f"ERROR {span.status.description or ''}".rstrip(), "bad")]
    row += [f"  [{event.name}]" for event in span.events]
    return row


def _facts(span: ReadableSpan) -> Iterator[Any]:
    """What tells spans of one kind apart."""
    from agentsession.otel import names  # noqa: PLC0415 - needs the extra

    about = span.attributes or {}
    if span.name == names.SESSION_SPAN:
        yield about.get(names.SESSION_ID)
        yield about.get(names.NAME)
    yield about.get(names.RUN_ID)
    yield about.get(names.RUN_REASON)
    yield about.get(names.CALL_STATE)
    given, taken = about.get(names.INPUT_TOKENS), about.get(names.OUTPUT_TOKENS)
    if given is not None or taken is not None:
        yield f"{given or 0}+{taken or 0} tokens"
