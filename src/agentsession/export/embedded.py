"""Files inside texts: the data URLs and the base64 that hold what may itself be text.

Spec: export 11, decision E5.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentsession.export.anchoring import Places

# A data URL's head is short; this keeps the search for its beginning short too.
_LONGEST_HEAD: Final = 300
_MEDIA: Final = ("image/", "audio/", "video/")
_MARK: Final = "64,"
MARK_NEAR: Final = "(?i:;base)64,"
"""What stands before the base64 of a data URL, as an expression."""
_PAYLOAD: Final = re.compile(r"[A-Za-z0-9+/_=-]*(?:\\+/[A-Za-z0-9+/_=-]*)*")
_WHOLE: Final = re.compile(r"[A-Za-z0-9+/_=\s-]*")
_ALONE: Final = re.compile(r"\n([A-Za-z0-9+/_-]{16,}+={0,2})(?=\n|\Z)")
_OTHERS: Final = re.compile(r"[^A-Za-z0-9+/]+")
_URL_SAFE: Final = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file in a text.

    Attributes:
        start, end: where it stands.
        data: its bytes.
    """

    start: int
    end: int
    data: bytes

    @property
    def text(self) -> str | None:
        """What it says, or ``None`` when it is no text."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None


def has_files(text: str, places: Places | None = None) -> bool:
    """Return whether there is the data URL of something else than a picture, sound or film.

    Args:
        text: the text.
        places: where its base64 begins, if anywhere; everywhere by default.
    """
    return next(_heads(text, places), None) is not None


def files(text: str, places: Places | None = None) -> Iterator[Embedded]:
    """Yield the files that stand in a text as base64 data URLs; a whole text may be one.

    Args:
        text: the text.
        places: where their base64 begins, if anywhere; everywhere by default.
    """
    for start, after in _heads(text, places):
        found = (_WHOLE.fullmatch(text, after) if start == 0 else None) or _PAYLOAD.match(
            text, after
        )
        end = found.end() if found else after
        yield Embedded(start, end, decoded(text[after:end]))


def bare(text: str) -> Iterator[Embedded]:
    """Yield the lines of a text that are base64 of a text and nothing else."""
    # A line begins where one ends, which is the fastest to search for; so does the first one here.
    for found in _ALONE.finditer(f"\n{text}"):
        file = Embedded(found.start(1) - 1, found.end(1) - 1, decoded(found[1]))
        if file.text:
            yield file


def decoded(payload: str) -> bytes:
    """Return the bytes of base64 in either alphabet; whatever else stands in it is ignored."""
    plain = _OTHERS.sub("", payload.translate(_URL_SAFE))
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _heads(text: str, places: Places | None) -> Iterator[tuple[int, int]]:
    """Where data URLs of files begin, and where their base64 does."""
    for begin, end in ((0, len(text)),) if places is None else places:
        at = text.find(_MARK, begin, end)
        while at >= 0:
            before = text[max(0, at - _LONGEST_HEAD) : at].lower()
            head = before[before.rfind("data:") :] if "data:" in before else ""
            plain = head.isascii() and "," not in head and head.endswith(";base")
            if plain and not head[5:].startswith(_MEDIA):
                yield at - len(head), at + len(_MARK)
            at = text.find(_MARK, at + len(_MARK), end)
