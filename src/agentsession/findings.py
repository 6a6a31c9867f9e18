"""Findings: what an operation has to tell, as values with stable codes.

Importing, exporting, salvaging and counting usage all report this way: one
:class:`Report` of totals and findings, the same as a value and as JSON.

Spec: decision D11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import msgspec

from agentsession import text

SCHEMA: Final = 1
"""The version of the report shape."""


class Found(Protocol):
    """Anything that can stand among the findings of a report."""

    @property
    def code(self) -> str:
        """The stable code."""
        ...

    @property
    def count(self) -> int:
        """How many times it was found."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ``code`` and ``sentence`` among them."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth telling.

    Attributes:
        code: what kind of thing, in kebab-case; documented and stable.
        sentence: what is so, in lower case, with its facts.
        where: the place, for people; empty when it concerns the whole.
        count: how many times it was found.
    """

    code: str
    sentence: str
    where: str = ""
    count: int = 1

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{place}{self.sentence}{times}"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "code": self.code,
            "sentence": self.sentence,
            "where": self.where,
            "count": self.count,
        }


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding for each code and sentence, counts added, the first place kept.

    >>> merged([Finding("a", "it is", "line 1"), Finding("a", "it is", "line 9", 2)])
    (Finding(code='a', sentence='it is', where='line 1', count=3),)
    """
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.sentence)
        earlier = kept.get(key)
        if earlier is None:
            kept[key] = finding
        else:
            kept[key] = replace(earlier, count=earlier.count + finding.count)
    return tuple(kept.values())


def by_kind(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each code: its first finding, and how many more there are of it.

    >>> by_kind([Finding("a", "6 bytes", "line 1"), Finding("a", "7 bytes", "line 9", 2)])
    ['line 1: 6 bytes, and 2 more of this kind']
    """
    first: dict[str, Finding] = {}
    count: dict[str, int] = {}
    for finding in findings:
        first.setdefault(finding.code, replace(finding, count=1))
        count[finding.code] = count.get(finding.code, 0) + finding.count
    return [
        f"{one}, and {count[code] - 1} more of this kind" if count[code] > 1 else str(one)
        for code, one in first.items()
    ]


def counts(findings: Iterable[Found]) -> dict[str, int]:
    """Return how many times each code was found, by code in alphabetical order."""
    found: dict[str, int] = {}
    for finding in findings:
        found[finding.code] = found.get(finding.code, 0) + finding.count
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Report:
    """Totals and findings of one operation.

    Attributes:
        totals: what was counted, by name.
        findings: what was found, in order.
        more: further members of the JSON object, written after these.
    """

    totals: Mapping[str, Any]
    findings: tuple[Found, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"schema": 1, "totals": …, "findings": […], …}`` as plain values."""
        return {
            "schema": SCHEMA,
            "totals": dict(self.totals),
            "findings": [finding.to_dict() for finding in self.findings],
            **self.more,
        }

    def to_json(self, *, indent: int = 0) -> bytes:
        """Return the report as JSON text, on one line, or indented with a final line feed.

        Raises:
            InvalidEntry: when a value in it has no JSON form.
        """
        encoded = text.encode(self.to_dict())
        return msgspec.json.format(encoded, indent=indent) + b"\n" if indent else encoded
