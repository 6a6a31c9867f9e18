"""``agentsession list``, the overview, and sessions named by a store and an id."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_runner import Caller

from agentsession import places
from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.record_entries import InfoEntry, LinkEntry
from agentsession.stores import JSONLStore

ONE, TWO, THREE = "aaaa-one", "aaaa-two", "b\u00e9-three"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    with JSONLStore(root) as made:
        for hour, (name, cwd, parent) in enumerate(
            [(ONE, "/a", ""), (TWO, "/b", ""), (THREE, "/a", ONE)]
        ):
            made.create(
                Header(
                    id=name,
                    created_at=f"2026-03-01T0{hour}:00:00.5+00:00",
                    cwd=cwd,
                    parent_session=parent,
                )
            )
        made.append(TWO, InfoEntry("A name"))
        made.append(ONE, LinkEntry("continued_in", THREE))
    return root


def ids(out: str) -> list[str]:
    return [line.split()[1] for line in out.splitlines()[1:]]


def size_of(path: Path) -> str:
    return str(path.stat().st_size)


def test_table(call: Caller, store: Path) -> None:
    listed = call("list", store)
    assert (listed.code, listed.err) == (0, "")
    three, two, one = sorted(store.glob("*/*.jsonl"), reverse=True, key=lambda path: path.name)
    lines = [
        [cell.strip() for cell in line.split("  ") if cell] for line in listed.out.splitlines()
    ]
    assert lines == [
        ["CREATED", "ID", "NAME", "SIZE", "CWD", "CONTINUED IN", "PATH"],
        ["2026-03-01T02:00:00Z", THREE, "-", size_of(three), "/a", "-", str(three)],
        ["2026-03-01T01:00:00Z", TWO, "A name", size_of(two), "/b", "-", str(two)],
        ["2026-03-01T00:00:00Z", ONE, "-", size_of(one), "/a", THREE, str(one)],
    ]
    assert len({line.find(str(store)) for line in listed.out.splitlines()[1:]}) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [THREE, TWO, ONE]),
        (["-cwd", "/a"], [THREE, ONE]),
        (["--cwd=/a", "--limit", "1"], [THREE]),
        (["-parent", ONE], [THREE]),
        (["-limit=2"], [THREE, TWO]),
        (["-current"], [THREE, TWO]),
        (["--current", "-cwd", "/a"], [THREE]),
        (["-cwd", "/nowhere"], []),
    ],
)
def test_filters(call: Caller, store: Path, options: list[str], expected: list[str]) -> None:
    for arguments in ([*options, store], [store, *options]):
        listed = call("list", *arguments)
        assert (listed.code, listed.err) == (0, "")
        assert ids(listed.out) == expected
    report = call("list", "--json", *options, store).json
    assert [session["id"] for session in report["sessions"]] == expected


def test_empty_and_missing_roots(call: Caller, tmp_path: Path) -> None:
    empty = call("list", tmp_path)
    assert (empty.code, empty.err) == (0, "")
    assert empty.out == "CREATED  ID  NAME  SIZE  CWD  CONTINUED IN  PATH\n"
    missing = tmp_path / "missing"
    told = call("list", missing)
    assert (told.code, told.out) == (1, "")
    assert told.err == f"agentsession: {missing}: no such file or directory\n"
    assert not missing.exists()


def test_a_file_is_no_root(call: Caller, session_file: Path) -> None:
    told = call("list", session_file)
    assert (told.code, told.out) == (1, "")
    assert "is a file, not a store" in told.err


def test_a_directory_of_files_is_told_apart(call: Caller, session_file: Path) -> None:
    assert "name one of the files in it" in call("list", session_file.parent).err
    assert "name one of the files in it" in call("show", session_file.parent).err


def test_bad_files_are_reported_behind_the_table(call: Caller, store: Path) -> None:
    bad = store / "a" / "2026-03-01T09-00-00.000Z_bad.jsonl"
    bad.write_bytes(b'{"type":"sess')
    listed = call("list", store)
    assert listed.code == 1
    assert ids(listed.out) == [THREE, TWO, ONE]
    assert listed.err.startswith(f"agentsession: {bad}: ")
    report = call("list", "--json", store)
    assert report.code == 1
    assert len(report.json["errors"]) == 1


def test_the_default_place(
    call: Caller, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTSESSION_HOME", str(store))
    listed = call("list")
    assert listed.code == 0
    assert ids(listed.out) == [THREE, TWO, ONE]
    assert f"listing {store};" in listed.err
    monkeypatch.setenv("AGENTSESSION_HOME", str(tmp_path / "none"))
    nothing = call("list")
    assert nothing.code == 0
    assert ids(nothing.out) == []
    assert f"no sessions yet in {tmp_path / 'none'}" in nothing.err
    assert call("list", "--json").json["sessions"] == []
    assert not (tmp_path / "none").exists()


def test_sessions_are_named_by_id_or_its_beginning(call: Caller, store: Path) -> None:
    for name in (THREE, "b", "b\u00e9-"):
        assert call("show", store, name).out.startswith(f"session  {THREE}\n")
        assert call("verify", name, "--json", store).code in (1, 2)
        assert call("verify", "--json", store, name).json["session"]["id"] == THREE
    for name, sentence in [
        ("aaaa", f'holds 3 sessions; "aaaa" begins the ids of {TWO}, {ONE}'),
        ("", f"holds 3 sessions; name one of {THREE}, {TWO}, {ONE}"),
        ("zz", 'has no session whose id begins with "zz"'),
        ("../etc", 'has no session whose id begins with "../etc"'),
    ]:
        told = call("show", store, *([name] if name else []))
        assert (told.code, told.out) == (1, "")
        assert told.err == f"agentsession: {store} {sentence}\n"


def test_the_only_session_needs_no_name(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as made:
        made.create(Header(id="single"))
    assert call("show", tmp_path).out.startswith("session  single\n")


def test_an_id_that_begins_another_is_meant(call: Caller, tmp_path: Path) -> None:
    with JSONLStore(tmp_path) as made:
        made.create(Header(id="abc"))
        made.create(Header(id="abcdef"))
    assert call("show", tmp_path, "abc").out.startswith("session  abc\n")


def test_reading_beside_a_writer_changes_nothing(call: Caller, store: Path) -> None:
    with JSONLStore(store) as writer:
        writer.append(TWO, InfoEntry("Still writing"))
        before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
        assert call("show", store, TWO).code == 0
        assert call("verify", store, TWO).code == 0
        assert call("list", store).code == 0
        assert {p: p.read_bytes() for p in store.rglob("*") if p.is_file()} == before


def test_overview(
    call: Caller, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    first = call()
    assert (first.code, first.err) == (0, "")
    assert len(first.out.splitlines()) < 10
    assert f"{tmp_path / 'data' / 'agentsession' / 'sessions'}  no sessions yet" in first.out
    assert "Next: agentsession verify FILE" in first.out
    monkeypatch.setenv("AGENTSESSION_HOME", str(store))
    second = call()
    assert len(second.out.splitlines()) < 10
    assert f"{store}  3 session(s)" in second.out
    assert "Next: agentsession list " in second.out


def test_overview_names_the_store_that_has_sessions(
    call: Caller, store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTSESSION_HOME", str(tmp_path / "none"))
    monkeypatch.setattr(places, "platform_store", lambda: store)
    assert f"Next: agentsession list {store} " in call().out


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/agentsession/sessions"),
        ("linux", {"XDG_DATA_HOME": "rel"}, "/home/u/.local/share/agentsession/sessions"),
        ("linux", {}, "/home/u/.local/share/agentsession/sessions"),
        ("darwin", {}, "/home/u/Library/Application Support/agentsession/sessions"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/agentsession/sessions"),
        ("win32", {}, "/home/u/AppData/Local/agentsession/sessions"),
        ("linux", {"AGENTSESSION_HOME": "/mine"}, "/mine"),
    ],
)
def test_places(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "AGENTSESSION_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/u"))
    assert places.default_store() == Path(expected)


def test_no_home_is_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(AgentSessionError, match="set AGENTSESSION_HOME"):
        places.platform_store()
