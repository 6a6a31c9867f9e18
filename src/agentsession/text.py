"""JSON text without loss: parse, check, write, compact and split it.

Every function has a fast way (msgspec) and an exact way (``_scan``, ``_emit``)
that takes over whenever the fast one refuses or could differ. Both give the
same results; the exact one alone knows lone surrogates, invalid UTF-8, nesting
to 10,000 levels and numbers of any size.
Spec: format 6, format 7.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from agentsession import _scan
from agentsession._emit import (
    ENCODER_REFUSALS,
    Style,
    double_text,
    emit,
    integer_text,
    string_bytes,
    survey,
    unsupported,
)
from agentsession._scan import MAX_DEPTH, may_be_too_deep
from agentsession.errors import InvalidEntry, NotJSON

__all__ = [
    "MAX_DEPTH",
    "check",
    "compact",
    "encode",
    "equal",
    "is_utf8",
    "may_be_too_deep",
    "members_in_order",
    "parse",
    "split_elements",
    "split_members",
]

_REFUSALS: Final = (msgspec.MsgspecError, RecursionError, ValueError)

_decode = msgspec.json.Decoder().decode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder(enc_hook=unsupported).encode

_SEPARATORS: Final = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


def parse(text: bytes | str) -> Any:
    """Return the value of a JSON document, as dict, list, str, int, float, bool or None.

    Of equal names in one object the last wins. A lone surrogate escape, and
    each byte of invalid UTF-8 inside a string, is read as U+FFFD. Integers are
    exact to 4,300 digits; a number beyond any double is handed out as an
    infinite float, one below any double as 0.0.
    Spec: format 6.

    Args:
        text: one JSON document; white space around it is allowed.

    Raises:
        NotJSON: the text is not one JSON document, or is nested deeper than
            10,000 levels.
    """
    try:
        if not may_be_too_deep(text):
            return _decode(text)
    except _REFUSALS:
        pass
    return _scan.parse(_scan.as_bytes(text))


def check(text: bytes) -> None:
    """Return when the text is one JSON document; no value is built.

    This is the full syntax, nesting limit included. Invalid UTF-8 inside a
    string passes here, as it does in `parse`: ask `is_utf8` about that.
    Spec: format 7.2, decision A2.

    Raises:
        NotJSON: the text is not one JSON document.
    """
    if not _well_formed(text):
        _scan.check(text)


def is_utf8(data: bytes) -> bool:
    """Return whether the bytes are valid UTF-8 from end to end."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def encode(value: Any) -> bytes:
    r"""Return a value as compact JSON in the spelling of the format.

    Member order is kept. Short escapes, other controls as ``\u00xx``, U+2028
    and U+2029 as ``\u2028`` and ``\u2029``, everything else literally; a lone
    surrogate becomes U+FFFD. Integers keep every digit, floats are the shortest
    text that reads back the same (``1``, ``1e-7``, ``1e+21``). Raw JSON text
    (`msgspec.Raw`) is spliced in as spelled, white space between tokens removed.
    Spec: format 6.

    Args:
        value: mappings with string names, lists, tuples, strings, numbers,
            booleans, None and `msgspec.Raw`, nested to 10,000 levels.

    Raises:
        InvalidEntry: anything else, NaN, an infinity, a value that contains
            itself, or raw text that is not JSON; the sentence names the place.
    """
    written = _encode_fast(value)
    return emit(value, _STYLE) if written is None else written


def compact(text: bytes) -> bytes:
    """Return the document without the white space between its tokens; spellings stay.

    Spec: format 6.

    Raises:
        NotJSON: the text is not one JSON document.
    """
    try:
        if not may_be_too_deep(text):
            return msgspec.json.format(text, indent=-1)
    except _REFUSALS:
        pass
    return _scan.compact(text)


def split_members(text: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object, names decoded, values as verbatim text.

    White space around a value is not part of it. Of equal names the last wins.
    The whole text is checked as by `check`, so a value may still hold invalid
    UTF-8.

    Raises:
        NotJSON: the text is not one JSON object.
    """
    try:
        if not may_be_too_deep(text):
            return {name: bytes(raw) for name, raw in _decode_members(text).items()}
    except _REFUSALS:
        pass
    return dict(_scan.parts(text, "{"))


def members_in_order(text: bytes) -> list[tuple[str, bytes]]:
    """Return the members of a JSON object in order, equal names kept, values verbatim.

    Raises:
        NotJSON: the text is not one JSON object.
    """
    return list(_scan.parts(text, "{"))


def split_elements(text: bytes) -> list[bytes]:
    """Return the elements of a JSON array as verbatim text.

    White space around an element is not part of it. The whole text is checked
    as by `check`.

    Raises:
        NotJSON: the text is not one JSON array.
    """
    try:
        if not may_be_too_deep(text):
            return [bytes(raw) for raw in _decode_elements(text)]
    except _REFUSALS:
        pass
    return [element for _, element in _scan.parts(text, "[")]


def equal(a: bytes, b: bytes) -> bool:
    """Return whether two documents hold the same JSON value.

    Member order, white space and spelling do not matter. Integers compare
    exactly, other numbers as doubles, so ``1``, ``1.0`` and ``1e0`` are equal.

    Raises:
        NotJSON: one of the texts is not one JSON document.
    """
    pending = [(parse(a), parse(b))]
    while pending:
        left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending.extend((child, right[name]) for name, child in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif not _same_scalar(left, right):
            return False
    return True


def _same_scalar(left: Any, right: Any) -> bool:
    # Containers never reach the comparison, so it cannot recurse; True is no number here.
    if isinstance(left, (dict, list)) or isinstance(right, (dict, list)):
        return False
    if isinstance(left, float) or isinstance(right, float):
        return _as_double(left) == _as_double(right) is not None
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _as_double(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _well_formed(text: bytes) -> bool:
    """Return whether the fast decoder accepts the text; False may mean that it cannot tell."""
    try:
        if not may_be_too_deep(text):
            _decode_raw(text)
            return True
    except _REFUSALS:
        pass
    return False


def _encode_fast(value: Any) -> bytes | None:
    """Return what `encode` returns, or None where the exact writer has to decide."""
    try:
        written = _encode(value)
    except ENCODER_REFUSALS:
        return None
    seen = survey(value, math.inf)
    if seen is None or may_be_too_deep(written):
        return None
    raws = seen[0]
    if raws and not all(_is_compact(bytes(raw)) for raw in raws):
        return None
    if written.isascii():
        return written
    for literal, escape in _SEPARATORS:
        if literal in written:
            if raws:  # raw text keeps its spelling
                return None
            written = written.replace(literal, escape)
    return written


def _is_compact(text: bytes) -> bool:
    try:
        return msgspec.json.format(text, indent=-1) == text
    except _REFUSALS:
        return False


def _escape(text: str) -> bytes:
    written = string_bytes(text)
    if not written.isascii():
        for literal, escape in _SEPARATORS:
            written = written.replace(literal, escape)
    return written


def _number(value: float) -> str:
    if isinstance(value, int):
        return integer_text(value)
    if not math.isfinite(value):
        raise ValueError(f"a number that JSON does not have ({value})")
    return "-0" if value == 0 and math.copysign(1, value) < 0 else double_text(value)


def _raw(text: bytes) -> bytes:
    try:
        return compact(text)
    except NotJSON as problem:
        raise ValueError(f"raw text that is not JSON ({problem})") from problem


def _refuse(problem: str, path: str) -> InvalidEntry:
    place = f" at {path}" if path else ""
    return InvalidEntry(f"cannot write {problem}{place}; give JSON values only", member=path)


_STYLE: Final = Style(
    sort=False,
    escape=_escape,
    number=_number,
    raw=_raw,
    fast=_encode_fast,
    error=_refuse,
)
