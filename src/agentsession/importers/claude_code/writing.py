"""Writing: settings, surroundings, answers and results as entries of the draft.

Spec: format 4, claude-code 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsession import text
from agentsession.canonical import sha256
from agentsession.entries import ConfigEntry, ResponseEntry
from agentsession.importers.accounts import Accounts
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import is_whole_snapshot
from agentsession.importers.claude_code.calls import Calls
from agentsession.importers.claude_code.lines import members_of, plain_members
from agentsession.importers.claude_code.parting import parted
from agentsession.importers.claude_code.pieces import Piece
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.requestlog import CannotRebuild, Request, RequestLog
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.shapes import system_texts, tool_of, tools_in
from agentsession.importers.claude_code.transcript import Answer, Transcript
from agentsession.importers.claude_code.units import Times, Units
from agentsession.importers.claude_code.usage import is_odd
from agentsession.importers.drafting import Node, TreeDraft, spelled
from agentsession.importers.numbers import ODD
from agentsession.importers.prompts import prompt_parts
from agentsession.members import string_text
from agentsession.parts import VCS
from agentsession.record_entries import DecisionEntry, DispatchEntry, EnvEntry, LinkEntry

_IN_RESPONSE: Final = frozenset({"content", "role", "type", "id", "model", "usage"})
_ITEM_ONLY: Final = names.ENVELOPE | {
    "apiBlockIndex",
    "toolInputStreamMs",
    "thinkingDurationMs",
    "thinkingDisplay",
    "isApiErrorMessage",
}
_STOPS: Final = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "refusal": "content_filter",
}


@dataclass(frozen=True, slots=True)
class Conf:
    """The settings and surroundings last written on a path."""

    model: str = ""
    cwd: str = ""
    branch: str = ""
    prompt: tuple[str, ...] = ()
    prefix: str = ""
    tools: str = ""
    params: str = ""


_NO_CONF: Final = Conf()


class Writer:
    """Writes one conversation's answers.

    Args:
        draft: the session.
        transcript: the records.
        units: makes the units of records.
        times: when each record was written.
        accounts: where what became of each record is noted.
        log: the logged requests.
        children: by file, for each call of an agent tool the session it spawned, where only
            the source as a whole says so.
        copied: answers that caused no request here.
    """

    def __init__(
        self,
        draft: TreeDraft,
        transcript: Transcript,
        units: Units,
        times: Times,
        accounts: Accounts,
        *,
        log: RequestLog,
        children: Sequence[Mapping[str, str]],
        copied: set[str],
    ) -> None:
        self.draft = draft
        self._transcript = transcript
        self._units = units
        self._times = times
        self._accounts = accounts
        self._log = log
        self._children = children
        self._copied = copied
        self._calls = Calls()
        self.snapshots = 0
        self.responses = 0
        self.usage: dict[str, int] = {"input_tokens": 0, "output_tokens": 0}

    # Units.

    def put(self, node: Node, piece: Piece, records: Sequence[Record] = ()) -> Node:
        """Append a unit; its records, and others it was made of, are accounted for."""
        named = self._calls.named(node, piece)
        new = self.draft.put_text(node, named)
        if piece.call_id:
            self._calls.written(new, piece, named.call_id)
        if piece.record >= 0:
            self._accounts.entry(piece.record, new.entry_id)
        for record in records:
            self._accounts.folded(record.number, new.entry_id)
        return new

    # Settings.

    def configure(self, node: Node, record: Record, model: str, request: Request | None) -> Node:
        """Append what changed in the surroundings and the settings before an answer."""
        node = self._surround(node, record)
        conf = node.state if isinstance(node.state, Conf) else _NO_CONF
        if request is not None:
            return self._configure_logged(node, conf, record, request)
        if model and model != conf.model:
            entry = ConfigEntry(model=model, unknown={"provider": names.PROVIDER})
            node = self._add(node, entry, record, "config")
            node.state = replace(conf, model=model)
        return node

    def _configure_logged(self, node: Node, conf: Conf, record: Record, request: Request) -> Node:
        try:
            shape = self._log.shape(request)
        except CannotRebuild:
            shape = {}
        params = {name: value for name, value in request.params.items() if name != "model"}
        system = shape.get("system")
        texts = system_texts(system)
        tools = tools_in(shape)
        wanted = replace(
            conf,
            model=request.model or conf.model,
            prompt=tuple(texts) if shape else conf.prompt,
            tools=sha256(text.encode(tools)) if shape else conf.tools,
            params=text.encode(params).decode("utf-8", "replace"),
        )
        if wanted == conf:
            return node
        before = text.parse(conf.params) if conf.params else {}
        gone = {name: None for name in before if name not in params}
        fresh = {name: v for name, v in params.items() if before.get(name) != v}
        entry = ConfigEntry(
            model=wanted.model if wanted.model != conf.model else "",
            instructions_parts=prompt_parts(texts, conf.prompt) if shape else (),
            tools_added=[tool_of(tool) for tool in tools] if wanted.tools != conf.tools else (),
            tools_removed=self._dropped(node, tools) if wanted.tools != conf.tools else (),
            extra={**gone, **fresh},
            unknown={"provider": names.PROVIDER, names.NAMESPACE: {"shapeHash": request.shape}},
        )
        new = self._add(node, entry, record, "config")
        new.state = wanted
        held = self._log.shapes.get(request.shape)
        if held is not None and held.number >= 0:
            self._accounts.folded(held.number, new.entry_id)
        return new

    @staticmethod
    def _dropped(node: Node, tools: Sequence[Mapping[str, Any]]) -> list[str]:
        kept = [tool.get("name") for tool in tools]
        before = [tool.get("name") for tool in node.settings.tools]
        return [name for name in before if isinstance(name, str) and name and name not in kept]

    def snapshot(self, node: Node, record: Record) -> Node:
        """Append the system prompt and tools that a prompt snapshot holds.

        Before the first request of a process, and of a compacted history, there is one of the
        prompt alone: what else was in force is.
        """
        value = record.value("attachment")
        value = value if isinstance(value, dict) else {}
        conf = node.state if isinstance(node.state, Conf) else Conf()
        is_whole = is_whole_snapshot(value)
        prompt, prefix = value.get("systemPrompt"), value.get("cliPrefix")
        prefix = (prefix if isinstance(prefix, str) else "") if is_whole else conf.prefix
        every = [prefix, *(prompt if isinstance(prompt, list) else ())]
        texts = [part for part in every if isinstance(part, str) and part]
        tools = tools_in(value)
        named = sha256(text.encode(tools)) if is_whole or tools else conf.tools
        wanted = replace(conf, prompt=tuple(texts), prefix=prefix, tools=named)
        self.snapshots += 1
        if wanted == conf:
            self._accounts.folded(record.number, node.entry_id)
            return node
        entry = ConfigEntry(
            instructions_parts=prompt_parts(texts, conf.prompt),
            tools_added=[tool_of(tool) for tool in tools] if wanted.tools != conf.tools else (),
            tools_removed=self._dropped(node, tools) if wanted.tools != conf.tools else (),
        )
        new = self._add(node, entry, record, "snapshot")
        new.state = wanted
        self._accounts.entry(record.number, new.entry_id)
        return new

    def _surround(self, node: Node, record: Record) -> Node:
        conf = node.state if isinstance(node.state, Conf) else _NO_CONF
        cwd, branch = record.cwd, record.branch
        moved = bool(cwd) and cwd != (conf.cwd or self.draft.header.cwd)
        if not moved and (not branch or branch == conf.branch):
            return node
        if not conf.cwd:
            conf = replace(conf, cwd=self.draft.header.cwd)
        vcs = VCS("git", unknown={"branch": branch}) if branch else None
        entry = EnvEntry(cwd=cwd if moved else "", vcs=vcs)
        new = self._add(node, entry, record, "env")
        new.state = replace(conf, cwd=cwd or conf.cwd, branch=branch or conf.branch)
        return new

    def _add(self, node: Node, entry: Any, record: Record, role: str) -> Node:
        return self.draft.add(node, entry, record.where, role, self._times.of(record))

    # Answers.

    def answer(self, node: Node, answer: Answer, request: Request | None) -> Node:
        """Append an answer's items and its response; return the last node."""
        # What no request holds again stands beside the path: below it, the next request
        # would hold the calls that follow once more, on a branch. Spec: claude-code 5.2.
        cleaned = request is not None and bool(answer.calls)
        for record in answer.records:
            for piece in self._units.of(record):
                new = self.put(node, piece)
                if not (cleaned and _is_blank(piece)):
                    node = new
        if answer.id in self._copied:
            for record in answer.records:
                self._accounts.folded(record.number, node.entry_id, code="fork-copy")
            self._accounts.find("fork-copy", answer.id)
            return node
        node = self._respond(node, answer, request)
        for record in answer.records:
            self._accounts.folded(record.number, node.entry_id)
            record.forget()
        if request is not None:
            self._accounts.folded(request.record.number, node.entry_id)
        return node

    def _respond(self, node: Node, answer: Answer, request: Request | None) -> Node:
        last = answer.last
        raw, final, usage = answer.used
        stop = next((r.stop_reason for r in reversed(answer.records) if r.stop_reason), None)
        status, incomplete = _status(answer, stop)
        if raw is not None and not final and not Rules.of(last.version).usage_is_final:
            self._accounts.find("usage-incomplete", answer.id)
        native: dict[str, Any] = {"release": last.version}
        _add_beside(native, last)
        if raw is not None:
            native["usage"] = raw
            if is_odd(raw):
                self._accounts.find(ODD, answer.id)
        if request is not None and request.digest:
            native["requestDigest"] = request.digest
        self._count(usage)
        written: dict[str, Any] = {"response_id": answer.id}
        if last.model:
            written["model"] = last.model
        written["status"] = status
        if usage:
            written["usage"] = usage
        if incomplete:
            written["incomplete"] = incomplete
        written[names.NAMESPACE] = native
        written["provider"] = names.PROVIDER
        self.responses += 1
        body = spelled(written)[1:-1]
        ts = last.time or self._times.of(last)
        return self.draft.place(node, ResponseEntry, body, answer.id, role="response", ts=ts)

    def failed(self, node: Node, request: Request, error: Record | None) -> Node:
        """Append a logged request that no answer followed, as a failed response."""
        told: dict[str, Any] = {"code": "no_answer", "message": "no answer was stored"}
        if error is not None:
            value = error.value("error")
            value = value if isinstance(value, dict) else {}
            code, words = value.get("status"), value.get("formatted") or value.get("message")
            told = {"code": str(code or "connection"), "message": str(words or "the call failed")}
        native: dict[str, Any] = {"release": request.record.version}
        native["requestRef"] = request.id
        if request.digest:
            native["requestDigest"] = request.digest
        if error is not None:
            native["error"] = text.parse(error.beside() or b"{}")
        entry = ResponseEntry(
            "",
            model=request.model,
            status="failed",
            error=told,
            unknown={"provider": names.PROVIDER, names.NAMESPACE: text.encode(native)},
        )
        new = self.draft.add(
            node, entry, request.id, "failed", self._times.of(error or request.record)
        )
        self._accounts.entry(request.record.number, new.entry_id, code="failed-attempt")
        if error is not None:
            self._accounts.folded(error.number, new.entry_id)
        return new

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        if usage:
            self.usage["input_tokens"] += usage.get("input_tokens", 0)
            self.usage["output_tokens"] += usage.get("output_tokens", 0)

    # Results.

    def result(self, node: Node, record: Record) -> Node:
        """Append a result, and before it who allowed the call and that the tool ran."""
        pieces = self._units.of(record)
        agent = record.agent
        start, before = node.context, node.context.last
        for call in record.results:
            target = self._calls.home(node, call)
            if target:
                node = self._decide(node, record, call, target, agent)
        # Another result of the call stands beside this one, and beside what led to it.
        start.last = before
        for piece in pieces:
            node = self.put(node, piece)
        return node

    def _decide(self, node: Node, record: Record, call: str, target: str, agent: str) -> Node:
        child = self._children[record.file].get(call, "")
        call = self._calls.name(target, call)
        is_settled = self._calls.is_settled(node, call)
        decision: Any = None
        denial = ""
        members = record.members
        if "permissionDecision" in members or "toolDenialKind" in members:
            decision, denial = record.value("permissionDecision"), record.text("toolDenialKind")
        rejected = bool(denial)
        if not is_settled and (isinstance(decision, dict) or denial):
            decision = decision if isinstance(decision, dict) else {}
            rejected = decision.get("decision") == "reject" or bool(denial)
            source = decision.get("source")
            by = "human" if source == "user" or denial.startswith("user") else "policy"
            reason = denial or str(decision.get("reasonCode") or "rejected")
            entry = DecisionEntry(
                call,
                target,
                "reject" if rejected else "proceed",
                by,
                reason=reason if rejected else "",
                unknown={names.NAMESPACE: decision} if decision else None,
            )
            node = self._add(node, entry, record, f"decision {call}")
        if rejected:
            self._calls.told(node, call)
            return node
        if agent:
            child = child or f"{record.text('sessionId')}-agent-{agent}"
        if child:
            node = self._add(node, LinkEntry.subsession(child, call), record, f"link {call}")
        if is_settled:
            return node
        body = b'"call_id":%b,"target":"%b"' % (string_text(call), target.encode())
        role, ts = f"dispatch {call}", record.time or self._times.of(record)
        node = self.draft.place(node, DispatchEntry, body, record.where, role=role, ts=ts)
        self._calls.told(node, call)
        return node


_SHORT: Final = 256


def _is_blank(piece: Piece) -> bool:
    """Whether a unit is a text of an answer that says nothing, which is not sent again."""
    if piece.kind != "text" or len(piece.text) > _SHORT:
        return False
    return not any(str(block.get("text", "x")).strip() for block in piece.blocks)


def _add_beside(found: dict[str, Any], record: Record) -> None:
    """Add what an answer's record says of the whole answer, as JSON text by name."""
    members = record.members
    message = members.get("message")
    if message is not None:
        inner = plain_members(message) if record.is_plain else members_of(bytes(message))
        for name, _ in parted(tuple(inner), _IN_RESPONSE)[0] if inner else ():
            found[name] = inner[name]  # type: ignore[index]
    for name, _ in parted(tuple(members), _ITEM_ONLY)[0]:
        found[name] = members[name]


def _status(answer: Answer, stop: object) -> tuple[str, dict[str, Any] | None]:
    for record in answer.records:
        if record.is_cut:
            return "incomplete", {"reason": "interrupted"}
    if isinstance(stop, str) and stop in _STOPS:
        return "incomplete", {"reason": _STOPS[stop]}
    return "completed", None
