"""A second process at a store, told what to do line by line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from agentsession.errors import AgentSessionError
from agentsession.header import Header
from agentsession.record_entries import InfoEntry
from agentsession.stores import JSONLStore, LockHolder, SQLiteStore, Summary, open_store


class StoreProcess:
    """The other end: each call runs in the other process and gives its answer."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, name: str, *args: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([name, *args]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def __call__(self, name: str, *args: str) -> Any:
        self.send(name, *args)
        return self.answer()

    def kill(self) -> None:
        """Kill it as a crash would, and reap it: a zombie counts as alive."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.close()

    def finish(self) -> None:
        """Let it end by itself, without closing its store."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        self.close()


@contextmanager
def processes(root: Path, count: int) -> Iterator[list[StoreProcess]]:
    started = [StoreProcess(root) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.__exit__()


def serve(root: str) -> None:
    stale: list[LockHolder] = []
    store = open_store(root, on_stale_lock=stale.append)
    for line in sys.stdin:
        name, *args = json.loads(line)
        try:
            answer = {"ok": _perform(store, stale, name, args)}
        except AgentSessionError as error:
            facts = {k: str(v) for k, v in vars(error).items()}
            answer = {"error": type(error).__name__, "message": str(error), **facts}
        print(json.dumps(answer), flush=True)


def _perform(
    store: JSONLStore | SQLiteStore, stale: list[LockHolder], name: str, args: list[str]
) -> Any:
    if name == "create":
        return store.create(Header(id=args[0])).id
    if name == "open":
        return len(store.open(args[0]))
    if name == "append":
        return store.append(args[0], InfoEntry(args[1]))
    if name == "many":
        return [store.append(args[0], InfoEntry(f"{args[1]}-{n}")) for n in range(int(args[2]))]
    if name == "stale":
        return [[holder.pid, holder.since] for holder in stale]
    if name == "list":
        return [item.id if isinstance(item, Summary) else str(item) for item in store.list()]
    return getattr(store, name)(*args)


if __name__ == "__main__":
    serve(sys.argv[1])
