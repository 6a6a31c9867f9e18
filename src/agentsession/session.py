"""The session: a tree of entries with a leaf, and what can be asked of it.

The tree supplies paths; context, calls, runs and checks are functions over a path that
live in their own modules.

Spec: format 8, context, later drafts.
"""

from __future__ import annotations

from dataclasses import replace

from agentsession import calls as call_functions
from agentsession import context as context_functions
from agentsession import forks, leaf_records, migration, verification, versions, workspaces
from agentsession import runs as run_functions
from agentsession.calls import Call
from agentsession.context import Context
from agentsession.entries import BranchSummaryEntry, CompactionEntry, Entry
from agentsession.growth import Growth
from agentsession.header import Header
from agentsession.leaf_records import LeafRecords
from agentsession.record_entries import EnvEntry, RunEntry
from agentsession.runs import Run
from agentsession.tree import TruncatedLine

__all__ = ["Session", "TruncatedLine"]


class Session(Growth):
    """One session in memory.

    ``Session(header)`` starts a new one; :func:`agentsession.read` and the stores give
    stored ones. What it holds is :class:`~agentsession.tree.Tree`, how it grows
    :class:`~agentsession.growth.Growth`; here
    is what can be asked of a path. All methods may be called from several threads.

    Spec: context.
    """

    # What the model was sent.

    def context(self) -> Context:
        """Return the context at the leaf; empty without one (context 1).

        Raises:
            NoContext: when it cannot be built.
        """
        return context_functions.build_context(self._lineage(self._leaf))

    def context_at(self, entry_id: str) -> Context:
        """Return the context at an entry; the empty context for ``""``.

        Raises:
            NoEntry: when the id is unknown.
            NoContext: when it cannot be built.
        """
        if entry_id and entry_id not in self:
            raise self._no_entry(entry_id)
        return context_functions.build_context(self._lineage(entry_id or None))

    def request_context(self, response_entry_id: str) -> Context:
        """Return the context of the request a response answered (context 3).

        Raises:
            NoEntry: when the id is unknown.
            InvalidEntry: when it names no response.
            NoContext: when the context cannot be built.
        """
        return context_functions.request_context(self.path(response_entry_id))

    def verify(self, response_entry_id: str) -> verification.Form:
        """Return the form in which a recorded request hash matches (context 6, decision A8).

        Raises:
            NoEntry: when the id is unknown. InvalidEntry: when it names no response.
            NoHash: when the response records no hash.
            HashMismatch: when no form matches.
            NoContext, CannotHash: when the request cannot be rebuilt or hashed.
        """
        return verification.verify(self.path(response_entry_id))

    def verify_all(self) -> verification.Verification:
        """Return the result of every response in file order; one pass per path."""
        return verification.verify_all(self)

    # What happened around it.

    def calls(self, leaf: str | None = None) -> list[Call]:
        """Return the function calls on the path to a leaf (context 8).

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        found = call_functions.calls(self._path_to(leaf))
        if not versions.has_later_calls(self.header.version):
            return found
        dispatched = self.dispatched()
        return [
            replace(
                call,
                dispatched_elsewhere=call.dispatch is None and call.entry.id in dispatched,
                inherited=self.is_inherited(call.entry.id),
            )
            for call in found
        ]

    def pending_calls(self, leaf: str | None = None) -> list[Call]:
        """Return the calls on the path to a leaf that have no output.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return [call for call in self.calls(leaf) if call.pending]

    def runs(self, leaf: str | None = None) -> list[Run]:
        """Return the runs on the path to a leaf (context 9).

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return run_functions.runs(self._path_to(leaf))

    def open_run(self, leaf: str | None = None) -> Run | None:
        """Return the run that is open at a leaf, or ``None``.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return run_functions.open_run(self._path_to(leaf))

    def end_run(self, reason: str, ref: str = "") -> RunEntry:
        """Return the entry that ends the run open at the leaf. It is not appended.

        Raises:
            NoEntry: when there is no leaf.
            InvalidEntry: when no run is open.
        """
        return run_functions.end_run(self._path_to(None), reason, ref)

    def verify_records(self, leaf: str | None = None) -> tuple[str, ...]:
        """Check the record entries on the path to a leaf; return notes that are no errors.

        Spec: context 10, later drafts 11.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
            ReasonMismatch, CallRejected, RecordMissing: the first problem found; from 0.5 on
                also ``BadTarget``, ``CallIDRepeated`` and the other errors about calls.
        """
        found = leaf_records.of_path(self, self._path_to(leaf))
        if found.error is not None:
            raise found.error
        return found.notes

    def verify_all_records(self) -> tuple[LeafRecords, ...]:
        """Return what :meth:`verify_records` finds on the path to each leaf, in file order.

        Nothing is raised for a single leaf; the leaves share the work of what is above them.

        Spec: context 10, later drafts 11.
        """
        return leaf_records.of_leaves(self)

    def substitutions(self, leaf: str | None = None) -> tuple[EnvEntry, ...]:
        """Return the env entries on the path to a leaf from which tools ran elsewhere.

        From each on, a strict replay cannot be verified against what came before.

        Spec: later drafts 8.

        Raises:
            NoEntry: when the id is unknown, or there is no leaf.
        """
        return workspaces.substitutions(self._path_to(leaf))

    # Other drafts and other sessions.

    def migrated(self, to: str = "0.11") -> Session:
        """Return the session as a later draft has it: new, read-only, with hashes as ids.

        This session stays as it is. Request hashes verify as before; ``resolve`` finds entries
        by their old ids; ``unresolved`` says what could not be rewritten.

        Args:
            to: the version, as ``0.11`` or ``agentsession/0.11``.

        Spec: later drafts 12, decision A1.

        Raises:
            UnsupportedFormat: for a version that is not migrated to here.
            UnresolvedMigration: when an entry has no hash, such as one with a number beyond
                any double.
        """
        return migration.migrate(self, to)

    @property
    def unresolved(self) -> tuple[str, ...]:
        """What migration could not rewrite, a sentence each; empty for any other session."""
        return self._unresolved

    def fork(self, entry_id: str, header: Header | None = None) -> Session:
        """Return a new session in memory that continues from an entry of this one.

        :func:`agentsession.fork` makes one in a store.

        Spec: later drafts 5.

        Raises:
            NoEntry, InvalidEntry, UnsupportedFormat: as :func:`agentsession.fork`.
        """
        return forks.fork(self, entry_id, header=header)

    def _path_to(self, leaf: str | None) -> list[Entry]:
        return self.path(self._leaf_or_raise() if leaf is None else leaf)

    # Folding.

    def compact(self, first_kept: str, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the path from an entry on (context 11).

        Raises:
            NoEntry: when there is no leaf, or ``first_kept`` is not on its path.
            InvalidEntry: without a summary. NoContext: when the context cannot be built.
        """
        return context_functions.compact(self._path_to(None), first_kept, summary)

    def compact_from(self, index: int, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the context's items from an index on.

        Raises:
            InvalidEntry: when the index names no item, or one that cannot be kept.
            NoEntry, NoContext: as :meth:`compact`.
        """
        return context_functions.compact_from(self._path_to(None), index, summary)

    def compact_keeping(self, kept: int, summary: object) -> CompactionEntry:
        """Return a compaction at the leaf that keeps the context's last items.

        Raises:
            InvalidEntry: when there are not that many.
            NoEntry, NoContext: as :meth:`compact`.
        """
        return context_functions.compact_keeping(self._path_to(None), kept, summary)

    def summarize_branch(self, from_: str, summary: object) -> BranchSummaryEntry:
        """Return the summary of an abandoned branch; move the leaf first (context 11).

        Raises:
            NoEntry: when ``from_`` is unknown, or there is no leaf.
            InvalidEntry: without a summary.
        """
        self._leaf_or_raise()
        return BranchSummaryEntry(self[from_].id, summary)
