"""The command as a whole: usage, exit codes, streams, and what nobody may see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_runner import Caller, command, environment, run

import agentsession
from agentsession.cli import main as entry_point
from agentsession.cli import show

NOT_WRITABLE = Path("/dev/full")


def test_module_and_script_are_one_program() -> None:
    assert run("version").out.startswith(f"agentsession {agentsession.__version__}\n")
    script = Path(sys.executable).with_name("agentsession")
    if script.exists():
        told = subprocess.run([script, "--version"], capture_output=True, check=True)
        assert told.stdout.decode() == run("version").out


def test_processes_exit_as_the_table_says(session_file: Path, tmp_path: Path) -> None:
    tampered = tmp_path / "tampered.jsonl"
    tampered.write_bytes(session_file.read_bytes().replace(b"a.txt", b"b.txt"))
    assert run("verify", session_file).code == 0
    assert run("verify", tampered).code == 1
    assert run("nonsense").code == 2
    missing = run("show", tmp_path / "missing")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == f"agentsession: {tmp_path / 'missing'}: no such file or directory\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["help"],
        ["-h"],
        ["-help"],
        ["--help"],
        ["help", "show"],
        ["show", "-h"],
        ["show", "x", "-help"],
        ["verify", "--help"],
        ["list", "--help"],
    ],
)
def test_help_is_a_success_on_stdout(call: Caller, arguments: list[str]) -> None:
    shown = call(*arguments)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("Usage: agentsession ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], 'unknown command "x"'),
        (["help", "x"], 'unknown command "x"'),
        (["x\x1b[2J"], 'unknown command "x\\x1b[2J"'),
        (["-x"], "no such option"),
        (["show"], "missing argument 'SOURCE'"),
        (["show", "a", "b", "c"], "got unexpected extra argument (c)"),
        (["show", "a", "-leaf"], "option '-leaf' requires an argument"),
        (["show", "a", "-x"], "no such option"),
        (["verify"], "missing argument 'SOURCE'"),
        (["verify", "a", "-v"], "no such option"),
        (["list", "a", "b"], "got unexpected extra argument (b)"),
        (["list", "-limit", "many"], "invalid value for '-limit'"),
        (["list", "-limit=-1"], "invalid value for '-limit'"),
        (["completion", "powershell"], "invalid value for"),
    ],
)
def test_wrong_usage(call: Caller, arguments: list[str], message: str) -> None:
    told = call(*arguments)
    assert (told.code, told.out) == (2, "")
    first, *usage = told.err.splitlines()
    assert first.startswith(f"agentsession: {message}")
    assert any(line.startswith("Usage: agentsession") for line in usage)


def test_a_near_miss_gets_a_suggestion(call: Caller) -> None:
    assert call("shwo").err.splitlines()[:2] == [
        'agentsession: unknown command "shwo"',
        "Did you mean show?",
    ]


def test_a_file_takes_no_id(call: Caller, session_file: Path) -> None:
    for name in ("show", "verify"):
        told = call(name, session_file, "session-1")
        assert (told.code, told.out) == (2, "")
        assert "is a file and takes no id" in told.err


def test_what_is_no_session_is_said(call: Caller, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    database = tmp_path / "x.db"
    database.write_bytes(b"SQLite format 3\0" + bytes(100))
    nul = "a\0b"
    for source, sentence in [
        (str(picture), "line 1: header is not a JSON object"),
        (str(database), "is a SQLite database"),
        (nul, "is no file name"),
        ("/dev/null", "neither a file nor a directory"),
        (str(picture / "below"), "not a directory"),
        ("x" * 5000, "file name too long"),
    ]:
        for name in ("show", "verify"):
            told = call(name, source)
            assert (told.code, told.out) == (1, ""), source
            assert told.err.startswith("agentsession: ")
            assert sentence in told.err
            assert told.err.count("\n") == 1


def test_a_pipe_is_a_file(session_file: Path) -> None:
    done = subprocess.run(
        command("verify", "/dev/stdin"),
        input=session_file.read_bytes(),
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_unforeseen_errors_are_one_sentence(
    call: Caller, session_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise RuntimeError("a\nbug")

    monkeypatch.setattr(show.sources, "open_session", broken)
    told = call("show", session_file)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("agentsession: internal error: RuntimeError: a\\nbug; ")
    assert told.err.count("\n") == 1
    monkeypatch.setenv(entry_point.DEBUG_VARIABLE, "1")
    with pytest.raises(RuntimeError):
        call("show", session_file)


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), KeyError("x")])
def test_no_error_escapes(
    call: Caller, session_file: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(show.sources, "open_session", broken)
    told = call("show", session_file)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("agentsession: ")


def long_session(path: Path, entries: int) -> Path:
    lines = [
        (
            b'{"type":"session","format":"agentsession/0.2","id":"long",'
            b'"created_at":"2026-01-01T00:00:00Z","payload":"openresponses/2026-04-24"}'
        )
    ]
    parent = b"null"
    for number in range(entries):
        lines.append(
            b'{"type":"item","id":"i%d","parent":%s,"ts":"2026-01-01T00:00:00Z","item":'
            b'{"type":"message","role":"user","content":"text %d"}}' % (number, parent, number)
        )
        parent = b'"i%d"' % number
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = long_session(tmp_path / "s.jsonl", 5000)
    for arguments in (["show", path], ["show", "--json", path]):
        with subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0


def test_verify_tells_its_result_to_a_reader_that_goes_away(session_file: Path) -> None:
    session_file.write_bytes(session_file.read_bytes().replace(b"a.txt", b"b.txt"))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("verify", session_file),
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not NOT_WRITABLE.exists(), reason="no device that is always full here")
@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["verify"], ["help"], []])
def test_a_full_device_is_an_error(session_file: Path, arguments: list[str]) -> None:
    needs_file = arguments[:1] in (["show"], ["verify"])
    with NOT_WRITABLE.open("wb") as full:
        done = subprocess.run(
            command(*arguments, *([session_file] if needs_file else [])),
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"agentsession: standard output: no space left on device\n"


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "--json"], ["show", "--json"]])
def test_closed_streams_are_an_error_and_no_traceback(
    session_file: Path, arguments: list[str]
) -> None:
    quoted = " ".join(f"'{part}'" for part in command(*arguments, session_file))
    told = b"agentsession: standard output: bad file descriptor\n"
    for closed, code, err in ((">&-", 1, told), (">&- 2>&-", 1, b""), ("2>&-", 0, b"")):
        done = subprocess.run(
            ["sh", "-c", f"{quoted} {closed}"], capture_output=True, env=environment(), check=False
        )
        assert (done.returncode, done.stderr) == (code, err)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_an_encoding_cannot_hold_is_escaped(session_file: Path, encoding: str) -> None:
    text = "na\u00efve \u65e5\u672c"
    session_file.write_bytes(session_file.read_bytes().replace(b"Two files.", text.encode()))
    env = environment({"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    done = subprocess.run(command("show", session_file), capture_output=True, env=env, check=True)
    used = "utf-8" if encoding == "ascii" else encoding
    assert text.encode(used, "backslashreplace") in done.stdout
    report = subprocess.run(
        command("show", "--json", session_file), capture_output=True, env=env, check=True
    )
    assert text in report.stdout.decode("utf-8")


def test_names_that_are_not_unicode(call: Caller, session_file: Path) -> None:
    odd = os.fsencode(session_file.parent) + b"/\xff.jsonl"
    os.rename(session_file, odd)
    assert call("verify", os.fsdecode(odd)).code == 0
    told = call("show", os.fsdecode(odd + b"x"))
    assert told.code == 1
    assert "/\\udcff.jsonlx: no such file or directory" in told.err
    assert call("show", "--json", os.fsdecode(odd)).json["source"].endswith("/\ufffd.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_interrupted() -> None:
    with subprocess.Popen(
        command("show", "/dev/stdin"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONUNBUFFERED": "1"}),
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when it is written the command is reading.
        process.stdin.write(b" " * 300_000)
        process.stdin.flush()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=20)
        finally:
            process.kill()
        out, err = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err == b"agentsession: interrupted\n"


def test_completion_scripts(call: Caller) -> None:
    for shell, word in (("bash", "complete -o"), ("zsh", "#compdef"), ("fish", "complete --no")):
        script = call("completion", shell)
        assert script.code == 0
        assert word in script.out
        assert "_AGENTSESSION_COMPLETE" in script.out


def test_completion_answers() -> None:
    answers = run(
        env={
            "_AGENTSESSION_COMPLETE": "bash_complete",
            "COMP_WORDS": "agentsession ve",
            "COMP_CWORD": "1",
        }
    )
    assert answers.out.split() == ["plain,verify", "plain,version"]
    files = run(
        env={
            "_AGENTSESSION_COMPLETE": "bash_complete",
            "COMP_WORDS": "agentsession show dir/",
            "COMP_CWORD": "2",
        }
    )
    assert files.out.split() == ["file,dir/"]


def test_a_pipe_loads_nothing_for_terminals_and_databases(session_file: Path) -> None:
    program = (
        "import sys; from agentsession.cli.main import main; code = main(sys.argv[1:]); "
        "unwanted = {'rich', 'sqlite3', 'openai', 'asyncio'} & set(sys.modules); "
        "sys.exit(code or ', '.join(unwanted) or 0)"
    )
    for arguments in (["--help"], ["show", str(session_file)], ["verify", str(session_file)]):
        subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=environment(),
            capture_output=True,
            check=True,
        )
