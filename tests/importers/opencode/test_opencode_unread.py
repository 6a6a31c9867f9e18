"""What of OpenCode's data cannot be read: told once, and the rest is read."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from unreadable import as_nobody, copied_for_all, needs_rights, open_to_all

from agentsession.importers import opencode as oc
from agentsession.importers.counted import Count
from agentsession.importers.opencode.importer import OpenCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.importers.usage import of_source

DATA = Path(__file__).parents[2] / "data" / "opencode"
TREE = "1.1.65-subagent"
TABLES = "1.18.33-extras"
BOTH = "1.2.1-migrated"

NO_RIGHTS = "permission denied"
NOTHING = "no such file or directory"
NO_DIRECTORY = "not a directory"
DIRECTORY = "the directory cannot be read: "


def imported(*paths: Path) -> ImportReport:
    importer = OpenCode()
    return import_sessions([Work(importer, importer.find(paths))], None, dry_run=True)


def counted(*paths: Path) -> Count:
    count, importer = Count(), OpenCode()
    for source in importer.find(paths):
        for record in of_source(importer, source, count.tell):
            count.add(record)
    importer.close()
    return count


def calls(count: Count) -> int:
    found = count.report().totals["calls"]
    assert isinstance(found, int)
    return found


def alarms(report: ImportReport) -> list[tuple[str, str]]:
    return [(alarm["code"], alarm["sentence"]) for alarm in report.more["alarms"]]


@pytest.fixture
def home() -> Iterator[Path]:
    """A data directory that another user can get to."""
    with open_to_all() as made:
        yield copied_for_all(DATA / TREE, made / "opencode")


@pytest.fixture
def here(tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        return Path(shutil.copytree(DATA / name, tmp_path / "opencode"))

    return copied


def gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def dangling(path: Path) -> None:
    gone(path)
    path.symlink_to(path.parent / "nowhere")


def a_directory(path: Path) -> None:
    gone(path)
    path.mkdir()


def a_file(path: Path) -> None:
    gone(path)
    path.write_bytes(b"")


def first(place: Path, pattern: str) -> Path:
    return min(place.glob(pattern))


# Directories of a tree.

DIRECTORIES = ["message", "part", "message/ses_*", "part/msg_*"]


@pytest.mark.parametrize("pattern", DIRECTORIES)
@pytest.mark.parametrize(("made", "reason"), [(dangling, NOTHING), (a_file, NO_DIRECTORY)])
def test_what_stands_in_a_directorys_place_is_told_once(
    pattern: str,
    made: Callable[[Path], None],
    reason: str,
    here: Callable[[str], Path],
) -> None:
    place = here(TREE)
    whole, found = calls(counted(place)), imported(place).totals["sessions"]["found"]
    path = first(place, f"storage/{pattern}")
    made(path)
    report, count = imported(place), counted(place)
    assert alarms(report) == [("unreadable-place", DIRECTORY + reason)]
    assert report.more["alarms"][0]["where"] == str(path)
    assert report.totals["sessions"]["found"] == found
    assert [(f.code, f.sentence, f.where, f.count) for f in count.alarms] == [
        ("unreadable-source", DIRECTORY + reason, str(path), 1)
    ]
    # Counts stand in the messages: without parts they are all there.
    left = {"message": 0, "part": whole, "message/ses_*": whole - 1, "part/msg_*": whole}
    assert calls(count) == left[pattern]


@pytest.mark.parametrize("pattern", ["session", "session/*"])
def test_a_link_to_nothing_in_the_place_of_sessions(
    pattern: str, here: Callable[[str], Path]
) -> None:
    place = here(TREE)
    path = first(place, f"storage/{pattern}")
    dangling(path)
    report = imported(place)
    assert [(a["code"], a["where"]) for a in report.more["alarms"]][:1] == [
        ("unreadable-place", str(path))
    ]
    assert {code for code, _ in alarms(report)} == {"unreadable-place", "unreadable-session"}
    assert report.totals["records"]["read"] == report.more["sources"][0]["records"]


def test_all_of_a_tree_behind_links_to_nothing(here: Callable[[str], Path]) -> None:
    place = here(TREE)
    for kind in ("session", "message", "part"):
        dangling(place / "storage" / kind)
    assert alarms(imported(place)) == [("unreadable-place", DIRECTORY + NOTHING)] * 3
    dangling(place / "storage")
    assert alarms(imported(place)) == [("unreadable-place", DIRECTORY + NOTHING)]
    assert [f.where for f in counted(place).alarms] == [str(place / "storage")]


def test_a_message_whose_parts_cannot_be_listed(here: Callable[[str], Path]) -> None:
    place = here(TREE)
    path = first(place, "storage/part/msg_*")
    dangling(path)
    (told,) = [f for f in imported(place).findings if f.code == "parts-lost"]
    assert (told.where, told.count) == (path.name, 1)
    codes = {f.code for f in imported(place).findings}
    assert not codes & {"message-lowers-to-nothing", "failed-message-branched", "foreign-place"}


def test_parts_whose_messages_cannot_be_listed(here: Callable[[str], Path]) -> None:
    """They are not what a revert left."""
    place = here(TREE)
    dangling(first(place, "storage/message/ses_*"))
    codes = {one["code"]: one["count"] for one in imported(place).more["codes"]}
    assert codes["message-lost"] > 0
    assert "part-without-message" not in codes


@needs_rights
@pytest.mark.parametrize("mode", [0, 0o444])
@pytest.mark.parametrize("pattern", ["", "storage", *(f"storage/{d}" for d in DIRECTORIES[:2])])
def test_a_directory_without_rights(pattern: str, mode: int, home: Path) -> None:
    path = home / pattern
    path.chmod(mode)
    try:
        with as_nobody():
            report, count = imported(home), counted(home)
            above = imported(home.parent)
    finally:
        path.chmod(0o755)
    assert alarms(report) == alarms(above) == [("unreadable-place", DIRECTORY + NO_RIGHTS)]
    assert report.more["alarms"][0]["where"] == str(path)
    assert [(f.sentence, f.where) for f in count.alarms] == [(DIRECTORY + NO_RIGHTS, str(path))]
    assert not count.ok


@needs_rights
def test_a_shut_directory_of_someone_else_is_passed_over(home: Path) -> None:
    other = home.parent / "other"
    other.mkdir(mode=0)
    with as_nobody():
        assert imported(home.parent).ok
    other.chmod(0o755)


# Files of a tree.


@pytest.mark.parametrize("made", [dangling, a_directory, a_file])
@pytest.mark.parametrize(
    ("pattern", "kind"), [("session", "session"), ("message", "message"), ("part", "part")]
)
def test_a_file_that_cannot_be_read_is_told_once(
    pattern: str, kind: str, made: Callable[[Path], None], here: Callable[[str], Path]
) -> None:
    place = here(TREE)
    before = imported(place).totals["records"]["read"]
    path = first(place, f"storage/{pattern}/*/*.json")
    made(path)
    report, count = imported(place), counted(place)
    assert [code for code, _ in alarms(report)] == ["unreadable-record"]
    assert report.more["alarms"][0]["where"].endswith(f": {kind} {path.stem}")
    assert report.totals["records"]["read"] == before == report.more["sources"][0]["records"]
    assert [(f.sentence, f.count) for f in count.alarms] == [("the record cannot be read", 1)]


def test_records_whose_names_are_not_utf8(here: Callable[[str], Path]) -> None:
    place = here(TREE)
    folder = first(place, "storage/message/ses_*")
    try:
        Path(folder, os.fsdecode(b"msg_\xff.json")).write_bytes(b"{}")
        Path(folder.parent, os.fsdecode(b"ses_\xff")).mkdir()
        Path(folder.parent, os.fsdecode(b"ses_\xff"), "msg_1.json").write_bytes(b"{}")
    except OSError:
        pytest.skip("no such names here")
    sentence = "its name is not UTF-8, so it can be no id"
    assert alarms(imported(place)) == [("unreadable-place", sentence)] * 2


@pytest.mark.parametrize("below", ["", "project/home-dev"])
def test_the_layout_of_early_releases_is_told(below: str, tmp_path: Path) -> None:
    session = tmp_path / "opencode" / below / "storage" / "session"
    for name in ("info/ses_1.json", "message/ses_1/msg_1.json", "part/ses_1/msg_1/prt_1.json"):
        (session / name).parent.mkdir(parents=True)
        (session / name).write_text("{}")
    report = imported(tmp_path)
    (told,) = report.findings
    assert (told.code, told.where) == ("old-layout", str(session / "info"))
    assert report.ok
    count = counted(tmp_path)
    assert [finding.code for finding in count.report().findings] == ["old-layout"]
    assert count.ok


# Databases.

DATABASES = ["opencode.db", "opencode-dev.db", "opencode-next.db"]


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (dangling, f"it cannot be opened or copied: {NOTHING}"),
        (a_directory, "it is not a regular file"),
        (a_file, "it is empty"),
    ],
)
def test_what_stands_in_a_databases_place_is_told_once(
    name: str, made: Callable[[Path], None], reason: str, here: Callable[[str], Path]
) -> None:
    place = here(BOTH)
    if name != "opencode.db":
        shutil.copy(place / "opencode.db", place / name)
    made(place / name)
    report, count = imported(place), counted(place)
    assert alarms(report) == [("unreadable-place", reason)]
    assert report.more["alarms"][0]["where"] == str(place / name)
    assert [(f.sentence, f.where) for f in count.alarms] == [(reason, str(place / name))]
    assert calls(count) > 0


@pytest.mark.parametrize("made", [dangling, a_directory, a_file])
def test_a_database_that_is_all_there_is(
    made: Callable[[Path], None], here: Callable[[str], Path]
) -> None:
    place = here(TABLES)
    made(place / "opencode.db")
    for path in (place, place.parent, place / "opencode.db"):
        if path.exists():
            assert [code for code, _ in alarms(imported(path))] == ["unreadable-place"]
            assert not counted(path).ok


def with_a_log(place: Path) -> None:
    """Delete the messages of a database in a log that was not written back."""
    path = place / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("DELETE FROM message")
        connection.commit()
        shutil.copy(f"{path}-wal", place / "log")
    shutil.copy(DATA / TABLES / "opencode.db", path)
    (place / "log").rename(place / "opencode.db-wal")


@pytest.mark.parametrize("side", ["wal", "journal"])
@pytest.mark.parametrize("made", [dangling, a_directory])
def test_a_database_whose_log_cannot_be_read(
    side: str, made: Callable[[Path], None], here: Callable[[str], Path]
) -> None:
    place = here(TABLES)
    whole = calls(counted(place))
    log = place / f"opencode.db-{side}"
    log.touch()
    made(log)
    count = counted(place)
    assert calls(count) == whole
    (told,) = count.alarms
    assert told.where == str(place / "opencode.db")
    assert told.sentence.startswith(f"{log.name}, which belongs to it, cannot be read: ")
    assert [code for code, _ in alarms(imported(place))] == ["unreadable-place"]


@needs_rights
def test_a_log_without_rights() -> None:
    with open_to_all() as made:
        place = copied_for_all(DATA / TABLES, made / "opencode")
        whole = calls(counted(place))
        with_a_log(place)
        (place / "opencode.db-wal").chmod(0)
        with as_nobody():
            count = counted(place)
    assert calls(count) == whole
    (told,) = count.alarms
    assert told.sentence.endswith(
        f"opencode.db-wal, which belongs to it, cannot be read: {NO_RIGHTS}"
    )


@needs_rights
def test_a_database_without_rights() -> None:
    with open_to_all() as made:
        place = copied_for_all(DATA / BOTH, made / "opencode")
        (place / "opencode.db").chmod(0)
        with as_nobody():
            count = counted(place)
    assert [f.where for f in count.alarms] == [str(place / "opencode.db")]
    assert calls(count) > 0


# Usual places.


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data directory of a user whose home others can get to."""
    with open_to_all() as made:
        monkeypatch.setenv("HOME", str(made))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.delenv("OPENCODE_DB", raising=False)
        yield oc.data_directory()


@needs_rights
@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_usual_place_without_rights(above: int, usual: Path) -> None:
    shutil.copytree(DATA / TREE, usual)
    shut = [usual, *usual.parents][above]
    shut.chmod(0)
    try:
        with as_nobody():
            report, count = imported(), counted()
    finally:
        shut.chmod(0o755)
    assert alarms(report) == [("unreadable-place", DIRECTORY + NO_RIGHTS)]
    assert [(f.where, f.count) for f in count.alarms] == [(str(usual), 1)]


@pytest.mark.parametrize("above", [0, 1])
def test_a_usual_place_behind_a_link_to_nothing(above: int, usual: Path) -> None:
    link = [usual, *usual.parents][above]
    link.parent.mkdir(parents=True)
    link.symlink_to("nowhere")
    assert alarms(imported()) == [("unreadable-place", DIRECTORY + NOTHING)]
    assert not counted().ok


def test_a_usual_place_that_is_not_there_or_holds_nothing(usual: Path) -> None:
    assert OpenCode().find() == ()
    usual.mkdir(parents=True)
    assert OpenCode().find() == ()
    (usual / "storage" / "session_diff").mkdir(parents=True)
    assert OpenCode().find() == ()
    shutil.rmtree(usual)
    usual.touch()
    assert OpenCode().find() == ()


@pytest.mark.parametrize("made", [dangling, a_directory, a_file])
def test_a_database_that_the_environment_names(
    made: Callable[[Path], None], usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = usual.parents[2] / "mine.db"
    monkeypatch.setenv("OPENCODE_DB", str(named))
    assert OpenCode().find() == ()
    named.touch()
    made(named)
    if made is not a_directory:
        assert [f.where for f in counted().alarms] == [str(named)]
