"""Columns that line up: two spaces between them, nothing behind the last.

Spec: command A.2, A.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentsession.cli.output import Span
from agentsession.cli.words import cells, clean

GAP = "  "
WIDEST = 120
"""A column grows no wider than this for a cell that is longer."""


def width_of(texts: Iterable[str]) -> int:
    """Return the width a column needs for its texts."""
    return max((min(cells(clean(text)), WIDEST) for text in texts), default=0)


def row(texts: Sequence[str], widths: Sequence[int], styles: Sequence[str]) -> list[Span]:
    """Return a line's pieces: each text in its style, filled to its column's width.

    A text behind the last width is not filled.
    """
    spans: list[Span] = []
    last = len(texts) - 1
    for position, text in enumerate(texts):
        shown = clean(text)
        spans.append((shown, styles[position] if position < len(styles) else ""))
        if position < last:
            width = widths[position] if position < len(widths) else 0
            spans.append(" " * (width - cells(shown)) + GAP)
    return spans


def pairs(rows: Sequence[tuple[str, str]], indent: str = "") -> list[list[Span]]:
    """Return the lines of two columns of names and values."""
    width = width_of(name for name, _ in rows)
    return [[indent, *row(pair, [width], ["name"])] for pair in rows]
