"""The codes of a conversion's report, each with its sentence.

``docs/formats/opencode-codes.md`` explains them; a test holds the two together.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from agentsession.importers.unread import OLD_LAYOUT

CODES: Final = MappingProxyType(
    {
        # What a request held and the store does not.
        "system-prompt-not-stored": "the system prompt of the requests is not in the store",
        "tools-not-stored": "the tool definitions of the requests are not in the store",
        "plan-reminder-not-stored": (
            "a plan or build reminder stood in the last user message on the wire and is not stored"
        ),
        "busy-wrapper-not-stored": (
            "input that arrived during a loop was sent in a wrapper that is not stored"
        ),
        "invalid-call-arguments-lost": (
            "a call OpenCode could not parse is stored as tool invalid without its arguments"
        ),
        # What the picture does.
        "history-folded": "what was sent is not the path: a compaction says what was",
        "output-pruned": "a tool output was pruned; later requests held a placeholder",
        "summary-pinned": "a compaction's summary text is pinned without an entry of its own",
        "interrupted-call-noticed": "a call without a result was sent with a notice in its place",
        "interrupted-call-unsent": "a call without a result was left out of later requests",
        "failed-message-branched": (
            "a failed message was left out of later requests and is a branch"
        ),
        "message-lowers-to-nothing": "a message held nothing that was ever sent",
        "late-item": "an item was first sent later than its place in the store",
        "context-emptied": "a request was sent without any history: a new root begins there",
        "staged-revert": "a revert is staged: the turns after the leaf are hidden, not deleted",
        "fork-copy": "a message was copied from the session this one was forked from",
        "fork-origin-unknown": "the session this one was forked from cannot be found",
        "child-without-call": "a child session names a parent that holds no call for it",
        "child-without-parent": "a child session names a parent that is not in the source",
        "queued-input": "input was still waiting when the store was read",
        "delivered-input": "input that had waited is in the history under the same id",
        "native-window-opened": "a provider's own compaction travelled in place of the history",
        "native-window-skipped": (
            "a provider's own compaction was not for this model; the older rows were sent"
        ),
        "continued-in-rows": "the session went on in OpenCode 2 from its migrated history",
        # Times and versions.
        "time-missing": "a record has no usable time; its id's or its parent's stands in",
        "release-inferred": "the release that sent a request is inferred from the store",
        "release-unknown": "no release is known; the newest rules stand in",
        # Accounting.
        "unreadable-record": "the record cannot be read",
        "parts-lost": "parts of the message cannot be read: what they said is not known",
        "unreadable-session": "the session that records name has no record",
        "read-from-other-copy": (
            "a record that the copy taken cannot give was read from another copy"
        ),
        "part-without-message": (
            "the part's message is not in the store: a revert left the part, or nothing wrote it"
        ),
        "message-lost": "the part's message cannot be read",
        "unknown-role": "the message has a role OpenCode never wrote; it is kept as it is",
        "unknown-part": "the part has a type OpenCode never wrote; it is kept as it is",
        "unknown-row": "the row has a type OpenCode never wrote; it is kept as it is",
        "unknown-content": (
            "more than 5% of the session's bytes are of types OpenCode never wrote; all is kept"
        ),
        "value-too-deep": "a value nested too deeply to be kept beside the item was left out",
        "turns-only-in-other-copy": (
            "turns that were deleted from the copy taken stand in another one: they are a branch"
        ),
        "other-copy": "another copy of the session holds more of what its model saw",
        "file-diffs-left-out": (
            "file diffs that OpenCode computed after a turn are left out; its snapshots are named"
        ),
        "switch-marker": "the row only marks a switch that the messages themselves record",
        "stray": "the record belongs to no session",
        OLD_LAYOUT: "the sessions in it are in a layout of early releases, which is not read",
        "unreadable-place": "a place of the source cannot be read",
        "foreign-place": "a place among the source's records holds none",
    }
)
