"""The JSON writer under `text.encode` and `canonical`: one fast way, one exact way, same bytes.

The fast way is msgspec's encoder followed by a walk that proves that nothing
in the value is spelled differently there. The exact way is iterative and
handles every value. Spec: format 6, context 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from agentsession._scan import MAX_DEPTH, replace_surrogates

ENCODER_REFUSALS: Final = (
    AttributeError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    msgspec.MsgspecError,
)
"""What the fast encoder may raise; the exact writer then finds the reason, or writes."""

# Doubles from here to there that are no whole numbers read the same in msgspec and ECMAScript.
_PLAIN_FROM: Final = 1e-5
_PLAIN_BELOW: Final = 1e16
_POINT_INSIDE_FROM: Final = 1e-4  # repr() of a double has no exponent from here on

Survey: TypeAlias = tuple[list[msgspec.Raw], list[str]]
"""The raw texts in a value, and for each object with a name beyond ASCII its names, joined."""

_STEPS_SHOWN: Final = 20
_NAME_SHOWN: Final = 60

_ATOMS: Final = frozenset({type(None), bool})
_CONTAINERS: Final = frozenset({dict, list, tuple, MappingProxyType})

_encode_string = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Style:
    """The choices in which two spellings of JSON differ.

    Attributes:
        sort: members sorted by the UTF-16 code units of their names.
        escape: spelling of a string without lone surrogates, quotes included.
        number: spelling of a number; raises ValueError or OverflowError with a
            sentence when there is none.
        raw: spelling of raw JSON text; raises ValueError with a sentence.
        fast: the fast way for a part of the value, or None when it cannot tell.
        error: builds the exception from a sentence and a JSON path.
    """

    sort: bool
    escape: Callable[[str], bytes]
    number: Callable[[int | float], str]
    raw: Callable[[bytes], bytes]
    fast: Callable[[Any], bytes | None]
    error: Callable[[str, str], Exception]


def unsupported(value: object) -> Any:
    """Return a plain dict for a read-only one; encoders call it for types they do not know.

    Raises:
        TypeError: any other type.
    """
    if type(value) is MappingProxyType:
        return dict(value)
    raise TypeError(f"no JSON form of {type(value).__name__}")


def survey(value: Any, limit: float) -> Survey | None:
    """Return what a value holds if the fast encoder writes every leaf exactly, else None.

    The value must be finite: call this after an encoder accepted it.

    Args:
        value: the value.
        limit: the largest integer, either sign, that may be written digit by digit.
    """
    raws: list[msgspec.Raw] = []
    names: list[str] = []
    pending: list[Any] = [(value,)]
    for here in pending:  # grows while it is walked
        children = here
        if type(here) is dict or type(here) is MappingProxyType:
            try:
                joined = "".join(here)
            except TypeError:
                return None
            if not joined.isascii():
                names.append(joined)
            children = here.values()
        for child in children:
            kind = type(child)
            if kind is str:
                continue
            if kind in _CONTAINERS:
                pending.append(child)
            elif kind is int:
                if not -limit <= child <= limit:
                    return None
            elif kind is msgspec.Raw:
                raws.append(child)
            elif kind not in _ATOMS and not _is_plain_double(child):
                return None
    return raws, names


def _is_plain_double(value: object) -> bool:
    return (
        type(value) is float and _PLAIN_FROM <= abs(value) < _PLAIN_BELOW and not value.is_integer()
    )


def string_bytes(text: str) -> bytes:
    """Return a string in the spelling that format 6 and RFC 8785 share."""
    return _encode_string(text)


def integer_text(value: int) -> str:
    """Return the decimal digits of an integer of any length."""
    try:
        return int.__repr__(value)
    except ValueError:  # beyond sys.get_int_max_str_digits()
        return format(Decimal(int(value)), "f")


def double_text(value: float) -> str:
    """Return a finite double as ECMAScript's ``Number::toString`` writes it.

    Negative zero is ``0``. Spec: context 5.
    """
    if value == 0:
        return "0"
    if value < 0:
        return "-" + double_text(-value)
    shortest = float.__repr__(value)
    if _POINT_INSIDE_FROM <= value < _PLAIN_BELOW:
        return shortest.removesuffix(".0")
    mantissa, _, exponent = shortest.partition("e")
    digits = mantissa.replace(".", "")
    point = int(exponent) + 1
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


@dataclass(slots=True)
class _Frame:
    """One open array or object while it is written."""

    children: Iterator[tuple[str | int, Any]]
    closer: bytes
    identity: int
    at: str | int = 0
    started: bool = False


def emit(value: Any, style: Style) -> bytes:
    """Return the JSON text of a value in a style, whatever its depth and contents.

    Raises:
        Exception: what ``style.error`` builds, for a value without a JSON form.
    """
    out: list[bytes] = []
    frames: list[_Frame] = []
    open_now: set[int] = set()
    root = _Frame(iter([("$", value)]), b"", 0)
    frame = root
    while True:
        try:
            frame.at, child = next(frame.children)
        except StopIteration:
            if frame is root:
                return b"".join(out)
            out.append(frame.closer)
            open_now.discard(frame.identity)
            frame = frames.pop()
            continue
        if frame.started:
            out.append(b",")
        frame.started = True
        if frame.closer == b"}":
            out.append(style.escape(str(frame.at)) + b":")
        if not isinstance(child, (Mapping, list, tuple)):
            out.append(_leaf(child, style, frames, frame))
            continue
        # Most of a document is plain even where one number is not: try its large parts.
        piece = style.fast(child) if 1 <= len(frames) <= 2 else None
        if piece is not None:
            out.append(piece)
            continue
        if id(child) in open_now:
            raise style.error("a value that contains itself", _path(frames, frame))
        if len(frames) >= MAX_DEPTH:
            raise style.error(f"nesting deeper than {MAX_DEPTH} levels", "")
        open_now.add(id(child))
        opened = _open(child, style, frames, frame)
        out.append(b"{" if opened.closer == b"}" else b"[")
        frames.append(frame)
        frame = opened


def _open(
    value: Mapping[Any, Any] | list[Any] | tuple[Any, ...],
    style: Style,
    frames: list[_Frame],
    frame: _Frame,
) -> _Frame:
    if not isinstance(value, Mapping):
        return _Frame(iter(enumerate(value)), b"]", id(value))
    members: dict[str, Any] = {}
    for name, child in value.items():
        if not isinstance(name, str):
            problem = f"a member name of type {type(name).__name__}"
            raise style.error(problem, _path(frames, frame))
        # Names that become equal here are one name: the last wins, as for a reader.
        members[replace_surrogates(str.__str__(name))] = child
    named = members.items()
    ordered = sorted(named, key=_utf16) if style.sort else named
    return _Frame(iter(ordered), b"}", id(value))


def _utf16(member: tuple[str, Any]) -> bytes:
    return member[0].encode("utf-16-be")


def _leaf(value: Any, style: Style, frames: list[_Frame], frame: _Frame) -> bytes:
    if isinstance(value, str):
        return style.escape(replace_surrogates(str.__str__(value)))
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    try:
        if isinstance(value, (int, float)):
            return style.number(value).encode()
        if isinstance(value, msgspec.Raw):
            return style.raw(bytes(value))
    except (ValueError, OverflowError) as problem:
        raise style.error(str(problem), _path(frames, frame)) from problem
    raise style.error(f"a value of type {type(value).__name__}", _path(frames, frame))


def _path(frames: list[_Frame], frame: _Frame) -> str:
    """Return the place of the value being written, as ``$.input[3].text``."""
    steps = [step.at for step in (*frames, frame)][1:]
    shown = steps if len(steps) <= _STEPS_SHOWN else steps[-_STEPS_SHOWN:]
    start = "$" if shown is steps else "$…"
    return start + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step[:_NAME_SHOWN]}" for step in shown
    )
