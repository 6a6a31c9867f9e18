"""How fast the search for credentials goes over ordinary text, with google-re2 and without.

Run ``python benchmarks/redaction.py [MEGABYTES]``. Code and data are Python's own standard
library and JSON made of it; prose is its documentation strings; the other texts are Cyrillic,
and JSON with a picture in it. None has credentials. Megabytes are of UTF-8.
"""

from __future__ import annotations

import ast
import base64
import json
import random
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from agentsession import export
from agentsession.export.detection import finder

LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопкрстуввхыз")


def sources() -> Iterator[str]:
    """The text of the standard library's modules."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text("utf-8", "replace")


def filled(texts: Iterator[str], size: int) -> list[str]:
    """These texts, again and again, up to a size."""
    once: list[str] = []
    total = 0
    for text in texts:
        once.append(text)
        total += len(text)
        if total >= size:
            return once
    return (once * (size // total + 1))[: len(once) * size // total + 1]


def sample(size: int) -> list[str]:
    """Ordinary texts of some kilobytes each: code, and outputs with code in them as JSON."""
    return filled(
        (
            source if number % 3 else json.dumps({"output": source, "exit": 0})
            for number, source in enumerate(sources())
        ),
        size,
    )


def prose() -> Iterator[str]:
    """Documentation strings of the standard library."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for source in sources():
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
        if text := "\n\n".join(filter(None, found)):
            yield text


def pictures() -> Iterator[str]:
    """JSON with a picture of 100 kB as a data URL."""
    dice = random.Random(11)
    while True:
        data = base64.b64encode(dice.randbytes(75_000)).decode()
        yield json.dumps({"type": "input_image", "image_url": f"data:image/png;base64,{data}"})


def rate(name: str, size: int, work: Callable[[], object]) -> None:
    """Print the best of five rates, in megabytes a second of processor time."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{name:48} {size / best / 1e6:8.0f} MB/s")


def measured(detector: export.Detector, texts: dict[str, list[str]]) -> None:
    """Print the rates of one detector."""
    for name, some in texts.items():
        rate(f"  detect, {name}", weight(some), partial(each, detector.detect, some))
    code = texts["code and JSON"]
    rate("  may_hold, code and JSON", weight(code), partial(each, detector.may_hold, code))
    steps = [{"message": text, "extra": {"item": {"content": text}}} for text in code]
    seek = partial(export.find_secrets, detector=detector)
    rate("  find_secrets, step by step", weight(code), partial(each, seek, steps))


def each(work: Callable[[Any], object], values: list[Any]) -> None:
    for value in values:
        work(value)


def weight(texts: list[str]) -> int:
    """How many bytes texts are in UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def main() -> None:
    size = (int(sys.argv[1]) if len(sys.argv) > 1 else 20) * 1_000_000
    code = sample(size)
    texts = {
        "code and JSON": code,
        "prose": filled(prose(), size // 4),
        "Cyrillic": [text.translate(LETTERS) for text in filled(prose(), size // 4)],
        "pictures": filled(pictures(), size // 4),
        "code and JSON, one long text": ["\n".join(code)],
    }
    print("with google-re2" if finder() else "google-re2 is not installed")
    measured(export.Detector(), texts)
    print("without")
    plain = export.Detector(fast=False)
    measured(plain, texts)
    found = [one.kind for some in texts.values() for text in some for one in plain.detect(text)]
    print(f"found: {len(found)} ({', '.join(sorted(set(found)))})")


if __name__ == "__main__":
    main()
