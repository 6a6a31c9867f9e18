"""``agentsession show``: the text, the report, and what the rows say."""

from __future__ import annotations

import os
from pathlib import Path

from cli_runner import Caller

from agentsession.header import Header
from agentsession.parts import Reference
from agentsession.record_entries import InfoEntry
from agentsession.session import Session
from agentsession.testing import SessionBuilder
from agentsession.writing import write

TIMES = "\u00d7"

EXPECTED = """\
session     session-1
created     2026-01-01T00:00:00Z
format      agentsession/0.3 (openresponses/2026-04-24)
harness     tester 7
cwd         /srv/app
parent      session-0
spawned by  call_0
records     run, dispatch
media       inline
name        A small session
entries     16 in 1 root(s), 2 leaf(s), leaf e0000016

ID        PARENT    TYPE       SUMMARY
e0000001  -         config     model m-1, instructions "Be brief. Be kind.", \
instructions [base(9B) tone(8B)], omitted notes (budget), +ls, extra.temperature
e0000002  e0000001  run        start run-1 input
e0000003  e0000002  item       user: "List the files." from human inbox:1
e0000004  e0000003  item       call ls("{}") (resp_1)
e0000005  e0000004  response   resp_1 - completed hash sha256:15b2f0230092
e0000006  e0000005  dispatch   call_1 to tool
e0000007  e0000006  item       output call_1: "a.txt b.txt"
e0000008  e0000007  item       assistant: "Two files." (resp_2)
e0000009  e0000008  response   resp_2 - completed hash sha256:d0402bd2cdcd
e0000010  e0000009  run        end run-1 done
e0000011  e0000010  custom     acme (7 bytes)  fork{times}2 [here]
e0000012  e0000011  label      e0000011 = here
e0000013  e0000012  info       name "A small session"
e0000014  e0000013  item       assistant: "Said without a hash." (resp_3)
e0000015  e0000014  response   resp_3 - completed  leaf
e0000016  e0000011  acme:note  extension (95 bytes)  leaf

context at e0000016: 4 item(s) from 12 entries
  model         m-1
  instructions  "Be brief. Be kind."
  parts         base 9B from product, tone 8B
  omitted       notes 512B (budget)
  tools         ls
  extra         temperature
    1  user: "List the files."
    2  call ls("{}")
    3  output call_1: "a.txt b.txt"
    4  assistant: "Two files."
""".replace("{times}", TIMES)

HEADER = (
    b'{"type":"session","format":"agentsession/%s","id":"%s",'
    b'"created_at":"2026-01-01T10:00:00.5+02:00","payload":"openresponses/2026-04-24"}\n'
)


def header(version: bytes = b"0.2", session_id: bytes = b"s1") -> bytes:
    return HEADER % (version, session_id)


def test_text(call: Caller, session_file: Path) -> None:
    shown = call("show", session_file)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == EXPECTED


def test_leaf_moves_the_context_only(call: Caller, session_file: Path) -> None:
    for option in (["-leaf", "e0000003"], ["--leaf=e0000003"], ["-leaf=e0000003"]):
        shown = call("show", *option, session_file)
        assert shown.code == 0
        before, _, after = shown.out.partition("\ncontext at ")
        assert before == EXPECTED.partition("\ncontext at ")[0]
        assert after.startswith("e0000003: 1 item(s) from 3 entries\n  model         m-1\n")


def test_unknown_leaf(call: Caller, session_file: Path) -> None:
    for name in ("nowhere", ""):
        shown = call("show", session_file, "-leaf", name)
        assert (shown.code, shown.out) == (1, "")
        assert shown.err == f'agentsession: session session-1 has no entry "{name}"\n'


def test_verbose_prints_data(call: Caller, session_file: Path) -> None:
    shown = call("show", "-v", session_file)
    assert f'custom     acme {{"a":1}}  fork{TIMES}2 [here]' in shown.out
    assert 'extension {"type":"acme:note","id":"e0000016"' in shown.out


def test_header_alone(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(header())
    shown = call("show", path)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == (
        "session  s1\n"
        "created  2026-01-01T08:00:00.5Z\n"
        "format   agentsession/0.2 (openresponses/2026-04-24)\n"
        "entries  0 in 0 root(s), 0 leaf(s), leaf -\n"
        "\n"
        "ID  PARENT  TYPE  SUMMARY\n"
    )
    assert call("show", "--json", path).json["context"] is None


def test_cut_last_line(call: Caller, session_file: Path) -> None:
    with session_file.open("ab") as file:
        file.write(b'{"type":"it')
    shown = call("show", session_file)
    assert shown.code == 0
    last = shown.out.splitlines()[-1]
    assert last.startswith("truncated: line 18 was cut short and is not loaded: not JSON: ")
    told = call("show", "--json", session_file).json["truncated"]
    assert (told["line"], told["bytes"]) == (18, 11)
    assert told["start"] == session_file.stat().st_size - 11


def test_a_context_that_cannot_be_built_leaves_the_rest(call: Caller, folded_file: Path) -> None:
    shown = call("show", folded_file)
    assert shown.code == 1
    assert 'first kept nowhere; user: "sum"  leaf' in shown.out
    assert "context at" not in shown.out
    assert shown.err.startswith("agentsession: no context at e0000002: ")
    report = call("show", "--json", folded_file)
    assert report.code == 1
    assert report.json["context"] is None
    assert report.json["problem"] in report.err


def test_hashed_ids_are_shown_and_named_by_their_first_digits(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = Session(Header(id="s", format="agentsession/0.11", redacted=True))
    second = InfoEntry().converging(Reference("x", "s9"))
    # Two ids that begin alike.
    for minute in range(60):
        ids = [
            session.append(InfoEntry(ts=f"2026-01-01T00:{minute:02}:00Z")),
            session.append(second.moved(ts=f"2026-01-01T00:{minute:02}:01Z")),
        ]
        if ids[0][7] == ids[1][7]:
            break
        session = Session(session.header)
    write(path, session)
    first, last = (entry_id.removeprefix("sha256:") for entry_id in ids)
    shown = call("show", path)
    assert f"{first[:12]}  -             info  info\n" in shown.out
    assert f"{last[:12]}  {first[:12]}  info  info  leaf converging\n" in shown.out
    assert "\nnote: the session was redacted" in shown.out
    assert f"context at {first[:12]}: " in call("show", path, "-leaf", first[:8]).out
    ambiguous = call("show", path, "-leaf", first[0]).err
    assert ambiguous.startswith(f'agentsession: "{first[0]}" begins 2 entry ids')
    entries = call("show", path, "--json").json["entries"]
    assert [entry["id"] for entry in entries] == ids
    assert entries[1]["converges_from"] == [{"session": "s9", "entry": "x"}]


def test_a_version_not_known_here(call: Caller, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        header(b"0.99") + b'{"type":"info","id":"e1","parent":null,"ts":"2026-01-01T00:00:00Z"}\n'
    )
    for name in ("show", "verify"):
        told = call(name, path)
        assert (told.code, told.out) == (1, "")
        assert "--allow-newer" in told.err
        shown = call(name, "--allow-newer", path)
        assert shown.code == 0
        assert "note: agentsession/0.99 is unknown here" in shown.out


def test_nothing_a_terminal_acts_on_comes_out(call: Caller, tmp_path: Path) -> None:
    evil = "\x1b]0;x\x07\x9b31m\u202e\x7f\r\n"
    build = SessionBuilder(id="s\x1b[2J", cwd=evil)
    build.config(model=evil, extra={evil: 1}, tools_added=[{"type": evil, "name": evil}])
    build.user(evil, response=evil)
    build.append(InfoEntry(evil))
    path = tmp_path / "s.jsonl"
    write(path, build.session)
    for options in ([], ["-v"], ["--json"]):
        shown = call("show", *options, path)
        assert shown.code == 0
        assert all(line.isprintable() for line in shown.out.split("\n"))
    fields = call("show", "--json", path).json
    assert fields["session"]["name"] == evil
    assert fields["context"]["items"][0]["item"]["content"][0]["text"] == evil


def test_deep_payloads_are_strings_in_the_report(call: Caller, tmp_path: Path) -> None:
    deep = b"[" * 2000 + b"]" * 2000
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        header() + b'{"type":"item","id":"i1","parent":null,"ts":"2026-01-01T00:00:00Z",'
        b'"item":{"type":"x","deep":' + deep + b"}}\n"
    )
    (item,) = call("show", "--json", path).json["context"]["items"]
    assert item["item"] == '{"type":"x","deep":' + deep.decode() + "}"


def test_payloads_keep_their_spelling_in_the_report(call: Caller, tmp_path: Path) -> None:
    item = b'{"type":"x","n":1.50e3,"big":12345678901234567890123,"s":"\\u0041\\ud83c"}'
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        header() + b'{"type":"item","id":"i1","parent":null,"ts":"2026-01-01T00:00:00Z",'
        b'"item":' + item + b"}\n"
    )
    assert b'"item":' + item in os.fsencode(call("show", "--json", path).out)
