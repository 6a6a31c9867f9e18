"""What was inferred of a session stays when the sessions it was inferred from are deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agentsession.importers.opencode.importer import OpenCode
from agentsession.importers.report import ImportReport
from agentsession.importers.run import Work, import_sessions
from agentsession.stores import JSONLStore

START = 1_770_000_000_000
MINE, OTHER = "ses_mine", "ses_other"


class Data:
    """A data directory of the first generation: one file each."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.at = START
        self.asked = ""
        self.number = 0

    def put(self, *names: str, **value: Any) -> None:
        path = self.place.joinpath("storage", *names).with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    def session(self, name: str, version: str) -> None:
        self.at += 1000
        times = {"created": self.at, "updated": self.at}
        told = {"projectID": "global", "directory": "/home/dev", "title": name}
        self.put("session", "global", name, id=name, version=version, time=times, **told)

    def message(self, role: str, words: str, **info: Any) -> str:
        self.at += 1000
        self.number += 1
        name, part = f"msg_{self.number:026}", f"prt_{self.number:026}"
        times = {"created": self.at, "completed": self.at + 500}
        self.put("message", MINE, name, id=name, sessionID=MINE, role=role, time=times, **info)
        said = {"id": part, "sessionID": MINE, "messageID": name, "type": "text", "text": words}
        self.put("part", name, part, **said)
        return name

    def turn(self, words: str) -> None:
        model = {"providerID": "p", "modelID": "m"}
        asked = self.message("user", words, agent="build", model=model)
        told = {"parentID": asked, "providerID": "p", "modelID": "m", "finish": "stop"}
        self.message("assistant", f"{words}!", **told)

    def delete(self, name: str) -> None:
        self.place.joinpath("storage", "session", "global", f"{name}.json").unlink()
        shutil.rmtree(self.place / "storage" / "message" / name, ignore_errors=True)

    def into(self, store: Path, to: str) -> ImportReport:
        importer = OpenCode()
        return import_sessions([Work(importer, importer.find([self.place]))], store, format=to)


def releases(store: Path) -> list[str]:
    with JSONLStore(store) as opened:
        entries = opened.open(MINE).entries
    return [e.to_dict()["opencode"]["release"] for e in entries if e.type == "response"]


@pytest.mark.parametrize("to", ["0.3", "0.11"])
def test_a_session_from_which_a_release_was_known_is_deleted(tmp_path: Path, to: str) -> None:
    data, store = Data(tmp_path / "opencode"), tmp_path / "store"
    data.session(MINE, "1.0.98")
    data.turn("One")
    data.session(OTHER, "1.1.50")
    data.turn("Two")
    assert data.into(store, to).ok
    assert releases(store) == ["1.0.98", "1.1.50"]
    data.delete(OTHER)
    again = data.into(store, to)
    assert again.ok
    assert again.totals["sessions"]["branched"] == 0
    assert again.totals["entries"]["appended"] == 0
    data.turn("Three")
    grown = data.into(store, to)
    assert grown.totals["sessions"]["branched"] == 0
    assert releases(store) == ["1.0.98", "1.1.50", "1.1.50"]
    assert data.into(store, to).totals["entries"]["appended"] == 0
