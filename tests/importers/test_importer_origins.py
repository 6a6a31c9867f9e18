"""A session stays what it was when it was stored, whatever comes of the others of its source."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from recordings import verify_paths

from agentsession.entries import ItemEntry, ResponseEntry
from agentsession.importers import registry
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import of_session
from agentsession.record_entries import LinkEntry
from agentsession.session import Session
from agentsession.stores import JSONLStore

DATA = Path(__file__).parents[1] / "data"
RECORDINGS = [
    ("claude-code", "claude-code/2.1.332-resume"),
    ("claude-code", "claude-code/claude-subagents"),
    ("codex", "codex/0.145.0-branch"),
    ("codex", "codex/0.171.0-branch"),
    ("codex", "codex/0.171.0-subagent"),
    ("pi", "pi/0.30.2-branch1"),
    ("pi", "pi/1.6.0-tree"),
    ("pi", "pi-hostile"),
    ("opencode", "opencode/1.1.65-revert"),
    ("opencode", "opencode-recordings/1.1.65-subagent"),
    ("opencode", "opencode-recordings/1.18.33-revert"),
]
FORKS = [
    ("claude-code", "claude-code/2.1.332-resume", "629e70f8", 27),
    ("codex", "codex/0.145.0-branch", "", 9),
    ("codex", "codex/0.171.0-branch", "01a22e3a-5367", 3),
    ("pi", "pi/0.30.2-branch1", "f13846d3", 4),
]
FORMATS = ["agentsession/0.3", "agentsession/0.11"]
TOLD = {"rewritten-past", "older-copy", "header-differs"}


class Home:
    """A copy of a recording, of which sessions are taken away and put back."""

    def __init__(self, agent: str, recording: Path, place: Path) -> None:
        self.agent, self.place, self._whole = agent, place, recording
        self.renew()
        self.files = self._listed()
        self.sessions = list(self.files)

    def renew(self) -> None:
        """Put everything back."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self._whole, self.place, ignore=shutil.ignore_patterns("requests.jsonl"))

    def _listed(self) -> dict[str, tuple[str, ...]]:
        importer = registry.load(self.agent)
        with closing(importer):
            return {
                native.id: native.copies
                for source in importer.find([self.place])
                for native in importer.sessions(source)
            }

    def hold(self, sessions: Iterable[str]) -> None:
        """Leave no other sessions than some."""
        self.renew()
        kept = set(sessions)
        for session in self.sessions:
            if session in kept:
                continue
            if self.agent == "opencode":
                self._delete(session)
            else:
                for name in self.files[session]:
                    Path(name).unlink()

    def _delete(self, session: str) -> None:
        for name in self.place.rglob("*.db"):
            with closing(sqlite3.connect(name)) as base, base:
                base.execute("DELETE FROM session WHERE id = ?", (session,))
                base.execute("DELETE FROM message WHERE session_id = ?", (session,))
                base.execute("DELETE FROM part WHERE session_id = ?", (session,))
        for found in list(self.place.rglob(f"*{session}*")):
            if found.is_dir():
                for message in found.iterdir() if found.parent.name == "message" else ():
                    part = found.parents[1] / "part" / message.stem
                    shutil.rmtree(part, ignore_errors=True)
                shutil.rmtree(found)
            elif found.suffix == ".json":
                found.unlink()

    def imported(self, store: Path, to: str) -> ImportReport:
        """Import what there is; nothing is rewritten, and all that is stored verifies."""
        importer = registry.load(self.agent)
        with closing(importer):
            work = Work(importer, tuple(importer.find([self.place])))
            report = import_sessions([work], store, format=to)
        assert TOLD.isdisjoint(finding.code for finding in report.findings)
        assert not report.totals["sessions"]["branched"]
        assert not report.totals["sessions"]["failed"]
        for session in stored(store).values():
            verify_paths(session)
        return report


def stored(store: Path) -> dict[str, Session]:
    """The sessions of a store."""
    with JSONLStore(store) as opened:
        return {summary.id: opened.open(summary.id) for summary in opened.list()}


def lines(sessions: dict[str, Session]) -> dict[str, list[bytes]]:
    return {name: [e.line for e in session.entries] for name, session in sessions.items()}


def used(session: Session) -> list[object]:
    return list(of_session(session))


def said(session: Session) -> list[object]:
    """What was said and answered in a session, wherever it stands, once each."""
    found: dict[object, None] = {}
    for entry in session.entries:
        if isinstance(entry, ItemEntry):
            found[entry.item.id or entry.item.json_text] = None
        elif isinstance(entry, ResponseEntry):
            found[entry.response_id] = None
    return list(found)


@pytest.fixture(params=[pytest.param(one, id=one[1]) for one in RECORDINGS])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    agent, recording = request.param
    found = Home(agent, DATA / recording, tmp_path / "home")
    assert len(found.sessions) > 1
    return found


@pytest.mark.parametrize("to", FORMATS)
def test_a_session_that_is_deleted_changes_no_other(home: Home, tmp_path: Path, to: str) -> None:
    store = tmp_path / "store"
    home.imported(store, to)
    before = lines(stored(store))
    for gone in home.sessions:
        home.hold(set(home.sessions) - {gone})
        for _ in range(2):
            home.imported(store, to)
            assert lines(stored(store)) == before
        home.renew()
        home.imported(store, to)
        assert lines(stored(store)) == before


@pytest.mark.parametrize("to", FORMATS)
def test_sessions_may_come_in_any_order(home: Home, tmp_path: Path, to: str) -> None:
    orders = list(itertools.permutations(home.sessions))
    for order in orders if len(orders) <= 6 else [orders[0], orders[-1]]:
        store = tmp_path / "store"
        for count in range(1, len(order) + 1):
            before = stored(store) if store.exists() else {}
            home.hold(order[:count])
            home.imported(store, to)
            after = stored(store)
            assert set(order[:count]) <= set(after)
            for name, session in before.items():
                more = after[name].entries[len(session) :]
                assert all(isinstance(entry, LinkEntry) for entry in more)
                assert len(more) <= 1
                assert used(after[name]) == used(session)
        shutil.rmtree(store)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("forked", FORKS)
def test_a_fork_grows_when_its_origin_is_gone(
    forked: tuple[str, str, str, int], tmp_path: Path, to: str
) -> None:
    agent, recording, fork, begun = forked
    home = Home(agent, DATA / recording, tmp_path / "home")
    for name in [one for one in home.sessions if one.startswith(fork)]:
        log = Path(home.files[name][-1])
        whole = log.read_bytes().splitlines(keepends=True)
        home.imported(tmp_path / "whole", to)
        expected = stored(tmp_path / "whole")[name]
        for cut in range(begun, len(whole), max(1, (len(whole) - begun) // 5)):
            store = tmp_path / f"store-{name}-{cut}"
            home.renew()
            log.write_bytes(b"".join(whole[:cut]))
            home.imported(store, to)
            before = stored(store)[name]
            home.hold([name])
            for end in (cut, len(whole), len(whole)):
                log.write_bytes(b"".join(whole[:end]))
                home.imported(store, to)
                after = stored(store)[name]
                assert lines({"": after})[""][: len(before)] == lines({"": before})[""]
            assert said(after) == said(expected)
            home.renew()
            home.imported(store, to)
            assert lines(stored(store))[name] == lines({name: after})[name]
        home.renew()
