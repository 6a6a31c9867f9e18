"""The codes of a conversion's report, each with its sentence.

``docs/formats/pi-codes.md`` explains them; a test holds the two together.
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
        # What a request held and the file does not.
        "system-prompt-not-stored": "the system prompt of the requests is not in the file",
        "tools-not-stored": "the tool definitions of the requests are not in the file",
        "summary-usage-not-stored": "what the call for a summary used is not in the file",
        # What the picture does.
        "context-folded": "what was sent is not the path: a compaction says what was",
        "context-rewound": (
            "what came last was taken out of the context: the session goes on before it"
        ),
        "context-emptied": "all was taken out of the context: a new root begins there",
        "context-edited": "a context edit changes what later requests hold",
        "call-noticed": "a call without a result was sent with a notice in its place",
        "failed-message-branched": (
            "a failed message was left out of later requests and is a branch"
        ),
        "no-request": "an aborted message without content answers no request",
        "fork-copy": "an entry was copied from the session this one was forked from",
        "fork-origin-unknown": "the session this one was forked from is not in the source",
        "branch-left-guessed": "which branch a branch summary left is not stored: it is guessed",
        "reserved-label": "a label has a name that sessions reserve; it is kept as it is",
        "label-target-unknown": "a label names no entry of the session; it is kept as it is",
        "excluded-command": "a command of the user's was kept from the model",
        # Times and releases.
        "time-missing": "a record has no usable time; that of the record before stands in",
        "release-inferred": "which release sent a request is inferred from its records",
        # The tree.
        "parent-missing": "an entry names a parent that is not there: what was above is not sent",
        # Accounting.
        "unreadable-record": "the record cannot be read",
        **FILES,
        "unreadable-header": "the session has no header that can be read; its file name stands in",
        "id-impossible": "no store can hold the session's id; the one in its file name stands in",
        "repeated-header": "the header stands in the file more than once",
        "repeated-record": "the record stands in the file more than once",
        "unknown-record": "the record has a type pi never wrote; it is kept as it is",
        "unknown-role": "the message has a role pi never wrote; it is kept as it is",
        ODD: ODD_SENTENCE,
        **SENTENCES,
        "value-not-kept": "a value that no entry can hold was replaced",
        "other-copy": "another copy of the session holds more records",
        "diverged-copy": "a copy went on differently: what only it holds is a branch",
        UNKNOWN_CONTENT: "more than 5% of the file's bytes are of kinds pi never wrote",
    }
)
