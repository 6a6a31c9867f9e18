"""A first look at a log: whose it is, what it holds, and what ties it to others.

Nothing is kept of its records but the ids that copies have in common. Spec: claude-code 3.1, 6.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from agentsession import text
from agentsession._regular import open_regular
from agentsession.errors import AgentSessionError
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.heads import (
    NOTHING,
    Head,
    PlainMessage,
    Text,
    plain_head,
)
from agentsession.importers.claude_code.lines import (
    REFUSALS,
    Agent,
    ToolResult,
    agent_in,
    agent_of,
    is_blank,
    members_of,
    raw_lines,
    split_tail,
    value_of,
)
from agentsession.importers.claude_code.places import AGENT, is_agent_name, name_of
from agentsession.importers.claude_code.records import Record, records_of
from agentsession.stores.layout import id_problem

_HEAD: Final = 6
_NO_TITLES: Final = ("Invalid API key", "API Error", "Credit balance")
_TITLES: Final = {names.AI_TITLE: ("ai_title", 1), names.CUSTOM_TITLE: ("custom_title", 2)}


@dataclass(slots=True)
class Log:
    """One file, and what a first look at it found.

    Attributes:
        path: the file.
        name: its session id, or its agent's.
        records: how many lines it has.
        head: keys of its first records and answers, and of its compactions: a copy has some.
        uuids: keys of all its records, of releases that name a session by its last one.
        first, last: the times of its first and last record.
        end: the id of its last record: copies that say as much are told apart by it.
        begun: when it was begun, where a record outside the tree says so.
        copy: whether it begins with answers that were copied from another file.
        release: the release of its last own record.
        prompt: of an agent's log, what the agent was asked; ``unprompted`` when the log begins
            with an answer instead; ``above`` the record that it goes on from, if any.
        tasks: the calls of agent tools in it, each with what was asked; ``waiting`` those of
            them without a result.
        sidechains: the root ids of sub-agents inside it, with their prompts.
        meta: what stands beside an agent's log.
        unreadable: why it, or the rest of it, cannot be read; ``None`` when it can.
    """

    path: Path
    name: str
    records: int = 0
    head: set[bytes] = field(default_factory=set)
    uuids: set[bytes] = field(default_factory=set)
    answers: int = 0
    first: str = ""
    last: str = ""
    end: str = ""
    begun: str = ""
    copy: bool = False
    release: str = ""
    cwd: str = ""
    title: str = ""
    titled: int = 0
    session: str = ""
    foreign: str = ""
    agent: str = ""
    prompt: str = ""
    above: str = ""
    unprompted: bool = False
    sidechains: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    tasks: list[tuple[str, str]] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    unreadable: OSError | None = None
    tree: int = 0
    summaries: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_agent(self) -> bool:
        """Whether it is the log of a sub-agent."""
        return is_agent_name(self.path.name)


class _Block(msgspec.Struct, gc=False):
    name: Any = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[_Block] | str | None = None


class _Seen(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    uuid: str | None = None
    parent: Any = msgspec.field(default=None, name="parentUuid")
    session: str | None = msgspec.field(default=None, name="sessionId")
    timestamp: str | None = None
    version: str | None = None
    cwd: str | None = None
    sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    request_id: Any = None
    asked_in: str | None = msgspec.field(default=None, name="requestSessionId")
    compaction: Text = msgspec.field(default=NOTHING, name="compactMetadata")
    tool_result: ToolResult = msgspec.field(default=None, name="toolUseResult")
    summary: Any = None
    leaf_uuid: Any = None
    ai_title: Any = None
    custom_title: Any = None
    message: _Message | None = None


_decode: Final = msgspec.json.Decoder(_Seen).decode
_STRINGS: Final = (
    "type",
    "uuid",
    "session",
    "timestamp",
    "version",
    "cwd",
    "asked_in",
)
_NAMES: Final = {field.name: field.encode_name for field in msgspec.structs.fields(_Seen)}


def look(path: Path, kept: list[Record] | None = None) -> Log:
    """Return what a first look at a file finds.

    Args:
        path: the file.
        kept: takes the records of the file, where they are wanted.
    """
    log = Log(path, name_of(path))
    if log.is_agent:
        log.agent = log.name.removeprefix(AGENT)
        log.meta = _meta(path)
    try:
        for number, line in enumerate(raw_lines(path)):
            log.records += 1
            head = None if kept is None else plain_head(line)
            if head is not None and head.type in names.TREE:
                _look_at(log, head, line)
            else:
                _look_alone(log, line)
            if kept is not None:
                kept += records_of(line, 0, number, head)
    except OSError as error:
        log.unreadable = error
    return log


def _look_alone(log: Log, line: bytes) -> None:
    """Look at a line of which no more is decoded."""
    try:
        seen = _decode(line)
    except REFUSALS:
        if not is_blank(line):
            _look_exactly(log, line)
    else:
        _look_at(log, seen, line)


def _look_exactly(log: Log, line: bytes) -> None:
    """Look at a line that the fast decoder refuses; it may be several records."""
    parts = split_tail(line)
    log.records += len(parts) - 1
    for part in parts:
        members = members_of(part)
        if members is None:
            continue
        told = {n: value_of(members.get(wire)) for n, wire in _NAMES.items() if n != "message"}
        told |= {name: string(told[name]) for name in _STRINGS}
        told["sidechain"] = told["sidechain"] is True
        told["compaction"] = members.get("compactMetadata", NOTHING)
        told["tool_result"] = Agent(agent_of(members.get("toolUseResult")))
        message = value_of(members.get("message"))
        inner = None
        if isinstance(message, dict):
            blocks = [_Block(block.get("name")) for block in _blocks_in(message)]
            inner = _Message(string(message.get("id")), string(message.get("model")), blocks)
        _look_at(log, _Seen(**told, message=inner), part)


def _meta(path: Path) -> Mapping[str, Any]:
    try:
        with open_regular(path.with_name(f"{path.stem}.meta.json")) as file:
            value = text.parse(file.read())
    except (OSError, AgentSessionError):
        return {}
    return value if isinstance(value, dict) else {}


def _look_at(log: Log, seen: _Seen | Head, line: bytes) -> None:
    kind, uuid = seen.type or "", seen.uuid or ""
    if kind not in names.TREE:
        if isinstance(seen, _Seen):
            _look_at_title(log, seen, kind)
        if kind in names.BOOKKEEPING or not uuid:
            # A fork copies records of the tree alone: others say when the file itself was begun.
            stamp = seen.timestamp
            if stamp and (not log.begun or stamp < log.begun):
                log.begun = stamp
            return
    elif uuid:
        log.tree += 1
    _look_at_tree(log, seen, uuid)
    if kind == names.ASSISTANT:
        if seen.message is not None:
            _look_at_answer(log, seen, seen.message, uuid, line)
    elif kind == names.USER:
        _look_at_user(log, seen, uuid, line)


def _look_at_title(log: Log, seen: _Seen, kind: str) -> None:
    if kind in _TITLES:
        member, weight = _TITLES[kind]
        title = string(getattr(seen, member))
        if title and weight >= log.titled:
            log.title, log.titled = title, weight
    elif kind == names.SUMMARY:
        title = string(seen.summary)
        # The program gave errors to the model that makes titles as well.
        if not title.startswith(_NO_TITLES):
            log.summaries.append((string(seen.leaf_uuid), title))


def _look_at_tree(log: Log, seen: _Seen | Head, uuid: str) -> None:
    stamp, session = seen.timestamp or "", seen.session or ""
    log.last = max(log.last, stamp)
    log.end = uuid
    if log.tree == 1 and log.is_agent:
        log.above = string(seen.parent)
    if not log.first or stamp < log.first:
        log.first = stamp
    if seen.version and seen.version != log.release:
        log.release = seen.version
    if log.tree <= _HEAD or seen.compaction is not NOTHING:
        log.head.add(key_of(uuid))
    if log.release.startswith(("0.", "1.")):
        log.uuids.add(key_of(uuid))
    if not log.cwd:
        log.cwd = seen.cwd or ""
    if not log.session and session and not id_problem(session):
        log.session = session
    if session != log.name and not log.is_agent:
        log.foreign = session


def _look_at_answer(
    log: Log, seen: _Seen | Head, message: _Message | PlainMessage, uuid: str, line: bytes
) -> None:
    origin = seen.asked_in
    if origin and origin != log.name:
        log.foreign = origin
    if message.model != names.SYNTHETIC:
        log.answers += 1
        if log.answers == 1:
            log.copy = seen.request_id is None
        if log.answers <= _HEAD:
            log.head.add(key_of(message.id or uuid))
    if log.tree == 1 and log.is_agent and not seen.parent:
        log.unprompted = True
    if (seen.sidechain is not True or log.is_agent) and isinstance(message.content, list):
        for block in message.content:
            if _asks(getattr(block, "name", None)):
                _look_at_tasks(log, line)
                break


def _asks(tool: object) -> bool:
    """Whether a tool is one that runs an agent."""
    return isinstance(tool, str) and tool in names.AGENT_TOOLS


def _look_at_tasks(log: Log, line: bytes) -> None:
    for block in _blocks(line):
        asked = block.get("input")
        if _asks(block.get("name")) and isinstance(asked, dict):
            task = string(block.get("id")), string(asked.get("prompt"))
            log.tasks.append(task)
            log.waiting[task[0]] = task[1]


def _look_at_user(log: Log, seen: _Seen | Head, uuid: str, line: bytes) -> None:
    if seen.sidechain is True and not seen.parent:
        words = _prompt(line)
        if log.is_agent:
            log.prompt = log.prompt or words
        else:
            log.sidechains[uuid] = words
    agent = agent_in(seen.tool_result)
    is_awaited = any(text.encode(call) in line for call in log.waiting)
    for block in _blocks(line) if agent or is_awaited else ():
        call = string(block.get("tool_use_id"))
        log.waiting.pop(call, None)
        if agent and call:
            log.agents.setdefault(agent, call)


def _blocks(line: bytes) -> list[dict[str, Any]]:
    return _blocks_in(value_of((members_of(line) or {}).get("message")))


def _blocks_in(message: object) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _prompt(line: bytes) -> str:
    message = value_of((members_of(line) or {}).get("message"))
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = next((b.get("text") for b in content if isinstance(b, dict)), "")
    return string(content)


def string(value: object) -> str:
    """Return a value that is a string; empty for anything else."""
    return value if isinstance(value, str) else ""


def key_of(uuid: str) -> bytes:
    """Return what stands for an id where many are held."""
    return hashlib.sha256(uuid.encode("utf-8", "replace")).digest()[:12]
