"""Ids that are hashes: what they cover, what has none, and that every change is found.

Spec: later drafts 3.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsession as ags
from agentsession import envelopes, id_blocks, ijson, text
from agentsession.canonical import canonical_number, canonical_text
from agentsession.entry_ids import has_one_spelling, id_problem, identity
from session_strategies import entries, json_values

HEADER = (
    b'{"type":"session","format":"agentsession/0.11","id":"s",'
    b'"created_at":"2026-01-02T03:04:05Z","payload":"openresponses/2026-04-24"}\n'
)
ROOT = (
    b'{"type":"item","parent":null,"ts":"2026-01-02T03:04:05.25Z","item":{"type":"message",'
    b'"role":"user","content":[{"type":"input_text","text":"Hi"}]}}'
)
ROOT_ID = "sha256:f82258f320553cdc435185accabf222648a2d1e727b1997c9d50ba5d8c542fa0"
CHILD = {
    "type": "info",
    "parent": ROOT_ID,
    "ts": "2026-01-02T03:04:06Z",
    "name": "Demo",
}


def of(line: bytes | dict[str, Any]) -> tuple[str, str]:
    data = line if isinstance(line, bytes) else json.dumps(line).encode()
    found = identity(text.split_members(data))
    return found.content, found.id


def with_id(line: bytes | dict[str, Any]) -> bytes:
    data = line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode()
    entry_id = of(data)[1].encode()
    return data[:-1] + b',"id":"' + entry_id + b'"}'


def file(*lines: bytes) -> bytes:
    return HEADER + b"".join(line + b"\n" for line in lines)


class TestWorkedExamples:
    def test_the_root(self) -> None:
        content = "sha256:c2a61348f8da6497c9394f1e2e7ec5cf6560db99e79e83406e8d7ceafad92c6f"
        assert of(ROOT) == (content, ROOT_ID)

    def test_its_child(self) -> None:
        assert of(CHILD) == (
            "sha256:fdef97059d5819ef64f84034018a887b8591f398da5cbbe240376ca81f1444bb",
            "sha256:4f5542a6ddee84c7f80fe2b29024f599c7891c4177c17d3052978191973f7ff0",
        )

    def test_parents_count_when_there_are_any(self) -> None:
        parents = [{"entry": "sha256:" + "0" * 64, "session": "s-child"}]
        assert of({**CHILD, "parents": parents})[1] == (
            "sha256:9bd4d1187891e8a97c3979b61e43926c0a5c4168e2eb93be90c04df72d31dc0d"
        )
        for none in ([], None):
            assert of({**CHILD, "parents": none}) == of(CHILD)

    def test_an_empty_body(self) -> None:
        line = {"type": "info", "parent": None, "ts": "2026-01-02T03:04:06Z"}
        assert of(line)[0] == (
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        )
        assert ags.read(file(with_id(line)))["" + of(line)[1]].type == "info"

    def test_appended_they_are_the_same(self) -> None:
        session = ags.Session(ags.Header(format="agentsession/0.11"))
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Hi"}],
        }
        root = session.append(ags.ItemEntry(item, ts="2026-01-02T04:04:05.250+01:00"))
        assert root == ROOT_ID
        assert session.append(ags.InfoEntry("Demo", ts="2026-01-02T03:04:06Z")) == of(CHILD)[1]


NUMBERS = {
    "9007199254740992": True,
    "1e20": True,
    "0.1": True,
    "100": True,
    "1.0": True,
    "-0": True,
    "9007199254740993": False,
    "9007199254740993.0": False,
    "9.007199254740993e15": False,
    "1152921504606846976": True,
    "1152921504606847000": True,
    "1152921504606846977": False,
    "1e400": False,
    "-1e400": False,
    "1e-400": True,
    "0e999999999999": True,
    "1e-999999999999": True,
    "1e999999999999": False,
    "123456789012345678901234567890": False,
    "1e22": True,
    "100000000000000000000000000000000": True,
}


class TestIJSON:
    @pytest.mark.parametrize("number", NUMBERS)
    def test_numbers(self, number: str) -> None:
        assert (ijson.problem(b'{"n":[%s]}' % number.encode()) == "") is NUMBERS[number]

    @settings(max_examples=200, deadline=None)
    @given(
        st.one_of(
            st.integers(-(2**70), 2**70).map(str),
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.from_regex(r"\A-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?\Z"),
        )
    )
    def test_numbers_by_the_recipe(self, number: str) -> None:
        exact, nearest = Fraction(number), float(number)
        whole = exact.denominator == 1
        holds = not whole or int(nearest) == exact or Fraction(canonical_number(nearest)) == exact
        assert (ijson.number_problem(number.encode()) == "") is holds

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            (b'{"a":1,"a":1}', "twice"),
            (b'{"x":[{"a":1,"b":2,"\\u0061":3}]}', "twice"),
            (b'{"a":"\\ud83d"}', "lone surrogate"),
            (b'{"a":"\\ude00\\ud83d"}', "lone surrogate"),
            (b'{"\\ud83dx":1}', "lone surrogate"),
            (b'{"a":"\xe2\x82"}', "UTF-8"),
            (b'{"a":"\xed\xa0\x80"}', "UTF-8"),
            (b'{"a":1e400}', "beyond any double"),
        ],
    )
    def test_what_it_rejects(self, line: bytes, problem: str) -> None:
        assert problem in ijson.problem(line)
        with pytest.raises(ags.AgentSessionError):
            ags.read(file(line[:-1] + b',"type":"info","id":"x","parent":null,"ts":"%s"}' % TS))

    @pytest.mark.parametrize(
        "line", [b'{"a":"\\ud83d\\ude00","b":{"a":1},"c":[{"a":1},{"a":2}]}', b'{"a":"\\\\ud83d"}']
    )
    def test_what_it_accepts(self, line: bytes) -> None:
        assert ijson.problem(line) == ""


TS = b"2026-01-02T03:04:05Z"


class TestSpelling:
    @pytest.mark.parametrize(
        "ts", ["2026-01-02T03:04:05Z", "2026-12-31T23:59:59.000000001Z", "2024-02-29T00:00:00.1Z"]
    )
    def test_one_spelling(self, ts: str) -> None:
        assert has_one_spelling(ts)
        assert len(ags.read(file(with_id({**CHILD, "parent": None, "ts": ts})))) == 1

    @pytest.mark.parametrize(
        "ts",
        [
            "2026-01-02T03:04:05.0Z",
            "2026-01-02T03:04:05.10Z",
            "2026-01-02T03:04:05.0000000001Z",
            "2026-01-02T03:04:05+00:00",
            "2026-01-02T03:04:60Z",
            "2026-02-29T03:04:05Z",
            "2026-02-30T03:04:05Z",
            "2026-01-02t03:04:05z",
            "2026-01-02T03:04:05Z\n",
            "0001-01-01T00:00:00Z",
            "",
        ],
    )
    def test_any_other_is_a_wrong_id(self, ts: str) -> None:
        with pytest.raises(ags.BadID):
            ags.read(file(with_id({**CHILD, "parent": None, "ts": ts})))


class TestRules:
    def test_content_is_reserved(self) -> None:
        line = {**CHILD, "parent": None, "content": "x", "id": "sha256:" + "0" * 64}
        with pytest.raises(ags.ReservedMember, match="line 2"):
            ags.read(file(json.dumps(line).encode()))

    @pytest.mark.parametrize(
        "entry_id", ["", "a1b2c3d4", "sha512:" + "0" * 64, f"sha256:{'A' * 64}"]
    )
    def test_other_ids_are_refused(self, entry_id: str) -> None:
        line = json.dumps({**CHILD, "parent": None, "id": entry_id}).encode()
        with pytest.raises(ags.BadID) as caught:
            ags.read(file(line))
        assert caught.value.entry_id == entry_id

    def test_the_right_id_is_told(self) -> None:
        line = with_id({**CHILD, "parent": None})
        right = ags.read(file(line)).leaf
        changed = line.replace(b"Demo", b"Dema")
        with pytest.raises(ags.BadID, match="line 2") as caught:
            ags.read(file(changed))
        assert (caught.value.entry_id, caught.value.expected) == (right, of(changed)[1])

    def test_the_parent_must_be_written(self) -> None:
        line = with_id({"type": "info", "ts": "2026-01-02T03:04:06Z"})
        with pytest.raises(ags.BadID, match="parent"):
            ags.read(file(line))

    def test_a_repeated_entry_is_one(self) -> None:
        root, child = with_id(ROOT), with_id(CHILD)
        session = ags.read(file(root, child, root))
        assert len(session) == 2
        assert "line 4 repeats" in session.notes[0]
        assert ags.dump(session, clean=True) == file(root, child)

    def test_a_last_line_that_is_json_is_not_cut(self) -> None:
        root = with_id(ROOT)
        with pytest.raises(ags.BadID):
            ags.read(file(root, root.replace(b"Hi", b"Ho"))[:-1])
        assert ags.read(file(root, root[:-9])).truncated is not None

    @pytest.mark.parametrize(
        "normalised",
        [
            [{"at": "/a"}],
            [{"at": "/a", "was": "1", "raw": "MQ=="}],
            [{"was": "1"}],
            [{"at": "/a", "was": 1}],
            [7],
            {},
        ],
    )
    def test_normalised_has_a_form(self, normalised: object) -> None:
        line = with_id({**CHILD, "parent": None, "normalised": normalised})
        with pytest.raises(ags.AgentSessionError, match="normalised"):
            ags.read(file(line))

    def test_without_verifying(self) -> None:
        changed = file(with_id(ROOT).replace(b"Hi", b"Ho"))
        session = ags.read(changed, verify_ids=False)
        assert len(session) == 1
        assert "not verified" in session.notes[0]
        assert ags.dump(session) == changed
        assert ags.read(file(with_id(ROOT))).notes == ()

    def test_a_draft_that_is_not_known_is_not_judged(self) -> None:
        newer = file(with_id(ROOT), with_id(CHILD)).replace(b"/0.11", b"/0.12")
        with pytest.raises(ags.UnsupportedFormat, match="allow_newer"):
            ags.read(newer)
        assert len(ags.read(newer, allow_newer=True).notes) == 1
        session = ags.read(newer.replace(b"Demo", b"Dema"), allow_newer=True)
        assert any("1 entry ids are not the hashes" in note for note in session.notes)
        with pytest.raises(ags.UnsupportedFormat):
            session.append(ags.InfoEntry("x"))


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """One line of a session of one entry, as written or spelled in another way."""
    session = ags.Session(ags.Header(format="agentsession/0.11"))
    session.append(draw(entries()).moved(ts=draw(st.datetimes()).isoformat() + "Z"))
    line = session.entries[0].line
    how = draw(st.sampled_from(["classic", "canonical", "ascii", "spaced", "reversed"]))
    value = json.loads(line)
    if how == "canonical":
        return canonical_text(line)
    if how == "ascii":
        return json.dumps(value, separators=(",", ":")).encode()
    if how == "spaced":
        return json.dumps(value).encode()
    if how == "reversed":
        turned = dict(reversed(value.items()))
        return json.dumps(turned, separators=(",", ":"), ensure_ascii=False).encode()
    return line


class TestTheTwoWays:
    """What the fast way says is certain, the exact way says too."""

    @settings(max_examples=100, deadline=None)
    @given(lines())
    def test_lines_of_a_writer(self, line: bytes) -> None:
        session = ags.read(file(line))
        entry = session.entries[0]
        assert id_problem(line, entry.id, entry.ts_text) == ("", "")
        id_blocks.holds(line, entry.id, entry.ts_text)
        value = json.loads(line)
        body = {
            k: v for k, v in value.items() if k not in ("id", "type", "parent", "parents", "ts")
        }
        try:
            content = "sha256:" + hashlib.sha256(rfc8785.dumps(body)).hexdigest()
        except rfc8785.CanonicalizationError:
            return
        assert of(line)[0] == content

    @settings(max_examples=100, deadline=None)
    @given(lines(), st.data())
    def test_a_changed_byte_is_found(self, line: bytes, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(line) - 1))
        byte = data.draw(st.integers(32, 126).filter(lambda byte: byte != line[at]))
        changed = line[:at] + bytes([byte]) + line[at + 1 :]
        try:
            session = ags.read(file(changed))
        except ags.AgentSessionError:
            assert envelopes.verified(changed + b"\n", (0, 11)) is None
            return
        # Only a spelling can differ, and a change of the line's last byte cuts it.
        assert session.truncated is not None or text.equal(changed, line)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(json_values, max_size=3), st.sampled_from([b"", b" ", b"\n", b'"a":1,', b"}{"]))
    def test_framing(self, values: list[Any], odd: bytes) -> None:
        root = with_id(ROOT)
        made = [root]
        for value in values:
            line = {**CHILD, "parent": of(made[-1])[1], "x": value}
            made.append(with_id(json.dumps(line, separators=(",", ":")).encode()))
        block = b"\n".join(made) + b"\n"
        where = block.find(b"{", 1)
        broken = block[:where] + odd + block[where:]
        found = envelopes.verified(broken, (0, 11))
        if odd and found is not None:
            raise AssertionError(broken)

    def test_plain_lines_take_the_fast_way(self) -> None:
        line = with_id({**CHILD, "parent": None, "n": [1, -5, 0.5, 1e-7, 2**53], "t": "é東🙂"})
        plain = text.compact(canonical_text(line))
        assert id_blocks.holds(plain, of(plain)[1], str(CHILD["ts"]))
        mixed = with_id(
            canonical_text(json.dumps({**CHILD, "parent": None, "é\uff0c🙂": "\uff0c🙂"}))
        )
        assert id_blocks.holds(mixed, of(mixed)[1], str(CHILD["ts"]))
        stamp = with_id({**CHILD, "parent": None, "micro": 1767225600000000, "h": ":" + "1" * 20})
        assert id_blocks.holds(stamp, of(stamp)[1], str(CHILD["ts"]))

    @pytest.mark.parametrize(
        "member", ["1.0", "1e3", "9007199254740993", "1e21", '"\\u0041"', '"\\/"', "-0", "1e-400"]
    )
    def test_odd_spellings_take_the_exact_way(self, member: str) -> None:
        line = with_id(json.dumps({**CHILD, "parent": None}, separators=(",", ":")).encode())
        odd = line[:-1] + f',"x":{member}}}'.encode()
        assert not id_blocks.holds(odd, of(odd)[1], str(CHILD["ts"]))
        if not ijson.problem(odd):
            entry_id = of(odd)[1].encode()
            right = odd.replace(line[-73:-2], entry_id)
            assert len(ags.read(file(right))) == 1
