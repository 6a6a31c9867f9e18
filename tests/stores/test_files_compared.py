"""A stored file is compared with what it should hold, a piece at a time."""

from __future__ import annotations

from pathlib import Path

from agentsession.stores import files


def test_only_the_very_bytes_are_exactly_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    whole = bytes(range(256)) * 1000
    path.write_bytes(whole)
    for pieces in ([whole], [whole[:1], whole[1:200_000], b"", whole[200_000:]]):
        assert files.has_exactly(path, pieces)
    for other in (b"", whole[:-1], whole + b"x", whole[:-1] + b"x", b"x" + whole[1:]):
        assert not files.has_exactly(path, [other])
