"""The codes of a conversion's report, each with its sentence.

``docs/formats/codex-codes.md`` explains them; a test holds the two together.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from agentsession.importers.base import UNKNOWN_CONTENT
from agentsession.importers.numbers import ODD, ODD_SENTENCE
from agentsession.importers.unknown import SENTENCES
from agentsession.importers.unread import SENTENCES as FILES

CODES: Final = MappingProxyType(
    {
        # What a request held and the files do not.
        "instructions-not-stored": "the instructions of the requests are not in the files",
        "instructions-approximate": (
            "the stored instructions may hold sections that were not sent with a request"
        ),
        "tools-not-stored": "the tool definitions of the requests are not in the files",
        "environment-not-stored": (
            "the environment context that began every request of this release is not stored"
        ),
        "compaction-not-stored": (
            "a compaction left only its notice: what later requests held instead is not stored"
        ),
        "summary-prompt-not-stored": "the prompt of a summary call is not in the files",
        "partial-answer-not-kept": "an answer that broke off left nothing that was ever sent again",
        # What the picture does.
        "history-folded": "what was sent is not the path: a compaction says what was",
        "history-rebuilt": (
            "a compaction's history is rebuilt from the user's messages; the file holds the summary"
        ),
        "aborted-output": "a call without a result was sent with the output aborted",
        "orphan-output": "an output without its call was never sent; it is kept beside the items",
        "interleaved-response": (
            "items of one response stand among the outputs of its calls, as they were sent"
        ),
        "retried-call": "a call was sent again with the same body; it is one response",
        "call-without-answer": "a call got no answer: its response has no items",
        "call-uncertain": "a request may have been sent that left no trace of an answer",
        "call-unfinished": "a response ended before it was whole",
        "answer-in-flight": "an answer was on its way when the files ended",
        "hidden-call": "a call without a record of its own is known by its tokens alone",
        "rolled-back": "turns were taken back: they are a branch",
        "request-not-chained": "a request had no answer, and the next went on from the one before",
        "base-missing": "the file this one goes on from is not in the source",
        "fork-copy": "the line was copied from the thread this one was forked from",
        "fork-origin-unknown": "the thread this one was forked from is not in the source",
        "child-without-call": "a child thread names a parent that holds no call for it",
        "child-without-parent": "a child thread names a parent that is not in the source",
        "older-segment": "the thread went back and on from an earlier turn: the rest is a branch",
        "queued-input": "input was still waiting when the databases were read",
        "display-only": "the file holds no model items: its display items stand in",
        # Times.
        "time-missing": "a record has no usable time; that of the record before it stands in",
        # Accounting.
        "unreadable-record": "the record is cut or no JSON object",
        "unreadable-counts": (
            "the counters are no numbers of tokens: whether they count a call is not known"
        ),
        ODD: ODD_SENTENCE,
        **FILES,
        **SENTENCES,
        "unknown-record": "the record has a type Codex never wrote; it is kept as it is",
        "unknown-event": "the event has a type that is not known; it is kept as it is",
        "unknown-item": "the item has a type that is never sent, or none; it is kept as it is",
        "value-not-kept": "a value that no entry can hold was replaced",
        UNKNOWN_CONTENT: (
            "more than 5% of the session's bytes are of types that are not known; they are kept, "
            "but a newer release may need a newer importer"
        ),
        "display-copy": "the event shows what an item says",
        "state-marker": "the line only marks where a request was sent",
        "world-state": "the line repeats what the context messages say",
        "undo-snapshot": "a commit for undoing is no part of the conversation",
        "setting-unchanged": "the settings are those already in force",
        "usage-repeated": "the counters were written again without a call",
        "diverged-copy": ("a copy of a file went on differently: what only it holds is a branch"),
        "repeated-record": "the line stands in the file more than once",
        "other-copy": "the same file stands elsewhere in the source, and holds no less",
    }
)
