"""Canonical JSON (RFC 8785) and SHA-256, by which requests and contents are compared.

The domain is wider than the RFC's: integers beyond 2^53 are rounded to a
double, of equal names the last wins, lone surrogates and invalid UTF-8 become
U+FFFD. A number beyond any double has no canonical form. Spec: context 5.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final

import msgspec

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
from agentsession._scan import may_be_too_deep
from agentsession.errors import CannotHash, NotJSON
from agentsession.text import parse

__all__ = ["canonical_json", "canonical_number", "canonical_text", "sha256"]

_MAX_SAFE_INTEGER: Final = 2**53

_encode_sorted = msgspec.json.Encoder(order="sorted", enc_hook=unsupported).encode


def canonical_json(value: Any) -> bytes:
    """Return the canonical text of a value, in UTF-8. Spec: context 5.

    Args:
        value: mappings with string names, lists, tuples, strings, numbers,
            booleans, None and raw JSON text (`msgspec.Raw`), nested to 10,000
            levels.

    Raises:
        CannotHash: a number beyond any double, NaN, an infinity, deeper
            nesting, a value that contains itself or that JSON does not have;
            the sentence names the place.
    """
    written = _canonical_fast(value)
    return emit(value, _STYLE) if written is None else written


def canonical_text(text: bytes | str) -> bytes:
    """Return the canonical form of a JSON document, in UTF-8. Spec: context 5.

    White space and member order of the input do not matter; nothing is
    normalised beyond that.

    Raises:
        NotJSON: the text is not one JSON document.
        CannotHash: it holds a number beyond any double.
    """
    return canonical_json(parse(text))


def canonical_number(value: float) -> str:
    """Return a number as a double in ECMAScript's shortest form. Spec: context 5.

    Zero of either sign is ``0``; an integer beyond 2^53 is rounded to a double.

    Raises:
        CannotHash: NaN, an infinity, or an integer beyond any double.
    """
    try:
        return _number(value)
    except (ValueError, OverflowError) as problem:
        raise _refuse(str(problem), "") from problem


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as ``sha256:`` and 64 lowercase hex digits. Spec: context 5."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _canonical_fast(value: Any) -> bytes | None:
    """Return what `canonical_json` returns, or None where the exact writer has to decide."""
    try:
        written = _encode_sorted(value)
    except ENCODER_REFUSALS:
        return None
    seen = survey(value, _MAX_SAFE_INTEGER)
    if seen is None or may_be_too_deep(written):
        return None
    raws, names = seen
    # The encoder sorts by code point. By UTF-16 code unit the order is the same
    # unless a name has a character above U+FFFF. Members of raw text nobody sorted.
    if raws or (names and any(max(joined) > "\uffff" for joined in names)):
        return None
    return written


def _number(value: float) -> str:
    if isinstance(value, int):
        if -_MAX_SAFE_INTEGER <= value <= _MAX_SAFE_INTEGER:
            return integer_text(value)
        try:
            value = float(value)
        except OverflowError:
            raise ValueError("an integer beyond any double") from None
    if math.isnan(value):
        raise ValueError("NaN")
    if math.isinf(value):
        raise ValueError("a number beyond any double")
    return double_text(value)


def _raw(text: bytes) -> bytes:
    try:
        return canonical_text(text)
    except NotJSON as problem:
        raise ValueError(f"raw text that is not JSON ({problem})") from problem
    except CannotHash as problem:
        raise ValueError("raw text with a number beyond any double") from problem


def _refuse(problem: str, path: str) -> CannotHash:
    place = f" at {path}" if path else ""
    return CannotHash(f"{problem}{place} has no canonical form; change the value")


_STYLE: Final = Style(
    sort=True,
    escape=string_bytes,
    number=_number,
    raw=_raw,
    fast=_canonical_fast,
    error=_refuse,
)
