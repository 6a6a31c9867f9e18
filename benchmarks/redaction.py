"""How fast the search for credentials goes over ordinary text.

Run ``python benchmarks/redaction.py [MEGABYTES]``. The text is Python's own standard library,
its documentation strings and JSON made of them: prose, code and data, without credentials.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agentsession import export


def sources() -> Iterator[str]:
    """The text of the standard library's modules."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text("utf-8", "replace")


def sample(size: int) -> list[str]:
    """Ordinary texts of some kilobytes each: code, and outputs with code in them as JSON."""
    texts: list[str] = []
    total = 0
    while total < size:
        for number, source in enumerate(sources()):
            text = source if number % 3 else json.dumps({"output": source, "exit": 0})
            texts.append(text)
            total += len(text)
            if total >= size:
                break
    return texts


def rate(name: str, size: int, work: Callable[[], object]) -> None:
    """Print the best of three rates, in megabytes a second of processor time."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{name:48} {size / best / 1e6:8.0f} MB/s")


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    texts = sample(megabytes * 1_000_000)
    size = sum(map(len, texts))
    detector = export.detect_secrets()
    whole = "\n".join(texts)
    rate("detect, text by text", size, lambda: [detector.detect(text) for text in texts])
    rate("detect, one long text", size, lambda: detector.detect(whole))
    rate("may_hold, text by text", size, lambda: [detector.may_hold(text) for text in texts])
    found = [one.kind for text in texts for one in detector.detect(text)]
    print(f"found in {size / 1e6:.0f} MB: {len(found)} ({', '.join(sorted(set(found)))})")


if __name__ == "__main__":
    main()
