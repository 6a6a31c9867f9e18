"""Names of files and directories. Spec: stores 4.1 and 4.2, decision B2."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsession.errors import InvalidEntry
from agentsession.header import Header
from agentsession.stores import layout
from agentsession.timestamp import Timestamp


@pytest.mark.parametrize(
    ("cwd", "key"),
    [
        ("", "default"),
        ("/", "default"),
        ("///", "default"),
        (".", "default"),
        ("..", "default"),
        ("/..", "default"),
        ("/home/u/app", "home-u-app"),
        ("//home/u", "home-u"),
        ("C:\\Users\\u", "C--Users-u"),
        ("rel/dir", "rel-dir"),
        ("../up", "..-up"),
        ("/a b/ü", "a b-ü"),
    ],
)
def test_project_key(cwd: str, key: str) -> None:
    assert layout.project_key(cwd) == key


@given(st.text())
def test_a_project_key_is_one_name(cwd: str) -> None:
    key = layout.project_key(cwd)
    assert key not in {"", ".", ".."}
    assert not set(key) & {"/", "\\", ":"}


def test_file_name() -> None:
    created = Timestamp.parse("2026-03-01T10:15:30.250999+02:00")
    name = layout.file_name(created, "x_y")
    assert name == "2026-03-01T08-15-30.250Z_x_y.jsonl"
    path = Path("/r/p") / name
    assert layout.lock_path(path).name == f"{name}.lock"
    assert layout.is_file_of(name, "x_y")


@pytest.mark.parametrize(
    ("name", "session_id"),
    [
        ("2026-03-01T08-15-30.250Z_x_y.jsonl", "y"),
        ("2026-03-01T08-15-30.250Z_x_y.jsonl", "x"),
        ("2026-03-01T08-15-30.250Z_x.jsonl.lock", "x"),
        ("2026-03-01T08-15-30.25Z_x.jsonl", "x"),
        ("2026-03-01T08:15:30.250Z_x.jsonl", "x"),
        ("_x.jsonl", "x"),
        ("x.jsonl", "x"),
        ("2026-03-01T08-15-30.250Z_X.jsonl", "x"),
    ],
)
def test_file_of_another(name: str, session_id: str) -> None:
    assert not layout.is_file_of(name, session_id)


@pytest.mark.parametrize(
    "session_id",
    [
        "",
        ".",
        "..",
        "../etc",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a*",
        "a?",
        "a[0]",
        "a\0b",
        "a\nb",
        "\x7f",
        "NUL",
        "con",
        "Com1",
        "lpt9.txt",
        "aux:x",
        "\ud800",
        "x" * 300,
        "ü" * 120,
        None,
        7,
    ],
)
def test_ids_that_are_no_file_names(session_id: object) -> None:
    assert layout.id_problem(session_id)


@pytest.mark.parametrize(
    "session_id", ["x", "01995b2a-7c3e-7d10-8a44-0f5b6c7d8e9f", "ü", "a b", "console", "a..b", "-x"]
)
def test_ids_that_are(session_id: str) -> None:
    assert layout.id_problem(session_id) == ""


@given(st.text(min_size=1))
def test_an_id_that_passes_fits_one_name(session_id: str) -> None:
    if layout.id_problem(session_id):
        return
    path = layout.place(Path("/root"), Header(id=session_id).filled())
    assert path.parent == Path("/root/default")
    assert len(layout.lock_path(path).name.encode()) <= layout.NAME_BYTES
    assert len(layout.temporary_path(path).name.encode()) <= layout.NAME_BYTES
    assert layout.is_file_of(path.name, session_id)


@pytest.mark.parametrize(
    ("header", "member"),
    [
        (Header(id="../x"), "id"),
        (Header(id="a\0b"), "id"),
        (Header(cwd="/" + "d" * 256), "cwd"),
        (Header(cwd="/a\0b"), "cwd"),
    ],
)
def test_a_header_that_has_no_place(header: Header, member: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        layout.place(Path("/root"), header.filled())
    assert caught.value.member == member
    assert str(caught.value).isprintable()
