"""Which entries may certainly be appended, told from the texts of their members alone.

Nearly every entry a harness writes has members of their own types and nothing of a later
version. One look at each is enough to know that; what is not certain here is judged, and
refused with a reason, by :func:`agentsession.codec.check_appendable`.

Spec: format 8.3 step 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from agentsession.entries import Entry
from agentsession.members import Member, Version
from agentsession.record_entries import UnknownEntry

_Look = Callable[[bytes], bool]

_EMPTY: Final = b'""'


class _Judgement:
    """What is known of the entries of one class in sessions of one version.

    Attributes:
        looks: by the JSON name of a member, whether a text of it is certainly right.
        required: the members an entry must have.
        may_pass: whether any entry of the class is certainly right.
        has_rules: whether the class has rules beyond the types of its members.
    """

    __slots__ = ("has_rules", "looks", "may_pass", "required")

    def __init__(self, kind: type[Entry], version: Version) -> None:
        self.looks = {wire: _look(member, version) for wire, member in kind.MEMBERS.items()}
        self.required = kind.REQUIRED
        self.may_pass = version >= kind.SINCE and not issubclass(kind, UnknownEntry)
        self.has_rules = (
            kind.check is not Entry.check or kind.check_append is not Entry.check_append
        )


def _never(_text: bytes) -> bool:
    return False


def _look(member: Member[Any], version: Version) -> _Look:
    if member.since > version or member.kind.nested:
        # A member of a later version, or one that may hold such members.
        return _never
    accepts = member.kind.accepts
    if not member.required or not accepts(_EMPTY):
        return accepts
    return lambda member_text: member_text != _EMPTY and accepts(member_text)


class Judge:
    """Tells which entries a session of one version may certainly take.

    Spec: format 8.3 step 1.
    """

    __slots__ = ("_known", "_version")

    def __init__(self, version: Version) -> None:
        self._version = version
        self._known: dict[type[Entry], _Judgement] = {}

    def is_certain(self, entry: Entry) -> bool:
        """Return ``True`` only for an entry that may be appended."""
        kind = type(entry)
        judgement = self._known.get(kind)
        if judgement is None:
            judgement = self._known[kind] = _Judgement(kind, self._version)
        if not judgement.may_pass:
            return False
        texts = entry._loaded()
        looks = judgement.looks
        for wire, member_text in texts.items():
            look = looks.get(wire)
            if look is not None and not look(member_text):
                return False
        for wire in judgement.required:
            if wire not in texts:
                return False
        return not judgement.has_rules or not (entry.check() or entry.check_append())


@lru_cache(maxsize=16)
def judge(version: Version) -> Judge:
    """Return the judge of a version."""
    return Judge(version)
