"""Asking: logged requests as contexts of the draft, answered or not.

Spec: claude-code 4, decision D3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.history import Stretch, stretch_to
from agentsession.importers.claude_code.logged import Logged
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.requestlog import CannotRebuild, Request, RequestLog
from agentsession.importers.claude_code.transcript import Answer
from agentsession.importers.drafting import Node

if TYPE_CHECKING:
    from agentsession.importers.claude_code.convert import Conversion

_NEAR: Final = 64


class Asking:
    """Finds, or writes, the contexts of a conversation's logged requests.

    Args:
        conversion: the conversion.
        log: the log.
    """

    def __init__(self, conversion: Conversion, log: RequestLog) -> None:
        self._conversion = conversion
        self._log = log
        self._logged = Logged(log, conversion.transcript, conversion.units)
        self._requests: dict[str, Request] = {}

    def sent(self, request: Request, stretch: Stretch, release: Record, record: Record) -> Node:
        """Return the node whose context is a logged request's.

        Args:
            request: the request.
            stretch: what lies between it and the answer before.
            release: a record of the release that sent it.
            record: the record that the request led to; its own where no answer followed.

        Raises:
            CannotRebuild: when the log does not say it.
        """
        conversion = self._conversion
        hashes = self._log.hashes(request)
        near = self._near(stretch, record.index)
        before = stretch.before
        rules = conversion.sending.rules(release)
        tail = conversion.sending.tail(stretch, record.index, rules, release.file)
        tail = replace(tail, snapshots=[])
        base = conversion.draft.root
        if stretch.boundary is not None:
            base, _ = conversion.compacting.node(stretch.boundary)
        known: list[str] = []
        if before is not None and before.id in self._requests:
            known = self._log.hashes(self._requests[before.id])
            base = conversion.asked(before)
        ts = conversion.times.of(request.record)
        if known and hashes[: len(known)] == known:
            pieces = self._logged.pieces(request, hashes[len(known) :], near, ts)
            node = conversion.extend(base, replace(tail, pieces=pieces), record)
        else:
            pieces = self._logged.pieces(request, hashes, near, ts, self._older(before))
            at, found = self._found(base, pieces, before, record)
            node = conversion.extend(at, replace(tail, pieces=pieces[found:]), record)
        self._credit(pieces, node)
        if record.is_answer:
            self._requests[record.message_id] = request
        return node

    def _found(
        self, base: Node, pieces: Sequence[Piece], before: Answer | None, record: Record
    ) -> tuple[Node, int]:
        """The node that a request goes on from, and how many of its units stand there."""
        conversion = self._conversion
        keys = [piece.key for piece in pieces]
        at, found = conversion.draft.walk(conversion.draft.root, keys)
        have = base.depth
        if found >= len(keys) or not have or found >= have:
            return at, found
        if keys[:have] == conversion.draft.keys_at(base)[0]:
            return base, have
        tip = conversion.done(before) if before is not None else base
        return conversion.fold(tip, pieces, record), len(keys)

    def _credit(self, pieces: Sequence[Piece], node: Node) -> None:
        accounts = self._conversion.accounts
        for piece in pieces:
            for record in self._logged.told.get(piece.native_id, ()):
                if accounts.is_open(record.number):
                    accounts.folded(record.number, node.entry_id)

    def _near(self, stretch: Stretch, until: int) -> list[Record]:
        before = stretch.before
        near = list(stretch.chain)
        if before is not None:
            near = [*before.records, *before.results, *near]
        seen = set(near)
        for record in list(near):
            for extra in self._conversion.transcript.beside(record):
                if extra not in seen and extra.index < until:
                    seen.add(extra)
                    near.append(extra)
        return near

    def _older(self, before: Answer | None) -> list[Record]:
        if before is None:
            return []
        above = self._conversion.transcript.above(before.first)
        return [record for record in above if record.type == names.ATTACHMENT]

    def attempt(self, request: Request, place: int) -> None:
        """Write a logged request that no answer followed."""
        conversion = self._conversion
        prompt = self._prompt(place)
        if prompt is None:
            return
        stretch = stretch_to(conversion.transcript, prompt, None)
        try:
            node = self.sent(request, stretch, prompt, request.record)
        except CannotRebuild:
            return
        node = conversion.writer.configure(node, prompt, request.model, request)
        conversion.writer.failed(node, request, self._error(place))

    def _prompt(self, place: int) -> Record | None:
        records = self._conversion.records
        for at in range(place - 1, -1, -1):
            record = records[at]
            if record.is_tree and record.original is None and record.type != names.PROGRESS:
                return record
        return None

    def _error(self, place: int) -> Record | None:
        """The record that says how a request failed."""
        for record in self._conversion.records[place + 1 : place + 1 + _NEAR]:
            if record.type == names.SYSTEM and record.text("subtype") == "api_error":
                return record
            if record.type in (names.SYSTEM, names.ASSISTANT, names.REQUEST, names.USER):
                return None
        return None
