"""The projection: a session's entries go in, spans come out. Live and replay share it.

Entries come in the order they were appended, on any branch: each finds the state its
parent left. A part of the tree that several branches share is seen once.

Spec: otel B.2 to B.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, SpanKind

from agentsession.calls import Call, CallState
from agentsession.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    Entry,
    ItemEntry,
    ResponseEntry,
)
from agentsession.header import Header
from agentsession.otel import attributes, messages, names
from agentsession.otel.attributes import Attributes
from agentsession.otel.branch import Branch, Opening, Said, Tool
from agentsession.otel.branches import Branches, Path
from agentsession.otel.emitter import Emitter, Opened, Origin, in_range, time_of
from agentsession.record_entries import (
    DecisionEntry,
    DispatchEntry,
    EnvEntry,
    InfoEntry,
    LinkEntry,
    OutcomeEntry,
    RunEntry,
)
from agentsession.runs import ERROR

_MILLISECOND = 1_000_000
_STOPPED = "no output before the record stopped"


class Projection:
    """The spans of one session.

    Args:
        emitter: where spans are opened.
        header: the session's header.
        parent: the context the session's span goes under.
        start: when that span starts, in nanoseconds since the epoch.
        name: the session's display name, when it has one by then.
        resumed: whether the session was there before.
        known: spans of an earlier export, by entry id.
        content: whether spans carry what was said.

    Attributes:
        spans: the span of each entry that has one, by entry id.

    Spec: otel B.2.
    """

    def __init__(
        self,
        emitter: Emitter,
        header: Header,
        parent: Context,
        start: int,
        *,
        name: str = "",
        resumed: bool = False,
        known: Mapping[str, SpanContext] | None = None,
        content: bool = False,
    ) -> None:
        self.spans: dict[str, SpanContext] = {}
        self._emitter = emitter
        self._header = header
        self._known = known or {}
        self._content = content
        self._branches = Branches(content=content)
        self._seen: set[str] = set()
        self._session = emitter.open(
            names.SESSION_SPAN,
            parent,
            in_range(start),
            {
                names.SESSION_ID: header.id,
                **attributes.of_session(header, name, resumed=resumed),
            },
            origin=Origin(names.SESSION_SPAN, ""),
        )

    @property
    def _branch(self) -> Branch:
        return self._branches.current

    def _change(self, **members: Any) -> None:
        self._branches.current = replace(self._branch, **members)

    # Where an entry stands.

    def prime(self, path: Path) -> None:
        """Go to the end of a path without a span for anything on it.

        Spec: otel B.7.
        """
        self._branches.prime(path)

    def feed(self, entry: Entry, path: Callable[[str], Path]) -> None:
        """Take an entry that was appended.

        Args:
            entry: the entry.
            path: gives the path to an entry by its id; asked only for one that was there
                before.
        """
        self._branches.go_to(entry.parent, path)
        base = self._branch
        self._emit(entry, time_of(entry))
        self._branches.grow(base, entry)

    # What an entry gives.

    def _emit(self, entry: Entry, at: int) -> None:
        if isinstance(entry, ItemEntry):
            key = self._branch.answered(entry)
            if key is not None:
                self._answer(key, entry, at)
        elif isinstance(entry, ResponseEntry):
            self._infer(entry, at)
        elif isinstance(entry, RunEntry):
            if entry.is_start:
                self._start_run(entry, at)
            else:
                self._end_run(entry, at)
        elif isinstance(entry, DispatchEntry):
            self._dispatch(entry, at)
        elif isinstance(entry, DecisionEntry):
            self._decide(entry)
        elif isinstance(entry, CompactionEntry):
            self._mark(names.COMPACTION_SPAN, entry, at, attributes.of_compaction(entry))
        elif isinstance(entry, BranchSummaryEntry):
            self._join(entry, at)
        else:
            self._tell(entry, at)

    def _below(self) -> Context:
        """The context of spans below the open run, or below the session.

        A run that another branch ended is still open on this one.
        """
        return self._under(self._branch.run)

    def _under(self, run: Opened | None) -> Context:
        return self._session.below if run is None else run.below

    def _open(
        self,
        name: str,
        entry: Entry,
        at: int,
        about: Attributes,
        *,
        role: str,
        kind: SpanKind = SpanKind.INTERNAL,
        links: Sequence[tuple[SpanContext | None, Attributes]] = (),
        parent: Context | None = None,
    ) -> Opened:
        opened = self._emitter.open(
            name,
            parent or self._below(),
            at,
            {names.SESSION_ID: self._header.id, names.ENTRY_ID: entry.id, **about},
            origin=Origin(role, entry.id),
            kind=kind,
            links=links,
        )
        self._map(entry, opened)
        return opened

    def _map(self, entry: Entry, opened: Opened) -> None:
        if opened.span_context is not None:
            self.spans[entry.id] = opened.span_context

    # Runs (B.3).

    def _start_run(self, entry: RunEntry, at: int) -> None:
        if self._branch.run is not None:
            self._branch.run.set({names.RUN_REASON: names.CUT_OFF})
            self._branch.run.end(at)
        about = attributes.of_run_start(entry)
        run = self._open(
            names.RUN_SPAN, entry, at, about, role=names.RUN_SPAN, parent=self._session.below
        )
        self._change(run_id=entry.run_id, run=run)

    def _end_run(self, entry: RunEntry, at: int) -> None:
        branch = self._branch
        if not branch.run_id or entry.run_id != branch.run_id:
            return
        run = branch.run
        self._change(run_id="", run=None)
        if run is None:
            return
        run.set(attributes.of_run_end(entry))
        if entry.reason == ERROR:
            run.fail(names.OTHER_ERROR, entry.ref)
        run.end(at)
        self._map(entry, run)

    # Model calls (B.4).

    def _infer(self, entry: ResponseEntry, at: int) -> None:
        branch, rid = self._branch, entry.response_id
        turn = branch.turn(rid)
        latency = max(entry.latency_ms, 0) * _MILLISECOND
        start = in_range(min(at - latency, at if turn.begun is None else turn.begun, at))
        model = entry.model or branch.model
        opened = self._open(
            f"{names.CHAT} {model}" if model else names.CHAT,
            entry,
            start,
            {
                names.CONVERSATION: self._header.id,
                **attributes.of_inference(entry, branch.model, turn.provider),
            },
            role=names.CHAT,
            kind=SpanKind.CLIENT,
            links=[(branch.previous, {names.LINK: names.PREVIOUS_TURN})],
        )
        if branch.said is not None:
            self._quote(opened, branch.said, entry)
        if entry.error is not None:
            opened.fail(*attributes.error_of(entry.error))
        opened.end(at)
        if opened.span_context is not None:
            span = opened.span_context
            self._change(previous=span, turns=branch.turns.put(rid, turn._replace(span=span)))

    def _quote(self, opened: Opened, said: Said, entry: ResponseEntry) -> None:
        """Put what is new since the last model call on a model call's span."""
        redact, rid = self._emitter.text, entry.response_id
        items = said.items()
        given = [item for response, item in items if not rid or response != rid]
        made = [item for response, item in items if rid and response == rid]
        about: Attributes = {}
        with self._emitter.guarded():
            told = said.settings.instructions
            if told and told != said.instructions:
                about[names.SYSTEM_INSTRUCTIONS] = messages.instructions(told, redact)
            if given:
                about[names.INPUT_MESSAGES] = messages.input_messages(given, redact)
            if made:
                about[names.OUTPUT_MESSAGES] = messages.output_messages(made, entry, redact)
            opened.set_redacted(about)

    # Calls (B.5).

    def _opening(self, key: str, call: Call, entry: Entry, at: int) -> Opening:
        branch, response = self._branch, call.entry.response
        produced = branch.turn(response).span if response else None
        subsession = branch.subsessions.get(key) or ""
        return Opening(call, entry, at, branch.run, produced, subsession)

    def _open_tool(self, opening: Opening) -> Opened:
        call = opening.call
        opened = self._open(
            f"{names.EXECUTE_TOOL} {call.name}" if call.name else names.EXECUTE_TOOL,
            opening.entry,
            opening.at,
            {
                names.CONVERSATION: self._header.id,
                **attributes.of_tool(call, opening.subsession),
            },
            role=names.EXECUTE_TOOL,
            links=[(opening.produced, {names.LINK: names.PRODUCED_BY})],
            parent=self._under(opening.run),
        )
        self._map(call.entry, opened)
        self._seen.add(call.entry.id)
        for decision in call.decisions:
            self._add_decision(opened, decision)
        if self._content:
            with self._emitter.guarded():
                quoted = messages.arguments(call.args, self._emitter.text)
                opened.set_redacted({names.TOOL_ARGUMENTS: quoted})
        return opened

    def _open_again(self, key: str, tool: Tool, call: Call) -> Opened:
        """The span of a call whose shared one another branch ended, as if that had not been."""
        opened = self._open_tool(tool.opening)
        for decision in call.decisions[len(tool.opening.call.decisions) :]:
            self._add_decision(opened, decision)
        subsession = self._branch.subsessions.get(key)
        if subsession:
            opened.set({names.SUBSESSION: subsession})
        return opened

    def _add_decision(self, opened: Opened, entry: DecisionEntry) -> None:
        about = {names.ENTRY_ID: entry.id, **attributes.of_decision(entry)}
        opened.event(names.DECISION_EVENT, time_of(entry), about)

    def _dispatch(self, entry: DispatchEntry, at: int) -> None:
        branch = self._branch
        key = branch.calls.named(entry)
        if key is None or not branch.calls.is_pending(key) or key in branch.tools:
            return
        opening = self._opening(key, branch.calls.call(key), entry, at)
        tool = Tool(opening, self._open_tool(opening))
        self._change(tools=branch.tools.put(key, tool))

    def _decide(self, entry: DecisionEntry) -> None:
        key = self._branch.calls.named(entry)
        tool = self._branch.tools.get(key) if key is not None else None
        if tool is not None:
            self._add_decision(tool.opened, entry)

    def _answer(self, key: str, entry: ItemEntry, at: int) -> None:
        branch = self._branch
        call, tool = branch.calls.call(key), branch.tools.get(key)
        if tool is None:
            first = call.decisions[0] if call.rejected else call.entry
            opened = self._open_tool(self._opening(key, call, entry, time_of(first)))
        elif tool.opened.ended:
            opened = self._open_again(key, tool, call)
        else:
            opened = tool.opened
        state = names.REJECTED if call.rejected else CallState.COMPLETED.value
        opened.set({names.CALL_STATE: state})
        if self._content:
            with self._emitter.guarded():
                quoted = messages.result(entry.item, self._emitter.text)
                opened.set_redacted({names.TOOL_RESULT: quoted})
        self._map(entry, opened)
        opened.end(at, by=entry.id)
        if tool is not None:
            self._change(tools=branch.tools.drop(key))

    # Folds and branches (B.6).

    def _mark(
        self,
        name: str,
        entry: Entry,
        at: int,
        about: Attributes,
        links: Sequence[tuple[SpanContext | None, Attributes]] = (),
    ) -> None:
        self._open(name, entry, at, about, role=name, links=links).end(at)

    def _join(self, entry: BranchSummaryEntry, at: int) -> None:
        left = entry.from_
        about: Attributes = {names.BRANCH_FROM: left, **attributes.of_usage(entry.usage)}
        span = self.spans.get(left) or self._known.get(left)
        self._mark(names.BRANCH_SPAN, entry, at, about, [(span, {names.BRANCH_FROM: left})])

    # The session (B.2).

    def _tell(self, entry: Entry, at: int) -> None:
        if isinstance(entry, InfoEntry):
            if entry.name:
                self._session.set({names.NAME: entry.name})
        elif isinstance(entry, EnvEntry):
            self._happen(names.ENV_EVENT, entry, at, attributes.of_env(entry))
        elif isinstance(entry, OutcomeEntry):
            self._happen(names.OUTCOME_EVENT, entry, at, attributes.of_outcome(entry))
        elif isinstance(entry, LinkEntry):
            self._happen(names.LINK_EVENT, entry, at, attributes.of_link(entry))
            key = self._branch.spawned(entry)
            tool = self._branch.tools.get(key) if key is not None else None
            if tool is not None:
                tool.opened.set({names.SUBSESSION: entry.session})

    def _happen(self, name: str, entry: Entry, at: int, about: Attributes) -> None:
        self._session.event(name, at, {names.ENTRY_ID: entry.id, **about})

    def finish(self, at: int) -> None:
        """End everything that is open; branches that were left end with their last entry.

        Spec: otel B.2, B.3 and B.5 "Finish".
        """
        at = in_range(at)
        met: set[int] = set()
        for branch, end in self._branches.leave(at):
            for key, tool in branch.waiting(met):
                self._leave(key, tool, end)
            if branch.run is not None:
                branch.run.end(end, whole=False)
        self._session.end(at, whole=False)

    def _leave(self, key: str, tool: Tool | None, at: int) -> None:
        """End the span of a call that has no output where the record stops."""
        # On a shared part of the tree another branch may have told of it.
        if key in self._seen if tool is None else tool.opened.ended:
            return
        call = self._branch.calls.call(key)
        if tool is None:
            opened = self._open_tool(self._opening(key, call, call.entry, time_of(call.entry)))
        else:
            opened = tool.opened
        state = call.state(self._header)
        opened.set({names.CALL_STATE: state.value})
        if state is CallState.IN_FLIGHT:
            opened.fail(state.value, _STOPPED)
        opened.end(at, whole=False)
