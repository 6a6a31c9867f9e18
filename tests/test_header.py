"""Headers: filling, validation, the line."""

from __future__ import annotations

import pytest

from agentsession import Harness, Header, InvalidEntry, UnsupportedFormat
from agentsession.codec import Undecodable, decode_header

FULL = (
    b'{"type":"session","format":"agentsession/0.2","id":"s-1",'
    b'"created_at":"2026-03-01T08:15:30.25Z","payload":"openresponses/2026-04-24",'
    b'"harness":{"name":"demo","version":"2.1"},"records":["run","dispatch","decision"],'
    b'"cwd":"/srv/app","parent_session":"s-0","spawned_by":"call_7","media":"inline",'
    b'"x_team":"blue"}'
)


def test_every_member_is_read() -> None:
    header = decode_header(FULL)
    assert header.harness == Harness("demo", "2.1")
    assert header.records == ("run", "dispatch", "decision")
    assert (header.cwd, header.parent_session, header.spawned_by, header.media) == (
        "/srv/app",
        "s-0",
        "call_7",
        "inline",
    )
    assert header.created_at is not None
    assert header.created_at.text == "2026-03-01T08:15:30.25Z"
    assert header.unknown == {"x_team": "blue"}
    assert header.version == (0, 2)
    assert header.has_record("dispatch")
    assert not header.has_record("queued")
    assert header.line == FULL


def test_a_built_header_is_written_in_the_formats_order() -> None:
    header = Header(
        format="agentsession/0.2",
        id="s-1",
        created_at="2026-03-01T08:15:30.25Z",
        payload="openresponses/2026-04-24",
        harness=Harness("demo", "2.1"),
        records=["run", "dispatch", "decision"],
        cwd="/srv/app",
        parent_session="s-0",
        spawned_by="call_7",
        media="inline",
        unknown={"x_team": "blue"},
    )
    assert header.line == FULL
    assert header.filled().line == FULL


def test_a_new_header_is_filled() -> None:
    header = Header(cwd="/x").filled()
    assert header.format == "agentsession/0.2"
    assert header.payload == "openresponses/2026-04-24"
    assert len(header.id) == 36
    assert header.id[14] == "7"
    assert header.created_at is not None
    assert header.line.startswith(b'{"type":"session","format":"agentsession/0.2","id":"')


def test_unknown_members_come_last_and_sorted() -> None:
    line = Header(id="s", unknown={"z": 1, "a": [1.50], "\u00e9": None}).filled().line
    assert line.endswith('"a":[1.5],"z":1,"é":null}'.encode())


def test_a_harness_without_version_and_without_name() -> None:
    assert Harness("x").json_text == b'{"name":"x"}'
    assert Harness("").json_text == b'{"name":""}'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "header is not a JSON object"),
        (b"[]", "header is not a JSON object"),
        (b'{"type":"item"}', "not a session"),
        (b'{"format":"agentsession/0.2"}', "not a session"),
        (b'{"type":null}', "not a session"),
        (b'{"type":"session","format":"agentsession/0.2"}', "no id"),
        (FULL.replace(b'"s-1"', b'""'), "no id"),
        (FULL.replace(b'"2026-03-01T08:15:30.25Z"', b"null"), "no created_at"),
        (FULL.replace(b"2026-03-01T08:15:30.25Z", b"0001-01-01T00:00:00Z"), "no created_at"),
        (FULL.replace(b"2026-03-01T08:15:30.25Z", b"2026-03-01"), "created_at"),
        (FULL.replace(b'"openresponses/2026-04-24"', b'""'), "no payload"),
        (FULL.replace(b"openresponses/", b"closed/"), "payload"),
        (FULL.replace(b'"/srv/app"', b"7"), "cwd must be a string"),
        (FULL.replace(b'["run","dispatch","decision"]', b'"run"'), "records must be"),
        (FULL.replace(b'"demo"', b"1"), "harness must be"),
        (b"\xef\xbb\xbf" + FULL, "byte order mark"),
    ],
)
def test_headers_that_are_none(line: bytes, words: str) -> None:
    with pytest.raises(Undecodable, match=words):
        decode_header(line)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "agentsession",
        "agentsession/1",
        "agentsession/a.b",
        "pi/0.1",
        "agentsession/0.-1",
        "agentsession/ 0.1",
        "agentsession/0.1.2",
        "agentsession/0.\u0661",
        "agentsession/1.0",
        "agentsession/0.12",
        "agentsession/0.99",
        "agentsession/0.1\n",
    ],
)
def test_formats_that_are_refused(name: str) -> None:
    header = Header.from_texts({**decode_header(FULL)._loaded()})
    line = header.line.replace(b'"agentsession/0.2"', Harness(name).text_of("name") or b"")
    with pytest.raises(UnsupportedFormat) as caught:
        decode_header(line)
    assert caught.value.format == name


def test_a_newer_minor_is_read_on_request() -> None:
    line = FULL.replace(b"/0.2", b"/0.12")
    assert decode_header(line, allow_newer=True).version == (0, 12)


@pytest.mark.parametrize("version", ["0.4", "0.5", "0.10", "0.0"])
def test_only_written_versions_start_a_session(version: str) -> None:
    with pytest.raises(UnsupportedFormat, match="read but not written"):
        Header(format=f"agentsession/{version}").filled()


def test_members_the_version_lacks_are_refused() -> None:
    with pytest.raises(InvalidEntry, match="records"):
        Header(format="agentsession/0.1", records=["run"]).filled()
    assert Header(format="agentsession/0.3", records=["run"]).filled().version == (0, 3)
    with pytest.raises(InvalidEntry, match="base"):
        Header(base="sha256:00").filled()
    assert Header(format="agentsession/0.11", redacted=True).filled().redacted is True


def test_a_caller_must_give_a_time_with_a_zone() -> None:
    with pytest.raises(InvalidEntry, match="created_at"):
        Header(created_at="2026-03-01T08:15:30")
    with pytest.raises(InvalidEntry, match="cwd must be a string"):
        Header(cwd=7)  # type: ignore[arg-type]


def test_a_name_in_another_case_is_unknown() -> None:
    header = decode_header(FULL.replace(b'"cwd"', b'"CWD"'))
    assert header.cwd == ""
    assert header.unknown["CWD"] == "/srv/app"


@pytest.mark.parametrize("unknown", [{"cwd": "/x"}, {"type": "other"}, {"media": "inline"}])
def test_unknown_members_cannot_set_known_ones(unknown: dict[str, object]) -> None:
    with pytest.raises(InvalidEntry, match="a member of its own"):
        Header(unknown=unknown)


def test_an_id_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(InvalidEntry, match="valid Unicode"):
        Header(id="\ud800")
