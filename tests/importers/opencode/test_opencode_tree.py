from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentsession import text
from agentsession.importers import opencode as oc

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def put(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = value if isinstance(value, bytes) else json.dumps(value, indent=2).encode()
    path.write_bytes(data)
    return path


def listing(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def only(tree: oc.Tree) -> oc.Session:
    sessions, strays = tree.sessions()
    assert not strays
    (session,) = sessions
    return session


@pytest.fixture
def small(tmp_path: Path) -> Path:
    storage = tmp_path / "storage"
    put(storage / "session" / "global" / "ses_a.json", {"title": "A", "time": {"created": 5}})
    put(storage / "message" / "ses_a" / "msg_1.json", {"role": "user", "time": {"created": 6}})
    put(storage / "part" / "msg_1" / "prt_1.json", {"type": "text", "text": "hi"})
    return tmp_path


class TestRecorded:
    @pytest.mark.parametrize("name", ["1.1.65-revert", "1.1.65-subagent", "1.2.1-migrated"])
    def test_every_record_comes_out_once_and_unchanged(
        self, name: str, recorded: Callable[[str], Path]
    ) -> None:
        root = recorded(name)
        before = listing(root)
        tree = oc.Tree(root)
        sessions, strays = tree.sessions()
        assert not strays
        found: dict[str, bytes] = {s.unit: s.record for s in sessions}
        for session in sessions:
            read = tree.messages(session)
            assert not read.strays
            for message in read.messages:
                found[message.unit] = message.raw
                assert message.info
                assert message.created
                assert not message.info.mistyped
                assert text.equal(message.info.encode(), before[message.unit])
                for part in message.parts:
                    found[part.unit] = part.raw
                    assert part.part
                    assert oc.is_known_part(part.part.type)
                    assert (part.part.mistyped, part.part.undeclared) == ((), {})
                    assert text.equal(part.encode(), before[part.unit])
        for stray in tree.orphans({s.id for s in sessions}):
            assert stray.unit not in found
            found[stray.unit] = before[stray.unit]
        kinds = ("storage/session/", "storage/message/", "storage/part/")
        assert found == {unit: data for unit, data in before.items() if unit.startswith(kinds)}
        assert oc.units(root) == len(found) + (32 if name == "1.2.1-migrated" else 0)
        assert listing(root) == before

    def test_children_name_their_parent(self, recorded: Callable[[str], Path]) -> None:
        tree = oc.Tree(recorded("1.1.65-subagent"))
        sessions = tree.sessions().sessions
        (parent,) = [s for s in sessions if not s.parent_id]
        assert {s.parent_id for s in sessions} == {"", parent.id}
        tasks = [
            part.part.state.task().session_id
            for message in tree.messages(parent).messages
            for part in message.parts
            if part.part and part.part.tool == "task" and part.part.state
        ]
        assert {s.id for s in sessions if s.parent_id} <= set(tasks)
        project = tree.project(parent.project_id)
        assert project
        assert project.worktree == "/home/dev/project"
        assert tree.others() == {"todo": 0} or "todo" not in tree.others()

    def test_the_parts_of_deleted_turns_are_left_over(
        self, recorded: Callable[[str], Path]
    ) -> None:
        tree = oc.Tree(recorded("1.1.65-revert"))
        sessions = tree.sessions().sessions
        orphans = tree.orphans({s.id for s in sessions})
        assert {o.kind for o in orphans} == {"part"}
        assert {o.session for o in orphans} <= {s.id for s in sessions}
        assert any(s.staged_revert() for s in sessions)
        left = list(tree.left_parts({s.id for s in sessions}))
        assert [p.unit for p in left] == [o.unit for o in orphans]
        texts = {p.part.text for p in left if p.part and p.part.type == oc.PART_TEXT}
        assert texts == {"Show a.txt", "It says two."}

    def test_one_message_in_two_sessions_shares_no_parts(self, small: Path) -> None:
        storage = small / "storage"
        put(storage / "session" / "global" / "ses_b.json", {})
        put(storage / "message" / "ses_b" / "msg_1.json", {"role": "user"})
        put(storage / "message" / "ses_c" / "msg_1.json", {"role": "user"})
        put(storage / "part" / "msg_1" / "prt_2.json", {"sessionID": "ses_b"})
        put(storage / "part" / "msg_1" / "prt_3.json", {"sessionID": "ses_c"})
        tree = oc.Tree(small)
        parts = [
            [p.id for m in tree.messages(s).messages for p in m.parts]
            for s in tree.sessions().sessions
        ]
        assert parts == [["prt_1"], ["prt_2"]]
        assert [o.id for o in tree.orphans({"ses_a", "ses_b"})] == ["msg_1", "prt_3"]


class TestStrays:
    def test_half_written_files(self, small: Path) -> None:
        storage = small / "storage"
        put(storage / "session" / "global" / "ses_b.json", b"")
        put(storage / "message" / "ses_b" / "msg_2.json", b'{"role": "us')
        put(storage / "part" / "msg_2" / "prt_2.json", {"type": "text"})
        put(storage / "part" / "msg_2" / "prt_3.json", b"\0" * 40)
        tree = oc.Tree(small)
        sessions, strays = tree.sessions()
        assert not strays
        broken = sessions[1]
        assert (broken.id, broken.project_id, broken.problem) == ("ses_b", "global", "it is empty")
        (message,) = tree.messages(broken).messages
        assert message.problem.startswith("it is not JSON")
        assert [p.problem for p in message.parts] == ["", "it holds nothing but NUL bytes"]
        assert [s.id for s in oc.strays_of([*sessions, message])] == ["ses_b", "msg_2", "prt_3"]

    def test_what_belongs_nowhere(self, small: Path) -> None:
        storage = small / "storage"
        put(storage / "message" / "ses_gone" / "msg_9.json", {"role": "user"})
        put(storage / "part" / "msg_9" / "prt_9.json", {"sessionID": "ses_gone"})
        put(storage / "part" / "msg_gone" / "prt_8.json", {"sessionID": "ses_a"})
        put(storage / "part" / "msg_gone" / "prt_7.json", b"{")
        put(storage / "part" / "loose.json", {})
        put(storage / "message" / "ses_gone" / "notes.txt", b"")
        orphans = oc.Tree(small).orphans({"ses_a"})
        assert sorted((o.kind, o.id, o.session, o.malformed) for o in orphans) == [
            ("file", "", "", False),
            ("file", "", "", False),
            ("message", "msg_9", "ses_gone", False),
            ("part", "prt_7", "", True),
            ("part", "prt_8", "ses_a", False),
            ("part", "prt_9", "ses_gone", False),
        ]
        assert all(o.why for o in orphans)

    def test_what_stands_among_records(self, small: Path) -> None:
        storage = small / "storage"
        put(storage / "session" / "loose.json", {})
        put(storage / "session" / "global" / "inner" / "x.json", {})
        put(storage / "session" / "global" / "ses_a.json.tmp", b"")
        put(storage / "message" / "ses_a" / "msg_2.json~", b"")
        put(storage / "part" / "msg_1" / ".json", b"")
        tree = oc.Tree(small)
        sessions, strays = tree.sessions()
        assert [s.id for s in sessions] == ["ses_a"]
        assert [(s.kind, s.unit) for s in strays] == [
            ("file", "storage/session/loose.json"),
            ("directory", "storage/session/global/inner"),
            ("file", "storage/session/global/ses_a.json.tmp"),
        ]
        assert [s.unit for s in tree.messages(sessions[0]).strays] == [
            "storage/message/ses_a/msg_2.json~",
            "storage/part/msg_1/.json",
        ]

    def test_one_session_in_two_projects_counts_once(self, small: Path) -> None:
        newer = {"title": "B", "time": {"updated": 9}}
        put(small / "storage" / "session" / "abc" / "ses_a.json", newer)
        put(small / "storage" / "session" / "xyz" / "ses_a.json", b"{")
        sessions, strays = oc.Tree(small).sessions()
        assert [(s.title, s.project_id) for s in sessions] == [("B", "abc")]
        assert [(s.unit, s.malformed) for s in strays] == [
            ("storage/session/global/ses_a.json", False),
            ("storage/session/xyz/ses_a.json", True),
        ]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_a_pipe_in_a_records_place_is_not_waited_for(self, small: Path) -> None:
        os.mkfifo(small / "storage" / "message" / "ses_a" / "msg_2.json")
        tree = oc.Tree(small)
        messages = tree.messages(only(tree)).messages
        assert [m.problem for m in messages] == ["", "it is not a regular file"]

    def test_parts_that_cannot_be_opened(self, small: Path) -> None:
        folder = small / "storage" / "part" / "msg_1"
        (folder / "prt_8.json").symlink_to("nowhere")
        if hasattr(os, "mkfifo"):
            os.mkfifo(folder / "prt_9.json")
        tree = oc.Tree(small)
        (message,) = tree.messages(only(tree)).messages
        unread = [part for part in message.parts if part.id in {"prt_8", "prt_9"}]
        assert [part.part for part in unread] == [None] * len(unread)
        assert unread[0].problem.endswith("o such file or directory")
        assert [part.problem for part in unread[1:]] == (
            ["it is not a regular file"] if hasattr(os, "mkfifo") else []
        )

    def test_names_that_are_not_utf8(self, small: Path) -> None:
        folder = os.fsencode(small / "storage" / "message" / "ses_a")
        try:
            with open(folder + b"/msg_\xff.json", "wb") as file:
                file.write(b"{}")
        except OSError:
            pytest.skip("no such names here")
        tree = oc.Tree(small)
        (stray,) = tree.messages(only(tree)).strays
        assert stray.why == "its name is not UTF-8, so it can be no id"
        assert stray.unit.encode()

    def test_ids_that_are_no_file_names(self, small: Path) -> None:
        tree = oc.Tree(small)
        for bad in ("", "..", "a/b", "a\0b", "x" * 5000, "\ud800"):
            session = oc.decode_session_file("u", bad, "global", b"{}")
            assert tree.messages(session).messages == ()
            assert tree.project(bad) is None

    def test_a_data_directory_without_a_tree(self, tmp_path: Path) -> None:
        tree = oc.Tree(tmp_path / "nowhere")
        assert tree.sessions() == ((), ())
        assert tree.orphans(set()) == ()
        assert tree.legacy == ()
        assert tree.others() == {}
        assert tree.units() == 0
        assert not tree.migration_done()


class TestOnDemand:
    def test_a_long_record_is_read_again(self, small: Path) -> None:
        path = small / "storage" / "session" / "global" / "ses_a.json"
        put(path, {"title": "A", "summary": {"diffs": ["x" * 50_000]}})
        session = only(oc.Tree(small))
        assert not isinstance(session.source, bytes)
        assert session.record == path.read_bytes()
        assert text.equal(session.encode(), path.read_bytes())
        path.unlink()
        assert session.record == b""
        assert session.encode() == b""

    def test_the_layouts_before_are_listed(self, small: Path) -> None:
        old = small / "project" / "home-dev" / "storage" / "session"
        put(old / "info" / "ses_x.json", {})
        put(small / "storage" / "session" / "info" / "ses_y.json", {})
        tree = oc.Tree(small)
        assert tree.legacy == (old, small / "storage" / "session" / "info")
        assert only(tree).id == "ses_a"

    def test_other_directories_are_counted(self, small: Path) -> None:
        put(small / "storage" / "session_diff" / "ses_a.json", [])
        put(small / "storage" / "todo" / "ses_a.json", [])
        assert oc.Tree(small).others() == {"session_diff": 1, "todo": 1}
        assert oc.Tree(small).name == "storage"
        assert oc.Tree(small).rows(only(oc.Tree(small))).rows == ()
