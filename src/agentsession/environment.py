"""What an ``env`` entry records: the git revision of a directory, hashes of files.

Git is read from its files; no git program is needed.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentsession.errors import AgentSessionError, NotGit

if TYPE_CHECKING:
    from collections.abc import Iterable

# Git itself follows symbolic refs no deeper.
_MAX_LINKS: Final = 5
# HEAD, ref, commondir and .git files hold one short line.
_MAX_BYTES: Final = 65_536
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def hash_bytes(data: bytes) -> str:
    """``sha256:`` and the lowercase hex digest of ``data``.

    Spec: context 13.2.
    """
    return "sha256:" + hashlib.sha256(data).hexdigest()


def hash_text(text: str) -> str:
    """The content hash of ``text`` in UTF-8; a lone surrogate counts as U+FFFD.

    Spec: context 13.2.
    """
    return hash_bytes(_SURROGATE.sub("\ufffd", text).encode())


def hash_file(path: str | os.PathLike[str]) -> str:
    """The content hash of a file, read in pieces.

    Raises:
        OSError: the file cannot be read.
        ValueError: ``path`` holds a NUL.

    Spec: context 13.2.
    """
    with Path(path).open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(
    directory: str | os.PathLike[str], paths: Iterable[str | os.PathLike[str]]
) -> dict[str, str]:
    """The content hash of each file, keyed by its path as given.

    Args:
        directory: where relative paths start; the current directory when empty.
        paths: the files.

    Raises:
        OSError: of the first file that cannot be read.
        ValueError: a path holds a NUL.

    Spec: context 13.2.
    """
    base = os.fspath(directory)
    return {os.fspath(path): hash_file(os.path.join(base, path)) for path in paths}


def git_revision(directory: str | os.PathLike[str]) -> str:
    """The commit that HEAD names in the git checkout around ``directory``.

    Follows loose and packed refs, and the ``.git`` files of worktrees and
    submodules.

    Raises:
        NotGit: no directory from here up to the root holds ``.git``.
        AgentSessionError: the checkout has no commit yet, or its git files are
            missing, damaged, or of a kind that is not read here.

    Spec: context 13.3.
    """
    git_dir = _git_dir(Path(os.path.abspath(directory)))
    head = _read(git_dir / "HEAD")
    if head is None:
        raise AgentSessionError(f"{str(git_dir)!r}: no HEAD, the git directory is damaged")
    common = git_dir
    common_text = _read(git_dir / "commondir")
    if common_text is not None:
        common = git_dir / common_text
    value = head
    for _ in range(_MAX_LINKS):
        if not value.startswith("ref: "):
            return _commit(value, git_dir)
        value = _ref(common, value.removeprefix("ref: "))
    raise AgentSessionError(f"{str(git_dir)!r}: HEAD leads through too many symbolic refs")


def _git_dir(directory: Path) -> Path:
    for place in (directory, *directory.parents):
        git = place / ".git"
        # os.path: a place that cannot be looked at holds no checkout we can read.
        if os.path.isdir(git):
            return git
        if os.path.exists(git):
            text = _read(git)
            if not text:
                raise AgentSessionError(f"{str(git)!r}: empty, expected 'gitdir:' and a path")
            return place / text.removeprefix("gitdir:").strip()
    raise NotGit(f"{str(directory)!r}: not in a git checkout", path=directory)


def _ref(common: Path, name: str) -> str:
    """The content of a ref: a commit, or another symbolic ref."""
    if name.startswith("/") or ".." in name or any(char in name for char in "\\:\0"):
        # Git allows no such name; following one could leave the git directory.
        raise AgentSessionError(f"{str(common)!r}: HEAD names the bad ref {name[:80]!r}")
    value = _read(common / name)
    if value is None:
        value = _packed_ref(common, name)
    if value is None:
        if (common / "reftable").is_dir():
            raise AgentSessionError(f"{str(common)!r}: refs are kept in a reftable, not read here")
        raise AgentSessionError(f"{str(common)!r}: unborn ref {_shown(name)}, commit first")
    return value


def _packed_ref(common: Path, name: str) -> str | None:
    path = common / "packed-refs"
    wanted = os.fsencode(name)
    try:
        with path.open("rb") as file:
            for line in file:
                if line.startswith((b"#", b"^")):
                    continue
                revision, _, ref = line.strip().partition(b" ")
                if ref == wanted:
                    return os.fsdecode(revision)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AgentSessionError(f"{str(path)!r}: {_reason(error)}") from error
    return None


def _commit(value: str, git_dir: Path) -> str:
    # Ids are hex digits; anything else that prints is handed out as it stands.
    if not value or not value.isascii() or not value.isprintable():
        raise AgentSessionError(f"{str(git_dir)!r}: HEAD holds no commit id, it is damaged")
    return value


def _read(path: Path) -> str | None:
    """The trimmed text of a small file; ``None`` when there is no such file."""
    try:
        # A ref that is packed may leave an empty directory with its name.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise AgentSessionError(f"{str(path)!r}: {_reason(error)}") from error
    if len(data) > _MAX_BYTES:
        raise AgentSessionError(f"{str(path)!r}: too long for a git file of one line")
    return os.fsdecode(data).strip()


def _shown(name: str) -> str:
    """A name that prints, whatever bytes it was made of."""
    return name.encode("utf-8", "backslashreplace").decode()


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
