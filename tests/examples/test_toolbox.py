"""The example agent's tools stay inside their directory and never raise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    from toolbox import Toolbox

    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    return Toolbox(project)


def test_tools_do_what_they_say(tools: Any) -> None:
    assert tools.run("add", '{"numbers": [0.1, 0.2]}') == "0.3"
    assert tools.run("read_file", '{"path": "a.txt"}') == "hello"
    assert tools.run("wait_for_file", '{"path": "a.txt", "seconds": 0}') == "hello"
    assert tools.run("delete_file", '{"path": "a.txt"}') == "a.txt is deleted"
    assert not (tools.directory / "a.txt").exists()


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link.txt", "a\x00b", "../../.."])
@pytest.mark.parametrize("name", ["read_file", "wait_for_file", "delete_file"])
def test_nothing_outside_is_touched(tools: Any, name: str, path: str) -> None:
    arguments = json.dumps({"path": path})
    assert tools.policy(name, arguments)[0] == "reject"
    assert tools.run(name, arguments).startswith("error: ")
    assert (tools.directory.parent / "secret.txt").exists()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nothing", "{}"),
        ("add", "not json"),
        ("add", "[1]"),
        ("add", "[" * 100_000),
        ("add", "{}"),
        ("add", '{"numbers": "many"}'),
        ("add", '{"numbers": [1e308, 1e308]}'),
        ("read_file", '{"path": "no.txt"}'),
        ("read_file", '{"path": "."}'),
        ("wait_for_file", '{"path": "no.txt", "seconds": -1}'),
        ("wait_for_file", '{"path": "no.txt", "seconds": "soon"}'),
    ],
)
def test_what_goes_wrong_is_said(tools: Any, name: str, arguments: str) -> None:
    assert tools.run(name, arguments).startswith("error: ")


def test_deleting_is_held_and_the_rest_proceeds(tools: Any) -> None:
    assert tools.policy("delete_file", '{"path": "a.txt"}')[0] == "hold"
    assert tools.policy("read_file", '{"path": "a.txt"}')[0] == "proceed"
    assert tools.policy("add", "not json")[0] == "proceed"


def test_every_tool_has_a_schema(tools: Any) -> None:
    assert {schema["name"] for schema in tools.schemas} == set(tools.tools)
