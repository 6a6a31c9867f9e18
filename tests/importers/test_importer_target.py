"""Where an import makes no store: at its sources, and among any agent's own data."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from agentsession.errors import AgentSessionError
from agentsession.importers import registry
from agentsession.importers.run import Work, import_sessions

DATA: Final = Path(__file__).parents[1] / "data"
RECORDED: Final = {
    "claude-code": DATA / "claude-code-recordings" / "1.0.35-tools",
    "codex": DATA / "codex" / "0.171.0-branch" / "codex",
    "opencode": DATA / "opencode" / "1.1.65-revert",
    "pi": DATA / "pi" / "1.6.0-tree" / "pi",
}
OWN: Final = {
    "claude-code": ["projects", "projects/store", "projects/-home-dev-project/store"],
    "codex": ["sessions", "sessions/store", "sessions/2026/store"],
    "opencode": ["", "store", "storage/session/store"],
    "pi": ["agent/sessions", "agent/sessions/store"],
}
USUAL: Final = {
    "claude-code": (".claude", ".claude/store"),
    "codex": (".codex", ".codex/store"),
    "opencode": (".local/share/opencode", ".local/share/opencode/store"),
    "pi": (".pi", ".pi/agent/sessions/store"),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no agent has been."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


def copy(agent: str, place: Path) -> Path:
    return Path(shutil.copytree(RECORDED[agent], place))


def work(agent: str, place: Path) -> list[Work]:
    importer = registry.load(agent)
    found = [Work(importer, tuple(importer.find([place])))]
    assert found[0].sources
    return found


def names(place: Path) -> list[str]:
    return sorted(str(path) for path in place.rglob("*"))


@pytest.mark.parametrize(("agent", "inside"), [(a, place) for a in OWN for place in OWN[a]])
@pytest.mark.parametrize("linked", [False, True])
def test_a_copy_of_an_agents_data_takes_no_store(
    tmp_path: Path, agent: str, inside: str, linked: bool
) -> None:
    place = copy(agent, tmp_path / "copied")
    before = names(place)
    target = place / inside
    if linked:
        (tmp_path / "link").symlink_to(place, target_is_directory=True)
        target = tmp_path / "link" / inside
    with pytest.raises(AgentSessionError, match="name another place for it"):
        import_sessions(work(agent, place), target)
    assert names(place) == before


@pytest.mark.parametrize("agent", USUAL)
def test_neither_does_the_usual_place_of_another_agent(
    tmp_path: Path, home: Path, agent: str
) -> None:
    other = next(name for name in USUAL if name != agent)
    place = copy(other, tmp_path / "copied")
    usual, inside = (home / path for path in USUAL[agent])
    copy(agent, usual)
    with pytest.raises(AgentSessionError, match=f"is {agent}'s own data"):
        import_sessions(work(other, place), inside)


@pytest.mark.parametrize("agent", RECORDED)
def test_a_project_that_holds_a_copy_takes_a_store(tmp_path: Path, home: Path, agent: str) -> None:
    place = copy(agent, home / "app" / "logs")
    (home / "app" / ".claude").mkdir()
    for number, target in enumerate((home / "app" / "store", home / "store", home)):
        report = import_sessions(work(agent, place), target)
        assert report.totals["sessions"]["created"], number


def test_a_link_to_nothing_in_an_agents_data_is_followed(tmp_path: Path, home: Path) -> None:
    place = copy("pi", home / ".pi")
    (tmp_path / "store").symlink_to(place / "agent" / "sessions" / "store")
    with pytest.raises(AgentSessionError, match="is pi's own data"):
        import_sessions(work("pi", place), tmp_path / "store")


@pytest.mark.parametrize("name", ["store", "store.db"])
def test_the_directories_above_a_store_are_made(tmp_path: Path, name: str) -> None:
    source = copy("claude-code", tmp_path / "copy")
    target = tmp_path / "missing" / "too" / name
    previewed = import_sessions(work("claude-code", source), target, dry_run=True)
    assert previewed.ok
    assert not (tmp_path / "missing").exists()
    report = import_sessions(work("claude-code", source), target)
    assert report.ok
    assert target.exists()
