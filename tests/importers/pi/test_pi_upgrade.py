"""What was inferred of a session stays when pi is upgraded after the session was imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pi_files import Lines, assistant, call, header, result, user, written

from agentsession.importers.pi import Pi
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.stores import JSONLStore

RANDOM = "0a1b2c3d-0000-4000-8000-000000000000"
NAME = f"2026-05-01T10-00-00-000Z_{RANDOM}.jsonl"


class Home:
    """A home of pi with one session, and a store that it is imported into."""

    def __init__(self, place: Path) -> None:
        self.agent = place / "agent"
        self.store = place / "store"

    def run(self, lines: Lines, release: str, *, to: str = "0.3") -> ImportReport:
        """Import some lines after a release ran; an empty one is no settings at all."""
        written(self.agent / "sessions" / "--x--" / NAME, lines)
        settings = self.agent / "settings.json"
        settings.unlink(missing_ok=True)
        if release:
            settings.write_text(json.dumps({"lastChangelogVersion": release}))
        importer = Pi()
        sources = importer.find([self.agent])
        return import_sessions([Work(importer, sources)], self.store, format=to)

    def releases(self) -> list[str]:
        with JSONLStore(self.store) as store:
            entries = store.open(RANDOM).entries
        return [e.to_dict()["pi"]["release"] for e in entries if e.type == "response"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def plain(name: str, parent: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """An assistant's message of 0.37 to 0.59, which gives nothing away."""
    entry = assistant(name, parent, *(blocks or ("Yes.",)), **more)
    for member in {"responseId", "rawStopReason"} - more.keys():
        del entry["message"][member]
    return entry


SAID: list[dict[str, Any] | bytes] = [
    header(RANDOM),
    user("u1", None),
    plain("a1", "u1", stopReason="error", errorMessage="500 no"),
    user("u2", "a1", "again"),
    plain("a2", "u2", call("c1", command="ls"), stopReason="toolUse"),
    result("r1", "a2", "c1", "out"),
    plain("a3", "r1"),
]
"""Up to 0.48 the failed answer was sent again; from 0.49 on it is a branch."""


@pytest.mark.parametrize("to", ["0.3", "0.11"])
@pytest.mark.parametrize("later", ["0.52.12", "0.58.4", "0.73.1", "1.6.0", ""])
def test_an_unchanged_session_is_unchanged(home: Home, later: str, to: str) -> None:
    assert home.run(SAID, "0.45.7", to=to).ok
    before = home.releases()
    assert before == ["0.45"] * 3
    again = home.run(SAID, later, to=to)
    assert again.totals["sessions"]["unchanged"] == 1
    assert again.totals["entries"]["appended"] == 0
    assert home.releases() == before


@pytest.mark.parametrize(
    ("later", "more", "release"),
    [
        ("0.58.4", {}, "0.58"),
        # The settings say nothing of it, are gone, or are an older copy's.
        ("1.6.0", {}, "0.45"),
        ("", {}, "0.45"),
        ("0.40.1", {}, "0.45"),
        # The message itself says that a later one wrote it.
        ("0.62.0", {"responseId": "r"}, "0.62"),
        ("1.6.0", {"durationMs": 5}, "1.4"),
    ],
)
def test_a_session_that_a_later_release_continued_has_only_what_is_new(
    home: Home, later: str, more: dict[str, Any], release: str
) -> None:
    home.run(SAID, "0.45.7")
    grown = home.run([*SAID, user("u3", "a3"), plain("a4", "u3", **more)], later)
    assert grown.totals["sessions"]["branched"] == 0
    assert home.releases()[:3] == ["0.45"] * 3
    assert home.releases()[-1] == release
    again = home.run([*SAID, user("u3", "a3"), plain("a4", "u3", **more)], "1.7.0")
    assert again.totals["entries"]["appended"] == 0


def test_a_dry_run_says_the_same(home: Home) -> None:
    home.run(SAID, "0.45.7")
    (home.agent / "settings.json").write_text('{"lastChangelogVersion":"0.58.0"}')
    importer = Pi()
    work = [Work(importer, importer.find([home.agent]))]
    told = import_sessions(work, home.store, dry_run=True)
    assert told.totals["sessions"]["unchanged"] == 1


def test_what_a_past_was_rewritten_to_is_inferred_anew(home: Home) -> None:
    home.run(SAID, "0.45.7")
    lines = [*SAID[:3], user("u9", "a1", "another"), plain("a9", "u9")]
    told = home.run(lines, "0.58.4")
    assert told.totals["sessions"]["branched"] == 1
    assert home.releases() == [*["0.45"] * 3, "0.58"]


def test_what_the_records_contradict_does_not_stay(home: Home) -> None:
    """An import that knew less of pi may have been wrong."""
    home.run(SAID, "0.45.7")
    changed = [*SAID[:-1], plain("a3", "r1", responseId="r")]
    home.run(changed, "0.62.1")
    assert home.releases()[-1] == "0.62"


def test_a_copied_answer_that_is_no_response_is_as_the_first_own_one(home: Home) -> None:
    """Up to 0.48 a failed answer stays on the path, and so it does where it is a fork's copy."""
    origin = "/h/agent/sessions/--x--/2026-05-01T09-00-00-000Z_00.jsonl"
    head = header(RANDOM, parentSession=origin, timestamp="2026-05-01T10:59:00.000Z")
    own = [user("u3", "a3"), plain("a4", "u3")]
    for line in own:
        line["timestamp"] = "2026-05-01T11:00:00.000Z"
    home.run([head, *SAID[1:], *own], "0.45.7")
    assert home.releases() == ["0.45"]
    again = home.run([head, *SAID[1:], *own], "0.58.4")
    assert again.totals["entries"]["appended"] == 0
