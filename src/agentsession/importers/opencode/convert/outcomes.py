"""How a step ended, in the words of a response entry. Spec: format 4.2, opencode 4.1, 7."""

from __future__ import annotations

import re
from typing import Any, Final

from agentsession.importers.opencode import names, values
from agentsession.importers.opencode.v1 import Message, MessageError

Status = tuple[str, dict[str, Any] | None, dict[str, Any] | None]

_CUT_SHORT: Final = {"length": "max_output_tokens", "content-filter": "content_filter"}

_NO_KEY: Final = "ProviderAuthError"
_REFUSED: Final = re.compile(
    r"AI_(UnsupportedFunctionality|InvalidPrompt|LoadAPIKey|LoadSetting|MessageConversion)Error\b"
    r"|'[^']*' functionality not supported\."
)
"""What the error of a request says that was refused before it was sent."""


def is_before_sending(error: MessageError) -> bool:
    """Return whether an error kept a request from being sent: no key, or nothing to spell it."""
    return error.name == _NO_KEY or _REFUSED.match(error.message) is not None


def status_of(info: Message) -> Status:
    """Return a V1 step's status, what it lacks, and its error."""
    if info.value.get("error") is not None and values.truthy(info.value["error"]):
        name = info.error.name if info.error is not None else ""
        message = info.error.message if info.error is not None else ""
        if name == names.ERROR_ABORTED:
            return "incomplete", {"reason": "aborted"}, None
        return "failed", None, error_of(name, message, info.error.data if info.error else None)
    completed = values.member(info.value.get("time"), "completed")
    return finished(values.string(info.value.get("finish")), done=completed is not None)


def finished(finish: str, *, done: bool) -> Status:
    """Return the status of a step without an error by how it finished."""
    if finish in _CUT_SHORT:
        return "incomplete", {"reason": _CUT_SHORT[finish]}, None
    return ("completed" if finish or done else "in_progress"), None, None


def error_of(name: str, message: str, data: object) -> dict[str, Any]:
    """Return an error in the payload's form. Spec: format 5.7."""
    status = values.integer(values.member(data, "statusCode"))
    return {"code": str(status) if status is not None else name, "message": message or name}
