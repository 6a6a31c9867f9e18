"""What a run did with its inputs and its calls: the entries of runs, and their queue.

Spec: format 4.6 to 4.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from agentsession.entry import Entry, Envelope
from agentsession.kinds import ANY, ITEM, STRING, STRINGS, record
from agentsession.members import MISSING, Member, Written
from agentsession.parts import Trigger


class RunEntry(Entry):
    """The start or the end of a run. :meth:`start` and :meth:`end` build one.

    Attributes:
        run_id: the run.
        phase: ``start`` or ``end``.
        source: on a start, ``input`` or ``resume``.
        reason: on an end, why the run ended.
        ref: the trigger of a start, the cause of an end; empty when not recorded.
        pending: on an end, the calls without an output.
        trigger: where the run came from (0.6).

    Spec: format 4.6.
    """

    __slots__ = ()
    TYPE = "run"
    SINCE = (0, 2)
    run_id = Member(STRING, "", required=True, written=Written.ALWAYS)
    phase = Member(STRING, "", written=Written.ALWAYS)
    source = Member(STRING, "")
    reason = Member(STRING, "")
    ref = Member(STRING, "")
    trigger = Member(record(Trigger), written=Written.GIVEN, since=(0, 6))
    pending = Member(STRINGS, ())

    def __init__(
        self,
        run_id: str,
        phase: str,
        *,
        source: str = "",
        reason: str = "",
        ref: str = "",
        pending: Sequence[str] = (),
        trigger: Trigger | None = None,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "run_id": run_id,
                "phase": phase,
                "source": source,
                "reason": reason,
                "ref": ref,
                "pending": pending,
                "trigger": trigger,
            },
            **envelope,
        )
        if phase == "end" and self._texts is not None and "pending" not in self._texts:
            known = [wire for wire in self._texts if wire in self.MEMBERS]
            self._texts = {
                **{wire: self._texts[wire] for wire in known},
                "pending": b"[]",
                **{wire: value for wire, value in self._texts.items() if wire not in known},
            }

    @classmethod
    def start(
        cls,
        run_id: str,
        source: str = "input",
        ref: str = "",
        *,
        trigger: Trigger | None = None,
        **envelope: Unpack[Envelope],
    ) -> RunEntry:
        """Return the entry that opens a run."""
        return cls(run_id, "start", source=source, ref=ref, trigger=trigger, **envelope)

    @classmethod
    def end(
        cls,
        run_id: str,
        reason: str,
        ref: str = "",
        pending: Sequence[str] = (),
        **envelope: Unpack[Envelope],
    ) -> RunEntry:
        """Return the entry that closes a run."""
        return cls(run_id, "end", reason=reason, ref=ref, pending=pending, **envelope)

    @property
    def is_start(self) -> bool:
        """Whether the entry opens a run."""
        return self.phase == "start"

    @property
    def is_end(self) -> bool:
        """Whether the entry closes a run."""
        return self.phase == "end"

    def check(self) -> str:
        """Return the rule of format 4.6 the entry breaks, or an empty string."""
        if self.phase not in ("start", "end"):
            return f'phase must be start or end, not "{self.phase}"'
        if self.is_start and not self.source:
            return "a run start needs a source"
        if self.is_end and not self.reason:
            return "a run end needs a reason"
        return ""


class DispatchEntry(Entry):
    """A call was handed to its tool.

    Args:
        call_id: the call.
        target: the item entry that holds the call.
        idempotency_key: the same for each hand-off of one operation; empty for none (0.8).

    Spec: format 4.7, later drafts 8.
    """

    __slots__ = ()
    TYPE = "dispatch"
    SINCE = (0, 2)
    call_id = Member(STRING, "", required=True, written=Written.ALWAYS)
    target = Member(STRING, "", required=True, written=Written.ALWAYS)
    idempotency_key = Member(STRING, "", since=(0, 8))

    def __init__(
        self,
        call_id: str,
        target: str,
        *,
        idempotency_key: str = "",
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {"call_id": call_id, "target": target, "idempotency_key": idempotency_key}, **envelope
        )


class DecisionEntry(Entry):
    """Somebody decided about a call.

    Args:
        call_id: the call.
        target: the item entry that holds the call.
        verdict: ``proceed``, ``reject``, ``hold`` or a later draft's.
        by: ``human``, ``policy``, ``agent``; empty when not recorded.
        reason: required for ``reject``.
        args: the arguments the tool ran with after a rewrite; any JSON value, ``null`` counts.

    Spec: format 4.8.
    """

    __slots__ = ()
    TYPE = "decision"
    SINCE = (0, 2)
    call_id = Member(STRING, "", required=True, written=Written.ALWAYS)
    target = Member(STRING, "", required=True, written=Written.ALWAYS)
    verdict = Member(STRING, "", required=True, written=Written.ALWAYS)
    by = Member(STRING, "")
    reason = Member(STRING, "")
    args = Member(ANY, written=Written.GIVEN)

    def __init__(
        self,
        call_id: str,
        target: str,
        verdict: str,
        by: str = "",
        *,
        reason: str = "",
        args: object = MISSING,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "call_id": call_id,
                "target": target,
                "verdict": verdict,
                "by": by,
                "reason": reason,
                "args": args,
            },
            **envelope,
        )

    @property
    def args_text(self) -> str | None:
        """The JSON text of the rewritten arguments, or ``None`` when there are none."""
        found = self.text_of("args")
        return None if found is None else found.decode("utf-8", "replace")

    def check(self) -> str:
        """Return the rule of format 4.8 the entry breaks, or an empty string."""
        if self.verdict == "reject" and not self.reason:
            return "a reject needs a reason"
        return ""


class QueuedEntry(Entry):
    """An input that waits to be taken into the conversation (0.3).

    Args:
        item: the input's item.
        mode: ``steer``, ``followup`` or the harness's own word.
        trigger: where it came from.
        ref: the harness's own reference.

    Spec: format 4.9.
    """

    __slots__ = ()
    TYPE = "queued"
    SINCE = (0, 3)
    item = Member(ITEM, required=True, written=Written.ALWAYS)
    mode = Member(STRING, "", required=True, written=Written.ALWAYS)
    trigger = Member(record(Trigger), written=Written.GIVEN)
    ref = Member(STRING, "")

    def __init__(
        self,
        item: object,
        mode: str,
        *,
        trigger: Trigger | None = None,
        ref: str = "",
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init({"item": item, "mode": mode, "trigger": trigger, "ref": ref}, **envelope)
