"""A source opened: which conversations its logs hold, and what ties them together.

One pass over the logs finds their records' ids; only one conversation's records are held
at a time afterwards. Spec: claude-code 3.1, 6; decisions D5 and D7.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.copying import Folder, folders_of
from agentsession.importers.claude_code.joining import gone_on_from, merged
from agentsession.importers.claude_code.lines import raw_lines, split_tail
from agentsession.importers.claude_code.looking import Log, key_of, look, string
from agentsession.importers.claude_code.ordering import behind_parents
from agentsession.importers.claude_code.places import logs, others
from agentsession.importers.claude_code.records import Record, records_of
from agentsession.importers.claude_code.rules import Rules
from agentsession.importers.claude_code.starting import Starts, starts_of


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
        prompt: of a sub-agent whose log begins with an answer, what it was asked.
        warmup: whether the program started it by itself.
        starts: when processes of the program are known to have begun near it.
        known_parent: whether the session it was spawned by is in the source.
        copies: other copies of its logs, which are not read.
        diverged: copies of its logs that went on in another way; they are among its logs.
        joined: how many of its logs, the last ones, are of agents that went on from it.
    """

    id: str
    logs: list[Log]
    chain: str = ""
    parent: str = ""
    call: str = ""
    origin: str = ""
    older: tuple[str, ...] = ()
    title: str = ""
    prompt: str = ""
    warmup: bool = False
    starts: Starts = field(default_factory=dict)
    known_parent: bool = True
    copies: list[Log] = field(default_factory=list)
    diverged: list[Log] = field(default_factory=list)
    joined: int = 0

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
        self.unreadable: dict[str, OSError] = {}
        found = [list(logs(path, self.unreadable)) for path in self.paths]
        # A log that is alone is read once: what is decoded to look at it is kept for its
        # conversion. Of several logs no more than one conversation's are held at a time.
        self._kept: list[Record] | None = [] if sum(map(len, found)) == 1 else None
        every = [[look(log, self._kept) for log in those] for those in found]
        self.logs += [log for found in every for log in found]
        for folder in folders_of(every):
            self._sort(folder)
            self._copy(folder)
        self._name_titles()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    # Which logs are which conversation.

    def _sort(self, folder: Folder) -> None:
        found = folder.logs
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
            _diverge(new, folder)
        self._fork([parents[group[0].name] for group in groups])
        for group in groups:
            self._sidechains(parents[group[0].name])
        agents = self._join(agents, parents, folder)
        own = [log for log in agents if self._agent(log, parents, folder).warmup]
        starts = starts_of(own)
        for parent in parents.values():
            parent.starts = starts

    def _join(
        self, agents: list[Log], parents: Mapping[str, Conversation], folder: Folder
    ) -> list[Log]:
        """Have sessions read the logs of agents that go on from them; return the others.

        Such an agent was told all that was said in the session, and so is a branch of it. Its log
        begins with what the session's own does not have yet.
        """
        near: dict[str, list[Log]] = {}
        for log in agents:
            parent = parents.get(log.session) or parents.get(_session_folder(log.path))
            if not log.above or parent is None or str(log.path) in folder.diverged:
                continue
            if log.meta.get("toolUseId") or any(log.agent in part.agents for part in parent.logs):
                continue
            near.setdefault(parent.id, []).append(log)
        taken: set[int] = set()
        for name, those in near.items():
            found = gone_on_from(self.conversations[name].logs, those)
            self.conversations[name].logs += found
            self.conversations[name].joined = len(found)
            taken |= {id(log) for log in found}
        return [log for log in agents if id(log) not in taken]

    def _copy(self, folder: Folder) -> None:
        """Give the copies of logs to the conversations that these are of."""
        for conversation in self.conversations.values() if folder.copies else ():
            if not conversation.chain:
                for log in conversation.logs:
                    conversation.copies += folder.copies.pop(str(log.path), ())

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
        found: dict[str, Conversation] = {}
        for log in parent.logs:
            # Copies of the file have the same calls, and each its own sub-agent for some.
            taken = [found[root].call for root in log.sidechains if root in found]
            others = {one.call for one in found.values()}
            for root, prompt in log.sidechains.items():
                if root in found:
                    found[root].logs.append(log)
                    continue
                fitting = [c for c, words in log.tasks if words == prompt and c not in taken]
                call = next((c for c in fitting if c not in others), next(iter(fitting), ""))
                taken.append(call)
                name = f"{parent.id}-agent-{_short(root)}"
                found[root] = self.conversations[name] = Conversation(
                    name, [log], root, parent.id, call, title=prompt[:80]
                )

    def _agent(self, log: Log, parents: Mapping[str, Conversation], folder: Folder) -> Conversation:
        parent = parents.get(log.session) or parents.get(_session_folder(log.path))
        call = string(log.meta.get("toolUseId"))
        if not call and parent is not None:
            for part in parent.logs:
                call = call or part.agents.get(log.agent, "")
        if not call:
            for other in self.logs:
                call = call or (other.agents.get(log.agent, "") if other.is_agent else "")
        call = call or _matching_call(log, parent)
        prompt = self._prompt_of(call) if log.unprompted else ""
        if log.unprompted and not call and self._was_warmed_up(log, parent):
            prompt = names.WARMUP
        prompt = prompt or self._begun_elsewhere(log)
        owner = log.session or (_session_folder(log.path) or log.name)
        name = agent_session(parent.id if parent is not None else owner, log.agent)
        if name in self.conversations:
            name = f"{name}-{_short(str(log.path))}"
        new = self.conversations[name] = Conversation(
            name,
            [log],
            parent=parent.id if parent is not None else log.session,
            call=call,
            title=string(log.meta.get("description")),
            prompt=prompt,
            warmup=names.WARMUP in (log.prompt, prompt) and not call,
            known_parent=parent is not None,
        )
        _diverge(new, folder)
        return new

    def _begun_elsewhere(self, log: Log) -> str:
        """What an agent was asked whose log goes on from another one of the same agent.

        A process that resumes a session can have begun agents as another one's.
        """
        if log.prompt or not log.above:
            return ""
        every = (o for o in self.logs if o.is_agent and o.agent == log.agent and o is not log)
        return next((other.prompt for other in every if other.end == log.above), "")

    def _was_warmed_up(self, log: Log, parent: Conversation | None) -> bool:
        """Whether an agent can only be one that the program started by itself.

        The process that did so often has a log without a record.
        """
        if parent is not None:
            return not _open_calls(parent)
        return any(stray.name == log.session for stray in self.strays)

    def _prompt_of(self, call: str) -> str:
        """What a call of an agent tool asked; empty for no call."""
        every = ((name, words) for log in self.logs for name, words in log.tasks)
        return next((words for name, words in every if name == call), "")

    def _name_titles(self) -> None:
        """Give summaries, which stand in any file, to the conversation that they name."""
        homes: dict[bytes, Conversation] = {}
        for conversation in self.conversations.values():
            for log in conversation.logs:
                if not log.is_agent:
                    homes.update(dict.fromkeys(log.uuids, conversation))
        for log in self.logs:
            for leaf, title in log.summaries:
                home = homes.get(key_of(leaf))
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
        if self._kept is not None:
            # Records change while they are converted: the next one to ask reads them anew.
            kept, self._kept = self._kept, None
            return list(behind_parents(kept))
        found: list[Record] = []
        for place, log in enumerate(conversation.logs):
            found += behind_parents(list(read_records(log.path, place)))
        return merged(found, conversation.joined) if conversation.joined else found

    def children(self, conversation: Conversation) -> list[dict[str, str]]:
        """Return, for each file and each call of an agent tool, the session that it spawned.

        A call that copies of a file have in common spawned another agent in each, where they
        parted while it was running.
        """
        found: list[dict[str, str]] = [{} for _ in conversation.logs]
        for other in self.conversations.values():
            if other.parent != conversation.id or not other.call or not other.is_agent:
                continue
            inside = {id(log) for log in other.logs} if other.chain else set()
            for log, calls in zip(conversation.logs, found, strict=True):
                if id(log) in inside:
                    calls[other.call] = other.id
                else:
                    calls.setdefault(other.call, other.id)
        return found

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


def _diverge(conversation: Conversation, folder: Folder) -> None:
    """Have a conversation read the copies of its logs that went on in another way."""
    logs: list[Log] = []
    for log in conversation.logs:
        every = folder.told_by(log)
        conversation.diverged += [one for one in every if one is not log]
        logs += every
    conversation.logs = logs


def _open_calls(parent: Conversation | None) -> dict[str, str]:
    """The calls of agent tools without a result, each with what was asked."""
    logs = parent.logs if parent is not None else []
    return {call: words for log in logs for call, words in log.waiting.items()}


def _matching_call(log: Log, parent: Conversation | None) -> str:
    """The call that can only have started an agent whose parent was ended before its result.

    That is the one which asked what the agent was asked; where the agent's log does not say
    what that was, the only one. Spec: claude-code 6.
    """
    found = _open_calls(parent)
    if log.unprompted:
        return next(iter(found)) if len(found) == 1 else ""
    fitting = [call for call, words in found.items() if words and words == log.prompt]
    return fitting[0] if len(fitting) == 1 else ""


def agent_session(parent: str, agent: str) -> str:
    """Return the session id of a sub-agent."""
    return f"{parent}-agent-{agent}" if parent else f"agent-{agent}"


def read_records(path: Path, place: int) -> Iterator[Record]:
    """Yield the records of a file; one that cannot be read has none."""
    try:
        for number, line in enumerate(raw_lines(path)):
            yield from records_of(line, place, number)
    except OSError:
        return


def _session_folder(path: Path) -> str:
    parts = path.parts
    if "subagents" in parts:
        return parts[len(parts) - 1 - parts[::-1].index("subagents") - 1]
    return ""


def _short(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]


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
    for line in raw_lines(log.path) if os.path.exists(log.path) else ():
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
    for group in groups.values():
        group.sort(key=lambda log: (log.copy, log.last, log.name, log.end))
    return sorted(groups.values(), key=lambda group: (group[0].first, group[0].name))
