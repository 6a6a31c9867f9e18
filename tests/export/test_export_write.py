"""Files: names, media, what a crash leaves, and the way back from the folder."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import string
from pathlib import Path
from typing import Any

import pytest
from export_strategies import media, sessions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import atif, export
from agentsession.export.atomic import write_whole
from agentsession.export.write import DirectoryWriter
from agentsession.testing import SessionBuilder

PNG = "data:image/png;base64,iVBORw0KGgo="
PNG_FILE = "images/4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6.png"
laws = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def image(url: str) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def with_images(*urls: str, **header: Any) -> ags.Session:
    build = SessionBuilder(**header)
    content = [{"type": "input_text", "text": "see"}, *map(image, urls)]
    build.item({"type": "message", "role": "user", "content": content})
    return build.session


def documents(session: ags.Session, **options: Any) -> list[atif.Trajectory]:
    return [
        export.to_atif(found, export.Options(**options))
        for found in export.trajectories(session)
        if found.error is None
    ]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_media_go_into_files_named_by_their_content(tmp_path: Path) -> None:
    report = export.write_atif(tmp_path, documents(with_images(PNG, PNG)))
    assert files(tmp_path) == [PNG_FILE, "session-1.json"]
    document = atif.parse(tmp_path / "session-1.json")
    message = document.steps[0].message
    assert [part.source.path for part in message[1:]] == [PNG_FILE, PNG_FILE]  # type: ignore[union-attr]
    assert document.steps[0].extra["openresponses"]["item"]["content"][1]["image_url"] == PNG_FILE  # type: ignore[index]
    assert report.totals["media_files"] == 1
    data = (tmp_path / PNG_FILE).read_bytes()
    assert hashlib.sha256(data).hexdigest() in PNG_FILE


@pytest.mark.parametrize(
    "url", ["data:image/jpg;base64,/9j/", "data:IMAGE/PNG;base64,iVBO", "DATA:image/png;base64,AA"]
)
def test_odd_spellings_of_types_are_written_as_the_type_they_mean(tmp_path: Path, url: str) -> None:
    session = with_images(url)
    assert export.is_whole(export.write_atif(tmp_path, documents(session)))
    document = atif.parse(tmp_path / "session-1.json")
    assert atif.validate(document, strict=True) == ()
    source = document.steps[0].message[1].source  # type: ignore[union-attr]
    assert source.media_type in {"image/jpeg", "image/png"}  # type: ignore[union-attr]
    assert (tmp_path / source.path).is_file()  # type: ignore[union-attr]
    want = next(export.trajectories(session)).context.items
    assert export.items(document, media=tmp_path) == want


def test_a_damaged_data_url_becomes_text_and_a_finding(tmp_path: Path) -> None:
    report = export.write_atif(tmp_path, documents(with_images("data:image/png;base64,!!")))
    document = atif.parse(tmp_path / "session-1.json")
    assert document.steps[0].message[1].text == "[image: unreadable data URL]"  # type: ignore[union-attr]
    assert [finding.code for finding in report.findings] == ["unreadable-media"]


@laws
@given(st.lists(media, min_size=1, max_size=3))
def test_items_come_back_from_a_folder_with_their_media(urls: list[str]) -> None:
    session = with_images(*urls)
    want = next(export.trajectories(session)).context.items
    with _folder() as folder:
        for outline in (True, False):
            _write(folder, session, outline=outline)
            document = atif.parse(folder / "session-1.json")
            assert export.items(document, media=folder) == want


@laws
@given(sessions())
def test_every_session_is_written_validly_and_read_back(session: ags.Session) -> None:
    with _folder() as folder:
        report = export.export_session(
            session, export.Work(targets=export.Targets(directory=folder), leaves="all")
        )
        found = {
            document.trajectory_id: document
            for document in (atif.parse(path) for path in folder.glob("*.json"))
        }
        left_out = {f.code for f in report.findings} & {"no-steps", "no-context"}
        assert left_out or len(found) == len(session.leaves)
        assert len(found) + report.totals["left_out"] == len(session.leaves)
        for trajectory in export.trajectories(session):
            document = found.get(trajectory.leaf_id)
            if document is not None:
                assert atif.validate(document, strict=True) == ()
                want = trajectory.context.items
                assert not want or export.items(document, media=folder) == want


def test_streamed_and_whole_documents_are_the_same_to_the_byte(tmp_path: Path) -> None:
    session = with_images(PNG, "data:image/jpg;base64,/9j/")
    for outline in (True, False):
        _write(tmp_path / str(outline), session, outline=outline)
    one, other = ((tmp_path / str(way) / "session-1.json").read_bytes() for way in (True, False))
    assert one == other
    assert one.endswith(b"}\n")
    assert b'\n  "steps": [\n    {\n      "step_id": 1,' in one


def _folder() -> Any:
    from tempfile import TemporaryDirectory

    class Folder(TemporaryDirectory[str]):
        def __enter__(self) -> Path:  # type: ignore[override]
            return Path(super().__enter__())

    return Folder()


def _write(folder: Path, session: ags.Session, *, outline: bool) -> None:
    if outline:
        work = export.Work(targets=export.Targets(directory=folder))
        assert export.is_whole(export.export_session(session, work))
    else:
        assert export.is_whole(export.write_atif(folder, documents(session)))


def test_names_follow_the_session_and_the_leaf(tmp_path: Path) -> None:
    build = SessionBuilder(id="a/b")
    first = build.user("one")
    build.user("two")
    build.session.branch(first)
    build.user("three")
    export.write_atif(tmp_path, documents(build.session))
    assert files(tmp_path) == ["a-b.json", "a-b_e0000002.json"]
    assert export.main_document_name("a/b") == "a-b.json"
    assert [export.document_name(d) for d in documents(build.session)] == [
        "a-b_e0000002.json",
        "a-b.json",
    ]


def test_documents_that_would_share_a_name_get_two(tmp_path: Path) -> None:
    found = [documents(with_images(PNG, id=name))[0] for name in ("a/b", "a-b", "A-B")]
    export.write_atif(tmp_path, found)
    names = [name for name in files(tmp_path) if name.endswith(".json")]
    assert len(names) == 3
    assert len({name.lower() for name in names}) == 3
    assert "a-b.json" in names


@pytest.mark.parametrize(
    "session_id", ["..", "../../etc/passwd", "/etc/x", "a\0b", "C:\\x", "con", "n" * 400, "é"]
)
def test_nothing_is_written_outside_the_directory(tmp_path: Path, session_id: str) -> None:
    folder = tmp_path / "inner" / "out"
    document = documents(with_images(PNG))[0]
    hostile = atif.parse(
        {**document.to_dict(), "session_id": session_id, "trajectory_id": session_id}
    )
    plain = {**hostile.to_dict(), "extra": {}}
    export.write_atif(folder, [hostile, atif.parse(plain)])
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and folder not in p.parents]
    assert outside == []
    assert len(list(folder.glob("*.json"))) == 2
    for path in folder.glob("*.json"):
        assert path.parent == folder
        assert len(path.name.encode()) < 256
        assert not set(path.name) - set(string.ascii_letters + string.digits + "._-")


def test_an_invalid_document_is_left_out_and_the_rest_is_written(tmp_path: Path) -> None:
    good = documents(with_images(PNG))[0]
    bad = atif.parse({**good.to_dict(), "session_id": "bad", "agent": {"name": "", "version": ""}})
    report = export.write_atif(tmp_path, [bad, None, good])
    assert [name for name in files(tmp_path) if name.endswith(".json")] == ["session-1.json"]
    assert [finding.code for finding in report.findings] == ["invalid-document"]
    assert "$.agent.name" in report.findings[0].sentence  # type: ignore[attr-defined]
    assert not export.is_whole(report)


def test_what_was_there_stays_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = documents(with_images(PNG))[0]
    export.write_atif(tmp_path, [document])
    before = files(tmp_path), (tmp_path / "session-1.json").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    changed = atif.parse({**document.to_dict(), "notes": "new"})
    with pytest.raises(ags.StoreFailed, match="No space left"):
        export.write_atif(tmp_path, [changed])
    assert (files(tmp_path), (tmp_path / "session-1.json").read_bytes()) == before


def test_a_directory_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ags.StoreFailed):
        export.write_atif(tmp_path / "file" / "out", [])


def test_embedded_documents_are_spilled_too(tmp_path: Path) -> None:
    kid = with_images(PNG, id="kid")
    build = SessionBuilder(id="parent")
    build.call("call_1", hashed=False)
    build.append(ags.LinkEntry.subsession("kid", "call_1"))
    work = export.Work(targets=export.Targets(directory=tmp_path), embed=True)
    export.export_session(build.session, work, load={"kid": kid}.__getitem__)
    document = atif.parse(tmp_path / "parent.json")
    [child] = document.subagent_trajectories or ()
    assert child.steps[0].message[1].source.path == PNG_FILE  # type: ignore[union-attr]
    assert document.notes is not None
    assert "embedded" in document.notes


def test_a_picture_in_a_queued_input_points_to_the_same_file(tmp_path: Path) -> None:
    build = SessionBuilder()
    item = {"type": "message", "role": "user", "content": [image(PNG)]}
    queued = build.append(ags.QueuedEntry(item, "steer"))
    build.answer("wait", hashed=False)
    build.item(item, queued_from=queued)
    _write(tmp_path, build.session, outline=True)
    assert b"data:" not in (tmp_path / "session-1.json").read_bytes()


def test_the_writer_tells_how_far_it_is(tmp_path: Path) -> None:
    build = SessionBuilder()
    for number in range(5):
        build.user(str(number))
    [trajectory] = export.trajectories(build.session)
    seen: list[int] = []
    from agentsession.export.report import ReportBuilder

    writer = DirectoryWriter(tmp_path, ReportBuilder())
    writer.write(export.Outline(trajectory, export.Options()), seen.append)
    assert seen == [1, 2, 3, 4, 5]


def test_a_deep_item_is_written_on_one_line(tmp_path: Path) -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    build = SessionBuilder()
    build.item({"type": "acme:deep", "content": deep})
    _write(tmp_path, build.session, outline=True)
    from agentsession import text

    document = atif.parse(text.parse((tmp_path / "session-1.json").read_bytes()))
    assert export.items(document) == build.session.context().items


def test_json_of_a_file_is_readable_by_python(tmp_path: Path) -> None:
    _write(tmp_path, with_images(PNG), outline=True)
    value = json.loads((tmp_path / "session-1.json").read_text("utf-8"))
    assert list(value)[:5] == ["schema_version", "session_id", "trajectory_id", "agent", "steps"]
    assert base64.b64decode(PNG.partition(",")[2]) == (tmp_path / PNG_FILE).read_bytes()


def test_a_name_with_a_hash_may_be_another_documents_own(tmp_path: Path) -> None:
    def named(session_id: str) -> atif.Trajectory:
        build = SessionBuilder(id=session_id)
        build.user(session_id)
        return documents(build.session)[0]

    last = named("a/b")
    digest = hashlib.sha256(f"a/b/{last.trajectory_id}".encode()).hexdigest()
    found = [named("a-b"), named(f"a-b-{digest[:8]}"), named(f"A-B-{digest[:12]}"), last]
    report = export.write_atif(tmp_path, [*found, last])
    assert report.totals["documents"] == 5
    assert {atif.parse(path).session_id for path in tmp_path.glob("*.json")} == {
        document.session_id for document in found
    }


def test_a_file_with_the_name_but_other_content_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    want = base64.b64decode(PNG.partition(",")[2])
    (tmp_path / PNG_FILE).write_bytes(b"x" * len(want))
    export.write_atif(tmp_path, documents(with_images(PNG)))
    assert (tmp_path / PNG_FILE).read_bytes() == want


@pytest.mark.parametrize("outline", [True, False])
def test_text_that_looks_like_a_media_path_stays_text(tmp_path: Path, outline: bool) -> None:
    build = SessionBuilder()
    content = [
        image(PNG),
        {"type": "input_text", "text": PNG_FILE},
        {"type": "input_text", "text": PNG},
        {"type": "input_file", "file_data": PNG_FILE, "filename": PNG},
    ]
    build.item({"type": "message", "role": "user", "content": content})
    build.user(PNG_FILE)
    build.user(PNG)
    build.call("call_1", PNG_FILE, json.dumps({"path": PNG_FILE}), hashed=False)
    build.output("call_1", PNG_FILE)
    _write(tmp_path, build.session, outline=outline)
    document = atif.parse(tmp_path / "session-1.json")
    want = next(export.trajectories(build.session)).context.items
    assert export.items(document, media=tmp_path) == want
    assert document.steps[1].message == PNG_FILE


def test_what_a_killed_run_left_is_taken_away_after_an_hour(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    old, new, other = (
        tmp_path / "images" / f".{'0' * 16}.unfinished",
        tmp_path / f".{'1' * 16}.unfinished",
        tmp_path / ".mine.unfinished",
    )
    for path in (old, new, other):
        path.write_bytes(b"x")
    for path in (old, other):
        os.utime(path, (1, 1))
    export.write_atif(tmp_path, documents(with_images(PNG)))
    assert [old.exists(), new.exists(), other.exists()] == [False, True, True]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_no_file_takes_the_place_of_a_pipe_or_a_device(tmp_path: Path) -> None:
    pipe, linked = tmp_path / "pipe.jsonl", tmp_path / "linked.jsonl"
    os.mkfifo(pipe)
    linked.symlink_to(pipe)
    for target in (pipe, linked):
        with (
            pytest.raises(ags.errors.StoreFailed, match="not a regular file"),
            write_whole(target),
        ):
            pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["linked.jsonl", "pipe.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.parametrize("exists", [True, False])
def test_a_file_is_written_where_a_link_leads(exists: bool, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, linked = tmp_path / "there" / "out.jsonl", tmp_path / "linked.jsonl"
    if exists:
        target.write_bytes(b"before")
    linked.symlink_to(target)
    with write_whole(linked) as file:
        file.write(b"after")
    assert linked.is_symlink()
    assert target.read_bytes() == b"after"
    assert os.listdir(tmp_path / "there") == ["out.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    linked = tmp_path / "linked.jsonl"
    linked.symlink_to(tmp_path / "missing" / "out.jsonl")
    told = pytest.raises(ags.StoreFailed, match=r"linked\.jsonl could not be written")
    with told, write_whole(linked) as file:
        file.write(b"after")
    assert linked.is_symlink()
