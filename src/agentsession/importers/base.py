"""What every importer hands over: a converted session and the account of its records.

Spec: decisions D2, D6, D11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentsession.findings import Finding
from agentsession.session import Session


class Outcome(StrEnum):
    """What became of a native record."""

    ENTRY = "entry"
    """It is an entry of its own, or several."""
    FOLDED = "folded"
    """It is part of an entry that stands for more."""
    LEFT_OUT = "left-out"
    """It is in no entry; the code says why."""


@dataclass(frozen=True, slots=True)
class Disposition:
    """What became of one native record.

    Attributes:
        kind: what kind of record, in the agent's words.
        native_id: its id in the agent's store, or its place when it has none.
        disposition: ``entry``, ``folded`` or ``left-out``.
        entry_ids: the entries it went to.
        code: why it was left out, or what was lost; empty when nothing was.
        sentence: the code in words.
    """

    kind: str
    native_id: str
    disposition: Outcome
    entry_ids: tuple[str, ...] = ()
    code: str = ""
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the disposition as plain values."""
        return {
            "kind": self.kind,
            "native_id": self.native_id,
            "disposition": str(self.disposition),
            "entry_ids": list(self.entry_ids),
            "code": self.code,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Converted:
    """One session converted.

    Attributes:
        session: the session, in memory; its id is the native one.
        records: what became of each native record, each exactly once.
        findings: every difference of meaning, by code.
        totals: what was counted, native and converted side by side.
    """

    session: Session
    records: tuple[Disposition, ...] = ()
    findings: tuple[Finding, ...] = ()
    totals: Mapping[str, Any] = field(default_factory=dict)
