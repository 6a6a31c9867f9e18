"""``agentsession verify``: the stable lines, the exit code, the report."""

from __future__ import annotations

from pathlib import Path

from cli_runner import Caller
from test_cli_show import header

from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.testing import SessionBuilder
from agentsession.writing import write


def test_all_good(call: Caller, session_file: Path) -> None:
    checked = call("verify", session_file)
    assert (checked.code, checked.err) == (0, "")
    assert checked.out == (
        "e0000005  ok\n"
        "e0000009  ok\n"
        "e0000015  no hash recorded\n"
        "2 verified, 1 without hash, 0 failed\n"
    )


def test_a_changed_item_is_a_mismatch(call: Caller, session_file: Path) -> None:
    session_file.write_bytes(session_file.read_bytes().replace(b"a.txt", b"b.txt"))
    checked = call("verify", session_file)
    assert checked.code == 1
    lines = checked.out.splitlines()
    assert lines[0] == "e0000005  ok"
    assert lines[1].startswith("e0000009  MISMATCH recorded sha256:d0402bd2cdcd")
    assert lines[3] == "1 verified, 1 without hash, 1 failed"
    report = call("verify", "--json", session_file)
    assert report.code == 1
    assert report.json["ok"] is False
    response = report.json["responses"][1]
    assert (response["entry"], response["outcome"]) == ("e0000009", "mismatch")
    assert response["recorded"] != response["rebuilt"]


def test_a_request_that_cannot_be_rebuilt_is_an_error_line(call: Caller, tmp_path: Path) -> None:
    build = SessionBuilder()
    build.config(model="m-1", extra={"odd": 1})
    build.user("Hi")
    answer = build.answer("Hello")
    path = tmp_path / "s.jsonl"
    write(path, build.session)
    path.write_bytes(path.read_bytes().replace(b'"odd":1', b'"odd":1e999'))
    checked = call("verify", path)
    assert checked.code == 1
    error, counts, note = checked.out.splitlines()
    assert error.startswith(f"{answer}  ERROR ")
    assert note.startswith("note: entry ")
    assert note.endswith("the number 1e999 is beyond any double")
    assert counts == "0 verified, 0 without hash, 1 failed"
    (response,) = call("verify", "--json", path).json["responses"]
    assert response["outcome"] == "error"
    assert response["message"] in error


def test_records_that_disagree(call: Caller, tmp_path: Path) -> None:
    build = SessionBuilder(records=["dispatch"])
    build.user("Hi")
    build.call("call_1")
    build.output("call_1")
    leaf = build.answer("Done")
    path = tmp_path / "s.jsonl"
    write(path, build.session)
    checked = call("verify", path)
    assert checked.code == 1
    lines = checked.out.splitlines()
    assert lines[2] == "2 verified, 0 without hash, 0 failed"
    assert lines[3].startswith(f"records to {leaf}  ERROR ")
    (record,) = call("verify", "--json", path).json["records"]
    assert (record["leaf"], record["notes"]) == (leaf, [])
    assert record["error"] in lines[3]


def test_cut_last_line(call: Caller, session_file: Path) -> None:
    with session_file.open("ab") as file:
        file.write(b'{"type":"it')
    checked = call("verify", session_file)
    assert checked.code == 1
    assert checked.out.splitlines()[-1].startswith("truncated: line 18 was cut short: not JSON: ")
    assert call("verify", "--json", session_file).json["truncated"]["line"] == 18


def test_header_alone(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(header())
    checked = call("verify", path)
    assert checked.code == 1
    assert checked.out.splitlines() == [
        "0 verified, 0 without hash, 0 failed",
        "nothing to verify: the session has a header and no entries",
    ]
    assert call("verify", "--json", path).json["ok"] is False


def test_later_drafts_get_notes_behind_the_lines(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = Session(Header(id="s", format="agentsession/0.11", redacted=True))
    session.append(InfoEntry("x"))
    write(path, session)
    checked = call("verify", path)
    assert checked.code == 0
    first, *notes = checked.out.splitlines()
    assert first == "0 verified, 0 without hash, 0 failed"
    assert notes
    assert all(note.startswith("note: ") for note in notes)
    assert [f"note: {note}" for note in call("verify", "--json", path).json["notes"]] == notes
    path.write_bytes(path.read_bytes().replace(b'"name":"x"', b'"name":"y"'))
    changed = call("verify", path)
    assert (changed.code, changed.out) == (1, "")
    assert "hashes to sha256:" in changed.err


def test_the_form_that_matched_is_a_note(call: Caller, tmp_path: Path) -> None:
    build = SessionBuilder()
    build.item({"type": "message", "role": "user", "content": "Hi"})
    written = build.answer("Hello")
    path = tmp_path / "s.jsonl"
    write(path, build.session)
    # The writer hashed the normal form, with a list of parts; the file has the short one.
    normal = SessionBuilder()
    normal.user("Hi")
    normal.answer("Hello")
    digest = normal.session[written].to_dict()["request_hash"].encode()
    old = build.session[written].to_dict()["request_hash"].encode()
    path.write_bytes(path.read_bytes().replace(old, digest))
    checked = call("verify", path)
    assert checked.code == 0
    assert checked.out.splitlines()[0] == f"{written}  ok"
    assert checked.out.splitlines()[-1].startswith(
        f"note: {written} matched in the normalised form"
    )
    assert call("verify", "--json", path).json["responses"][0]["form"] == "normalised"
