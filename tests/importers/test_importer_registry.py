"""Importers by name: this package's own, and those of other packages."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import chatter_folder as chats
import pytest

from agentsession.errors import AgentSessionError
from agentsession.importers import registry
from agentsession.importers.base import Importer, Source, is_alarm


def test_own_importers_load_and_travel() -> None:
    for name in ("opencode",):
        importer = registry.load(name)
        assert importer.name == name
        assert pickle.loads(pickle.dumps(importer)).name == name


def test_an_unknown_name() -> None:
    with pytest.raises(AgentSessionError, match=r'no importer "nobody"; there are: .*opencode'):
        registry.load("nobody")


def test_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats.install(tmp_path, monkeypatch)
    assert registry.names() == tuple(sorted(registry.names()))
    importer = registry.load("chatter")
    assert isinstance(importer.find([tmp_path]), list)
    assert importer.find([tmp_path]) == []


def test_a_package_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats.install(tmp_path, monkeypatch)
    (tmp_path / f"{chats.MODULE}.py").write_text("raise RuntimeError('broken')")
    with pytest.raises(AgentSessionError, match="cannot be loaded: RuntimeError: broken"):
        registry.load("chatter")


def test_an_own_name_is_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chats.install(tmp_path, monkeypatch)
    entries = tmp_path / "chatter-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text() + f"opencode = {chats.MODULE}:Chatter\n")
    assert registry.load("opencode").name == "opencode"


def test_what_a_minimal_importer_inherits() -> None:
    class Silent(Importer):
        name = "silent"

        def find(self, paths=()):  # type: ignore[no-untyped-def]
            return ()

        def sessions(self, source):  # type: ignore[no-untyped-def]
            return ()

        def convert(self, source, session_id):  # type: ignore[no-untyped-def]
            raise NotImplementedError

    silent = Silent()
    rest = silent.report(Source("silent", ()))
    assert (rest.records, rest.findings, rest.tables, rest.read) == ((), (), {}, None)
    silent.close()


def test_the_size_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"12345")
    (tmp_path / "a" / "b" / "two").write_bytes(b"123")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "one")
    (tmp_path / "three").write_bytes(b"1")
    paths = (str(tmp_path / "a"), str(tmp_path / "three"), str(tmp_path / "gone"), "a\0b")
    source = Source("x", paths)
    assert source.size() == 9
    assert str(source) == f"{paths[0]} and 3 more"


def test_alarms() -> None:
    assert is_alarm("unreadable-record")
    assert is_alarm("unknown-content")
    assert not is_alarm("other-copy")


def test_no_importer_is_loaded_to_ask_whose_a_directory_is(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agentsession.importers import registry; "
        "print(*(registry.owner(name)(Path(sys.argv[1])) for name in registry.names())); "
        "print(*(name for name in sys.modules if name.endswith('.importer')))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    answers, loaded = told.stdout.split("\n")[:2]
    assert answers.split() == ["False"] * len(registry.names())
    assert not loaded


def test_the_owner_is_who_the_importer_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    chats.install(tmp_path / "packages", monkeypatch)
    own = {
        "claude-code": tmp_path / ".claude",
        "codex": tmp_path / ".codex",
        "opencode": tmp_path / ".local" / "share" / "opencode",
        "pi": tmp_path / ".pi" / "agent" / "sessions",
        "chatter": None,
    }
    for name, home in own.items():
        for directory in filter(None, own.values()):
            assert registry.owner(name)(directory) is registry.load(name).owns(directory)
            assert registry.owner(name)(directory) is (directory == home)
    with pytest.raises(AgentSessionError, match='no importer "nobody"'):
        registry.owner("nobody")


@pytest.mark.parametrize("package", ["codex", "opencode", "pi"])
def test_a_package_offers_each_name_that_it_lists(package: str) -> None:
    module = import_module(f"agentsession.importers.{package}")
    assert set(module.__all__) == {name for names in module._HOMES.values() for name in names}
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert not hasattr(module, "nothing_of_that_name")
    # Importing a module would put it in the name's place.
    modules = {path.stem for path in Path(str(module.__file__)).parent.iterdir()}
    assert modules.isdisjoint(module.__all__)
