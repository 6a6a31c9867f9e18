"""Git revisions against repositories the git program made, and file hashes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentsession.environment import git_revision, hash_bytes, hash_file, hash_files, hash_text
from agentsession.errors import AgentSessionError, NotGit

ABC = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
SHA = "1234567890abcdef1234567890abcdef12345678"

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git program")


def git(directory: Path, *arguments: str) -> str:
    """What git printed, run in a directory without any user's configuration."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    environment |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(
        command, cwd=directory, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on ``main``."""
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-q")
    git(place, "symbolic-ref", "HEAD", "refs/heads/main")
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    return place


def fake(directory: Path, **files: str) -> Path:
    """A checkout made by hand; ``__`` in a name stands for a slash."""
    for name, text in files.items():
        path = directory / ".git" / name.replace("__", "/").replace("packed_refs", "packed-refs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return directory


@needs_git
def test_branch(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    assert git_revision(repository) == head
    assert git_revision(str(below)) == head


@needs_git
def test_relative_directory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    assert git_revision("") == git_revision(".") == git(repository, "rev-parse", "HEAD")


@needs_git
def test_packed_refs(repository: Path) -> None:
    git(repository, "tag", "-a", "-m", "t", "v1")
    git(repository, "branch", "main2")
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository, "pack-refs", "--all", "--prune")
    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    assert git_revision(repository) == git(repository, "rev-parse", "HEAD")
    # The loose ref written next wins over the packed one.
    git(repository, "commit", "-q", "--allow-empty", "-m", "third")
    assert git_revision(repository) == git(repository, "rev-parse", "HEAD")


@needs_git
def test_detached(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    git(repository, "checkout", "-q", "--detach", first)
    assert git_revision(repository) == first


@needs_git
def test_unborn(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/topic/x")
    with pytest.raises(AgentSessionError, match="unborn ref refs/heads/topic/x"):
        git_revision(tmp_path)


@needs_git
def test_worktree(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", "-b", "side", str(tree))
    git(tree, "commit", "-q", "--allow-empty", "-m", "on the side")
    side = git(tree, "rev-parse", "HEAD")
    assert (tree / ".git").is_file()
    assert (git_revision(tree), git_revision(repository)) == (side, first)
    git(repository, "pack-refs", "--all", "--prune")
    assert (git_revision(tree), git_revision(repository)) == (side, first)
    git(tree, "checkout", "-q", "--detach", first)
    assert git_revision(tree) == first


@needs_git
def test_submodule(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(repository), "inner")
    git(outer, "commit", "-q", "-m", "with a submodule")
    assert (outer / "inner" / ".git").is_file()
    assert git_revision(outer / "inner") == git(repository, "rev-parse", "HEAD")
    assert git_revision(outer) == git(outer, "rev-parse", "HEAD")


@needs_git
def test_symbolic_branch(repository: Path) -> None:
    git(repository, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repository, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert git_revision(repository) == git(repository, "rev-parse", "HEAD")


def test_outside_any_checkout(tmp_path: Path) -> None:
    if any((place / ".git").exists() for place in tmp_path.parents):
        pytest.skip("the temporary directory lies in a checkout")
    with pytest.raises(NotGit, match="not in a git checkout") as caught:
        git_revision(tmp_path)
    assert caught.value.path == tmp_path
    with pytest.raises(NotGit):
        git_revision(str(tmp_path) + "/nul\0")


def test_packed_ref_by_hand(tmp_path: Path) -> None:
    packed = (
        f"# pack-refs with: peeled fully-peeled sorted \n{'0' * 40} refs/heads/main2\n"
        f"^{'1' * 40}\n{SHA} refs/heads/main\r\n{'2' * 40} refs/heads/x/refs/heads/main\n"
    )
    fake(tmp_path, HEAD="ref: refs/heads/main\n", packed_refs=packed)
    # An empty directory of the ref's name is what pruning can leave.
    (tmp_path / ".git" / "refs" / "heads" / "main").mkdir(parents=True)
    assert git_revision(tmp_path) == SHA


def test_git_file_without_prefix_and_with_spaces(tmp_path: Path) -> None:
    fake(tmp_path, HEAD=f"{SHA}\n")
    for number, text in enumerate(("gitdir:   ../.git\r\n", "../.git", f"gitdir: {tmp_path}/.git")):
        place = tmp_path / str(number)
        place.mkdir()
        (place / ".git").write_text(text)
        assert git_revision(place) == SHA


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"config": ""}, "no HEAD"),
        ({"HEAD": ""}, "holds no commit id"),
        ({"HEAD": "\udcff\udcfe"}, "holds no commit id"),
        ({"HEAD": "ab\0cd"}, "holds no commit id"),
        ({"HEAD": "x" * 70_000}, "too long"),
        ({"HEAD": "ref: ../../secret"}, "bad ref"),
        ({"HEAD": "ref: /etc/hostname"}, "bad ref"),
        ({"HEAD": "ref: refs/heads/a\0b"}, "bad ref"),
        ({"HEAD": "ref: refs/heads/m\u00e9\udcff"}, r"unborn ref refs/heads/mé\\udcff"),
        ({"HEAD": "ref: HEAD"}, "too many symbolic refs"),
        ({"HEAD": "ref: refs/heads/.invalid", "reftable__tables.list": ""}, "reftable"),
        ({"HEAD": "ref: refs/heads/main", "refs__heads__main": "\n"}, "holds no commit id"),
        ({"HEAD": "ref: refs/heads/main", "packed_refs__x": ""}, "is a directory"),
        ({"HEAD": "ref: " + "refs/heads/" + "n" * 5000}, "name too long"),
    ],
)
def test_damaged_checkouts(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    fake(tmp_path, **files)
    with pytest.raises(AgentSessionError, match=problem) as caught:
        git_revision(tmp_path)
    assert not isinstance(caught.value, NotGit)
    str(caught.value).encode()


@pytest.mark.parametrize("text", ["", "gitdir: nowhere", "gitdir: a\0b", "\udcff"])
def test_damaged_git_files(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(AgentSessionError, match=r"no HEAD|empty"):
        git_revision(tmp_path)


def test_hashes_of_values() -> None:
    assert hash_bytes(b"abc") == hash_text("abc") == ABC
    assert hash_bytes(b"") == EMPTY
    assert hash_text("\u00e9") == hash_bytes(b"\xc3\xa9")
    assert hash_text("a\ud83d") == hash_bytes(b"a\xef\xbf\xbd")


def test_hashes_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"x" * 300_000)
    assert hash_file(tmp_path / "a") == hash_file(str(tmp_path / "a")) == ABC
    absolute = str(tmp_path / "b")
    assert hash_files(tmp_path, ["a", Path("a"), "./a", absolute]) == {
        "a": ABC,
        "./a": ABC,
        absolute: hash_bytes(b"x" * 300_000),
    }


def test_files_are_resolved_from_here_without_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    monkeypatch.chdir(tmp_path)
    assert hash_files("", ["a"]) == {"a": ABC}


def test_the_first_failure_is_raised(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(FileNotFoundError, match="missing"):
        hash_files(tmp_path, ["a", "missing", "later"])
    with pytest.raises(OSError, match="directory"):
        hash_file(tmp_path)
