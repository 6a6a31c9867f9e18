"""Copies of one session of pi that went on differently: branches, and each call once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pi_files import assistant, counted, entry, header, in_files, user, written

from agentsession.entries import ItemEntry
from agentsession.importers.base import Converted
from agentsession.importers.merge import merge
from agentsession.importers.pi import Pi
from agentsession.importers.plans import Action
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import UsageRecord, of_session
from agentsession.stores import JSONLStore, MemoryStore, Summary
from agentsession.writing import dump

NAME = "2026-05-01T10-00-00-000Z_s1.jsonl"
BEGAN = [header(), user("u1", None, "q"), assistant("a1", "u1", "a")]
ONE = [*BEGAN, user("u2", "a1", "q2"), assistant("a2", "u2", "b"), user("u3", "a2", "q3")]
TWO = [*BEGAN, user("v2", "a1", "OTHER"), assistant("b2", "v2", "d")]


def copies(tmp_path: Path, **lines: list[Any]) -> dict[str, Path]:
    return {name: written(tmp_path / "in" / name / NAME, told) for name, told in lines.items()}


def convert(*places: Path) -> Converted:
    importer = Pi()
    (source,) = importer.find(places)
    (native,) = importer.sessions(source)
    return importer.convert(source, native.id)


def run(store: Path, place: Path) -> ImportReport:
    importer = Pi()
    return import_sessions([Work(importer, importer.find([place]))], store)


def said(converted: Converted) -> list[str]:
    return [e.item.text for e in converted.session.entries if isinstance(e, ItemEntry)]


def codes(converted: Converted) -> set[str]:
    return {finding.code for finding in converted.findings}


def in_store(place: Path) -> list[UsageRecord]:
    with JSONLStore(place, read_only=True) as store:
        found = [summary for summary in store.list() if isinstance(summary, Summary)]
        return [record for one in found for record in of_session(store.open(one.id))]


def test_copies_that_went_on_differently_are_branches(tmp_path: Path) -> None:
    places = copies(tmp_path, x=ONE, y=TWO, z=TWO[:-1])
    converted = convert(tmp_path / "in")
    assert sorted(said(converted)) == sorted(["q", "a", "q2", "b", "q3", "OTHER", "d"])
    told = {f.code: f.where for f in converted.findings}
    assert told["diverged-copy"] == str(places["y"])
    assert Counter(r.code for r in converted.records)["other-copy"] == len(TWO) - 1
    known = {one.id for one in converted.session.entries}
    assert all(set(record.entry_ids) <= known for record in converted.records)
    importer = Pi()
    (source,) = importer.find([tmp_path / "in"])
    assert importer.report(source).read == len(converted.records)
    # As two imports leave it; another import of all finds nothing new.
    both, apart = MemoryStore(), MemoryStore()
    assert merge(both, converted.session).action == Action.CREATED
    assert merge(both, converted.session).action == Action.UNCHANGED
    merge(apart, convert(places["x"]).session)
    merge(apart, convert(places["y"]).session)
    assert dump(both.open("s1")) == dump(apart.open("s1"))


def test_a_store_of_all_copies_counts_what_the_files_count(tmp_path: Path) -> None:
    copies(tmp_path, x=ONE, y=TWO)
    report = run(tmp_path / "store", tmp_path / "in")
    assert report.ok
    assert report.totals["records"]["read"] == len(ONE) + len(TWO)
    files, store = in_files(tmp_path / "in"), in_store(tmp_path / "store")
    assert counted(files) == counted(store) == counted(files, store)
    assert counted(files)["calls"] == 3
    again = run(tmp_path / "store", tmp_path / "in")
    assert again.totals["entries"]["appended"] == 0


def test_a_beginning_of_the_other_copy_is_no_branch(tmp_path: Path) -> None:
    copies(tmp_path, x=ONE, y=ONE[:-1], z=ONE)
    converted = convert(tmp_path / "in")
    assert codes(converted) >= {"other-copy"}
    assert "diverged-copy" not in codes(converted)
    left = len(ONE) + len(ONE) - 1
    assert Counter(r.code for r in converted.records)["other-copy"] == left


def test_a_copy_with_the_same_records_spelled_otherwise_is_no_branch(tmp_path: Path) -> None:
    copies(tmp_path, x=ONE, y=[ONE[0], b"", *ONE[1:-1]])
    assert "diverged-copy" not in codes(convert(tmp_path / "in"))


def test_a_title_that_only_the_older_copy_has_is_kept(tmp_path: Path) -> None:
    title = entry("session_info", "n1", "a1", name="named")
    title["timestamp"] = BEGAN[-1]["timestamp"]
    newest = {**user("u4", "u3", "q4"), "timestamp": "2026-05-02T10:00:00.000Z"}
    copies(tmp_path, x=[*ONE, newest], y=[*BEGAN, title])
    converted = convert(tmp_path / "in")
    assert "info" in {one.type for one in converted.session.entries}
    known = {one.id for one in converted.session.entries}
    assert all(set(record.entry_ids) <= known for record in converted.records)
    alone = convert(tmp_path / "in" / "x").session
    assert converted.session.leaf == alone.leaf
    store = MemoryStore()
    merge(store, alone)
    assert merge(store, converted.session).entries
    assert merge(store, converted.session).entries == ()


def test_a_fork_of_the_copy_that_is_a_branch_knows_what_it_copied(tmp_path: Path) -> None:
    copies(tmp_path, x=ONE, y=TWO)
    fork = header("s2", parentSession=f"/home/{NAME}", timestamp="2026-05-01T09:00:00.000Z")
    lines = [fork, *TWO[1:], user("w1", "b2", "more"), assistant("c1", "w1", "e")]
    written(tmp_path / "in" / "2026-05-01T11-00-00-000Z_s2.jsonl", lines)
    importer = Pi()
    (source,) = importer.find([tmp_path / "in"])
    assert importer.convert(source, "s2").totals["copied"]["calls"] == 2
