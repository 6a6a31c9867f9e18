"""``repair``, and ``--salvage`` of the commands that show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runner import Caller

from agentsession import reading
from agentsession.session import Session
from agentsession.stores import JSONLStore, SQLiteStore


@pytest.fixture
def torn_file(session_file: Path, tmp_path: Path) -> Path:
    """The session of ``session_file`` with a torn record in the middle and at the end."""
    lines = session_file.read_bytes().splitlines(keepends=True)
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join([*lines[:4], lines[4][:20], *lines[4:]]) + b'{"type":"in')
    return torn


def test_a_damaged_file(call: Caller, torn_file: Path, session_file: Path, tmp_path: Path) -> None:
    before = torn_file.read_bytes()
    clean = tmp_path / "clean.jsonl"
    done = call("repair", torn_file, "-o", clean)
    assert done.code == 1
    assert done.err == ""
    rows = done.out.splitlines()
    assert [row.split()[0] for row in rows[:-1]] == ["glued-stub", "cut-line"]
    assert rows[0].startswith("glued-stub  line 5, bytes ")
    report = f"{clean}.damage.json"
    assert rows[-1] == (
        f"2 damages, 31 of {len(before)} bytes are left out; "
        f"{len(reading.read(clean))} entries are in {clean}, the report is in {report}"
    )
    assert clean.read_bytes() == session_file.read_bytes()
    assert torn_file.read_bytes() == before
    told = json.loads(Path(report).read_bytes())
    assert [finding["code"] for finding in told["findings"]] == ["glued-stub", "cut-line"]
    assert call("verify", clean).code == 0


def test_a_file_that_is_whole(call: Caller, session_file: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.jsonl"
    done = call("repair", session_file, "-output", clean, "--report", tmp_path / "report.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("nothing is damaged; ")
    assert clean.read_bytes() == session_file.read_bytes()
    assert (tmp_path / "report.json").exists()


def test_what_is_there_stays(call: Caller, torn_file: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.jsonl"
    clean.write_bytes(b"mine")
    before = torn_file.read_bytes()
    for out in (clean, torn_file):
        done = call("repair", torn_file, "-o", out)
        assert (done.code, done.out) == (1, "")
        assert "name another file" in done.err
    done = call("repair", torn_file, "-o", torn_file, "--force")
    assert "is the damaged file itself" in done.err
    assert (clean.read_bytes(), torn_file.read_bytes()) == (b"mine", before)
    assert call("repair", torn_file, "-o", clean, "--force").code == 1
    assert reading.read(clean).truncated is None


def test_wrong_usage(call: Caller, torn_file: Path, tmp_path: Path) -> None:
    assert call("repair", torn_file).code == 2
    assert call("repair").code == 2
    nothing = call("repair", tmp_path / "nothing", "-o", tmp_path / "clean")
    assert (nothing.code, nothing.out) == (1, "")
    assert "no such file" in nothing.err


def test_show_what_can_be_had(call: Caller, torn_file: Path, session_file: Path) -> None:
    whole = call("show", session_file)
    refused = call("show", torn_file)
    assert (refused.code, refused.out) == (1, "")
    shown = call("show", "--salvage", torn_file)
    assert (shown.code, shown.out) == (1, whole.out)
    assert shown.err.splitlines()[0].startswith("agentsession: line 5, bytes ")
    assert len(shown.err.splitlines()) == 2
    report = call("show", "--salvage", "--json", torn_file)
    assert [damage["code"] for damage in report.json["damages"]] == ["glued-stub", "cut-line"]
    fine = call("show", "--salvage", session_file)
    assert (fine.code, fine.out, fine.err) == (0, whole.out, "")


def test_show_names_each_kind_of_damage_once(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(b"broken %d" % n for n in range(50)))
    shown = call("show", "--salvage", path)
    assert shown.code == 1
    assert len(shown.err.splitlines()) == 3
    assert shown.err.splitlines()[1].endswith(", and 49 more of this kind")
    assert "51 damages in all; agentsession repair lists each of them" in shown.err


def test_show_from_stores(call: Caller, session_file: Path, tmp_path: Path) -> None:
    session = reading.read(session_file)
    root = _broken_file_store(session, tmp_path / "root")
    database = _broken_database(session, tmp_path / "s.db")
    for store in (root, database):
        assert call("show", store, session.id).code == 1
        shown = call("show", "--salvage", store, session.id)
        assert shown.code == 1
        assert f"session     {session.id}" in shown.out
        assert shown.err.startswith("agentsession: line ")
        unknown = call("show", "--salvage", store, "nothing")
        assert (unknown.code, unknown.out) == (1, "")
    wrong = call("show", "--salvage", session_file, session.id)
    assert wrong.code == 2


def _broken_file_store(session: Session, root: Path) -> Path:
    with JSONLStore(root) as store:
        store.put(session)
        path = store.path(session.id)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\n{", b"\n{torn\n{", 1))
    return root


def _broken_database(session: Session, path: Path) -> Path:
    import sqlite3

    with SQLiteStore(path) as store:
        store.put(session)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET line = '{torn' WHERE seq = 2")
    connection.commit()
    connection.close()
    return path


def test_a_session_of_a_store(call: Caller, session_file: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "s.db", tmp_path / "new.jsonl"
    assert call("copy", session_file, store).code == 0
    session_id = reading.read(session_file).id
    ran = call("repair", store, session_id, "-o", out, "--json")
    assert ran.code == 0
    assert out.read_bytes() == session_file.read_bytes()
    report = json.loads((tmp_path / "new.jsonl.damage.json").read_bytes())
    assert report["source"] == f"{store} {session_id}"


def test_one_damage_is_told_as_one(call: Caller, session_file: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(session_file.read_bytes() + b'{"type":"in')
    assert "\n1 damage, 11 of " in call("repair", torn, "-o", tmp_path / "clean").out
