"""What a line of each entry type looks like to the decoder that skips over its body.

A shape holds the envelope of a type and the JSON type of every member its entry class
declares; what is inside an item or another payload object is skipped. A line that fits its
shape keeps every rule of format 7.2 that is about the types of members. One that does not
fit may still be right, and is for the exact way to judge: ``null`` where it stands for
nothing, a name that was free in the file's version, an integer of more than 64 bits.

Spec: format 4 and 7.2, decision A2.
"""

from __future__ import annotations

from functools import cache
from sys import intern
from typing import Annotated, Any, ClassVar, Final

import msgspec

from agentsession.codec import ENTRY_TYPES
from agentsession.kinds import (
    ANY,
    BOOLEAN,
    INTEGER,
    ITEM,
    ITEMS,
    NUMBER,
    OBJECT,
    OBJECT_MAP,
    OBJECTS,
    STRING,
    STRING_MAP,
    STRINGS,
)
from agentsession.members import Member, Record
from agentsession.parts import (
    VCS,
    FileHashes,
    InstructionsPart,
    OmittedPart,
    Trigger,
    Workspace,
)
from agentsession.settings import Settings


class Skipped(msgspec.Struct, gc=False):
    """Any JSON object; what is inside is skipped."""


class Shape(msgspec.Struct, gc=False, tag_field="type"):
    """A line that fits the shape of its type."""

    type: ClassVar[str]
    id: str
    ts: str
    parent: str | None = None


class OtherShape(msgspec.Struct, gc=False):
    """A line of a type the format does not define, of which the envelope is read."""

    type: str
    id: str
    ts: str
    parent: str | None = None
    # Present only where the exact way has to look.
    parents: msgspec.UnsetType = msgspec.UNSET
    normalised: msgspec.UnsetType = msgspec.UNSET
    legacy_id: str | None = None


class _MetShape(Shape, gc=False):
    """The same of one type that was met before, as one shape among others."""

    parents: msgspec.UnsetType = msgspec.UNSET
    normalised: msgspec.UnsetType = msgspec.UNSET
    legacy_id: str | None = None


_ABSENT: Final[Any] = msgspec.UnsetType
"""The type of a member whose presence sends a line to the exact way."""

_LOOKED_AT: Final = frozenset({"parents", "normalised"})
"""Members of every entry whose contents have rules of their own."""

_FORMS: Final[dict[object, Any]] = {
    STRING: str,
    BOOLEAN: bool,
    INTEGER: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
    NUMBER: float,
    STRINGS: list[str | None],
    STRING_MAP: dict[str, str | None],
    OBJECT: Skipped,
    OBJECT_MAP: Skipped,
    OBJECTS: list[Skipped | None],
    ITEM: Skipped,
    ITEMS: list[Skipped | None],
}
_FILLED: Final = Annotated[str, msgspec.Meta(min_length=1)]

_RECORDS: Final[dict[tuple[str, str], type[Record]]] = {
    ("item", "source"): Trigger,
    ("run", "trigger"): Trigger,
    ("queued", "trigger"): Trigger,
    ("compaction", "config"): Settings,
    ("env", "vcs"): VCS,
    ("env", "files"): FileHashes,
    ("env", "workspace"): Workspace,
}
_LISTS: Final[dict[tuple[str, str], type[Record]]] = {
    ("config", "instructions_parts"): InstructionsPart,
    ("config", "instructions_omitted"): OmittedPart,
    ("Settings", "instructions_parts"): InstructionsPart,
    ("Settings", "instructions_omitted"): OmittedPart,
}
"""Members that hold records; any that is missing here is left to the exact way."""

_Field = tuple[str, Any, Any]


def _fields(owner: str, members: dict[str, Member[Any]]) -> list[_Field]:
    fields = []
    for wire, member in members.items():
        form = _form(owner, wire, member)
        if form is None:
            continue
        default: Any = msgspec.UNSET if form is _ABSENT else msgspec.NODEFAULT
        if form is not _ABSENT and not member.required:
            form, default = form | None, None
        fields.append((member.name, form, msgspec.field(default=default, name=wire)))
    return sorted(fields, key=lambda field: field[2].default is not msgspec.NODEFAULT)


def _form(owner: str, wire: str, member: Member[Any]) -> Any:
    """The JSON type of a member as the decoder knows it; ``None`` for one of any type."""
    if member.kind is ANY and not member.required:
        return None
    if wire in _LOOKED_AT:
        return _ABSENT
    place = (owner, wire)
    if place in _RECORDS:
        return _record(_RECORDS[place])
    if place in _LISTS:
        return list[_record(_LISTS[place]) | None]  # type: ignore[misc]
    if member.required and member.kind is STRING:
        return _FILLED
    return _FORMS.get(member.kind, _ABSENT)


def _record(kind: type[Record]) -> Any:
    fields = _fields(kind.__name__, kind.MEMBERS)
    return msgspec.defstruct(kind.__name__, fields, gc=False)


def met_shape(entry_type: str) -> type[Shape]:
    """Return the shape of an entry type the format does not define."""
    made: Any = msgspec.defstruct(
        "Shape_met",
        [],
        bases=(_MetShape,),
        namespace={"type": intern(entry_type)},
        tag=entry_type,
        gc=False,
    )
    found: type[Shape] = made
    return found


@cache
def shape(entry_type: str) -> type[Shape]:
    """Return the shape of an entry type the format defines."""
    fields = _fields(entry_type, ENTRY_TYPES[entry_type].MEMBERS)
    made: Any = msgspec.defstruct(
        f"Shape_{entry_type}",
        fields,
        bases=(Shape,),
        namespace={"type": ENTRY_TYPES[entry_type].TYPE},
        tag=entry_type,
        gc=False,
        kw_only=True,
    )
    found: type[Shape] = made
    return found
