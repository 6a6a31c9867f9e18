"""A source opened: which conversations its logs hold, and what ties them together.

One pass over the logs finds their records' ids; only one conversation's records are held
at a time afterwards. Spec: claude-code 3.1, 6; decisions D5 and D7.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentsession import text
from agentsession.errors import AgentSessionError
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.lines import (
    is_blank,
    is_true,
    members_of,
    raw_lines,
    split_tail,
    text_of,
    value_of,
)
from agentsession.importers.claude_code.places import AGENT, is_agent_name, logs, others
from agentsession.importers.claude_code.records import Record
from agentsession.importers.claude_code.rules import Rules

Members = Mapping[str, Any]

_HEAD: Final = 6
_NO_TITLES: Final = ("Invalid API key", "API Error", "Credit balance")


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
        begun: when it was begun, where a record outside the tree says so.
        copy: whether it begins with answers that were copied from another file.
        release: the release of its last own record.
        sidechains: the root ids of sub-agents inside it, with their prompts.
        meta: what stands beside an agent's log.
    """

    path: Path
    name: str
    records: int = 0
    head: set[bytes] = field(default_factory=set)
    uuids: set[bytes] = field(default_factory=set)
    answers: int = 0
    first: str = ""
    last: str = ""
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
    sidechains: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    tasks: list[tuple[str, str]] = field(default_factory=list)
    meta: Mapping[str, Any] = field(default_factory=dict)
    unreadable: bool = False
    tree: int = 0
    summaries: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_agent(self) -> bool:
        """Whether it is the log of a sub-agent."""
        return is_agent_name(self.path.name)


@dataclass(slots=True)
class Conversation:
    """One session to be: its logs, and its place among others.

    Attributes:
        id: its session id.
        logs: its files, oldest first; several only where resumes copied the history.
        chain: of a sub-agent inside its parent's file, the id of its first record.
        parent: the session it was spawned by, or forked from; empty for none.
        call: the call that spawned it.
        origin: the session it was forked from.
        older: the sessions that may have records of its beginning.
        title: what it is called.
        warmup: whether the program started it by itself.
        known_parent: whether the session it was spawned by is in the source.
    """

    id: str
    logs: list[Log]
    chain: str = ""
    parent: str = ""
    call: str = ""
    origin: str = ""
    older: tuple[str, ...] = ()
    title: str = ""
    warmup: bool = False
    known_parent: bool = True

    @property
    def is_agent(self) -> bool:
        """Whether it is a sub-agent's."""
        return bool(self.chain) or self.logs[0].is_agent


class Sources:
    """The conversations of a source.

    Args:
        paths: project folders and logs.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = [Path(path) for path in paths]
        self.logs: list[Log] = []
        self.strays: list[Log] = []
        self.conversations: dict[str, Conversation] = {}
        for path in self.paths:
            found = [_look(log) for log in logs(path)]
            self.logs += found
            self._sort(found)
        self._name_titles()

    # Which logs are which conversation.

    def _sort(self, found: list[Log]) -> None:
        sessions = [log for log in found if not log.is_agent and log.tree]
        agents = [log for log in found if log.is_agent and log.tree]
        self.strays += [log for log in found if not log.tree]
        groups = _groups(sessions)
        parents: dict[str, Conversation] = {}
        for group in groups:
            new = Conversation(group[0].name, group)
            if new.id in self.conversations:
                new.id = f"{new.id}-{_short(str(group[0].path))}"
            self.conversations[new.id] = new
            for log in group:
                parents[log.name] = new
        self._fork([parents[group[0].name] for group in groups])
        for group in groups:
            self._sidechains(parents[group[0].name])
        for log in agents:
            self._agent(log, parents)

    def _fork(self, found: list[Conversation]) -> None:
        """Find out which conversations copied the beginning of another one."""
        holders: dict[bytes, list[Conversation]] = {}
        for conversation in found:
            for key in {key for log in conversation.logs for key in log.head}:
                holders.setdefault(key, []).append(conversation)
        shared: dict[str, dict[str, Conversation]] = {}
        for those in holders.values():
            for one in those if len(those) > 1 else ():
                shared.setdefault(one.id, {}).update((o.id, o) for o in those if o is not one)
        for conversation in found:
            log = conversation.logs[0]
            near = shared.get(conversation.id, {}).values()
            older = [o for o in near if _age(o.logs[0]) < _age(log)]
            if not older:
                continue
            named = [o for o in older if o.logs[0].name in (log.foreign, log.session)]
            conversation.origin = (named or [_nearest(older, log)])[0].id
            conversation.parent = conversation.origin
            conversation.older = tuple(o.id for o in older)

    def _sidechains(self, parent: Conversation) -> None:
        """Find the sub-agents that early releases wrote into their parent's file."""
        asked = [task for log in parent.logs for task in log.tasks]
        for log in parent.logs:
            for root, prompt in log.sidechains.items():
                name = f"{parent.id}-agent-{_short(root)}"
                if name in self.conversations:
                    continue
                call = next((c for c, words in asked if words == prompt), "")
                if call:
                    asked.remove((call, prompt))
                self.conversations[name] = Conversation(
                    name, [log], root, parent.id, call, title=prompt[:80]
                )

    def _agent(self, log: Log, parents: Mapping[str, Conversation]) -> None:
        parent = parents.get(log.session) or parents.get(_session_folder(log.path))
        call = text_member(log.meta, "toolUseId")
        if not call and parent is not None:
            for part in parent.logs:
                call = call or part.agents.get(log.agent, "")
        if not call:
            for other in self.logs:
                call = call or (other.agents.get(log.agent, "") if other.is_agent else "")
        owner = log.session or (_session_folder(log.path) or log.name)
        name = agent_session(parent.id if parent is not None else owner, log.agent)
        if name in self.conversations:
            name = f"{name}-{_short(str(log.path))}"
        self.conversations[name] = Conversation(
            name,
            [log],
            parent=parent.id if parent is not None else log.session,
            call=call,
            title=text_member(log.meta, "description"),
            warmup=log.prompt == names.WARMUP and not call,
            known_parent=parent is not None,
        )

    def _name_titles(self) -> None:
        """Give summaries, which stand in any file, to the conversation that they name."""
        homes: dict[bytes, Conversation] = {}
        for conversation in self.conversations.values():
            for log in conversation.logs:
                if not log.is_agent:
                    homes.update(dict.fromkeys(log.uuids, conversation))
        for log in self.logs:
            for leaf, title in log.summaries:
                home = homes.get(_key(leaf))
                if home is not None and not home.title and not home.chain:
                    home.title = title
        for conversation in self.conversations.values():
            if not conversation.is_agent:
                best = max(conversation.logs, key=lambda log: log.titled)
                if best.titled:
                    conversation.title = best.title

    # Records.

    def records(self, conversation: Conversation) -> list[Record]:
        """Return the records of a conversation's files, in order."""
        found: list[Record] = []
        for place, log in enumerate(conversation.logs):
            found += read_records(log.path, place)
        return found

    def children(self, conversation: Conversation) -> dict[str, str]:
        """Return, for each call of an agent tool, the session that it spawned."""
        return {
            other.call: other.id
            for other in self.conversations.values()
            if other.parent == conversation.id and other.call and other.is_agent
        }

    def copied(self, conversation: Conversation) -> set[str]:
        """Return the answers of a fork that a session before it has: they caused no request."""
        found: set[str] = set()
        for name in conversation.older:
            for log in self.conversations[name].logs:
                found |= _messages(log)
        return found

    def others(self) -> dict[str, int | None]:
        """Return the files beside the logs that hold no conversation."""
        found: dict[str, int | None] = {}
        for path in self.paths:
            for other in others(path):
                found[str(other)] = None
        return found


def agent_session(parent: str, agent: str) -> str:
    """Return the session id of a sub-agent."""
    return f"{parent}-agent-{agent}" if parent else f"agent-{agent}"


def read_records(path: Path, place: int) -> Iterator[Record]:
    """Yield the records of a file; one that cannot be read has none."""
    number = 0
    try:
        for line in raw_lines(path):
            for part in split_tail(line):
                yield Record(part, place, number)
            number += 1
    except OSError:
        return


def text_member(value: Mapping[str, Any], name: str) -> str:
    """Return a member that is a string; empty for anything else."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _session_folder(path: Path) -> str:
    parts = path.parts
    if "subagents" in parts:
        return parts[len(parts) - 1 - parts[::-1].index("subagents") - 1]
    return ""


def _short(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]


def _key(uuid: str) -> bytes:
    return hashlib.sha256(uuid.encode("utf-8", "replace")).digest()[:12]


def _age(log: Log) -> tuple[str, bool, str]:
    """Sorts logs by when they were begun: what a fork copied keeps its time."""
    return (log.begun or log.first, bool(log.foreign), log.name)


def _nearest(older: list[Conversation], log: Log) -> Conversation:
    """The session that a fork has most of."""
    if len(older) == 1:
        return older[0]
    mine = _messages(log)
    return max(older, key=lambda o: (len(_messages(o.logs[0]) & mine), _age(o.logs[0])))


def _messages(log: Log) -> set[str]:
    """The ids of the answers in a file."""
    found = set()
    for line in raw_lines(log.path) if log.path.exists() else ():
        if b'"assistant"' in line:
            for record in (Record(part, 0, 0) for part in split_tail(line)):
                if record.is_answer and not record.is_synthetic:
                    found.add(record.message_id)
    return found


def _groups(sessions: list[Log]) -> list[list[Log]]:
    """Put together the files that a resume of an early release copied from each other."""
    early = [log for log in sessions if Rules.of(log.release).copies_on_resume]
    leader = {log.name: log.name for log in sessions}

    def find(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    holder: dict[bytes, str] = {}
    for log in early:
        for key in log.head:
            other = holder.setdefault(key, log.name)
            leader[find(log.name)] = find(other)
    groups: dict[str, list[Log]] = {}
    for log in sessions:
        groups.setdefault(find(log.name), []).append(log)
    return sorted(
        (sorted(g, key=lambda log: (log.copy, log.last, log.name)) for g in groups.values()),
        key=lambda group: (group[0].first, group[0].name),
    )


def _look(path: Path) -> Log:
    """Return what a first look at a file finds."""
    log = Log(path, path.stem)
    if log.is_agent:
        log.agent = path.stem.removeprefix(AGENT)
        log.meta = _meta(path)
    try:
        for line in raw_lines(path):
            for part in split_tail(line):
                log.records += 1
                if not is_blank(part):
                    members = members_of(part)
                    if members is not None:
                        _look_at(log, members)
    except OSError:
        log.unreadable = True
    return log


def _meta(path: Path) -> Mapping[str, Any]:
    try:
        value = text.parse(path.with_name(f"{path.stem}.meta.json").read_bytes())
    except (OSError, AgentSessionError):
        return {}
    return value if isinstance(value, dict) else {}


_TITLES: Final = {names.AI_TITLE: ("aiTitle", 1), names.CUSTOM_TITLE: ("customTitle", 2)}


def _look_at(log: Log, members: Members) -> None:
    kind = text_of(members.get("type"))
    if kind in _TITLES:
        member, weight = _TITLES[kind]
        title = text_of(members.get(member))
        if title and weight >= log.titled:
            log.title, log.titled = title, weight
    elif kind == names.SUMMARY:
        title = text_of(members.get("summary"))
        # The program gave errors to the model that makes titles as well.
        if not title.startswith(_NO_TITLES):
            log.summaries.append((text_of(members.get("leafUuid")), title))
    stamp = text_of(members.get("timestamp"))
    uuid = text_of(members.get("uuid"))
    if kind in names.BOOKKEEPING or kind not in names.TREE and not uuid:
        # A fork copies records of the tree alone: others say when the file itself was begun.
        if stamp and (not log.begun or stamp < log.begun):
            log.begun = stamp
        return
    log.tree += kind in names.TREE
    log.last = max(log.last, stamp)
    log.first = min(log.first or stamp, stamp)
    log.release = text_of(members.get("version")) or log.release
    if log.tree <= _HEAD or "compactMetadata" in members:
        log.head.add(_key(uuid))
    if log.release.startswith(("0.", "1.")):
        log.uuids.add(_key(uuid))
    log.cwd = log.cwd or text_of(members.get("cwd"))
    session = text_of(members.get("sessionId"))
    log.session = log.session or session
    if session != log.name and not log.is_agent:
        log.foreign = session
    if kind == names.ASSISTANT:
        _look_at_answer(log, members, uuid)
    elif kind == names.USER:
        _look_at_user(log, members, uuid)


def _look_at_answer(log: Log, members: Members, uuid: str) -> None:
    message = value_of(members.get("message"))
    if not isinstance(message, dict):
        return
    origin = text_of(members.get("requestSessionId"))
    if origin and origin != log.name:
        log.foreign = origin
    if message.get("model") != names.SYNTHETIC:
        log.answers += 1
        if log.answers == 1:
            log.copy = "requestId" not in members
        if log.answers <= _HEAD:
            log.head.add(_key(text_member(message, "id") or uuid))
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("name") in names.AGENT_TOOLS:
            asked = block.get("input")
            if isinstance(asked, dict) and not is_true(members.get("isSidechain")):
                log.tasks.append((text_member(block, "id"), text_member(asked, "prompt")))


def _look_at_user(log: Log, members: Members, uuid: str) -> None:
    if not text_of(members.get("parentUuid")) and is_true(members.get("isSidechain")):
        words = _prompt(members)
        if log.is_agent:
            log.prompt = log.prompt or words
        else:
            log.sidechains[uuid] = words
    raw = members.get("toolUseResult")
    if raw is not None and b'"agentId"' in bytes(raw):
        told = value_of(raw)
        message = value_of(members.get("message"))
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and isinstance(told, dict):
                agent, call = text_member(told, "agentId"), text_member(block, "tool_use_id")
                if agent and call:
                    log.agents.setdefault(agent, call)


def _prompt(members: Members) -> str:
    message = value_of(members.get("message"))
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = next((b.get("text") for b in content if isinstance(b, dict)), "")
    return content if isinstance(content, str) else ""
