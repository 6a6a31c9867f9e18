"""Record entries: what happened around a conversation. They never reach the model.

Those of runs stand in :mod:`agentsession.run_entries` and can be had from here too.

Spec: format 4.6 to 4.15 and 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from agentsession import environment, payload, text
from agentsession.entry import ENVELOPE, Entry, Envelope, Time
from agentsession.errors import InvalidEntry, NotGit
from agentsession.kinds import (
    ANY,
    BOOLEAN,
    NUMBER,
    STRING,
    STRING_MAP,
    record,
)
from agentsession.members import MISSING, Member, Written
from agentsession.parts import VCS, FileHashes, Workspace
from agentsession.run_entries import DecisionEntry, DispatchEntry, QueuedEntry, RunEntry

__all__ = [
    "CustomEntry",
    "DecisionEntry",
    "DispatchEntry",
    "EnvEntry",
    "InfoEntry",
    "LabelEntry",
    "LinkEntry",
    "OutcomeEntry",
    "QueuedEntry",
    "RunEntry",
    "UnknownEntry",
]


class LabelEntry(Entry):
    """A label on an entry; ``None`` takes it off.

    Args:
        target: the entry labelled.
        label: the text; ``leaf`` is reserved (format 8.4).
        synthetic: whether a store's projection wrote it (0.5).

    Spec: format 4.10, later drafts 7.
    """

    __slots__ = ()
    TYPE = "label"
    target = Member(STRING, "", written=Written.ALWAYS)
    label: Member[str | None] = Member(STRING, written=Written.ALWAYS)  # type: ignore[arg-type]
    synthetic = Member(BOOLEAN, default=False, since=(0, 5))

    def __init__(
        self,
        target: str,
        label: str | None,
        *,
        synthetic: bool = False,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init({"target": target, "label": label, "synthetic": synthetic}, **envelope)


class InfoEntry(Entry):
    """Facts about the session; ``name`` is the one the format knows.

    Spec: format 4.11.
    """

    __slots__ = ()
    TYPE = "info"
    name = Member(STRING, "")

    def __init__(self, name: str = "", **envelope: Unpack[Envelope]) -> None:
        self._init({"name": name}, **envelope)


class EnvEntry(Entry):
    """The environment from here on.

    Args:
        cwd: the working directory.
        vcs: version control state.
        files: hashes of files read and written.
        tools: tool name to version.
        workspace: where the tools run (0.2).

    Spec: format 4.12.
    """

    __slots__ = ()
    TYPE = "env"
    cwd = Member(STRING, "")
    vcs = Member(record(VCS), written=Written.GIVEN)
    files = Member(record(FileHashes), written=Written.GIVEN)
    tools = Member(STRING_MAP, {})
    workspace = Member(record(Workspace), written=Written.GIVEN, since=(0, 2))

    def __init__(
        self,
        *,
        cwd: str = "",
        vcs: VCS | None = None,
        files: FileHashes | None = None,
        tools: Mapping[str, str] | None = None,
        workspace: Workspace | None = None,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "cwd": cwd,
                "vcs": vcs,
                "files": files,
                "tools": tools,
                "workspace": workspace,
            },
            **envelope,
        )

    def with_git(self, directory: str | Path, *, dirty: bool = False) -> EnvEntry:
        """Return a copy with the git revision of a directory; unchanged outside a checkout.

        Spec: context 13.3.

        Raises:
            AgentSessionError: when the checkout has no readable revision.
        """
        try:
            revision = environment.git_revision(directory)
        except NotGit:
            return self
        return self._with("vcs", VCS("git", revision, dirty=dirty).json_text)

    def with_read(self, path: str, digest: str) -> EnvEntry:
        """Return a copy that records the hash of a file read."""
        files = self.files
        read = {**(files.read if files else {}), path: digest}
        return self._with("files", FileHashes(read, files.written if files else {}).json_text)

    def with_written(self, path: str, digest: str) -> EnvEntry:
        """Return a copy that records the hash of a file written."""
        files = self.files
        written = {**(files.written if files else {}), path: digest}
        return self._with("files", FileHashes(files.read if files else {}, written).json_text)

    def with_tool(self, name: str, version: str) -> EnvEntry:
        """Return a copy that records a tool's version."""
        tools = {**self.tools, name: version}
        return self._with("tools", STRING_MAP.encode(tools))

    def with_workspace(self, kind: str, ref: str = "") -> EnvEntry:
        """Return a copy that says where the tools run."""
        return self._with("workspace", Workspace(kind, ref).json_text)


class OutcomeEntry(Entry):
    """A judgement: feedback, a test, a score.

    Args:
        kind: ``feedback``, ``test``, ``task``, ``tool_error``, ``eval`` or ``custom``.
        target: the entry judged; empty for the session.
        score: any finite number, or ``None``.
        pass_: whether it passed, or ``None`` (0.2).
        label: the name of the scale.
        details: any JSON value.

    Spec: format 4.13.
    """

    __slots__ = ()
    TYPE = "outcome"
    kind = Member(STRING, "", written=Written.ALWAYS)
    target = Member(STRING, "")
    score = Member(NUMBER, written=Written.GIVEN)
    pass_ = Member(BOOLEAN, written=Written.GIVEN, wire="pass", since=(0, 2))
    label = Member(STRING, "")
    details = Member(ANY, written=Written.GIVEN)

    def __init__(
        self,
        kind: str,
        target: str = "",
        *,
        score: float | None = None,
        pass_: bool | None = None,
        label: str = "",
        details: object = MISSING,
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {
                "kind": kind,
                "target": target,
                "score": score,
                "pass_": pass_,
                "label": label,
                "details": details,
            },
            **envelope,
        )


class LinkEntry(Entry):
    """A tie to another session.

    Args:
        rel: ``subsession``, ``fork_of``, ``continued_in``, ``judged_by`` (0.11) or the
            harness's own word.
        session: the other session's id.
        call_id: the call that spawned a subsession.
        target: the entry that was judged (0.11).

    Spec: format 4.14, later drafts 8.
    """

    __slots__ = ()
    TYPE = "link"
    rel = Member(STRING, "", written=Written.ALWAYS)
    session = Member(STRING, "", written=Written.ALWAYS)
    call_id = Member(STRING, "")
    target = Member(STRING, "", since=(0, 11))

    def __init__(
        self,
        rel: str,
        session: str,
        call_id: str = "",
        *,
        target: str = "",
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init(
            {"rel": rel, "session": session, "call_id": call_id, "target": target}, **envelope
        )

    @classmethod
    def subsession(cls, session: str, call_id: str, **envelope: Unpack[Envelope]) -> LinkEntry:
        """Return the link to the session a call spawns, written before its dispatch."""
        return cls("subsession", session, call_id, **envelope)

    @classmethod
    def judged_by(cls, session: str, target: str = "", **envelope: Unpack[Envelope]) -> LinkEntry:
        """Return the link to the session that judged this one, or one entry of it (0.11)."""
        return cls("judged_by", session, target=target, **envelope)


class CustomEntry(Entry):
    """Anything a harness wants to keep, under its own name space.

    Args:
        ns: the name space.
        data: any JSON value; ``None`` writes ``null``.
        call_id: the call it is about (0.6).

    Spec: format 4.15, later drafts 8.
    """

    __slots__ = ()
    TYPE = "custom"
    ns = Member(STRING, "", written=Written.ALWAYS)
    data = Member(ANY, written=Written.GIVEN)
    call_id = Member(STRING, "", since=(0, 6))

    def __init__(
        self,
        ns: str,
        data: object = MISSING,
        *,
        call_id: str = "",
        **envelope: Unpack[Envelope],
    ) -> None:
        self._init({"ns": ns, "data": data, "call_id": call_id}, **envelope)


class UnknownEntry(Entry):
    """An entry of a type this release does not define, kept as it is.

    Args:
        raw: its members as a mapping or JSON text; envelope members in it are replaced.
        type: its type; taken from ``raw`` when not given.

    Spec: format 3.5.
    """

    __slots__ = ()

    def __init__(
        self,
        raw: object,
        *,
        type: str = "",  # noqa: A002
        id: str = "",  # noqa: A002
        parent: str | None = None,
        ts: Time = None,
    ) -> None:
        members = text.split_members(payload.encoded_object(raw, "an extension entry"))
        found = text.parse(members["type"]) if "type" in members else ""
        entry_type = type or (found if isinstance(found, str) else "")
        if not entry_type:
            raise InvalidEntry("an extension entry needs a type")
        if not members:
            raise InvalidEntry("an extension entry needs members", type=entry_type)
        self._init({}, id=id, parent=parent, ts=ts)
        self.type = entry_type
        names = sorted(members, key=lambda name: name.encode("utf-8", "surrogatepass"))
        self._texts = {name: members[name] for name in names if name not in _PLACED}
        if isinstance(raw, Mapping):
            self._hold(raw)

    @property
    def raw(self) -> bytes:
        """The whole line as JSON text."""
        return self.line

    @property
    def data(self) -> Mapping[str, Any]:
        """The members beside the envelope, decoded."""
        return {name: text.parse(value) for name, value in self._loaded().items()}


_PLACED = frozenset(ENVELOPE) - {"parents"}
