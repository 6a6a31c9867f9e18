"""What ``make demo`` runs: a tour over recorded sessions, and a recording of your own.

Every command is printed as you would type it. No network is used: the agent talks to a
scripted endpoint on this machine. What is recorded goes to a temporary directory.
"""

# ruff: noqa: S603 - the commands run are this repository's own
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scripted_server

HERE = Path(__file__).resolve().parent
AGENT = HERE / "record_agent.py"
RECORDINGS = [
    Path("tests/data/opencode-recordings") / name for name in ("1.1.65-subagent", "1.14.41-tail")
]
PROMPT = "Wait for the build, then tell me."


class Failed(Exception):
    """A step that did not go as it should."""


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}", flush=True)


def shown(*command: str | Path) -> None:
    """Print a command."""
    words = (word if word == ">" else shlex.quote(str(word)) for word in command)
    print("$", *words, flush=True)


def agentsession(*arguments: str | Path, directory: Path | None = None) -> None:
    """Run the command of this package."""
    shown("agentsession", *arguments)
    run([sys.executable, "-m", "agentsession", *map(str, arguments)], directory=directory)


def run(command: list[str], *, directory: Path | None = None, expected: int = 0) -> None:
    """Run a program and check its exit code."""
    code = subprocess.run(command, check=False, cwd=directory).returncode
    if code != expected:
        raise Failed(f"{shlex.join(command)} ended with {code}, not with {expected}")


def tour(sessions: Path) -> None:
    """List, verify and show recorded sessions."""
    title("sessions that the example agent recorded")
    agentsession("list", sessions)
    title("is what they hold what the model was sent? every request is rebuilt and hashed")
    files = sorted(sessions.glob("*/*.jsonl"))
    if not files:
        raise Failed(f"{sessions} holds no sessions")
    for file in files:
        agentsession("verify", file)
    title("one of them: what happened, and what the model would be sent next")
    agentsession("show", files[0])


def importing(work: Path) -> None:
    """Bring in what a real OpenCode left on disk, look at it, and export it."""
    title("sessions of another agent: what two releases of OpenCode wrote, as it lay on disk")
    store = work / "imported"
    agentsession("import", "opencode", *RECORDINGS, "--to", store)
    agentsession("list", store)
    files = sorted(store.glob("*/*.jsonl"))
    title("OpenCode keeps no system prompts, so there are no hashes; calls and runs are checked")
    for file in files:
        agentsession("verify", file)
    title("one of them")
    agentsession("show", files[0])
    title("all of them as ATIF documents, for training and evaluation")
    agentsession("export", store, "--out", work / "atif", "--redact", "auto", "--check")
    agentsession("atif", "validate", *sorted((work / "atif").glob("*.json")))


def recording(work: Path) -> None:
    """Record a session, kill the agent while a tool runs, and go on."""
    with scripted_server.running() as base_url:
        os.environ["OPENAI_BASE_URL"] = base_url
        title("a session of your own: the agent is killed while its tool runs")
        shown("cd", work)
        shown("export", f"OPENAI_BASE_URL={base_url}")
        session = killed_in_tool(work, PROMPT)
        title("what a new process finds")
        agent(work, "--resume", session, expected=3)
        title("the tool is run again, and this time the file it waits for is there")
        (work / "build.log").write_text("build passed\n", encoding="utf-8")
        shown("echo", "build passed", ">", "build.log")
        agent(work, "--resume", session, "--retry")
    agentsession("verify", "sessions", session, directory=work)


def agent(work: Path, *arguments: str, expected: int = 0) -> None:
    """Run the example agent."""
    shown("python", AGENT, *arguments)
    run([sys.executable, str(AGENT), *arguments], directory=work, expected=expected)


def killed_in_tool(work: Path, prompt: str) -> str:
    """Run the agent, kill it once its record says a tool was started; return the session's id."""
    shown("python", AGENT, prompt)
    with subprocess.Popen(
        [sys.executable, str(AGENT), prompt], cwd=work, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        print(first, end="", flush=True)
        while not any(
            b'"type":"dispatch"' in file.read_bytes() for file in work.glob("sessions/*/*.jsonl")
        ):
            if process.poll() is not None:
                raise Failed("the agent ended before its tool was started")
            time.sleep(0.05)
        process.kill()
        shown("kill", "-9", str(process.pid))
    found = re.fullmatch(r"session (\S+)\n", first)
    if not found:
        raise Failed(f"the agent did not name its session: {first!r}")
    return found[1]


def main() -> int:
    """Run the demo; return 0 when every step went as it should."""
    os.environ["OPENAI_API_KEY"] = "none is needed on loopback"
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    os.environ["PAGER"] = "cat"
    os.chdir(HERE.parent)
    sessions = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("examples/sessions")
    try:
        tour(sessions)
        with tempfile.TemporaryDirectory(prefix="agentsession-demo-") as work:
            importing(Path(work))
            recording(Path(work))
    except Failed as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    title("done; next: agentsession help, README.md, docs/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
