"""Reading and writing files: every rule of format 7, and bytes in = bytes out."""

from __future__ import annotations

import io
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from session_strategies import sessions

HEADER = (
    b'{"type":"session","format":"agentsession/0.1","id":"s","created_at":"2026-03-01T08:15:30Z",'
    b'"payload":"openresponses/2026-04-24"}'
)


def info(entry_id: str, parent: str | None = None, more: bytes = b"") -> bytes:
    up = b"null" if parent is None else b'"%s"' % parent.encode()
    return b'{"type":"info","id":"%s","parent":%s,"ts":"2026-03-01T08:15:31Z"%s}' % (
        entry_id.encode(),
        up,
        more,
    )


def file(*lines: bytes, end: bytes = b"\n") -> bytes:
    return b"\n".join((HEADER, *lines)) + end


def version(data: bytes, minor: int) -> bytes:
    return data.replace(b"agentsession/0.1", b"agentsession/0.%d" % minor, 1)


class TestLines:
    def test_crlf_blank_lines_and_a_missing_last_line_feed_read(self) -> None:
        data = b"\n\r\n" + HEADER + b"\r\n\n" + info("a") + b"\r\r\n" + info("b", "a")
        session = ags.read(data)
        assert [entry.id for entry in session] == ["a", "b"]
        assert session.truncated is None
        assert ags.dump(session) == data
        assert ags.dump(session, clean=True) == file(info("a"), info("b", "a"))

    def test_a_line_of_spaces_is_not_blank(self) -> None:
        with pytest.raises(ags.DamagedFile, match="line 2"):
            ags.read(HEADER + b"\n  \n" + info("a") + b"\n")

    def test_other_separators_do_not_end_a_line(self) -> None:
        name = '"x\u2028\u0085\x0b\x1c"'.replace("\x0b", "\\u000b").replace("\x1c", "\\u001c")
        data = file(info("a", more=b',"name":' + name.encode()))
        assert ags.read(data).name == "x\u2028\u0085\x0b\x1c"

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "the file is empty"),
            (b"\n\r\n\n", "only blank lines"),
            (b"{", "line 1: header is not a JSON object"),
            (b"\xef\xbb\xbf" + HEADER, "byte order mark"),
            (b"\n\n[]\n", "line 3: header is not a JSON object"),
            (b'{"type":"item"}', "not a session"),
            (b"\x00" * 40, "NUL"),
            (HEADER[:-1], "header is not a JSON object"),
        ],
    )
    def test_files_without_a_header(self, data: bytes, words: str) -> None:
        with pytest.raises(ags.DamagedFile, match=words):
            ags.read(data)

    def test_a_header_alone_is_a_session(self) -> None:
        for data in (HEADER, HEADER + b"\n"):
            session = ags.read(data)
            assert len(session) == 0
            assert session.leaf is None
            assert ags.dump(session) == data


class TestCutTails:
    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
    @pytest.mark.parametrize(
        ("tail", "is_json"),
        [
            (b'{"type":"info","id":"b","par', False),
            (b"\x00\x00\x00", False),
            (b'{"type":"info","parent":"a","ts":"2026-03-01T08:15:31Z"}', True),
            (b'{"type":"decision","id":"b","parent":"a","ts":"2026-03-01T08:15:31Z"}', True),
            (b"[]", True),
            (b'{"type":"info","id":"b","parent":"a","ts":"2016-12-31T23:59:60Z"}', True),
        ],
    )
    def test_a_refused_last_line_is_cut(self, tail: bytes, is_json: bool, end: bytes) -> None:
        version_one = b"agentsession/0.2" if b"decision" in tail else b"agentsession/0.1"
        data = file(b"", info("a"), tail, end=end).replace(b"agentsession/0.1", version_one, 1)
        session = ags.read(data)
        assert [entry.id for entry in session] == ["a"]
        cut = session.truncated
        assert cut is not None
        assert (cut.line, cut.data, cut.is_json) == (4, tail, is_json)
        assert data[cut.start :].startswith(tail)
        assert str(cut).startswith("line 4 was cut short: ")
        assert ags.dump(session) == data

    def test_a_broken_line_with_a_blank_line_after_it_is_an_error(self) -> None:
        with pytest.raises(ags.DamagedFile, match="line 3"):
            ags.read(file(info("a"), b"{", b""))

    def test_a_broken_line_in_the_middle_names_its_bytes(self) -> None:
        data = file(info("a"), b'{"type":', info("b", "a"))
        with pytest.raises(ags.DamagedFile) as caught:
            ags.read(data)
        error = caught.value
        assert error.line == 3
        assert data[error.start : error.end] == b'{"type":'
        assert isinstance(error, ValueError)

    def test_a_last_line_that_breaks_the_tree_is_an_error(self) -> None:
        with pytest.raises(ags.DuplicateEntry, match='line 3: entry id "a"'):
            ags.read(file(info("a"), info("a")))
        with pytest.raises(ags.NoEntry, match='line 3: entry b has parent "nope"'):
            ags.read(file(info("a"), info("b", "nope")))

    def test_the_parent_must_come_earlier(self) -> None:
        with pytest.raises(ags.NoEntry):
            ags.read(file(info("a", "b"), info("b")))
        with pytest.raises(ags.NoEntry):
            ags.read(file(info("a", "a")))

    def test_a_duplicate_is_found_before_a_missing_parent(self) -> None:
        with pytest.raises(ags.DuplicateEntry):
            ags.read(file(info("a"), info("a", "nope")))

    @pytest.mark.parametrize("minor", range(5, 12))
    def test_later_drafts_count_only_broken_json_as_cut(self, minor: int) -> None:
        cut = version(file(info("a"), b"{"), minor)
        assert ags.read(cut, verify_ids=False).truncated is not None
        with pytest.raises(ags.BadID, match="no id"):
            ags.read(version(file(b'{"type":"info","ts":"2026-03-01T08:15:31Z"}'), minor))


class TestGoingOn:
    def test_a_cut_tail_is_trimmed_by_the_first_append_and_said(self) -> None:
        session = ags.read(file(info("a"), b'{"type"', end=b""))
        before = ags.dump(session)
        with pytest.raises(ags.NoEntry):
            session.append(ags.InfoEntry("x", parent="nope"))
        assert ags.dump(session) == before
        session.append(ags.InfoEntry("x", id="b", ts="2026-03-01T08:15:31Z"))
        assert ags.dump(session) == file(info("a"), info("b", "a", b',"name":"x"'))
        assert any("removed before the first append" in note for note in session.notes)

    def test_a_missing_line_feed_is_added_by_the_first_append(self) -> None:
        session = ags.read(file(info("a"), end=b""))
        session.append(ags.InfoEntry("x", id="b", ts="2026-03-01T08:15:31Z"))
        session.append(ags.InfoEntry("y", id="c", ts="2026-03-01T08:15:31Z"))
        assert ags.dump(session) == file(
            info("a"), info("b", "a", b',"name":"x"'), info("c", "b", b',"name":"y"')
        )

    def test_a_refused_tail_that_is_json_stops_appends(self) -> None:
        session = ags.read(file(info("a"), b'{"type":"info"}'))
        with pytest.raises(ags.DamagedFile, match="repair"):
            session.append(ags.InfoEntry("x"))
        assert len(session) == 1

    def test_a_file_of_04_is_read_and_not_written(self) -> None:
        data = version(file(info("a")), 4)
        session = ags.read(data)
        assert session.header.format == "agentsession/0.4"
        assert ags.dump(session) == data
        with pytest.raises(ags.UnsupportedFormat):
            session.append(ags.InfoEntry("x"))

    def test_versions_up_to_04_have_no_notes(self) -> None:
        assert all(ags.read(version(file(info("a")), minor)).notes == () for minor in range(1, 5))

    def test_unknown_versions(self) -> None:
        with pytest.raises(ags.UnsupportedFormat, match=r"allow_newer"):
            ags.read(version(file(), 12))
        session = ags.read(version(file(info("a")), 12), allow_newer=True)
        assert any("unknown here" in note for note in session.notes)
        with pytest.raises(ags.UnsupportedFormat, match="line 1: agentsession/1"):
            ags.read(file().replace(b"/0.1", b"/1.0"))


class TestBytes:
    def test_invalid_utf8_is_read_with_a_note_and_written_back(self) -> None:
        data = file(info("a", more=b',"name":"\xff\xfe"'))
        session = ags.read(data)
        assert session.name == "\ufffd\ufffd"
        assert any("line 2 is not valid UTF-8" in note for note in session.notes)
        assert ags.dump(session) == data

    def test_later_drafts_refuse_invalid_utf8(self) -> None:
        with pytest.raises(ags.DamagedFile, match="UTF-8"):
            ags.read(version(file(info("a", more=b',"name":"\xff"')), 5))

    @pytest.mark.parametrize(
        "more",
        [
            b',"x":"\\ud83d"',
            b',"x":1e400',
            b',"x":123456789012345678901',
            b',"x":"\\u0000"',
            b',"x":1,"x":2',
            b',"x":' + b"[" * 9000 + b"]" * 9000,
            b' , "x" : [ 1 , 2 ] ',
            b',"x":-0.0,"y":1E2',
            b',"\\u0078":1',
        ],
    )
    def test_awkward_values_come_back_as_the_same_bytes(self, more: bytes) -> None:
        data = file(info("a", more=more), info("b", "a"))
        session = ags.read(data)
        assert ags.dump(session) == data
        assert isinstance(session["a"].unknown, dict)

    def test_too_deep_nesting_is_an_error_at_its_place(self) -> None:
        deep = b',"x":' + b"[" * 20000 + b"]" * 20000
        with pytest.raises(ags.DamagedFile, match=r"line 2.*deep"):
            ags.read(file(info("a", more=deep), info("b", "a")))

    def test_appended_entries_follow_odd_lines(self) -> None:
        data = HEADER + b"\r\n" + info("a") + b"\r\n"
        session = ags.read(data)
        session.append(ags.InfoEntry("x", id="b", ts="2026-03-01T08:15:31Z"))
        assert ags.dump(session) == data + info("b", "a", b',"name":"x"') + b"\n"

    def test_repeated_entries_of_later_drafts_are_kept_once(self) -> None:
        data = version(file(info("a"), info("b", "a"), info("a")), 5)
        session = ags.read(data, verify_ids=False)
        assert len(session) == 2
        assert any("line 4 repeats entry a" in note for note in session.notes)
        assert ags.dump(session) == data
        assert ags.dump(session, clean=True) == version(file(info("a"), info("b", "a")), 5)


class TestTheTwoWaysToRead:
    """A block that reads at once and the same lines one by one give the same entries."""

    LINES = (
        b'{"type":"queued","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z"}',
        b'{"type":"queued","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z","item":{},"mode":"x"}',
        b'{"type":"run","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z","phase":"odd"}',
        (
            b'{"type":"decision","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z","call_id":"c",'
            b'"target":"t","verdict":"reject"}'
        ),
        b'{"type":"dispatch","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z"}',
        b'{"type":"item","id":"%s","parent":null,"ts":"2026-03-01T08:15:31Z","item":{},"source":7}',
        b'{"type":"item","id":"%s","parent":"","ts":"2026-02-28T23:59:59.5+02:00","item":{}}',
        b'{"type":"outcome","id":"%s","ts":"2026-03-31T08:15:31Z","kind":"x","pass":"odd"}',
        b'{"type":"acme:x","id":"%s","ts":"2026-03-01T08:15:31Z","name":7,"item":[]}',
        b'{"type":"response","id":"%s","ts":"2026-03-01T08:15:31Z","latency_ms":7,"usage":{}}',
        b'{"type":"label","id":"%s","ts":"2026-03-01T08:15:31Z","label":null,"target":""}',
        b'{"type":"info","id":"%s","ts":"2026-03-01T08:15:31Z","name":"x","name":"y"}',
    )

    @pytest.mark.parametrize("minor", [1, 2, 3])
    @pytest.mark.parametrize("line", LINES)
    def test_a_line_reads_alike_alone_and_in_a_block(self, line: bytes, minor: int) -> None:
        lines = [line % b"id%d" % number for number in range(3)]
        at_once = version(file(*lines), minor)
        one_by_one = version(file(b"", *lines), minor)
        try:
            expected = ags.read(one_by_one)
        except ags.AgentSessionError as error:
            with pytest.raises(type(error)):
                ags.read(at_once)
            return
        found = ags.read(at_once)
        assert [type(entry) for entry in found] == [type(entry) for entry in expected]
        assert found.entries == expected.entries


class TestSourcesAndTargets:
    def test_paths_files_and_bytes(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(file(info("a")))
        with path.open("rb") as opened:
            for source in (
                path,
                str(path),
                file(info("a")),
                bytearray(file(info("a"))),
                opened,
                io.BytesIO(file(info("a"))),
            ):
                assert len(ags.read(source)) == 1

    def test_messages_name_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(file(b"{", info("a")))
        with pytest.raises(ags.DamagedFile, match=re.escape(f"{path}: line 2: ")) as caught:
            ags.read(path)
        assert caught.value.path == path
        with path.open("rb") as opened, pytest.raises(ags.DamagedFile, match=re.escape(str(path))):
            ags.read(opened)

    def test_text_files_and_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="binary"):
            ags.read(io.StringIO("x"))  # type: ignore[arg-type]
        with pytest.raises(FileNotFoundError):
            ags.read(tmp_path / "nothing.jsonl")

    def test_write_to_a_path_or_a_file(self, tmp_path: Path) -> None:
        session = ags.read(file(info("a")))
        path = tmp_path / "out.jsonl"
        path.write_bytes(b"old")
        ags.write(path, session)
        assert path.read_bytes() == file(info("a"))
        assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]
        out = io.BytesIO()
        ags.write(out, session)
        assert out.getvalue() == file(info("a"))

    def test_modes_and_links_stay(self, tmp_path: Path) -> None:
        session = ags.read(file(info("a")))
        path, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
        path.write_bytes(b"old")
        path.chmod(0o600)
        link.symlink_to(path)
        ags.write(link, session)
        assert link.is_symlink()
        assert path.read_bytes() == file(info("a"))
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_pipe_is_written_to_and_stays_a_pipe(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
            ags.write(pipe, ags.read(file(info("a"))))
            assert reader.communicate()[0] == file(info("a"))
        assert pipe.is_fifo()

    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "out.jsonl"
        path.write_bytes(b"old")
        with pytest.raises(ags.CannotHash):
            ags.write(path, ags.read(file(info("a", more=b',"x":1e400'))), canonical=True)
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 1

    def test_canonical_lines(self) -> None:
        data = file(info("a", more=b', "x" : 1.0'))
        line = ags.dump(ags.read(data), canonical=True).splitlines()[1]
        assert line == b'{"id":"a","parent":null,"ts":"2026-03-01T08:15:31Z","type":"info","x":1}'


@settings(max_examples=60)
@given(sessions())
def test_a_session_written_and_read_is_the_same(session: ags.Session) -> None:
    data = ags.dump(session)
    again = ags.read(data)
    assert ags.dump(again) == data
    assert ags.dump(again, clean=True) == data
    assert again.entries == session.entries
    assert again.header == session.header
    assert again.labels == session.labels
    assert (again.name, again.superseded_by) == (session.name, session.superseded_by)


@settings(max_examples=60)
@given(sessions(), st.data())
def test_a_cut_file_is_a_prefix_or_an_error(session: ags.Session, data: st.DataObject) -> None:
    whole = ags.dump(session)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    try:
        prefix = ags.read(cut)
    except ags.DamagedFile:
        assert b"\n" not in cut
        return
    assert ags.dump(prefix) == cut
    assert prefix.entries == session.entries[: len(prefix)]


@settings(max_examples=150)
@given(sessions(4), st.data())
def test_damaged_bytes_never_raise_anything_else(session: ags.Session, data: st.DataObject) -> None:
    whole = bytearray(ags.dump(session))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = ags.read(bytes(whole))
    except ags.AgentSessionError:
        return
    assert ags.dump(read) == bytes(whole)
    for entry in read:
        for member in entry.MEMBERS.values():
            getattr(entry, member.name)
