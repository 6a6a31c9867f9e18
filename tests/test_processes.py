"""How many processes a piece of work is worth, and how large it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentsession._processes import size_at, worth

MB = 1 << 20


@pytest.mark.parametrize(
    ("size", "processors", "expected"),
    [(0, 4, 1), (32 * MB - 1, 4, 1), (32 * MB, 4, 4), (32 * MB, 1, 1), (1 << 50, 64, 8)],
)
def test_one_for_each_processor_where_there_is_enough(
    size: int, processors: int, expected: int
) -> None:
    assert worth(size, processors) == expected


def test_processors_are_those_that_this_process_may_use() -> None:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert worth(32 * MB) == min(usable or 1, 8)


def test_the_size_of_a_place_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "below" / "more").mkdir(parents=True)
    (tmp_path / "below" / "more" / "b").write_bytes(b"4567")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    assert size_at(str(tmp_path)) == 7
    assert size_at(str(tmp_path / "a")) == size_at(str(tmp_path / "link")) == 3
    assert [size_at(str(tmp_path / name)) for name in ("dangling", "nothing", "\0")] == [0, 0, 0]
    assert size_at("-") == 0
