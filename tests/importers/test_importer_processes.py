"""Imports by several processes: what each is given, how many are started, what is the same."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentsession.errors import AgentSessionError
from agentsession.importers import registry, workers
from agentsession.importers.run import Work, import_sessions, jobs_for
from agentsession.stores import JSONLStore, open_store
from agentsession.writing import dump

DATA = Path(__file__).parents[1] / "data"
AGENTS = ("claude-code", "codex", "opencode", "pi")


def work(agent: str, place: Path) -> Work:
    importer = registry.load(agent)
    return Work(importer, tuple(importer.find([place])))


def everything(agent: str, place: Path, records: Path) -> dict[str, Any]:
    """What an import leaves: the store, the report and the account of each record."""
    found: dict[str, Any] = {}
    for jobs in (1, 2):
        store = place / str(jobs)
        with records.open("w+b") as file:
            report = import_sessions(
                [work(agent, DATA / agent)], store, jobs=jobs, records=file
            ).to_dict()
            file.seek(0)
            accounts = sorted(file.read().splitlines())
        with JSONLStore(store, read_only=True) as opened:
            content = {one.header.id: opened.content(one.header.id) for one in opened.list()}
        found[str(jobs)] = (content, json.loads(json.dumps(report)), accounts)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_two_processes_import_what_one_does(agent: str, tmp_path: Path) -> None:
    found = everything(agent, tmp_path, tmp_path / "records")
    assert found["1"] == found["2"]
    assert len(found["1"][0]) > 1


@pytest.mark.parametrize("agent", AGENTS)
def test_an_importer_that_listed_its_sessions_goes_to_another_process(agent: str) -> None:
    importer = registry.load(agent)
    (source,) = importer.find([DATA / agent])
    listed = list(importer.sessions(source))
    other = pickle.loads(pickle.dumps(importer))
    assert list(other.sessions(source)) == listed
    for session in listed:
        mine, theirs = (one.convert(source, session.id) for one in (importer, other))
        assert dump(mine.session) == dump(theirs.session)
        assert mine.records == theirs.records
    importer.close()
    other.close()


def test_the_look_at_the_files_goes_along(tmp_path: Path) -> None:
    """What a process is told it does not look up: the files may be gone by then."""
    for agent in ("claude-code", "codex", "pi"):
        place = tmp_path / agent
        shutil.copytree(DATA / agent, place)
        importer = registry.load(agent)
        (source,) = importer.find([place])
        listed = [session.id for session in importer.sessions(source)]
        shutil.rmtree(place)
        other = pickle.loads(pickle.dumps(importer))
        assert [session.id for session in other.sessions(source)] == listed != []


@pytest.mark.parametrize(("size", "jobs"), [(1 << 20, 1), (33 << 20, 3), (1 << 40, 3)])
def test_processes_are_started_where_there_is_enough_to_do(
    tmp_path: Path, size: int, jobs: int
) -> None:
    shutil.copytree(DATA / "pi", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "beside.bin").open("wb") as file:
        file.truncate(size)
    assert jobs_for([work("pi", tmp_path)], processors=3) == jobs


def test_there_are_no_more_processes_than_processors_or_eight(tmp_path: Path) -> None:
    shutil.copytree(DATA / "pi", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "beside.bin").open("wb") as file:
        file.truncate(1 << 40)
    found = [work("pi", tmp_path)]
    assert jobs_for(found) == min(len(os.sched_getaffinity(0)), 8)
    assert jobs_for(found, processors=1) == 1
    assert jobs_for(found, processors=64) == 8


class _Slow:
    """Does its first task only when nothing else is begun any more."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, task: int, /) -> int:
        (self.place / str(task)).touch()
        begun = 0 if task == 0 else None
        while begun is not None:
            time.sleep(0.5)
            now = len(os.listdir(self.place))
            if now == begun > 1:
                (self.place / "begun").write_text(str(now))
                begun = None
            else:
                begun = now
        return task

    def close(self) -> None:
        pass


def test_results_do_not_pile_up_behind_a_long_task(tmp_path: Path) -> None:
    """Results wait for those before them, which must not take memory without an end."""
    assert list(workers.run(_Slow(tmp_path), range(1000), 2)) == list(range(1000))
    assert int((tmp_path / "begun").read_text()) == 256


def test_a_process_that_dies_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(AgentSessionError, match="run the import again to go on"):
        list(workers.run(_Dying(), range(20), 2))


class _Dying:
    def __call__(self, task: int, /) -> int:
        if task == 3:
            os._exit(1)
        return task

    def close(self) -> None:
        pass


def test_two_imports_at_once_create_each_session_once(source: Path, tmp_path: Path) -> None:
    """They meet at every session; one of them stores it, and the other one sees that."""
    for name in ("files", "database.db"):
        store = tmp_path / name
        command = [sys.executable, "-m", "agentsession", "import", "pi", source, "--to", store]
        running = [
            subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        reports = [json.loads(one.communicate()[0]) for one in running]
        assert [one.returncode for one in running] == [0, 0, 0]
        totals = [report["totals"] for report in reports]
        assert sum(one["sessions"]["created"] for one in totals) == 40
        assert sum(one["sessions"]["unchanged"] for one in totals) == 80
        with open_store(store, read_only=True) as opened:
            assert len(list(opened.list())) == 40


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Forty sessions of pi."""
    (log,) = (DATA / "pi" / "1.6.0-tools-anthropic" / "pi").rglob("*.jsonl")
    folder = tmp_path / "sessions" / "--home-dev-project--"
    folder.mkdir(parents=True)
    for number in range(40):
        name = f"01a22e4e-5d19-74aa-aa27-{number:012d}"
        known = log.stem.partition("_")[2]
        text = log.read_text().replace(known, name)
        (folder / log.name.replace(known, name)).write_text(text)
    return folder.parent
