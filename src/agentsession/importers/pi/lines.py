"""Lines of pi's files, one record each, whatever a crash or a copy did to them.

A process that was killed can leave a line without an end, and the next one writes on; a
machine that was can leave zero bytes; and an editor puts a mark at the beginning of a file.
pi skips such lines: what can be told apart in them is not lost.

Spec: pi 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from agentsession import text
from agentsession.errors import NotJSON

MARK: Final = b"\xef\xbb\xbf"
"""What some editors begin a file of UTF-8 with."""

_NOTHING: Final = b" \t\r\n\0"
_GLUE: Final = b'}{"type":"'
_BEGINNING: Final = re.compile(
    rb'\{"type":"(?:session|message|model_change|thinking_level_change|compaction|branch_summary'
    rb'|custom_message|custom|label|session_info|context_edit|usage)"'
)


class _Typed(msgspec.Struct, gc=False):
    """A record, nothing in it looked at."""

    type: str


_typed: Final = msgspec.json.Decoder(_Typed).decode


def lines_of(file: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the text of each record of a file with the number of its line, from 1.

    Blank lines are none. A line that cannot be read is one record.
    """
    for number, raw in enumerate(file, 1):
        line = raw.removeprefix(MARK) if number == 1 else raw
        if b"\0" in line:
            line = line.strip(_NOTHING) or line
        if not line.strip():
            continue
        if _GLUE not in line and _BEGINNING.search(line, 1) is None:
            yield number, line
        else:
            for part in _parts(line):
                yield number, part


def _parts(line: bytes) -> Iterator[bytes]:
    """Yield the records that were glued into a line; the line where it is one, or none."""
    if _is_record(line):
        yield line
        return
    begin = 0
    while (at := line.find(_GLUE, begin)) >= 0:
        yield from _with_tail(line[begin : at + 1])
        begin = at + 1
    yield from _with_tail(line[begin:])


def _with_tail(line: bytes) -> Iterator[bytes]:
    """Yield a record; of a line that a cut one begins this, and the whole one behind it."""
    if not _is_record(line):
        for found in reversed(list(_BEGINNING.finditer(line, 1))):
            at = found.start()
            if _is_record(memoryview(line)[at:]):
                yield line[:at]
                yield line[at:]
                return
    yield line


def _is_record(line: bytes | memoryview) -> bool:
    """Whether a text is one object, as exactly as records are read."""
    try:
        _typed(line)
    except msgspec.ValidationError:
        return True
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            return isinstance(text.parse(bytes(line)), dict)
        except NotJSON:
            return False
    return True
