"""Whether something that has the shape of a credential is one.

Spec: export 11.
"""

from __future__ import annotations

import base64
import re
from typing import Final

_PLACEHOLDER: Final = re.compile(
    r"^[$%<{*]|\$[{(A-Z]|%[({sd]|\{\{|\.\.\.|…|xxx|\*\*\*|change.?me|example|placeholder|redacted|dummy|insert|replace"
    r"|your[_\-. ]|my[_\-]|<|>|\bnull\b|\bnone\b|\bundefined\b|\btrue\b|\bfalse\b|\btodo\b"
    r"|process\.env|os\.environ|getenv|import\.meta|secrets?\.|config\.|settings\.|self\.|this\.",
    re.IGNORECASE,
)
_PREFIXED: Final = re.compile(
    r"(?:^|[_.\-\s])(?:api|access|secret|private|auth|account|encryption|signing|service|client"
    r"|master|storage|shared|admin|app|bot|bearer|refresh|session|security|webhook|deploy"
    r"|personal|id|csrf|aws|azure|gcp|openai|anthropic|github|gitlab|slack|stripe|npm|hf|token)"
    r"[_.\-\s]?(?:access[_.\-]?|api[_.\-]?|secret[_.\-]?|account[_.\-]?)*(?:key|token)$"
)
_HARMLESS: Final = re.compile(
    r"(?:page|next|prev|previous|continuation|cursor|pagination|sync|resume|primary|foreign|public"
    r"|cache|sort|partition|row|idempotency|pad|eos|bos|mask|sep|cls|unk|max|min|num|total)"
    r"[_.\-]?(?:page[_.\-]?)?(?:key|token)$|(?:key|token)s$"
)
_DIGIT: Final = re.compile("[0-9]")
_LETTER: Final = re.compile("[A-Za-z]")
_LONG_WORD: Final = re.compile("[a-z]{16}")
_RUNS: Final = re.compile("[a-z]+|[A-Z]+|[0-9]+|[^a-zA-Z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[._\-/][A-Za-z]+)*")
_CODE: Final = re.compile(r"[A-Za-z_$]+\d?(?:(?:\.|::|->)[A-Za-z_$]+\d?)+|/[\w./-]*|\./.*")


def is_random(value: str) -> bool:
    """Return whether a token looks made by a machine: letters mixed with digits throughout."""
    # The cheapest questions first: hostile text asks them again and again.
    if len(value) < 16 or not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    if len(set(value)) < 8 or _LONG_WORD.search(value) or _changes(value) < 4:
        return False
    return not _PLACEHOLDER.search(value)


def _changes(value: str) -> int:
    """How often the class of character changes: letter, capital, digit, other."""
    return len(_RUNS.findall(value)) - 1


def is_password(match: re.Match[str]) -> bool:
    """Return whether what follows ``password =``, or stands in a URL, is a password."""
    value = match["secret"]
    assigned = "quote" in match.re.groupindex
    # The cheapest question first: a hit is often no more than a word.
    if assigned and not match["quote"] and not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    if len(set(value)) < 4 or _PLACEHOLDER.search(value):
        return False
    if not assigned:
        return value.lower() not in {"password", "pass", "pwd", "secret", "user", "token"}
    return not (_CODE.fullmatch(value) or _WORDS.fullmatch(value) or value.isdigit())


def is_credential_value(match: re.Match[str]) -> bool:
    """Return whether what follows ``api_key =`` and the like is a credential."""
    name = _CAMEL.sub("_", match["name"]).lower().strip("._-")
    if not name.endswith("secret") and not _is_credential_name(name):
        return False
    value = match["secret"]
    least = 8 if name.endswith("secret") else 16
    if len(value) < least or not _is_mixed(value):
        return False
    return not (_CODE.fullmatch(value) or _PLACEHOLDER.search(value))


def _is_credential_name(name: str) -> bool:
    if _HARMLESS.search(name):
        return False
    return name in {"token", "apikey"} or bool(_PREFIXED.search(name))


def _is_mixed(value: str) -> bool:
    if not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    return len(set(value)) >= 6 and _changes(value) >= 3


def is_userinfo(match: re.Match[str]) -> bool:
    """Return whether basic credentials are base64 of ``user:password``."""
    value = match["secret"]
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    user, colon, password = decoded.partition(b":")
    return bool(colon and password) and (user + password).isascii() and decoded.isascii()
