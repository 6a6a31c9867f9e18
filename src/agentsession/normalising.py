"""What a writer changes so that an entry can be hashed, and how it says so.

Only what the I-JSON test rejects is changed: a lone surrogate and bytes that are not UTF-8
become U+FFFD, a whole number that is no double becomes the nearest one. The source of each
goes into the entry's ``normalised`` list.

Spec: later drafts 4.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agentsession import ijson, text
from agentsession._scan import string, tokens
from agentsession.canonical import canonical_number
from agentsession.errors import BadNormalisation, InvalidEntry
from agentsession.id_blocks import is_plain
from agentsession.members import join_members

NORMALISED: Final = "normalised"

_PAYLOADS: Final = frozenset({"item", "summary", "pinned"})
_STRINGS: Final = frozenset(
    {
        "arguments",
        "call_id",
        "created_by",
        "detail",
        "encrypted_content",
        "file_data",
        "file_id",
        "file_url",
        "filename",
        "id",
        "image_url",
        "name",
        "phase",
        "refusal",
        "role",
        "status",
        "text",
        "title",
        "type",
        "url",
        "video_url",
    }
)
"""Members the payload profile types as strings: digits that stand there become a string."""


def normalised_problem(member_text: bytes) -> str:
    """Return what is wrong with a ``normalised`` list, or an empty string.

    Each element names a place ``at`` and has either ``was`` or ``raw``.

    Spec: later drafts 4.
    """
    if member_text == b"null":
        return ""
    changes = text.parse(member_text)
    if not isinstance(changes, list):
        return "normalised must be a list"
    for change in changes:
        if not isinstance(change, dict) or not isinstance(change.get("at"), str):
            return "each element of normalised must name a place at"
        sources = [name for name in ("was", "raw") if name in change]
        if len(sources) != 1 or not isinstance(change[sources[0]], str):
            return f"normalised at {change['at']} must have one of was and raw"
        if change["at"] and not change["at"].startswith("/"):
            return f"normalised at {change['at']} must be a JSON Pointer, which starts with /"
        if "raw" in change and not _is_base64(change["raw"]):
            return f"normalised at {change['at']} must have raw in padded base64"
    return ""


def _is_base64(value: str) -> bool:
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode() == value
    except ValueError:
        return False


def normalise_members(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members of a body as they can be hashed, with ``normalised`` where needed.

    Members that pass the I-JSON test keep their spelling.

    Spec: later drafts 4.

    Raises:
        InvalidEntry: when a member name is repeated, or cannot be read; or a number is
            beyond any double.
        BadNormalisation: when the members have a ``normalised`` list that is none.
    """
    found = members.get(NORMALISED)
    problem = "" if found is None else normalised_problem(found)
    if problem:
        raise BadNormalisation(problem, member=NORMALISED)
    whole = join_members(members)
    if is_plain(whole) or not ijson.problem(whole):
        return dict(members)
    changes: list[dict[str, str]] = []
    repaired = {name: _Repair(name, changes).of(value) for name, value in members.items()}
    earlier = text.parse(found) if found else None
    listed = [*(earlier or ()), *changes]
    listed.sort(key=lambda change: change["at"].encode("utf-16-be", "replace"))
    return {**repaired, NORMALISED: text.encode(listed)}


@dataclass(slots=True)
class _Frame:
    """One open array or object: where in it the walk stands."""

    names: set[str] | None
    step: str | int = -1


@dataclass(slots=True)
class _Repair:
    """The repair of one member of a body; what it changed goes into ``changes``."""

    member: str
    changes: list[dict[str, str]]
    frames: list[_Frame] = field(default_factory=list)

    def of(self, member_text: bytes) -> bytes:
        """Return the member's text as it can be hashed."""
        pieces: list[bytes] = []
        kept = 0
        for kind, start, end in tokens(member_text):
            token = member_text[start:end]
            if kind == "name":
                self._enter(token)
                continue
            if kind in ("}", "]"):
                self.frames.pop()
                continue
            if kind in (",", ":"):
                continue
            self._step()
            if kind in ("{", "["):
                self.frames.append(_Frame(set() if kind == "{" else None))
            else:
                changed = self._scalar(kind, token)
                if changed is not None:
                    pieces += (member_text[kept:start], changed)
                    kept = end
        return b"".join((*pieces, member_text[kept:]))

    def _step(self) -> None:
        frame = self.frames[-1] if self.frames else None
        if frame is not None and isinstance(frame.step, int):
            frame.step += 1

    def _enter(self, token: bytes) -> None:
        frame = self.frames[-1]
        if ijson.has_lone_surrogate(token) or not text.is_utf8(token):
            raise self._refused("a member name that is not Unicode text")
        name = string(token)
        if frame.names is None or name in frame.names:
            raise self._refused(f'the member name "{name[:40]}" twice')
        frame.names.add(name)
        frame.step = name

    def _scalar(self, kind: str, token: bytes) -> bytes | None:
        if kind == "string":
            return self._string(token)
        problem = ijson.number_problem(token) if kind == "number" else ""
        if not problem:
            return None
        nearest = float(token)
        if nearest in (float("inf"), float("-inf")):
            raise self._refused("a number beyond any double")
        self._changed({"was": token.decode()})
        if self._is_typed_string():
            return text.encode(token.decode())
        return canonical_number(nearest).encode()

    def _string(self, token: bytes) -> bytes | None:
        if not text.is_utf8(token):
            self._changed({"raw": base64.b64encode(token).decode()})
            token = token.decode("utf-8", "replace").encode()
        elif ijson.has_lone_surrogate(token):
            self._changed({"was": token.decode()})
        else:
            return None
        return text.encode(string(token))

    def _is_typed_string(self) -> bool:
        inner = self.frames[-1].step if self.frames else ""
        return self.member in _PAYLOADS and inner in _STRINGS

    def _changed(self, source: dict[str, str]) -> None:
        self.changes.append({"at": self._pointer(), **source})

    def _refused(self, what: str) -> InvalidEntry:
        return InvalidEntry(
            f"{self._pointer()} holds {what}, which cannot be repaired; change it",
            member=self.member,
        )

    def _pointer(self) -> str:
        """Return the place of the value as a JSON Pointer (RFC 6901)."""
        steps = [self.member, *(str(frame.step) for frame in self.frames)]
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
