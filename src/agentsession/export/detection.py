"""Finding what looks like a credential, fast enough to look at everything.

Spec: export 11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from agentsession.export.anchoring import Finder, Places, finder_of
from agentsession.export.embedded import MARK_NEAR, files, has_files
from agentsession.export.errors import BadPattern
from agentsession.export.names import REPLACEMENT
from agentsession.export.patterns import ANCHORS, Pattern

_SHORTEST: Final = 8


@dataclass(frozen=True, slots=True)
class Detected:
    """Something that looks like a credential. The value itself is not kept.

    Attributes:
        kind: what it looks like.
        start, end: where it stands in the text.
    """

    kind: str
    start: int
    end: int


class Detector:
    """Takes what looks like a credential out of texts; made by `detect_secrets`.

    Args:
        patterns: further kinds by name, as regular expressions.
        fast: whether to search with google-re2 when it is installed. What is found is the same.

    Attributes:
        fast: as given.
        found: how many were taken out so far, by kind.
    """

    def __init__(self, patterns: Mapping[str, str] | None = None, fast: bool = True) -> None:
        self.fast = fast
        self._finder = finder() if fast else None
        self._own = [_own_pattern(name, text) for name, text in (patterns or {}).items()]
        self._given = dict(patterns or {})
        self.found: dict[str, int] = {}

    def __reduce__(self) -> tuple[type[Detector], tuple[dict[str, str], bool]]:
        # Other processes compile their own.
        return Detector, (self._given, self.fast)

    def __call__(self, text: str) -> str:
        """Return the text without what looks like a credential."""
        detected = self.detect(text)
        if not detected:
            return text
        pieces = []
        done = 0
        for one in detected:
            self.found[one.kind] = self.found.get(one.kind, 0) + 1
            pieces += [text[done : one.start], REPLACEMENT]
            done = one.end
        return "".join([*pieces, text[done:]])

    def may_hold(self, text: str) -> bool:
        """Return whether a text can hold a credential; ``False`` is certain.

        With patterns of the user's own the answer is always ``True``.
        """
        if self._own:
            return True
        places = self._finder(text) if self._finder is not None else None
        if places is not None and not places:
            return False
        hits = (next(anchor.hits(text, places), None) for anchor in ANCHORS)
        return any(hit is not None for hit in hits) or has_files(text, places)

    def detect(self, text: str) -> tuple[Detected, ...]:
        """Return what looks like a credential in a text, in order and without overlaps."""
        if len(text) < _SHORTEST:
            return ()
        places = self._finder(text) if self._finder is not None else None
        if places is not None and not places and not self._own:
            return ()
        found = list(_anchored_in(text, places))
        for pattern in self._own:
            found += [
                Detected(pattern.kind, *pattern.span(match))
                for match in pattern.expression.finditer(text)
            ]
        found += self._in_files(text, places)
        return _apart(found)

    def _in_files(self, text: str, places: Places | None) -> Iterator[Detected]:
        """A data URL is taken out whole when what it holds is to be taken out."""
        for file in files(text, places):
            inner = file.data.decode("utf-8", "replace")
            for one in self.detect(inner)[:1]:
                yield Detected(one.kind, file.start, file.end)


def _anchored_in(text: str, places: Places | None) -> Iterator[Detected]:
    for anchor in ANCHORS:
        done = 0
        for hit in anchor.hits(text, places):
            if hit < done:
                continue  # inside what is taken out already
            for pattern in anchor.patterns:
                span = pattern.at(text, hit)
                if span is not None:
                    done = span[1]
                    yield Detected(pattern.kind, *span)
                    break


@cache
def finder() -> Finder | None:
    """Return what finds the places to look at; ``None``, for everywhere, without google-re2."""
    near = dict.fromkeys(pattern.near for anchor in ANCHORS for pattern in anchor.patterns)
    return finder_of([*near, MARK_NEAR])


def _apart(found: list[Detected]) -> tuple[Detected, ...]:
    kept: list[Detected] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return tuple(kept)


def _own_pattern(name: str, text: str) -> Pattern:
    if not name:
        raise BadPattern("a pattern needs a name: write NAME=REGEX")
    try:
        expression = re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"pattern {name} is no regular expression: {error}", name=name) from error
    if expression.match("") is not None:
        raise BadPattern(
            f"pattern {name} matches the empty text; ask for at least one character", name=name
        )
    return Pattern(name, expression)
