"""Makes ``examples/sessions``: real recordings of the example agent.

Nothing in them is written by hand: each is what ``record_agent.py`` recorded against the
scripted endpoint, one of them killed on the way. Run it again to make them anew::

    python examples/make_sessions.py examples/sessions

The store must not hold sessions yet.
"""

# ruff: noqa: S603 - the commands run are this repository's own
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import openai
import scripted_server
from record_agent import VERSION, Agent, user_message
from toolbox import Toolbox

import agentsession as ags
from agentsession.stores import JSONLStore

CWD = "/home/demo/project"
MODEL = "scripted-1"
AGENT = Path(__file__).with_name("record_agent.py")


class Studio:
    """A store, a project and an endpoint to record with."""

    def __init__(self, root: Path, project: Path, base_url: str) -> None:
        """Take where to record, the files the agent works on, and the endpoint."""
        self.root = root
        self.project = project
        self.base_url = base_url

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs the agent."""
        options = ["--root", self.root, "--dir", self.project, "--cwd", CWD]
        endpoint = ["--base-url", self.base_url, "--model", MODEL]
        return [sys.executable, str(AGENT), *map(str, options), *endpoint, *arguments]

    def agent(self, *arguments: str) -> str:
        """Run the agent to its end; return the session's id."""
        done = subprocess.run(
            self.command(*arguments), check=False, stdout=subprocess.PIPE, text=True
        )
        print(done.stdout)
        return session_id(done.stdout)

    def killed_agent(self, *arguments: str) -> str:
        """Run the agent and kill it while a tool runs; return the session's id."""
        with subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            found = session_id(process.stdout.readline())
            while not any(entry.type == "dispatch" for entry in self.read(found)):
                time.sleep(0.05)
            process.kill()
        return found

    def read(self, found: str) -> ags.Session:
        """Return a session that may be being written."""
        return ags.read(next(self.root.glob(f"*/*_{found}.jsonl")))

    def append(self, found: str, *entries: ags.Entry) -> None:
        """Append entries to a session."""
        with JSONLStore(self.root) as store:
            session = store.open(found)
            for entry in entries:
                session.append(entry)


def session_id(output: str) -> str:
    """Return the id of the session that the agent named."""
    found = re.search(r"^session (\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def count_lines(studio: Studio) -> None:
    """Three model calls, parallel tools, reasoning, a judgement."""
    found = studio.agent("How many lines have my lists?")
    last = studio.read(found).entries[-1].id
    environment = ags.EnvEntry(cwd=CWD, tools={"read_file": VERSION})
    for name in ("notes.txt", "todo.txt"):
        environment = environment.with_read(name, ags.hash_file(studio.project / name))
    judgement = ags.OutcomeEntry("test", last, pass_=True, score=1, details={"lines": 3})
    studio.append(found, ags.InfoEntry("Counting lines"), environment, judgement)


def ask_first(studio: Studio) -> None:
    """A call that policy rejects, and one that waits for a person."""
    found = studio.agent("Show me the passwords.")
    studio.agent("--resume", found, "Delete todo.txt, please.")
    studio.agent("--resume", found, "--approve")
    studio.append(found, ags.InfoEntry("Asking first"))


def wait_and_die(studio: Studio) -> None:
    """A process killed between a dispatch and its output, and its successor."""
    found = studio.killed_agent("Wait for the build, then tell me.")
    (studio.project / "build.log").write_text("build passed\n", encoding="utf-8")
    studio.agent("--resume", found, "--retry")
    studio.append(found, ags.InfoEntry("Killed while waiting"))


def try_twice(studio: Studio) -> None:
    """Two branches from one input, the second one kept."""
    with JSONLStore(studio.root) as store:
        session, agent = new_session(studio, store)
        agent.run("Write a haiku about sessions.")
        fork, haiku = first_run_start(session), session.path()[-1].id
        session.branch(fork)
        session.append(session.summarize_branch(haiku, user_message("(A haiku was tried.)")))
        agent.run("Write a limerick instead.")
        session.append(ags.LabelEntry(session.path()[-1].id, "kept"))
        session.append(ags.OutcomeEntry("feedback", haiku, pass_=False, label="reader"))
        session.append(ags.InfoEntry("Two tries"))


def grow_and_continue(studio: Studio) -> None:
    """A conversation that is compacted, grows on, and is continued in a new session."""
    with JSONLStore(studio.root) as store:
        session, agent = new_session(studio, store)
        for prompt in ("Call me Ada.", "I like short answers.", "Add 19 and 23."):
            agent.run(prompt)
        summary = user_message("(Before: the user is Ada and likes short answers.)")
        session.append(session.compact_keeping(1, summary))
        agent.run("Thank you.")
        session.append(ags.InfoEntry("Growing"))
        successor = ags.continue_session(store, session.id, summary)
        Agent(store, successor, agent.client, agent.toolbox).run("Are you still there?")


def new_session(studio: Studio, store: JSONLStore) -> tuple[ags.Session, Agent]:
    """Return a new session and an agent that records in it."""
    harness = ags.Harness("record-agent", VERSION)
    header = ags.Header(harness=harness, records=ags.ALL_RECORDS, cwd=CWD)
    session = store.create(header)
    client = openai.OpenAI(base_url=studio.base_url)
    agent = Agent(store, session, client, Toolbox(studio.project))
    agent.configure(MODEL)
    return session, agent


def first_run_start(session: ags.Session) -> str:
    """Return the entry before the first run: where another try begins."""
    start = session.runs()[0].start
    assert start.parent is not None
    return start.parent


def main() -> int:
    """Make the sessions in the directory given."""
    os.environ["OPENAI_API_KEY"] = "none is needed on loopback"
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    root = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory, scripted_server.running() as base_url:
        project = Path(directory)
        (project / "notes.txt").write_text("bread\nmilk\n", encoding="utf-8")
        (project / "todo.txt").write_text("call Ada\n", encoding="utf-8")
        studio = Studio(root, project, base_url)
        for record in (count_lines, ask_first, wait_and_die, try_twice, grow_and_continue):
            record(studio)
    return 0


if __name__ == "__main__":
    sys.exit(main())
