"""pi through the importer interface: found, accounted for, grown, migrated."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from pi_files import assistant, header, user, written

from agentsession.importers.pi import Pi
from agentsession.importers.pi.places import own_places
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.stores import JSONLStore, Summary

DATA = Path(__file__).parents[2] / "data" / "pi"
HOSTILE = Path(__file__).parents[2] / "data" / "pi-hostile"
RECORDINGS = sorted(path.name for path in DATA.iterdir())


def run(store: Path, *paths: Path) -> ImportReport:
    importer = Pi()
    return import_sessions([Work(importer, importer.find(paths))], store)


def files(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in sorted(store.rglob("*.jsonl"))}


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_record_is_accounted_for(name: str, tmp_path: Path) -> None:
    report = run(tmp_path / "store", DATA / name)
    assert report.ok, report.more["alarms"]
    assert report.totals["records"]["read"] == report.more["sources"][0]["records"] > 0
    assert report.totals["sessions"]["created"] == report.totals["sessions"]["found"] > 0
    before = files(tmp_path / "store")
    again = run(tmp_path / "store", DATA / name)
    assert again.totals["entries"]["appended"] == 0
    assert files(tmp_path / "store") == before
    assert files(tmp_path / "store") == before
    run(tmp_path / "other", DATA / name)
    assert files(tmp_path / "other") == before


@pytest.mark.parametrize(
    "name", ["0.30.2-errors", "0.49.3-tree", "0.87.1-queue", "1.6.0-errors", "1.6.0-tree"]
)
def test_a_file_that_grew(name: str, tmp_path: Path) -> None:
    """Imported after every third line, a session is never said to be rewritten."""
    home = tmp_path / "agent"
    place = home / "sessions" / "--x--"
    place.mkdir(parents=True)
    shutil.copy(DATA / name / "pi" / "agent" / "settings.json", home)
    source = min((DATA / name / "pi" / "agent" / "sessions").rglob("*.jsonl"))
    lines = source.read_bytes().splitlines(keepends=True)
    for upto in [*range(2, len(lines), 3), len(lines)]:
        (place / source.name).write_bytes(b"".join(lines[:upto]))
        report = run(tmp_path / "store", home)
        assert report.ok
        sessions = report.totals["sessions"]
        assert sessions["branched"] == sessions["older"] == sessions["failed"] == 0
    run(tmp_path / "fresh", home)
    with JSONLStore(tmp_path / "store") as grown, JSONLStore(tmp_path / "fresh") as fresh:
        (summary,) = [s for s in fresh.list() if isinstance(s, Summary)]
        ours, theirs = grown.open(summary.id), fresh.open(summary.id)
        assert {entry.id for entry in theirs.entries} <= {entry.id for entry in ours.entries}
        assert ours.leaf == theirs.leaf


def test_an_upgrade_in_place_changes_nothing_that_is_stored(tmp_path: Path) -> None:
    """0.30 wrote no ids, 0.49 gave random ones to the same file, 1.6 went on in it."""
    base = DATA / "1.6.0-migrated" / "pi" / "agent"
    home = tmp_path / "home" / ".pi" / "agent"
    for name in ("sessions-before-1", "sessions-before-2", "sessions"):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(base / name, home / "sessions")
        report = run(tmp_path / "store", tmp_path / "home")
        assert report.totals["sessions"]["branched"] == 0
    assert report.totals["sessions"]["grown"] == 1
    assert report.totals["entries"]["appended"] < report.totals["entries"]["converted"]


def test_a_fork_that_copied_its_prefix() -> None:
    importer = Pi()
    (source,) = importer.find([HOSTILE])
    once = {record.key: record.cost for record in importer.usage_records(source)}
    assert sum(cost or 0 for cost in once.values()) == 0.5
    fork = importer.convert(source, "9101")
    assert fork.session.header.parent_session == "9100"
    assert fork.totals["copied"]["cost"] == 0.5
    assert fork.totals["native"]["cost"] == 0


def test_copies_are_converted_once(tmp_path: Path) -> None:
    report = run(tmp_path / "store", DATA / "1.6.0-migrated")
    assert report.totals["sessions"]["found"] == 1
    assert report.totals["records"]["left-out"] > 0
    assert {code["code"] for code in report.more["codes"]} == {"other-copy"}


def test_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert own_places({"HOME": "/h"}) == [Path("/h/.pi/agent/sessions")]
    named = {"HOME": "/h", "PI_CODING_AGENT_DIR": "~/pi", "PI_CODING_AGENT_SESSION_DIR": "/s"}
    assert own_places(named) == [Path("/h/pi/sessions"), Path("/s")]
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert Pi().find() == ()
    shutil.copytree(DATA / "0.13.2-old" / "pi", tmp_path / ".pi")
    assert len(Pi().find()) == 1
    # Neither another agent's log nor a session of this format is pi's.
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.jsonl").write_text('{"type":"session","format":"agentsession/0.2","id":"x"}\n')
    (other / "b.jsonl").write_text('{"type":"session_meta","payload":{}}\n')
    assert Pi().find([other]) == ()


def test_an_unreadable_file_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    shutil.copytree(DATA / "0.49.3-tree", tmp_path / "x")
    one = min((tmp_path / "x" / "pi").rglob("*.jsonl"))
    one.chmod(0)
    report = run(tmp_path / "store", tmp_path / "x")
    assert not report.ok


@pytest.mark.parametrize("given", ["\0", "a/b", "x" * 300])
def test_an_id_that_no_store_can_hold_costs_no_session(given: str, tmp_path: Path) -> None:
    lines = [header(given), user("u1", None), assistant("a1", "u1", "yes")]
    written(tmp_path / "in" / "2026-05-01T10-00-00-000Z_s1.jsonl", lines)
    report = run(tmp_path / "store", tmp_path / "in")
    assert report.ok
    assert {finding.code for finding in report.findings} >= {"id-impossible"}
    with JSONLStore(tmp_path / "store") as store:
        session = store.open("s1")
        assert json.loads(session.header.line)["pi"]["id"] == given
    importer = Pi()
    (source,) = importer.find([tmp_path / "in"])
    assert [record.session_id for record in importer.usage_records(source)] == ["s1"]


def test_an_impossible_id_stays_where_the_name_has_none_better(tmp_path: Path) -> None:
    written(tmp_path / "in" / "*.jsonl", [header("a/b"), user("u1", None)])
    importer = Pi()
    (source,) = importer.find([tmp_path / "in"])
    assert [native.id for native in importer.sessions(source)] == ["a/b"]
