"""Reading, contexts, verification and canonical JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import orjson
import rfc8785

import agentsession as ags
from agentsession.testing import SessionBuilder
from benchmarks import inputs
from benchmarks.harness import Report, Row, at_most, faster, peak_bytes


def read(report: Report, place: Path, size: int) -> None:
    """``ags.read`` against one ``orjson.loads`` a line, for files of several shapes.

    Where ids are hashes, all of which are computed, a line costs the baseline two SHA-256 more.
    """
    shapes: dict[str, dict[str, object]] = {
        "mixed": {},
        "200-byte lines": {"item_size": 60, "share": 0},
        "20 KB outputs": {"share": 0.95},
    }
    for name, options in shapes.items():
        path = inputs.session_file(
            place / f"{name.replace(' ', '-')}-{size}.jsonl", size, **options
        )
        floor = 1.6 if name != "20 KB outputs" else 1.0
        report.add(
            faster(
                f"read, {name}, {size // 10**6} MB",
                "[orjson.loads(line) for line in file]",
                floor,
                lambda path=path: _every_line(path),
                lambda path=path: ags.read(path),
            )
        )
    small = min(size, _ONE_KIND_SIZE)
    for kind in inputs.ONE_KIND:
        name = f"only-{kind.replace(' ', '-')}-{small}.jsonl"
        path = inputs.file_of_kind(place / name, kind, small)
        report.add(
            faster(
                f"read, only {kind}, {small / 10**6:g} MB",
                "[orjson.loads(line) for line in file]",
                1.0 if "item" in inputs.ONE_KIND[kind] else _SHORTEST,
                lambda path=path: _every_line(path),
                lambda path=path: ags.read(path),
            )
        )
    path = inputs.hashed_file(place / f"hashed-{small}.jsonl", small)
    report.add(
        faster(
            f"read, ids that are hashes, {small / 10**6:g} MB",
            "json.loads and two SHA-256 of each line",
            1.0,
            lambda: _every_line_hashed(path),
            lambda: ags.read(path),
        )
    )


_ONE_KIND_SIZE = 4_000_000
# Of a line of a hundred bytes the envelope is nearly all there is, and that is what a reader
# takes apart and keeps.
_SHORTEST = 0.7


def _every_line_hashed(path: Path) -> list[object]:
    with path.open("rb") as file:
        return [
            (json.loads(line), sha256(line).hexdigest(), sha256(line).hexdigest()) for line in file
        ]


def _every_line(path: Path) -> list[object]:
    with path.open("rb") as file:
        return [orjson.loads(line) for line in file]


def memory(report: Report, place: Path, size: int) -> None:
    """Peak memory of a read over the file's size, and the bytes an entry takes beyond it."""
    path = inputs.session_file(place / f"mixed-{size}.jsonl", size)
    entries = len(ags.read(path))
    idle = peak_bytes(f"import agentsession as ags; ags.read(b''.join(()) or {_small_session()!r})")
    peak = peak_bytes(f"import agentsession as ags; s = ags.read({str(path)!r})") - idle
    beyond = (peak - path.stat().st_size) / entries
    report.add(
        Row(
            f"read, peak memory, {size // 10**6} MB",
            "the file's size",
            "",
            (peak / path.stat().st_size,),
            None,
        )
    )
    report.add(Row("read, bytes an entry beyond the file", "", "<= 450", (beyond,), beyond <= 450))


def _small_session() -> bytes:
    build = SessionBuilder()
    build.user("Hi")
    return ags.dump(build.session)


def context(report: Report, place: Path, size: int) -> None:
    """The context at the leaf with its items decoded, against one parse of the items."""
    path = inputs.session_file(place / f"mixed-{size}.jsonl", size)
    texts = [bytes(item.json_text) for item in ags.read(path).context().items]

    # An entry decodes once, so each round has a session of its own.
    sessions = [ags.read(path) for _ in range(9)]

    def ours() -> list[object]:
        # Each item is decoded to Python values. They are handed out, as those of the baseline
        # are: what it costs to throw them and the session away is no part of either.
        session = sessions.pop()
        items = session.context().items
        return [session, items, [item.type for item in items]]

    report.add(
        at_most(
            f"context at the leaf, {len(texts)} items",
            "orjson.loads of each item",
            2,
            lambda: [orjson.loads(text) for text in texts],
            ours,
        )
    )


def conversation(calls: int, *, compact_every: int = 0, seed: int = 3) -> ags.Session:
    """A session of one path with model calls whose context grows throughout."""
    rng = random.Random(seed)
    build = SessionBuilder()
    build.config(
        model="m-1",
        instructions=inputs.text(rng, 2000),
        tools_added=[
            {
                "type": "function",
                "name": f"tool_{n}",
                "description": inputs.text(rng, 200),
                "parameters": {"type": "object", "properties": {}},
                "strict": True,
            }
            for n in range(12)
        ],
    )
    placeholder = "sha256:" + "0" * 64
    for number in range(calls):
        if compact_every and number and number % compact_every == 0:
            last = build.session.context().item_entries[-10].id
            text = inputs.text(rng, 400)
            build.append(
                build.session.compact(
                    last,
                    {
                        "type": "message",
                        "role": "developer",
                        "content": [{"type": "input_text", "text": text}],
                    },
                )
            )
        build.user(inputs.text(rng, 120))
        build.call(
            f"call_{number}",
            "read_file",
            json.dumps({"path": f"src/{number}.py"}),
            request_hash=placeholder,
        )
        build.output(f"call_{number}", inputs.text(rng, 600))
    # The hashes are put in afterwards: hashing each request by itself would take for ever.
    lines = ags.dump(build.session).split(b"\n")
    rebuilt = iter(build.session.verify_all())
    for at, line in enumerate(lines):
        if line.startswith(b'{"type":"response"'):
            lines[at] = line.replace(placeholder.encode(), next(rebuilt).rebuilt.encode())
    session = ags.read(b"\n".join(lines))
    assert session.verify_all().ok
    return session


def verify(report: Report, smallest: int = 1000) -> None:
    """``verify_all`` as the number of calls doubles, and against hashing each request."""
    # With a thousand calls, folded every two hundred.
    folded = max(5, smallest // 5)
    steps = [(calls, every) for every in (0, folded) for calls in (smallest, 4 * smallest)]
    for calls, every in steps:
        one, two = (conversation(n, compact_every=every) for n in (calls, 2 * calls))
        name = f"verify_all, {2 * calls} calls" + (f", folded every {every}" if every else "")
        report.add(at_most(name, f"{calls} calls", 2.3, one.verify_all, two.verify_all, rounds=3))
    session = conversation(smallest)
    report.add(
        faster(
            f"verify_all, {smallest} calls",
            "rebuild and rfc8785 each request",
            100,
            lambda: _each_by_itself(session),
            session.verify_all,
            rounds=1,
        )
    )


def _each_by_itself(session: ags.Session) -> list[bytes]:
    responses = [entry.id for entry in session if entry.type == "response"]
    return [rfc8785.dumps(session.request_context(entry_id).request()) for entry_id in responses]


def canonical(report: Report, place: Path) -> None:
    """``canonical_json`` of items and of whole requests."""
    path = inputs.session_file(place / "mixed-4000000.jsonl", 4_000_000)
    items = [item.to_dict() for item in ags.read(path).context().items]
    session = conversation(200)
    requests = [session.context().request() for _ in range(5)]
    for name, values in (("items", items), ("requests", requests)):
        ours = lambda values=values: [ags.canonical_json(value) for value in values]  # noqa: E731
        report.add(
            faster(
                f"canonical_json, {name}",
                "rfc8785.dumps",
                6,
                lambda values=values: [rfc8785.dumps(value) for value in values],
                ours,
            )
        )
        report.add(
            faster(
                f"canonical_json, {name}",
                "json.dumps(sort_keys=True)",
                1,
                lambda values=values: list(_json_dumps(values)),
                ours,
            )
        )


def _json_dumps(values: list[dict[str, object]]) -> Iterator[bytes]:
    for value in values:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        yield text.encode()
