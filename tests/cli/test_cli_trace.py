"""``agentsession trace``: a session as spans, on a screen, in a file, at a receiver."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runner import HOSTILE, Caller
from test_cli_docs import documented, settled

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore
from agentsession.testing import SessionBuilder
from agentsession.writing import write

# The receiver is the one of the other tests of spans.
sys.path.append(str(Path(__file__).parents[1] / "otel"))
from otlp_client import attributes, receiver


def written(path: Path) -> list[dict[str, Any]]:
    """The spans of a file of OTLP JSON lines."""
    return [
        span
        for line in path.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_console(call: Caller, session_file: Path) -> None:
    ran = call("trace", "--console", session_file)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("agentsession.session  ")
    assert "A small session" in lines[0]
    assert [re.sub(r"  \d+.\d{3} s.*", "", line) for line in lines[1:4]] == [
        "  agentsession.run",
        "    chat m-1",
        "    execute_tool ls",
    ]
    assert lines[-1].startswith("6 span(s), trace ")


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_otlp(call: Caller, session_file: Path, tmp_path: Path, protocol: str) -> None:
    with receiver(protocol, tmp_path) as collector:
        url = f"http://localhost:{collector.port}"
        ran = call(
            "trace", session_file, "--otlp", url, "--protocol", protocol, "--header", "x-key=a=b"
        )
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"6 span(s) of 2 leaf(s) sent to {url}")
        assert len(collector.spans) == 6
        assert {line["headers"]["x-key"] for line in collector.lines} == {"a=b"}
        assert "List the files" not in str([attributes(span) for span in collector.spans])
        again = call("trace", session_file, "--otlp", url, "--protocol", protocol)
        assert again.code == 0
        ids = [span.span_id for span in collector.spans]
        assert len(ids) == 12
        assert sorted(ids[:6]) == sorted(ids[6:])


def test_a_receiver_that_is_not_there(call: Caller, session_file: Path) -> None:
    ran = call("trace", session_file, "-otlp=http://me:word@127.0.0.1:9", "-timeout", "0.2")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "agentsession: 6 of 6 span(s) not taken by http://127.0.0.1:9/v1/traces: "
    )
    assert "word" not in ran.err


def test_a_receiver_that_refuses(call: Caller, session_file: Path, tmp_path: Path) -> None:
    with receiver("refuse", tmp_path) as collector:
        url = f"http://127.0.0.1:{collector.port}"
        ran = call("trace", session_file, "--otlp", url, "--json")
    assert ran.code == 1
    assert (ran.json["spans"], ran.json["sent"]) == (6, 0)
    assert "400" in ran.json["problem"]
    assert "not taken by" in ran.err


@pytest.mark.parametrize("kind", ["partial", "partial-grpc"])
def test_a_receiver_that_rejects_some(
    call: Caller, session_file: Path, tmp_path: Path, kind: str
) -> None:
    with receiver(kind, tmp_path) as collector:
        url = f"http://127.0.0.1:{collector.port}"
        protocol = "grpc" if "grpc" in kind else "http"
        ran = call("trace", session_file, "--otlp", url, "--protocol", protocol, "--json")
    assert ran.code == 1
    assert (ran.json["spans"], ran.json["sent"]) == (6, 3)
    assert ran.json["problem"] == "it rejected 3 span(s): quota exceeded"
    assert ran.err.startswith("agentsession: 3 of 6 span(s) not taken by ")


def test_a_redirect_is_no_success(call: Caller, session_file: Path, tmp_path: Path) -> None:
    with receiver("redirect", tmp_path) as collector:
        ran = call("trace", session_file, "--otlp", f"http://127.0.0.1:{collector.port}")
    assert (ran.code, ran.out) == (1, "")
    assert "a redirect to /login" in ran.err


def test_limits_of_the_environment(session_file: Path) -> None:
    environment = {**os.environ, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "abc"}
    command = [sys.executable, "-m", "agentsession", "trace", str(session_file), "--console"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "internal error" not in ran.stderr
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in ran.stderr


def test_a_leaf_by_the_digits_that_are_shown(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path / "store") as store:
        session = store.create(Header(id="s", format="agentsession/0.11"))
        first = session.append(InfoEntry("one"))
        session.append(InfoEntry("two"))
    assert first.startswith("sha256:")
    target = tmp_path / "spans"
    ran = call("trace", tmp_path / "store", "s", "--file", target, "--leaf", first[7:19], "--json")
    assert ran.code == 0
    assert ran.json["leaves"] == [first]


def test_file(call: Caller, session_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "spans.jsonl"
    ran = call("trace", session_file, "--file", target)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"6 span(s) of 2 leaf(s) written to {target}"
    spans = written(target)
    assert {span["traceId"] for span in spans} == {ran.out.split()[-1]}
    assert all(len(span["spanId"]) == 16 for span in spans)
    before = target.read_bytes()
    ran = call("trace", session_file, "--file", target)
    assert ran.code == 1
    assert "is there already" in ran.err
    assert target.read_bytes() == before
    other = tmp_path / "again.jsonl"
    call("trace", session_file, "--file", other)
    assert other.read_bytes() == before


def test_never_over_the_session(call: Caller, session_file: Path) -> None:
    before = session_file.read_bytes()
    assert call("trace", session_file, "--file", session_file).code == 1
    assert session_file.read_bytes() == before


def test_leaf(call: Caller, session_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "spans.jsonl"
    ran = call("trace", session_file, "--file", target, "--leaf", "e0000006", "--json")
    assert ran.code == 0
    assert ran.json["leaves"] == ["e0000006"]
    assert len(written(target)) == 4
    ran = call("trace", session_file, "--console", "--leaf", "nothing")
    assert (ran.code, ran.out) == (1, "")
    assert 'no entry "nothing"' in ran.err


SECRET = "correct-horse-battery"


@pytest.fixture
def telling_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session with a secret, a credential and a home directory in it."""
    monkeypatch.setenv("HOME", "/home/u7")
    build = SessionBuilder()
    build.config(model="m-1", instructions=f"The word is {SECRET}.")
    build.user("Use AKIAIOSFODNN7EXAMPLQ in /home/u7/app.")
    build.call("call_1", "run", json.dumps({"word": SECRET, "at": "/home/u7"}))
    build.decide("call_1", "reject", reason=f"never say {SECRET}")
    build.output("call_1", f"no {SECRET} for you")
    path = tmp_path / "telling.jsonl"
    write(path, build.session)
    return path


def test_content_is_asked_for_and_redacted(
    call: Caller, telling_file: Path, tmp_path: Path
) -> None:
    def traced(name: str, *options: str) -> str:
        target = tmp_path / name
        assert call("trace", telling_file, "--file", target, *options).code == 0
        return target.read_text()

    plain = traced("plain")
    assert "Use " not in plain
    assert "The word" not in plain
    assert f"never say {SECRET}" in plain
    assert SECRET not in traced("no-reason", "--secret", SECRET)
    content = traced("content", "--content")
    assert "in /home/u7/app." in content
    assert f"The word is {SECRET}." in content
    assert "AKIAIOSFODNN7EXAMPLQ" not in content
    redacted = traced("redacted", "--content", "--secret", SECRET, "--redact-home")
    assert SECRET not in redacted
    assert "/home/u7" not in redacted
    assert "in ~/app." in redacted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give one of --otlp, --console and --file"),
        (["--console", "--file", "x"], "give one of"),
        (["--console", "--json"], "takes no --json"),
        (["--otlp", "localhost:4318"], "localhost:4318 is no URL of http"),
        (["--otlp", "grpc://h", "--protocol", "http"], "cannot be http"),
        (["--otlp", "http://h", "--header", "x"], "--header: number 1 is not NAME=VALUE"),
        (["--otlp", "http://h", "--timeout", "nan"], "nan is no number"),
        (["--otlp", "http://h", "--timeout", "0"], "timeout"),
        (["--otlp", "http://h", "--protocol", "udp"], "udp"),
    ],
)
def test_wrong_usage(call: Caller, session_file: Path, options: list[str], message: str) -> None:
    ran = call("trace", session_file, *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_secret_that_cannot_be_taken_out(call: Caller, session_file: Path) -> None:
    ran = call("trace", session_file, "--console", "--secret", "short")
    assert (ran.code, ran.out) == (1, "")
    assert "8" in ran.err


def test_a_store(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path / "store") as store:
        store.create(Header(id="first"))
        store.create(Header(id="second"))
    ran = call("trace", "--console", tmp_path / "store", "sec")
    assert ran.code == 0
    assert "second" in ran.out
    assert call("trace", "--console", tmp_path / "store", "third").code == 1


@pytest.mark.parametrize("path", sorted(HOSTILE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_hostile_files(call: Caller, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "spans.jsonl"
    ran = call("trace", path, "--file", target, "--content")
    assert "internal error" not in ran.err
    assert ran.code in (0, 1)
    assert target.exists() == (ran.code == 0)
    if ran.code == 0:
        assert written(target)
        assert call("trace", path, "--console").code == 0


def test_a_session_cut_short(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    build = SessionBuilder()
    build.answer("Hi")
    write(path, build.session)
    path.write_bytes(path.read_bytes() + b'{"type":"it')
    ran = call("trace", path, "--console")
    assert ran.code == 0
    assert ran.err.startswith("truncated: line 4 was cut short")


def test_a_target_that_cannot_be_made(call: Caller, session_file: Path, tmp_path: Path) -> None:
    ran = call("trace", session_file, "--file", tmp_path / "none" / "x")
    assert ran.code == 1
    assert "no such file" in ran.err


def test_without_the_extra(
    call: Caller, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    ran = call("trace", session_file, "--console")
    assert (ran.code, ran.out) == (1, "")
    assert "install agentsession[otel]" in ran.err


def test_fields(call: Caller, session_file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(session_file.read_bytes() + b'{"type":')
    reports = [
        call("trace", path, "--json", "--file", tmp_path / name).json
        for path, name in ((session_file, "a"), (cut, "b"))
    ]
    assert settled(reports, "trace") == documented("trace")
