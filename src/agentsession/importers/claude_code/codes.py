"""The codes of a conversion's report, each with its sentence.

``docs/formats/claude-code-codes.md`` explains them; a test holds the two together.
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
        "system-prompt-not-stored": "the system prompt of the requests is not in the files",
        "tools-not-stored": "the tool definitions of the requests are not in the files",
        "not-stored-injection": (
            "requests of this release held reminders and context that its files do not"
        ),
        "derived-injection": (
            "the file has what an injected text was made of; its wording is that of one release"
        ),
        "queued-prompt-not-stored": (
            "a prompt was taken in while the model worked; only its words were kept"
        ),
        "prompt-from-call": (
            "the agent's log begins with its answer; what it was asked is what the call says"
        ),
        "continuation-derived": (
            "the program had a cut answer go on; the prompt for it is that of its release"
        ),
        "side-request-unrecorded": "the call that made a summary is not in the files",
        "usage-incomplete": "the usage of an answer is that of its first event, not the final one",
        # What the picture does.
        "history-folded": "what was sent is not the path: a compaction says what was",
        "copied-record": "the record is a copy of one that stands in its own place",
        "lost-by-loader": (
            "a resume kept one of several parallel calls; later requests lacked the others"
        ),
        "prompts-forgotten": (
            "a process with stream input forgot the prompts that it had answered; "
            "later requests lacked them"
        ),
        "interrupted-call-unsent": "a call without a result was left out of later requests",
        "thinking-only-unsent": "an answer of thinking alone was left out of later requests",
        "synthetic-reply": "the program answered in the model's name; no model was called",
        "failed-attempt": "a request failed, and was repeated or given up",
        "not-sent": "the record was shown and never sent",
        "not-sent-yet": "no answer has followed: the record was not sent when the file was read",
        "unanswered-branch": "no answer followed before the history went on elsewhere",
        "progress-in-chain": "the history ran through records that only showed progress",
        "parent-missing": "the record names a parent that is not in the files",
        "request-not-rebuilt": "the logged request cannot be put together from the files",
        "logged-message-differs": (
            "a logged message is not the one of its hash, which others hold; it is kept as it is"
        ),
        "request-unanswered": "the logged request has no stored answer",
        "warmup-agent": "the program started the agent by itself to warm its caches up",
        "child-without-call": "no call of the parent names this agent",
        "child-without-parent": "the agent's parent is not in the source",
        "fork-copy": "the record was copied from the session this one was forked from",
        "model-from-answer": "the model is the one that answered; what was asked for is not stored",
        "cwd-impossible": (
            "the working directory has a zero byte: it is in an entry, and not in the header"
        ),
        # Times.
        "time-missing": "a record has no usable time; that of the record before it stands in",
        # Accounting.
        "progress": "the record only showed progress",
        "bookkeeping": "the record says something of the session as a whole",
        "file-copy": "the record is an undo copy of a file, and no conversation",
        "unreadable-record": "the line is damaged: it is no record",
        "blank-line": "the line is blank",
        "unknown-record": "the record has a type no known release writes; it is kept as it is",
        ODD: ODD_SENTENCE,
        **SENTENCES,
        "unknown-block": "the message has a block of a type that is not known; it is kept as it is",
        UNKNOWN_CONTENT: "more than 5% of the file's bytes are of kinds that are not known",
        "other-copy": "another copy of the log says as much, or more",
        "diverged-copy": (
            "a copy of the log went on in another way: what it says is kept as well, as a branch"
        ),
        "stray": "the record belongs to no conversation",
        **FILES,
    }
)
