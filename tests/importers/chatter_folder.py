"""The example of ``docs/importing.md`` as a module, and folders of chats for it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers.base import Importer
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.reading import read
from agentsession.session import Session
from agentsession.stores import JSONLStore

PAGE = Path(__file__).parents[2] / "docs" / "importing.md"
MODULE = "chatter_sessions"
START = 1_772_352_000  # 2026-03-01T08:00:00Z

Turn = tuple[str, str]


def example() -> str:
    """The source of the example."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return next(block for block in blocks if "class Chatter" in block)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
    """Write the example as an installed package would be, entry point included."""
    metadata = folder / "chatter-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: chatter\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[agentsession.importers]\nchatter = {MODULE}:Chatter\n"
    )
    (folder / f"{MODULE}.py").write_text(example())
    if monkeypatch is not None:
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, MODULE, raising=False)


def chatter() -> Importer:
    """A new importer, of the module installed."""
    importer: Importer = import_module(MODULE).Chatter()
    return importer


def at(second: int) -> str:
    return f"2026-03-01T08:{second // 60:02}:{second % 60:02}Z"


def said(*texts: str) -> list[Turn]:
    """Turns in which user and assistant alternate."""
    return [("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]


def write_chat(folder: Path, name: str, turns: Sequence[Turn], title: str = "A chat") -> Path:
    """Write a chat; a turn's id is its number."""
    folder.mkdir(parents=True, exist_ok=True)
    chat: dict[str, Any] = {"title": title, "turns": []}
    for number, (role, text) in enumerate(turns):
        chat["turns"].append({"id": f"t{number}", "at": at(number), "role": role, "text": text})
    path = folder / f"{name}.chat"
    path.write_text(json.dumps(chat))
    return path


def run(folder: Path, store: Path | None, **options: Any) -> ImportReport:
    """Import a folder of chats."""
    importer = chatter()
    work = Work(importer, tuple(importer.find([folder])))
    return import_sessions([work], store, **options)


def stored(store: Path, session_id: str) -> Session:
    """A session as it is in its file."""
    return read(file_of(store, session_id))


def file_of(store: Path, session_id: str) -> Path:
    with JSONLStore(store, read_only=True) as opened:
        return opened.path(session_id)


def files(store: Path) -> dict[str, bytes]:
    """Every file of a store by its name."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


def texts(session: Session) -> list[str]:
    """What was said on the path to the leaf."""
    return [item.text for item in session.context().items]


def actions(report: ImportReport) -> dict[str, int]:
    """The actions a report counts, without those that are 0."""
    counted = report.totals["sessions"]
    return {n: c for n, c in counted.items() if c and n not in {"found", "selected"}}
