"""What a user's V1 message becomes in a later request.

Spec: opencode 6.2.
"""

from __future__ import annotations

from typing import Any, Final

from agentsession.importers.opencode import names
from agentsession.importers.opencode.convert.rules import Rules
from agentsession.importers.opencode.convert.units import (
    IDS,
    Unit,
    media_part,
    text_part,
    user_item,
    without,
)
from agentsession.importers.opencode.records import MessageRecord
from agentsession.importers.opencode.v1 import Part

COMPACTION_QUESTION: Final = "What did we do so far?"
SUBTASK_QUESTION: Final = "The following tool was executed by the user"
_UNSENT_FILES: Final = frozenset({"text/plain", "application/x-directory"})


def user_unit(record: MessageRecord, rules: Rules) -> tuple[Unit | None, dict[int, dict[str, Any]]]:
    """Return a user's message as a unit, and its native parts by their place.

    The unit is ``None`` for a message that no request held. Where nothing is left of one that
    a request held, it has no content.
    """
    told: list[dict[str, Any]] = []
    beside: dict[int, dict[str, Any]] = {}
    hidden = True
    for place, found in enumerate(record.parts):
        part = found.part
        if part is None:
            continue
        said = _said(part, rules)
        rest = without(part.value, IDS)
        if said is not None:
            told.append(said)
            hidden = hidden and part.synthetic
            rest.pop("text" if "text" in said else "url", None)
            if part.type == names.PART_FILE and said.get("filename") == part.filename:
                rest.pop("filename", None)
        beside[place] = {"id": found.id, **rest}
    if not told and not (beside and rules.unsaid_sent):
        return None, beside
    # No release sent an empty text, only the message it was in.
    content = [part for part in told if part.get("text") != ""]
    return Unit((record.id, ""), user_item(record.id, content), hidden=hidden), beside


def _said(part: Part, rules: Rules) -> dict[str, Any] | None:
    if part.type == names.PART_TEXT:
        if part.ignored or (rules.empty_text_skipped and not part.text):
            return None
        return text_part(part.text)
    if part.type == names.PART_FILE and part.mime not in _UNSENT_FILES:
        return media_part(part.mime, part.url, part.filename)
    if part.type == names.PART_COMPACTION:
        return text_part(COMPACTION_QUESTION)
    if part.type == names.PART_SUBTASK:
        return text_part(SUBTASK_QUESTION)
    return None
