"""The errors of the package: one small tree, each carrying its facts.

::

    AgentSessionError
    ├── UnsupportedFormat        a format name or version this release does not handle (ValueError)
    ├── DamagedFile              a file or line that cannot be read as a session (ValueError)
    ├── InvalidEntry             an entry that must not be written (ValueError)
    │   ├── CallRejected         a dispatch of, or decision about, a call that was rejected
    │   ├── CallAnswered         a dispatch of, or decision about, a call that was answered
    │   ├── CallCompleted        a dispatch, reject or answer of a call that has an output
    │   ├── RejectDispatched     a reject of a call that was dispatched
    │   ├── AnswerNotDispatched  an answer to a call that was never dispatched
    │   ├── CallIDRepeated       a function call whose id is empty or already used
    │   ├── BadTarget            a target that is not the item entry of the call named
    │   ├── ReservedMember       a body member named like a member of the envelope
    │   └── BadNormalisation     a ``normalised`` list that does not say what was changed
    ├── BadID                    an id that is not the hash of its entry, or a bad base (ValueError)
    ├── BadConvergence           ``parents`` that break the rules of convergence (ValueError)
    ├── UnresolvedMigration      a migrated session that must not be written back (ValueError)
    ├── DuplicateEntry           an entry id that is already used (ValueError)
    ├── NoEntry                  an entry id that is not there (KeyError)
    ├── NoSession                a session id that is not in the store (KeyError)
    ├── SessionExists            a session id that is already in the store (FileExistsError)
    ├── SessionLocked            a session another writer holds (BlockingIOError)
    ├── ConcurrentWriter         another writer appended to a session held here
    ├── StoreFailed              the storage refused to write (OSError)
    ├── ReadOnly                 a write to something opened for reading (PermissionError)
    ├── Superseded               a session that was continued in a successor
    ├── NotJSON                  text that is not JSON (ValueError)
    ├── CannotHash               a value with no canonical form (ValueError)
    ├── NoContext                a path whose context cannot be built (ValueError)
    ├── HashMismatch             a rebuilt request that differs from the recorded hash
    ├── NoHash                   a response without a recorded hash
    ├── ReasonMismatch           a run end that disagrees with its segment
    ├── RecordMissing            a promised record entry that is not on the path
    ├── NotGit                   a directory outside any git checkout
    └── InvalidDocument          a document that is not valid ATIF (in ``agentsession.atif``)

The builtin bases let an existing ``except KeyError`` or ``except ValueError``
keep working.
"""

from __future__ import annotations

from pathlib import Path


class AgentSessionError(Exception):
    """Base of every error this package raises on purpose."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument.
        return str(self.args[0]) if self.args else type(self).__name__


class UnsupportedFormat(AgentSessionError, ValueError):
    """A format name or version that cannot be read, or not be written.

    Attributes:
        format: the format string as found.
    """

    def __init__(self, message: str, *, format: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.format = format


class DamagedFile(AgentSessionError, ValueError):
    """A file, or one line of it, that cannot be read as a session.

    Attributes:
        problem: what is wrong, without the place.
        path: the file, when it is known.
        line: 1-based line number, blank lines counted; 0 for the file as a whole.
        start, end: byte range of that line in the file, without its line end.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | Path | None = None,
        line: int = 0,
        start: int = 0,
        end: int = 0,
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.start = start
        self.end = end
        place = str(path) if path is not None else ""
        if line:
            place = f"{place}: line {line}" if place else f"line {line}"
        super().__init__(f"{place}: {problem}" if place else problem)


class InvalidEntry(AgentSessionError, ValueError):
    """An entry that must not be written as it stands.

    Attributes:
        type: the entry type.
        member: the member at fault, or an empty string.
    """

    def __init__(self, message: str, *, type: str = "", member: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.type = type
        self.member = member


class CallRejected(InvalidEntry):
    """A dispatch of a call that a decision on the path already rejected.

    Attributes:
        call_id: the call.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str = "dispatch",  # noqa: A002
        call_id: str = "",
    ) -> None:
        super().__init__(message, type=type, member="call_id")
        self.call_id = call_id


class CallAnswered(InvalidEntry):
    """A dispatch of, or a further decision about, a call that a decision answered.

    Attributes:
        call_id: the call.
    """

    def __init__(self, message: str, *, type: str = "", call_id: str = "") -> None:  # noqa: A002
        super().__init__(message, type=type, member="call_id")
        self.call_id = call_id


class CallCompleted(InvalidEntry):
    """A dispatch, a reject or an answer of a call that already has its output.

    Attributes:
        call_id: the call.
    """

    def __init__(self, message: str, *, type: str = "", call_id: str = "") -> None:  # noqa: A002
        super().__init__(message, type=type, member="call_id")
        self.call_id = call_id


class RejectDispatched(InvalidEntry):
    """A reject of a call that was already handed to its tool.

    Attributes:
        call_id: the call.
    """

    def __init__(self, message: str, *, call_id: str = "") -> None:
        super().__init__(message, type="decision", member="verdict")
        self.call_id = call_id


class AnswerNotDispatched(InvalidEntry):
    """An answer to a call that, as far as the session promises to say, never ran.

    Attributes:
        call_id: the call.
    """

    def __init__(self, message: str, *, call_id: str = "") -> None:
        super().__init__(message, type="decision", member="verdict")
        self.call_id = call_id


class CallIDRepeated(InvalidEntry):
    """A function call whose ``call_id`` is empty, or names another call of the session.

    Attributes:
        call_id: the id.
    """

    def __init__(self, message: str, *, call_id: str = "") -> None:
        super().__init__(message, type="item", member="item")
        self.call_id = call_id


class BadTarget(InvalidEntry):
    """A dispatch or decision whose ``target`` is not the item entry of the call it names.

    Attributes:
        call_id: the call named.
        entry_id: the target.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str = "",  # noqa: A002
        call_id: str = "",
        entry_id: str = "",
    ) -> None:
        super().__init__(message, type=type, member="target")
        self.call_id = call_id
        self.entry_id = entry_id


class ReservedMember(InvalidEntry):
    """A body with a top-level member that is named like a member of the envelope."""


class BadNormalisation(InvalidEntry):
    """A ``normalised`` list with an element that does not name its place and its source."""


class BadID(AgentSessionError, ValueError):
    """An id that is not the hash of its entry, or a file that breaks the rules of its base.

    A missing id, another prefix, and a ``ts`` in another than the one spelling count too.

    Attributes:
        entry_id: the id found; empty when there is none.
        expected: the id the entry has; empty when it cannot be computed.
    """

    def __init__(self, message: str, *, entry_id: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id
        self.expected = expected


class BadConvergence(AgentSessionError, ValueError):
    """``parents`` that name no earlier entry, the parent itself, or one entry twice.

    Attributes:
        entry_id: the reference at fault; empty for a list that is none.
    """

    def __init__(self, message: str, *, entry_id: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id


class UnresolvedMigration(AgentSessionError, ValueError):
    """A migrated session that holds what migration could not rewrite.

    Attributes:
        unresolved: one sentence for each thing that was kept as it was.
    """

    def __init__(self, message: str, *, unresolved: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.unresolved = unresolved


class DuplicateEntry(AgentSessionError, ValueError):
    """An entry id that an earlier entry of the session already has.

    Attributes:
        entry_id: the id.
    """

    def __init__(self, message: str, *, entry_id: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id


class NoEntry(AgentSessionError, KeyError):
    """An entry id that names no entry of the session, or no earlier one.

    Attributes:
        entry_id: the id.
    """

    def __init__(self, message: str, *, entry_id: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id


class NoSession(AgentSessionError, KeyError):
    """A session id that is not in the store.

    Attributes:
        session_id: the id.
    """

    def __init__(self, message: str, *, session_id: str = "") -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionExists(AgentSessionError, FileExistsError):
    """A session id that is already in the store.

    Attributes:
        session_id: the id.
    """

    def __init__(self, message: str, *, session_id: str = "") -> None:
        super().__init__(message)
        self.session_id = session_id


class SessionLocked(AgentSessionError, BlockingIOError):
    """A session that another writer holds.

    Attributes:
        session_id: the session.
        pid: process id of the holder; 0 when it is not known.
        host: host name of the holder; empty when it is not known.
        since: when the holder took it, as written; empty when it is not known.
        path: the lock file, for stores that have one.
    """

    def __init__(
        self,
        message: str,
        *,
        session_id: str = "",
        pid: int = 0,
        host: str = "",
        since: str = "",
        path: str | Path | None = None,
    ) -> None:
        super().__init__(message)
        self.session_id = session_id
        self.pid = pid
        self.host = host
        self.since = since
        self.path = path


class ConcurrentWriter(AgentSessionError):
    """Another writer appended to a session this store believed it held.

    Attributes:
        session_id: the session; it is refused here until it is released.
    """

    def __init__(self, message: str, *, session_id: str = "") -> None:
        super().__init__(message)
        self.session_id = session_id


class StoreFailed(AgentSessionError, OSError):
    """The storage could not take a write: a full disk, a failing device, a closed file.

    The session in memory was dropped; open it again to go on from what is stored.

    Attributes:
        session_id: the session.
        path: the file, for stores that have one.
        errno: the system's error number, or ``None``.
    """

    def __init__(
        self,
        message: str,
        *,
        session_id: str = "",
        path: str | Path | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message)
        self.session_id = session_id
        self.path = path
        self.errno = errno


class ReadOnly(AgentSessionError, PermissionError):
    """A write to a store or session that was opened for reading only."""


class Superseded(AgentSessionError):
    """A session that was continued in a successor and takes no more entries.

    No store of this package raises it; it is here for one that wants to.

    Attributes:
        session_id: the old session.
        successor: the session it was continued in.
    """

    def __init__(self, message: str, *, session_id: str = "", successor: str = "") -> None:
        super().__init__(message)
        self.session_id = session_id
        self.successor = successor


class NotJSON(AgentSessionError, ValueError):
    """Text that is not JSON.

    Attributes:
        problem: what is wrong, without the place.
        position: 0-based byte offset in the text.
    """

    def __init__(self, problem: str, *, position: int = 0) -> None:
        super().__init__(f"{problem} at byte {position}")
        self.problem = problem
        self.position = position


class CannotHash(AgentSessionError, ValueError):
    """A value that has no canonical form, such as a number beyond any double."""


class NoContext(AgentSessionError, ValueError):
    """A path whose context cannot be built.

    Attributes:
        entry_id: the entry at fault.
    """

    def __init__(self, message: str, *, entry_id: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id


class HashMismatch(AgentSessionError):
    """A rebuilt request whose hash is not the recorded one.

    Attributes:
        entry_id: the response entry.
        recorded: the hash in the entry.
        rebuilt: the hash of the rebuilt request, as written in the session.
    """

    def __init__(
        self, message: str, *, entry_id: str = "", recorded: str = "", rebuilt: str = ""
    ) -> None:
        super().__init__(message)
        self.entry_id = entry_id
        self.recorded = recorded
        self.rebuilt = rebuilt


class NoHash(AgentSessionError):
    """A response entry that records no request hash, so nothing can be compared.

    Attributes:
        entry_id: the response entry.
    """

    def __init__(self, message: str, *, entry_id: str = "") -> None:
        super().__init__(message)
        self.entry_id = entry_id


class ReasonMismatch(AgentSessionError):
    """A run end whose reason or pending list disagrees with its segment.

    Attributes:
        run_id: the run.
        entry_id: the end entry.
        expected: what the segment says.
        found: what the entry says.
    """

    def __init__(
        self,
        message: str,
        *,
        run_id: str = "",
        entry_id: str = "",
        expected: object = None,
        found: object = None,
    ) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.entry_id = entry_id
        self.expected = expected
        self.found = found


class RecordMissing(AgentSessionError):
    """A record entry that the header promises and the path lacks.

    Attributes:
        record: the entry type.
        call_id: the call it belongs to.
        entry_id: the item entry that holds the call.
    """

    def __init__(
        self, message: str, *, record: str = "", call_id: str = "", entry_id: str = ""
    ) -> None:
        super().__init__(message)
        self.record = record
        self.call_id = call_id
        self.entry_id = entry_id


class NotGit(AgentSessionError):
    """A directory that lies in no git checkout.

    Attributes:
        path: the directory.
    """

    def __init__(self, message: str, *, path: str | Path | None = None) -> None:
        super().__init__(message)
        self.path = path
