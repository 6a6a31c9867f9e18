"""Reading files whose ids are hashes: all of them computed, and none.

``python -m benchmarks.later_drafts``. The baselines take turns with ours over the same lines:
the standard library's decoder plus two SHA-256 of each line, and reading the same session
as 0.2.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable

import agentsession as ags
from agentsession.canonical import canonical_text
from benchmarks import inputs
from benchmarks.harness import Report, at_most, machine


def session(size: int, item_size: int, *, newest: bool, seed: int = 8) -> ags.Session:
    """A session of about ``size`` bytes: items of about ``item_size`` with a response each."""
    rng = random.Random(seed)
    made = ags.Session(ags.Header(format="agentsession/0.11" if newest else "", id="bench"))
    number = written = 0
    while written < size:
        number += 1
        length = rng.randrange(item_size // 3, item_size * 2)
        item = inputs.item(rng, length, number)
        made.append(ags.ItemEntry(item, response=f"resp_{number}"))
        entry = ags.ResponseEntry(f"resp_{number}", model="m", status="completed", latency_ms=12)
        made.append(entry)
        written += length + 500
    return made


def baseline(data: bytes) -> Callable[[], object]:
    """``json.loads`` and two SHA-256 of each line."""
    lines = data.splitlines()

    def work() -> None:
        for line in lines:
            json.loads(line)
            hashlib.sha256(line).hexdigest()
            hashlib.sha256(line).hexdigest()

    return work


def main() -> None:
    """Measure."""
    print(machine())
    report = Report()
    for item_size in (400, 2_000, 20_000):
        hashed = session(4_000_000, item_size, newest=True)
        classic = ags.dump(hashed)
        lines = [canonical_text(line) for line in classic.splitlines()]
        canonical = b"\n".join(lines) + b"\n"
        for order, data in (("canonical", canonical), ("classic", classic)):
            report.add(
                at_most(
                    f"read 0.11, {order}, ~{item_size} B",
                    "json.loads + 2 x SHA-256",
                    1.0,
                    baseline(data),
                    lambda data=data: ags.read(data),  # type: ignore[misc]
                )
            )
        short = ags.dump(session(4_000_000, item_size, newest=False))
        report.add(
            at_most(
                f"read 0.11 unverified, ~{item_size} B",
                f"read of 0.2 (per byte x {len(classic) / len(short):.2f})",
                1.1 * len(classic) / len(short),
                lambda short=short: ags.read(short),  # type: ignore[misc]
                lambda classic=classic: ags.read(classic, verify_ids=False),  # type: ignore[misc]
            )
        )


if __name__ == "__main__":
    main()
