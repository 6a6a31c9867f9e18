"""The small objects inside headers and entries.

Spec: format 2, 4.3.1, 4.3.2, 4.9.1 and 4.12; later drafts 6 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from agentsession.kinds import BOOLEAN, INTEGER, STRING, STRING_MAP
from agentsession.members import Member, Record, Written

Unknown = Mapping[str, Any] | None


class Harness(Record):
    """The program that wrote a session.

    Attributes:
        name: its name.
        version: its version; empty when it has none.

    Spec: format 2.
    """

    __slots__ = ()
    name = Member(STRING, "", written=Written.ALWAYS)
    version = Member(STRING, "")

    def __init__(self, name: str, version: str = "", *, unknown: Unknown = None) -> None:
        self._build({"name": name, "version": version}, unknown)


class Trigger(Record):
    """Where an input came from. Its strings are the harness's own.

    Attributes:
        kind, ref, source: all optional; empty when absent.

    Spec: format 4.9.1.
    """

    __slots__ = ()
    kind = Member(STRING, "")
    ref = Member(STRING, "")
    source = Member(STRING, "")

    def __init__(
        self, kind: str = "", ref: str = "", source: str = "", *, unknown: Unknown = None
    ) -> None:
        self._build({"kind": kind, "ref": ref, "source": source}, unknown)


class InstructionsPart(Record):
    """One part of the instructions.

    Attributes:
        id: the part's id.
        text: its text; empty when the part is named by hash or has none.
        source: the layer that produced it.
        hash: ``sha256:`` and the hex digest of the text, for a part that is known already.
        keep: how many parts in force are taken over as they are (0.7 and later).

    Spec: format 4.3.1, later drafts 8.1.
    """

    __slots__ = ()
    id = Member(STRING, "", written=Written.ALWAYS)
    text = Member(STRING, "")
    source = Member(STRING, "")
    hash = Member(STRING, "")
    keep = Member(INTEGER, 0, since=(0, 7))

    def __init__(
        self,
        id: str,  # noqa: A002
        text: str = "",
        source: str = "",
        hash: str = "",  # noqa: A002
        *,
        unknown: Unknown = None,
    ) -> None:
        self._build({"id": id, "text": text, "source": source, "hash": hash}, unknown)

    @classmethod
    def keeping(cls, count: int) -> Self:
        """Return the element that takes over the next ``count`` parts in force (0.7)."""
        return cls.from_texts({"keep": INTEGER.encode(count)})


class OmittedPart(Record):
    """A part of the instructions that the writer considered and left out.

    Attributes:
        id: the part's id.
        reason: why it was left out.
        size: its size in bytes; 0 when not recorded.
        source: the layer that produced it.
        keep: how many parts of a list in force are taken over (0.9 and later).
        of: the config entry whose list ``keep`` counts over (0.11).

    Spec: format 4.3.2, later drafts 8.2.
    """

    __slots__ = ()
    id = Member(STRING, "", written=Written.ALWAYS)
    reason = Member(STRING, "")
    size = Member(INTEGER, 0)
    source = Member(STRING, "")
    keep = Member(INTEGER, 0, since=(0, 9))
    of = Member(STRING, "", since=(0, 11))

    def __init__(
        self,
        id: str,  # noqa: A002
        reason: str = "",
        size: int = 0,
        source: str = "",
        *,
        unknown: Unknown = None,
    ) -> None:
        self._build({"id": id, "reason": reason, "size": size, "source": source}, unknown)

    @classmethod
    def keeping(cls, count: int, of: str = "") -> Self:
        """Return the element that takes over the next ``count`` parts of a list in force (0.9).

        Args:
            count: how many.
            of: the config entry whose list is meant; the list in force when empty (0.11).
        """
        texts = {"keep": INTEGER.encode(count)}
        return cls.from_texts({**texts, "of": STRING.encode(of)} if of else texts)


class VCS(Record):
    """The version control state of the working directory.

    Attributes:
        system: its name, such as ``git``.
        revision: the commit; empty when not recorded.
        dirty: whether there were uncommitted changes.

    Spec: format 4.12.
    """

    __slots__ = ()
    system = Member(STRING, "", written=Written.ALWAYS)
    revision = Member(STRING, "")
    dirty = Member(BOOLEAN, default=False)

    def __init__(
        self, system: str, revision: str = "", *, dirty: bool = False, unknown: Unknown = None
    ) -> None:
        self._build({"system": system, "revision": revision, "dirty": dirty}, unknown)


class FileHashes(Record):
    """Content hashes of files, by path.

    Attributes:
        read: files read, path to ``sha256:`` hash.
        written: files written, likewise.

    Spec: format 4.12.
    """

    __slots__ = ()
    read = Member(STRING_MAP, {})
    written = Member(STRING_MAP, {})

    def __init__(
        self,
        read: Mapping[str, str] | None = None,
        written: Mapping[str, str] | None = None,
        *,
        unknown: Unknown = None,
    ) -> None:
        self._build({"read": read, "written": written}, unknown)


class Workspace(Record):
    """Where the tools ran.

    Attributes:
        kind: ``local``, ``container``, ``remote`` or the harness's own word.
        ref: which one; empty when not recorded.

    Spec: format 4.12.
    """

    __slots__ = ()
    kind = Member(STRING, "", written=Written.ALWAYS)
    ref = Member(STRING, "")

    def __init__(self, kind: str, ref: str = "", *, unknown: Unknown = None) -> None:
        self._build({"kind": kind, "ref": ref}, unknown)


class Reference(Record):
    """An entry another entry converges from.

    Attributes:
        session: the session it lies in; empty for the same one.
        entry: its id.

    Spec: later drafts 6.
    """

    __slots__ = ()
    session = Member(STRING, "")
    entry = Member(STRING, "", required=True)

    def __init__(self, entry: str, session: str = "", *, unknown: Unknown = None) -> None:
        self._build({"session": session, "entry": entry}, unknown)
