"""Salvage: what can be had of a damaged file is had, and all else is told."""

from __future__ import annotations

import doctest
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import _fragments, _mending, damage
from agentsession._salvaging import Salvage
from agentsession.damage import CODES, Damage
from agentsession.recovery import Salvaged, repair, salvage
from session_strategies import sessions

HOSTILE = Path(__file__).parent / "data" / "hostile"
PAGE = Path(__file__).parents[1] / "docs" / "damage.md"

HEADER = (
    b'{"type":"session","format":"agentsession/0.1","id":"s","created_at":"2026-03-01T08:15:30Z",'
    b'"payload":"openresponses/2026-04-24"}'
)
TS = "2026-03-01T08:15:31Z"


def info(entry_id: str, parent: str | None = None, more: str = "", ts: str = TS) -> bytes:
    up = "null" if parent is None else f'"{parent}"'
    line = f'{{"type":"info","id":"{entry_id}","parent":{up},"ts":"{ts}"{more}}}'
    return line.encode("utf-8", "surrogatepass")


def file(*lines: bytes, header: bytes = HEADER, end: bytes = b"\n") -> bytes:
    return b"\n".join((header, *lines)) + end


def newer(data: bytes, minor: int) -> bytes:
    return data.replace(b"agentsession/0.1", b"agentsession/0.%d" % minor, 1)


def ids(found: Salvaged) -> list[str]:
    return [entry.id for entry in found.session]


def codes(found: Salvaged) -> list[str]:
    """The codes, but for the one that says that ids are no longer the hashes they should be."""
    return [one.code for one in found.damages if one.code != damage.FORMAT_LOWERED]


def saved(data: bytes) -> Salvaged:
    """Salvage, and check what holds for every salvage."""
    found = salvage(data)
    clean = ags.dump(found.session)
    again = salvage(clean)
    assert again.ok, again.damages
    assert ags.dump(again.session) == clean
    assert ags.dump(ags.read(clean, allow_newer=True)) == clean
    assert ags.dump(salvage(data).session) == clean
    assert salvage(data).damages == found.damages
    assert set(codes(found)) <= set(CODES)
    for one in found.damages:
        assert 0 <= one.start <= one.end <= len(data)
        assert not one.sentence.endswith(".")
        if one.code not in {damage.REPEATED_ID, damage.REPEATED_ENTRY}:
            assert all(entry_id in found.session for entry_id in one.entries)
    check_accounts(data, found)
    json.loads(found.report().to_json())
    return found


LEFT_OUT = {damage.BYTE_ORDER_MARK, damage.REPEATED_ENTRY}


def check_accounts(data: bytes, found: Salvaged) -> None:
    """Every byte is in an entry or the header, ends a line, or is left out by a damage."""
    seen = bytearray(len(data))
    for start, end in found.kept:
        seen[start:end] = b"\1" * (end - start)
    for one in found.damages:
        if one.lost or one.code in LEFT_OUT:
            assert not any(seen[one.start : one.end]), one
            seen[one.start : one.end] = b"\2" * (one.end - one.start)
    for at, mark in enumerate(seen):
        assert mark or data[at] in b"\r\n", (at, data[at - 20 : at + 20])


def reads(data: bytes) -> bool:
    try:
        ags.read(data, allow_newer=True)
    except ags.AgentSessionError:
        return False
    return True


def only(found: Salvaged) -> Damage:
    (one,) = found.damages
    return one


class TestWholeFiles:
    def test_a_clean_file_is_given_as_it_is(self) -> None:
        data = file(info("a"), info("b", "a"))
        found = saved(data)
        assert found.ok
        assert ags.dump(found.session) == data
        assert (found.lines, found.size, found.lost) == (3, len(data), 0)

    @pytest.mark.parametrize(
        "data",
        [
            file(info("a"), end=b""),
            file(b"", info("a"), b"", info("b")),
            b"\n" + file(info("a")),
            file(b' {"type" : "info", "ts":"%s", "id":"a"} ' % TS.encode()),
            file(info("a", more=r',"x":"\ud83d"')),
        ],
    )
    def test_what_reads_without_error_is_no_damage(self, data: bytes) -> None:
        found = saved(data)
        assert found.ok
        assert ags.dump(found.session) == ags.dump(ags.read(data), clean=True)

    def test_every_kind_of_source(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(file(info("a"), b"{"))
        for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
            assert codes(salvage(source)) == ["cut-line"]
        with path.open("rb") as opened:
            assert ids(salvage(opened)) == ["a"]
        assert ids(salvage(io.BytesIO(path.read_bytes()))) == ["a"]
        with path.open("r") as opened, pytest.raises(TypeError, match="binary"):
            salvage(opened)  # type: ignore[arg-type]
        with pytest.raises(OSError, match="nope"):
            salvage(tmp_path / "nope")

    def test_a_salvaged_session_goes_on(self) -> None:
        session = salvage(file(info("a"), b"{", info("b", "a"))).session
        session.append(ags.InfoEntry("x", id="c"))
        assert [entry.id for entry in session.path()] == ["a", "b", "c"]
        assert session.truncated is None


class TestTornLines:
    @pytest.mark.parametrize("cut", range(1, len(info("b", "a", ',"name":"x{\\"y"'))))
    def test_a_record_cut_anywhere(self, cut: int) -> None:
        whole = info("b", "a", ',"name":"x{\\"y"')
        found = saved(file(info("a"), whole[:cut], info("c", "a")))
        assert ids(found) == ["a", "c"]
        one = only(found)
        assert (one.code, one.line, one.lost) == ("cut-line", 3, cut)
        assert one.excerpt == whole[:cut].decode()

    @pytest.mark.parametrize("cut", range(1, len(info("b", "a", ',"name":"x{\\"y","d":[{"e":1}]'))))
    def test_a_record_cut_anywhere_and_glued_to_a_whole_one(self, cut: int) -> None:
        whole = info("b", "a", ',"name":"x{\\"y","d":[{"e":1}]')
        glued = whole[:cut] + info("c", "a", ',"d":{"a":"b"}')
        found = saved(file(info("a"), glued, info("d", "c")))
        assert ids(found) == ["a", "c", "d"]
        one = only(found)
        assert (one.code, one.line, one.lost) == ("glued-stub", 3, cut)

    def test_a_cut_record_is_named_and_so_are_its_children(self) -> None:
        found = saved(file(info("a"), info("b", "a")[:-4], info("c", "b")))
        assert ids(found) == ["a", "c"]
        assert "entry b" in found.damages[0].sentence
        assert str(found.damages[0]).startswith("line 3, bytes ")
        assert "was lost on line 3" in found.damages[1].sentence

    def test_two_records_and_pieces_around_them(self) -> None:
        line = b'x"}} ' + info("b", "a") + b" \r " + info("c", "b") + b'{"type":"in'
        found = saved(file(info("a"), line, info("d", "c")))
        assert ids(found) == ["a", "b", "c", "d"]
        assert sorted(codes(found)) == ["glued-stub", "glued-stub", "two-records"]
        both = next(one for one in found.damages if one.code == "two-records")
        assert both.entries == ("b", "c")

    def test_header_and_entry_on_one_line(self) -> None:
        found = saved(HEADER + info("a") + b"\n" + info("b", "a") + b"\n")
        assert ids(found) == ["a", "b"]
        assert found.session.id == "s"
        assert codes(found) == ["two-records"]

    def test_an_object_inside_a_torn_record_is_no_record(self) -> None:
        inner = info("x").decode()
        torn = info("b", "a", f',"data":{inner},"more":"')[:-1]
        found = saved(file(info("a"), torn, info("c", "a")))
        assert ids(found) == ["a", "c"]
        quoted = info("b", "a", ',"data":' + json.dumps(inner))[:-1]
        assert ids(saved(file(info("a"), quoted))) == ["a"]

    def test_nul_runs(self) -> None:
        middle = info("b", "a") + b"\0\0 \0" + info("c", "b")[:20] + b"\0" + info("d", "b") + b"\0"
        found = saved(file(info("a"), b"\0" * 50, b"  \0", middle))
        assert ids(found) == ["a", "b", "d"]
        assert codes(found).count("nul-run") == 5
        assert "50 NUL bytes" in found.damages[0].sentence

    def test_records_spread_over_lines(self) -> None:
        spread = json.dumps(json.loads(info("b", "a", ',"d":[{}]')), indent=2).encode()
        spread = spread.replace(b"\n", b"\r\n")
        found = saved(file(info("a"), spread + info("c", "b"), info("d", "c")))
        assert ids(found) == ["a", "b", "c", "d"]
        assert set(codes(found)) == {"spread-record", "two-records", "crlf"}
        assert found.session["b"].line == info("b", "a", ',"d":[{}]')

    def test_a_whole_file_spread_over_lines(self) -> None:
        lines = [HEADER, info("a"), info("b", "a")]
        data = b"\n".join(json.dumps(json.loads(line), indent=1).encode() for line in lines)
        found = saved(data)
        assert ids(found) == ["a", "b"]
        assert found.session.id == "s"

    def test_utf16_is_told_line_by_line(self) -> None:
        data = file(info("a"), info("b")).decode().encode("utf-16")
        found = saved(data)
        assert len(found.session) == 0
        assert len(found.damages) < 300

    def test_bytes_that_are_not_utf8(self) -> None:
        bad = info("b", "a", ',"name":"\N{PILCROW SIGN}"').replace(b"\xc2", b"\xff")
        found = saved(file(info("a"), bad, info("c", "b")))
        assert only(found).entries == ("b",)
        assert "2 bytes" in only(found).sentence
        assert found.session["b"].line == bad.replace(b"\xff\xb6", "\ufffd\ufffd".encode())
        later = saved(newer(file(info("a"), bad), 6))
        assert codes(later) == ["not-utf8"]
        assert later.session.name == "\N{REPLACEMENT CHARACTER}" * 2

    def test_a_byte_order_mark_and_carriage_returns(self) -> None:
        found = saved(b"\xef\xbb\xbf" + file(info("a"), info("b", "a")).replace(b"\n", b"\r\n"))
        assert ids(found) == ["a", "b"]
        mark, returns = found.damages
        assert (mark.code, mark.start, mark.end) == ("byte-order-mark", 0, 3)
        assert (returns.code, returns.count, returns.line) == ("crlf", 3, 1)
        assert ags.dump(found.session) == file(info("a"), info("b", "a"))

    def test_deep_nesting_and_long_lines_end(self) -> None:
        deep = b'{"a":' * 11_000
        found = saved(file(info("a"), deep, b'{"' * 11_000, b"[" * 11_000, info("b", "a")))
        assert ids(found) == ["a", "b"]
        assert set(codes(found)) == {"not-json"}
        object_at_the_limit = b'{"x":' * 10_000 + b"1" + b"}" * 10_000
        found = saved(file(object_at_the_limit))
        (kept,) = found.session
        assert isinstance(kept, ags.CustomEntry)
        assert kept.data == object_at_the_limit.decode()


class TestEntriesThatAreNone:
    def test_objects_are_kept_as_custom_entries(self) -> None:
        odd = b'{"role":"user","n":1.50}'
        found = saved(file(info("a"), odd, b"[]", b"null", b"  ", b"{}", info("b", "a"), odd))
        assert codes(found) == ["not-an-entry"] * 6
        first, second = (e for e in found.session if isinstance(e, ags.CustomEntry))
        assert first.ns == "agentsession:salvage"
        assert first.text_of("data") == second.text_of("data") == odd
        assert (first.parent, second.parent) == ("a", "b")
        assert found.lost == 2 + 4 + 2 + 2

    def test_a_refused_entry_keeps_its_place(self) -> None:
        refused = (
            b'{"type":"decision","id":"d","parent":"a","ts":"2026-03-01T08:15:31Z","call_id":"c"}'
        )
        found = saved(newer(file(info("a"), refused, info("b", "d")), 2))
        assert ids(found) == ["a", "d", "b"]
        one = only(found)
        assert (one.code, one.entries, one.lost) == ("refused-entry", ("d",), 0)
        assert found.session["d"].type == "custom"
        assert found.session["d"].text_of("data") == refused

    @pytest.mark.parametrize(
        ("ts", "becomes"),
        [
            ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.5Z"),
            ("2026-03-01 08:15:31,5z", "2026-03-01T08:15:31.5Z"),
            ("yesterday", TS),
            ("", TS),
        ],
    )
    def test_times(self, ts: str, becomes: str) -> None:
        found = saved(file(info("a"), info("b", "a", ',"name":"x"', ts)))
        assert str(found.session["b"].ts) == becomes
        assert found.session["b"].unknown == {"salvaged_ts": ts}
        assert codes(found) == ["bad-time"]
        assert found.session.name == "x"

    def test_no_id_no_time_no_right_parent(self) -> None:
        bare = b'{"type":"info","parent":7,"name":"x"}'
        found = saved(file(info("a"), bare, bare))
        assert codes(found) == ["bad-time", "lost-parent", "no-id"] * 2
        _, one, two = found.session
        assert one.id != two.id
        assert one.parent is None
        assert one.unknown == {"salvaged_parent": 7}
        assert str(one.ts) == TS

    def test_foreign_logs(self) -> None:
        lines = [b'{"type":"user","uuid":"1"}', b'{"type":"assistant","uuid":"2"}']
        found = saved(b"\n".join(lines) + b"\n")
        assert codes(found) == ["header-missing", "not-an-entry", "not-an-entry"]
        assert [entry.text_of("data") for entry in found.session] == lines
        assert len(found.session.leaves) == 1


class TestTree:
    def test_a_lost_parent_makes_a_marked_root(self) -> None:
        found = saved(file(info("a"), info("b", "nowhere"), info("c", "b")))
        assert [entry.id for entry in found.session.roots] == ["a", "b"]
        assert found.session["b"].unknown == {"salvaged_parent": "nowhere"}
        assert only(found).entries == ("b",)
        assert found.session["a"].line == info("a")

    def test_a_repeated_id_keeps_both_readings(self) -> None:
        named = info("b", "a", ',"name":"1"')
        found = saved(file(info("a"), named, info("b", "a"), info("c", "b")))
        _, first, second, last = found.session
        assert (first.id, last.parent) == ("b", "b")
        assert second.parent == "a"
        assert second.unknown == {"salvaged_id": "b"}
        assert only(found).entries == ("b", second.id)

    def test_a_repeated_line_is_kept_once(self) -> None:
        other = info("b", "a", ',"name":"1"')
        found = saved(file(info("a"), info("b", "a"), info("b", "a"), other, other))
        assert len(found.session) == 3
        assert codes(found) == ["repeated-entry", "repeated-id", "repeated-entry"]

    def test_a_parent_further_down(self) -> None:
        lines = [info("a"), info("d", "c"), info("e", "d"), info("b", "a"), info("c", "b")]
        found = saved(file(*lines, info("f", "c")))
        assert ids(found) == ["a", "b", "c", "d", "e", "f"]
        assert only(found).entries == ("d",)
        assert only(found).code == "late-parent"

    def test_parents_in_a_circle(self) -> None:
        found = saved(file(info("a", "c"), info("b", "a"), info("c", "b"), info("d", "d")))
        assert codes(found) == ["parent-cycle", "parent-cycle"]
        assert ids(found) == ["a", "b", "c", "d"]
        assert [entry.id for entry in found.session.roots] == ["a", "d"]

    def test_references_that_cannot_stand(self) -> None:
        parents = (
            ',"parents":[{"entry":"z"},{"entry":"a"},{"session":"s","entry":"a"},{"entry":"b"}'
        )
        parents += ',{"session":"t","entry":"q"}]'
        data = file(info("a"), info("b", "a"), info("c", "b", parents), info("d", "lost", parents))
        found = saved(newer(data, 4))
        assert codes(found) == ["lost-reference", "lost-parent", "lost-reference"]
        kept = found.session["c"].parents
        assert [(one.session, one.entry) for one in kept] == [("", "a"), ("t", "q")]
        assert [one.entry for one in found.session["d"].parents] == ["a", "b", "q"]
        assert found.session["c"].unknown == {"salvaged_parents": json.loads(parents[11:])}
        assert saved(newer(data, 3)).session["c"].line == info("c", "b", parents)

    def test_a_label_still_marks_the_leaf(self) -> None:
        label = f'{{"type":"label","id":"l","parent":"b","ts":"{TS}","target":"a","label":"leaf"}}'
        found = saved(file(info("a"), info("b", "a"), b"{", label.encode()))
        assert found.session.leaf == "a"


class TestHeaders:
    def test_a_format_that_refuses_what_there_is(self) -> None:
        work = Salvage(newer(file(info("a", "nope")), 7), "", allow_newer=True)
        work.clean()
        session = ags.read(work.lowered("line 2: the id is wrong"))
        assert session.header.format == "agentsession/0.4"
        assert session.header.unknown == {"salvaged_format": "agentsession/0.7"}
        assert session["a"].parent is None
        told = [one for one in work.told() if one.code == damage.FORMAT_LOWERED]
        assert "refuses what there is (the id is wrong)" in told[0].sentence

    @pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\r\n"])
    def test_no_file_to_speak_of(self, data: bytes) -> None:
        found = saved(data)
        assert codes(found)[0] == "header-missing"
        assert len(found.session) == 0
        assert found.session.id.startswith("salvaged-")

    def test_a_missing_header_is_made_from_name_and_first_entry(self, tmp_path: Path) -> None:
        path = tmp_path / "2026-03-01T08-15-30.250Z_my-id.jsonl"
        path.write_bytes(info("a") + b"\n" + info("b", "a") + b"\n")
        header = salvage(path).session.header
        assert (header.id, header.created, header.format) == ("my-id", TS, "agentsession/0.3")
        assert header.unknown == {"salvaged_header": "missing"}
        path = path.rename(tmp_path / "other.name.jsonl")
        assert salvage(path).session.id == "other.name"

    def test_a_torn_header_gives_what_is_whole(self) -> None:
        for cut in range(len(b'{"type":"sess'), len(HEADER)):
            found = saved(HEADER[:cut] + b"\n" + info("a") + b"\n")
            assert only(found).code == "header-torn"
            assert ids(found) == ["a"]
        assert (found.session.id, found.session.header.format) == ("s", "agentsession/0.1")
        assert found.session.header.created == "2026-03-01T08:15:30Z"
        glued = saved(HEADER[:60] + info("a") + b"\n")
        assert codes(glued) == ["header-torn"]
        assert ids(glued) == ["a"]

    def test_a_refused_header_is_mended(self) -> None:
        header = (
            b'{"type":"session","format":"agentsession/0.2","created_at":"2026-03-01 08:15:30Z",'
            b'"payload":"other/1","cwd":7,"x":[1.0]}'
        )
        found = saved(file(info("a"), header=header))
        one = only(found)
        assert (one.code, one.start, one.end, one.lost) == ("header-refused", 0, len(header), 0)
        for words in ("no id", "created_at", "payload", "cwd"):
            assert words in one.sentence
        assert found.session.header.created == "2026-03-01T08:15:30Z"
        assert found.session.header.format == "agentsession/0.2"
        assert found.session.header.unknown == {
            "x": [1.0],
            "salvaged_created_at": "2026-03-01 08:15:30Z",
            "salvaged_payload": "other/1",
            "salvaged_cwd": 7,
        }

    @pytest.mark.parametrize("name", ["agentsession/1.0", "pi/0.1", ""])
    def test_a_format_that_is_not_read(self, name: str) -> None:
        data = file(info("a")).replace(b"agentsession/0.1", name.encode(), 1)
        found = saved(data)
        assert only(found).code == "unsupported-format"
        assert found.session.header.format == "agentsession/0.3"
        assert found.session.header.unknown == {"salvaged_format": name}

    def test_newer_minor_versions(self) -> None:
        data = newer(file(info("a")), 99)
        assert salvage(newer(file(), 99)).ok
        assert codes(saved(data)) == []
        found = salvage(data, allow_newer=False)
        assert codes(found) == ["unsupported-format"]
        assert ags.read(ags.dump(found.session)).header.format == "agentsession/0.3"

    def test_a_header_further_down(self) -> None:
        found = saved(b"starting ...\n" + info("a") + b"\n" + HEADER)
        assert codes(found) == ["not-json", "header-not-first"]
        assert (found.session.id, ids(found)) == ("s", ["a"])

    def test_two_sessions_in_one_file(self) -> None:
        other = HEADER.replace(b'"s"', b'"t"')
        found = saved(file(info("a"), other, info("b"), HEADER))
        assert codes(found) == ["second-header", "repeated-entry"]
        assert 'session "t"' in found.damages[0].sentence
        assert len(found.session) == 3

    def test_a_header_that_is_not_utf8(self) -> None:
        header = HEADER.replace(b"}", b',"cwd":"/\xff"}')
        found = saved(file(header=header))
        assert codes(found) == ["not-utf8"]
        assert found.session.header.cwd == "/\ufffd"
        assert codes(saved(newer(file(header=header), 7))) == ["not-utf8"]


@pytest.mark.parametrize(
    ("name", "expected", "entries"),
    [
        ("asf-bad-line-in-middle", ["cut-line"], "c1 i1 i2 i3 i4"),
        ("asf-bom-and-crlf", ["byte-order-mark", "crlf"], "c1 i1 i2"),
        ("asf-deep-nesting", [], "c1 x1 i1"),
        ("asf-duplicate-keys", [], "c1 i9"),
        ("asf-empty", ["header-missing"], ""),
        ("asf-header-only", [], ""),
        ("asf-header-torn", ["header-torn"], ""),
        ("asf-lone-surrogate", [], "c1 i1 i2"),
        ("asf-not-entries", ["not-an-entry"] * 6, "c1 i1 i2"),
        ("asf-nul-run", ["nul-run"], "c1 i1 i2 i3"),
        ("asf-nul-tail", ["nul-run"], "c1 i1 i2"),
        ("asf-only-newline", ["header-missing"], ""),
        ("asf-parent-missing", ["lost-parent"], "c1 i1 i2"),
        ("asf-tail-complete-without-newline", [], "c1 i1 i2"),
        ("asf-timestamps", ["bad-time"], "c1 i1 i2 i3 i4"),
        ("asf-torn-tail", ["cut-line"], "c1 i1 i2 i3"),
        ("asf-two-records-one-line", ["two-records"], "c1 i1 i2 i3 i4"),
    ],
)
def test_hostile_files(name: str, expected: list[str], entries: str) -> None:
    found = saved((HOSTILE / f"{name}.jsonl").read_bytes())
    assert codes(found) == expected
    assert ids(found) == entries.split()


class TestRepair:
    def test_a_clean_file_and_a_report(self, tmp_path: Path) -> None:
        source, out = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
        data = file(info("a"), b'{"type":"info","name":"lost words', info("b", "a"))
        source.write_bytes(data)
        found = repair(source, out)
        assert out.read_bytes() == file(info("a"), info("b", "a"))
        assert ags.read(out).entries == found.session.entries
        assert source.read_bytes() == data
        report = json.loads((tmp_path / "good.jsonl.damage.json").read_bytes())
        assert report["schema"] == 1
        assert report["totals"] == {
            "bytes": len(data),
            "bytes_lost": 33,
            "lines": 4,
            "entries": 2,
            "damages": 1,
            "codes": {"cut-line": 1},
        }
        assert report["findings"][0]["excerpt"].endswith("lost words")
        assert report["session"] == "s"
        assert report["source"] == str(source)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "bad.jsonl",
            "good.jsonl",
            "good.jsonl.damage.json",
        ]

    def test_never_over_the_original_or_something_else(self, tmp_path: Path) -> None:
        source, out = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
        source.write_bytes(file(b"{"))
        link = tmp_path / "link.jsonl"
        link.symlink_to(source)
        hard = tmp_path / "hard.jsonl"
        hard.hardlink_to(source)
        for target in (source, link, hard, tmp_path / "." / "bad.jsonl"):
            with pytest.raises(ags.SessionExists, match="damaged file itself"):
                repair(source, target, force=True)
        with pytest.raises(ags.SessionExists, match="damaged file itself"):
            repair(source, out, report=source, force=True)
        assert not out.exists()
        out.write_bytes(b"mine")
        with pytest.raises(ags.SessionExists, match="force"):
            repair(source, out)
        assert out.read_bytes() == b"mine"
        repair(source, out, force=True)
        assert ags.read(out).id == "s"
        with pytest.raises(ags.SessionExists, match=r"damage\.json"):
            repair(source, tmp_path / "new", report=tmp_path / "good.jsonl.damage.json")
        assert source.read_bytes() == file(b"{")

    def test_files_that_cannot_be_read_or_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            repair(tmp_path / "nope", tmp_path / "out")
        source = tmp_path / "bad.jsonl"
        source.write_bytes(b"")
        with pytest.raises(OSError, match="nowhere"):
            repair(source, tmp_path / "nowhere" / "out")


JUNK = [b'"', b"{", b"}", b"\xff", b"\n", b"\r", b" ", b"\0", b"[]\n"]
LINE_ENDS = [b"\r\n", b"", b"\n\n", b" \n", b"\r"]
WORDS = [b'"id"', b'"ts"', b'"type"', b'"parent"', b'"item"', b"null", b'"2026', b'"e0']


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Session files after one to four accidents."""
    data = ags.dump(draw(sessions(6)))
    if draw(st.booleans()):
        data = data.replace(b"agentsession/0.3", b"agentsession/0.%d" % draw(st.integers(1, 12)), 1)
    for _ in range(draw(st.integers(1, 4))):
        size = len(data)
        start = draw(st.integers(0, size))
        end = min(size, start + draw(st.integers(0, 60)))
        lines = data.split(b"\n")
        kind = draw(st.integers(0, 9))
        if kind == 0:
            data = data[:start]
        elif kind == 1:
            data = data[:start] + data[end:]
        elif kind == 2:
            data = data[:start] + b"\0" * (end - start) + data[end:]
        elif kind == 3:
            data = data[:start] + draw(st.sampled_from(JUNK)) + data[start:]
        elif kind == 4:
            data = data.replace(b"\n", draw(st.sampled_from(LINE_ENDS)), 3)
        elif kind == 5:
            lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
            data = b"\n".join(lines)
        elif kind == 6:
            data = b"\n".join(draw(st.permutations(lines)))
        elif kind == 7:
            del lines[draw(st.integers(0, len(lines) - 1))]
            data = b"\n".join(lines)
        elif kind == 8:
            data = data.replace(draw(st.sampled_from(WORDS)), draw(st.binary(max_size=5)), 1)
        else:
            data = draw(st.sampled_from([b"\xef\xbb\xbf", b"{", b"log\n", b'{"a":1}'])) + data
    return data


@settings(max_examples=100, deadline=None)
@given(damaged_files())
def test_every_byte_is_accounted_for(data: bytes) -> None:
    saved(data)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text('{}[]",:\\ \n\r\0aé1').map(str.encode))
def test_any_bytes(data: bytes) -> None:
    saved(data)
    saved(HEADER + b"\n" + data)


@settings(max_examples=40, deadline=None)
@given(sessions(6), st.data())
def test_undamaged_lines_are_kept_as_they_are(session: ags.Session, data: st.DataObject) -> None:
    whole = ags.dump(session)
    cut = data.draw(st.integers(0, len(whole)))
    found = saved(whole[:cut])
    kept = whole[:cut].count(b"\n")
    if kept:
        assert found.session.header.line == session.header.line
        lines = [entry.line for entry in found.session]
        assert lines[: kept - 1] == [entry.line for entry in session.entries[: kept - 1]]


KINDS = re.compile(r"^### `([a-z0-9-]+)`$(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
SHOWN = {
    "HEADER": HEADER,
    "␀": b"\0",
    "␍": b"\r",
    "⟨EF BB BF⟩": b"\xef\xbb\xbf",
    "⟨FF⟩": b"\xff",
}


def test_every_code_is_documented_with_an_example() -> None:
    kinds = dict(KINDS.findall(PAGE.read_text("utf-8")))
    assert sorted(kinds) == sorted(CODES)
    for code, body in kinds.items():
        (example,) = re.findall(r"```text\n(.*?)```", body, re.DOTALL)
        data = example.encode()
        for shown, meant in SHOWN.items():
            data = data.replace(shown.encode(), meant)
        found = saved(data)
        if code == damage.FORMAT_LOWERED:
            assert found.ok == reads(data)
        else:
            assert code in codes(found), code


def test_the_code_on_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_bytes(file(info("a"), b"{"))
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(compile(example, "docs/damage.md", "exec"), {"print": lambda *_: None})
    assert Path("clean.jsonl.damage.json").exists()


def test_examples() -> None:
    for module in (_mending, _fragments):
        assert doctest.testmod(module).failed == 0
