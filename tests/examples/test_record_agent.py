"""The example agent against a real endpoint process, killed and started again."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import agentsession as ags
import agentsession.cli.main
from agentsession.stores import JSONLStore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS_ANSWER = 3

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="the openai client is not installed"
)


@dataclass
class Bench:
    """A project, a store, and an endpoint that writes down what it is sent."""

    work: Path
    base_url: str

    @property
    def project(self) -> Path:
        return self.work / "project"

    @property
    def root(self) -> Path:
        return self.work / "sessions"

    def command(self, *arguments: str) -> list[str]:
        options = [f"--root={self.root}", f"--dir={self.project}", f"--base-url={self.base_url}"]
        return [sys.executable, str(EXAMPLES / "record_agent.py"), *options, *arguments]

    def agent(self, *arguments: str, expected: int = 0) -> str:
        """Run the agent in this process, which is much quicker than in one of its own."""
        import record_agent

        return run_main(record_agent.main, self.command(*arguments)[2:], expected)

    def agent_process(self, *arguments: str, expected: int = 0) -> str:
        process = self.start(*arguments)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == expected, out
        return out

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )

    @property
    def file(self) -> Path:
        [file] = self.root.glob("*/*.jsonl")
        return file

    def session(self) -> ags.Session:
        return ags.read(self.file)

    def sent(self) -> list[bytes]:
        return (self.work / "requests.log").read_bytes().splitlines()

    def check(self) -> ags.Session:
        """The session is whole, and each hash is that of the request that came in."""
        session = self.session()
        assert session.truncated is None
        assert session.verify_all().ok
        assert session.verify_records() == ()
        recorded = [e.request_hash for e in session if isinstance(e, ags.ResponseEntry)]
        assert recorded == [ags.hash_request_json(request) for request in self.sent()]
        assert not list(self.root.glob("*/*.lock"))
        run_main(agentsession.cli.main.main, ["verify", str(self.file)], 0)
        return session


def run_main(main: Callable[[list[str]], int], arguments: list[str], expected: int) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code: object = main(arguments)
        except SystemExit as error:
            code = error.code
    assert code == expected, out.getvalue()
    return out.getvalue()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("OPENAI_API_KEY", "none is needed on loopback")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("bread\nmilk\n", encoding="utf-8")
    (project / "todo.txt").write_text("call Ada\n", encoding="utf-8")
    server = [sys.executable, str(EXAMPLES / "scripted_server.py")]
    log = ["--log", str(tmp_path / "requests.log")]
    with subprocess.Popen([*server, *log], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Bench(tmp_path, process.stdout.readline().strip())
        finally:
            process.terminate()


def named_session(output: str) -> str:
    found = re.search(r"^session (\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def states(session: ags.Session) -> dict[str, str]:
    return {call.item.name: call.state(session.header).value for call in session.calls()}


def wait_for_entry(bench: Bench, entry_type: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # Reading beside a writer: a line that is still being written reads as cut.
        for file in bench.root.glob("*/*.jsonl"):
            if any(entry.type == entry_type for entry in ags.read(file)):
                return
        time.sleep(0.02)
    pytest.fail(f"the agent recorded no {entry_type}")


def types(session: ags.Session) -> list[str]:
    return [entry.type for entry in session]


def test_a_whole_loop_is_recorded(bench: Bench) -> None:
    output = bench.agent_process("How many lines have my lists?")
    assert "> notes.txt and todo.txt have" in output
    session = bench.check()
    assert session.header.records == ags.ALL_RECORDS
    assert session.header.harness is not None
    assert session.header.harness.name == "record-agent"
    assert session.id == named_session(output)
    assert types(session) == [
        *["config", "run", "item"],
        *["item", "item", "response", "dispatch", "item"],
        *["item", "item", "response", "dispatch", "item", "dispatch", "item"],
        *["item", "response", "run"],
    ]
    [run] = session.runs()
    assert run.end is not None
    assert run.end.reason == "done"
    assert set(states(session).values()) == {"completed"}
    responses = [entry for entry in session if isinstance(entry, ags.ResponseEntry)]
    assert all(response.latency_ms > 0 for response in responses)
    outputs = [e.item.output for e in session if isinstance(e, ags.ItemEntry) and e.item.output]
    assert outputs == ["bread\nmilk\n", "3", "call Ada\n"]


def test_killed_between_a_dispatch_and_its_output(bench: Bench) -> None:
    process = bench.start("Wait for the build.")
    wait_for_entry(bench, "dispatch")
    process.kill()
    out, _ = process.communicate()
    found = named_session(out)
    assert types(bench.session())[-1] == "dispatch"
    assert states(bench.session()) == {"wait_for_file": "in_flight"}
    before = bench.file.read_bytes()

    # The lock of the dead process is there; what is in flight is said, and not guessed at.
    said = bench.agent_process("--resume", found, expected=NEEDS_ANSWER)
    assert "the lock of a process that is gone was taken over" in said
    assert str(process.pid) in said
    assert re.search(
        r"^in flight: call_1 wait_for_file\(.*may have taken effect$", said, re.MULTILINE
    )
    assert "--retry or --abandon" in said
    assert bench.file.read_bytes() == before

    (bench.project / "build.log").write_text("passed", encoding="utf-8")
    said = bench.agent_process("--resume", found, "--retry")
    assert "> The build says: passed" in said
    session = bench.check()
    assert states(session) == {"wait_for_file": "completed"}
    assert bench.file.read_bytes().startswith(before)
    first, second = session.runs()
    assert first.end is not None
    assert (first.end.reason, list(first.end.pending)) == ("aborted", ["call_1"])
    assert second.end is not None
    assert (second.start.source, second.end.reason) == ("resume", "done")
    assert types(session).count("dispatch") == 2


def test_a_call_in_flight_can_be_abandoned(bench: Bench) -> None:
    process = bench.start("Wait for the build.")
    wait_for_entry(bench, "dispatch")
    process.kill()
    out, _ = process.communicate()
    said = bench.agent("--resume", named_session(out), "--abandon")
    assert "> The build says: The program stopped while this ran" in said
    session = bench.check()
    assert types(session).count("dispatch") == 1


def test_a_second_agent_is_told_who_holds_the_session(bench: Bench) -> None:
    process = bench.start("Wait for the build.")
    wait_for_entry(bench, "dispatch")
    assert process.stdout is not None
    found = named_session(process.stdout.readline())
    said = bench.agent("--resume", found, "--retry", expected=1)
    assert said.startswith("record_agent: ")
    assert str(process.pid) in said
    (bench.project / "build.log").write_text("passed", encoding="utf-8")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    bench.check()


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_a_held_call_waits_for_a_person(bench: Bench, answer: str) -> None:
    said = bench.agent("Delete todo.txt.", expected=NEEDS_ANSWER)
    found = named_session(said)
    assert "--approve or --deny" in said
    session = bench.check()
    assert states(session) == {"read_file": "completed", "delete_file": "held"}
    end = session.runs()[-1].end
    assert end is not None
    assert (end.reason, list(end.pending)) == ("input_required", ["call_2"])

    said = bench.agent("--resume", found, expected=NEEDS_ANSWER)
    assert "held: call_2 delete_file" in said
    assert len(bench.session()) == len(session)

    bench.agent("--resume", found, f"--{answer}")
    session = bench.check()
    assert (bench.project / "todo.txt").exists() == (answer == "deny")
    verdicts = [(d.verdict, d.by) for d in session if isinstance(d, ags.DecisionEntry)]
    expected = ("proceed", "human") if answer == "approve" else ("reject", "human")
    assert verdicts == [("hold", "policy"), expected]
    assert session.runs()[-1].start.source == "resume"


def test_a_person_at_a_terminal_is_asked(bench: Bench) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    try:
        process = bench.start("Delete todo.txt.", stdin=theirs)
        os.write(ours, b"perhaps\napprove\n")
        out, _ = process.communicate(timeout=120)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 0, out
    assert out.count("[approve/deny]") == 2
    session = bench.check()
    assert [d.verdict for d in session if isinstance(d, ags.DecisionEntry)] == ["hold", "proceed"]
    assert len(session.runs()) == 1


def test_an_interrupt_in_the_middle_of_an_append(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def interrupted(fd: int) -> None:
        for file in bench.root.glob("*/*.jsonl"):
            if b'"type":"dispatch"' in file.read_bytes():
                monkeypatch.undo()
                raise KeyboardInterrupt
        fsync(fd)

    monkeypatch.setattr(os, "fsync", interrupted)
    out = bench.agent("Wait for the build.", expected=1)
    assert "the run ended: interrupted" in out
    session = bench.check()
    end = session.runs()[-1].end
    assert end is not None
    assert end.reason == "interrupted"
    assert "dispatch" not in types(session)


def test_an_interrupt_ends_the_run_as_interrupted(bench: Bench) -> None:
    process = bench.start("Wait for the build.")
    wait_for_entry(bench, "dispatch")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, out
    assert "the run ended: interrupted" in out
    session = bench.check()
    end = session.runs()[-1].end
    assert end is not None
    assert (end.reason, list(end.pending)) == ("interrupted", ["call_1"])
    bench.agent("--resume", named_session(out), "--abandon")
    bench.check()


def test_policy_rejects_what_is_outside_of_the_project(bench: Bench) -> None:
    bench.agent("Show me the passwords.")
    session = bench.check()
    [call] = session.calls()
    assert call.rejected
    assert call.dispatch is None
    assert isinstance(call.output, ags.ItemEntry)
    assert "outside of the project" in call.output.item.text


def test_what_a_tool_refuses_is_said_to_the_model(bench: Bench) -> None:
    assert "> The tool said: error: " in bench.agent("Do something broken.")
    bench.check()


def test_a_call_that_never_started_is_run_on_resume(bench: Bench) -> None:
    # As after a kill between the response and the dispatch.
    found = named_session(bench.agent("Add 19 and 23."))
    lines = bench.file.read_bytes().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if b'"type":"dispatch"' in line)
    bench.file.write_bytes(b"".join(lines[:cut]))
    (bench.work / "requests.log").write_bytes(bench.sent()[0] + b"\n")
    assert states(bench.session()) == {"add": "never_started"}
    said = bench.agent("--resume", found)
    assert "never started: call_1 add" in said
    assert "> The sum is 42." in said
    bench.check()


@pytest.mark.parametrize("kept", range(2, 11))
def test_a_session_cut_anywhere_goes_on(bench: Bench, kept: int) -> None:
    found = named_session(bench.agent("Add 19 and 23."))
    lines = bench.file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 11
    # The next line was being written when the power went.
    bench.file.write_bytes(b"".join(lines[:kept]) + lines[kept - 1][:20].replace(b"\n", b""))
    answered = sum(b'"type":"response"' in line for line in lines[:kept])
    (bench.work / "requests.log").write_bytes(b"".join(r + b"\n" for r in bench.sent()[:answered]))
    options = [] if kept > 3 else ["Add 19 and 23."]
    bench.agent("--resume", found, "--retry", *options)
    session = bench.check()
    assert session.context().items[-1].text in ("The sum is 42.", "Noted.")
    assert not session.pending_calls()


def test_an_endpoint_that_is_away_ends_the_run_with_error(bench: Bench) -> None:
    away = Bench(bench.work, "http://127.0.0.1:9/v1")
    said = away.agent("Add 19 and 23.", expected=1)
    session = bench.session()
    end = session.runs()[-1].end
    assert end is not None
    assert end.reason == "error"
    assert end.ref
    bench.agent("--resume", named_session(said))
    assert bench.check().context().items[-1].text == "The sum is 42."


def test_nothing_left_to_do(bench: Bench) -> None:
    found = named_session(bench.agent("Hello"))
    before = bench.file.read_bytes()
    assert "nothing is left to do" in bench.agent("--resume", found)
    assert bench.file.read_bytes() == before


def test_wrong_usage_and_unknown_sessions(bench: Bench) -> None:
    assert "give a prompt" in bench.agent(expected=2)
    assert bench.agent("--resume", "nobody", expected=1).startswith("record_agent: ")


def test_the_agent_goes_on_with_another_store_object(bench: Bench) -> None:
    found = named_session(bench.agent("Hello"))
    with JSONLStore(bench.root) as store:
        store.open(found).append(ags.InfoEntry("Mine"))
    bench.agent("--resume", found, "Add 19 and 23.")
    assert bench.check().name == "Mine"
