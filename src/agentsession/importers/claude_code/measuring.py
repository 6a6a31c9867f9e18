"""Measuring: what of the files no known release writes, named, counted, and none of it lost.

Spec: claude-code 2, decision D11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from agentsession.importers.base import UNKNOWN_CONTENT
from agentsession.importers.claude_code import names
from agentsession.importers.claude_code.attachments import SNAPSHOT, kind_of
from agentsession.importers.claude_code.fitting import blocks_fit, rendered_fits, usage_fits
from agentsession.importers.claude_code.heads import NOTHING, PlainMessage
from agentsession.importers.claude_code.known import (
    ATTACHMENTS,
    COMPACTED,
    CONTENT,
    MESSAGE,
    NESTED,
    OTHERS,
    OUTPUT,
    RENDERED,
    ROLES,
    SUBTYPES,
    USAGE,
)
from agentsession.importers.claude_code.lines import REFUSALS, Members, members_of, value_of
from agentsession.importers.claude_code.records import Record
from agentsession.importers.unknown import KIND, LOUD, Shape, Strange, Unknown, strange

if TYPE_CHECKING:
    from agentsession.importers.claude_code.convert import Conversion

_SPOKEN: Final = frozenset({names.USER, names.ASSISTANT})
_FITTING: Final = ROLES | {None}
_LOGGED: Final = frozenset({names.REQUEST, names.SHAPE, names.BLOB})
_MARKED: Final = re.compile(r"\]\.(?:caller|cache_control)\.")
_plain: Final = msgspec.json.Decoder(PlainMessage).decode


class Measuring:
    """Looks for what is not known in the records of a conversation.

    Args:
        conversion: the conversion, when each record has its place.

    Attributes:
        unknown: what was found.
    """

    def __init__(self, conversion: Conversion) -> None:
        self._accounts = conversion.accounts
        self._copied = conversion.copied
        self.unknown = Unknown(conversion.accounts)
        sizes: dict[int, int] = {}
        total: dict[int, int] = {}
        for record in conversion.records:
            total[record.file] = total.get(record.file, 0) + record.size
            if record.type in _SPOKEN and _is_plain_to_see(record):
                continue
            if not record.is_damaged:
                size = self._size(record)
                sizes[record.file] = sizes.get(record.file, 0) + size
        self._loud = [
            f"{conversion.path(file)}: {size} of {total[file]} bytes"
            for file, size in sizes.items()
            if size * LOUD > total[file]
        ]

    def tell(self) -> None:
        """Say it loudly when much of a file is of kinds that are not known."""
        for where in self._loud:
            self._accounts.find(UNKNOWN_CONTENT, where)

    def _size(self, record: Record) -> int:
        """How many bytes of a record are unknown."""
        if record.type not in names.KNOWN or (record.type in names.TREE and not record.uuid):
            # The record is kept whole, under a code of its own.
            return record.size
        before = self.unknown.size
        whole = self._look(record)
        found = self.unknown.size - before
        return record.size if whole else found

    def _look(self, record: Record) -> bool:
        """Take in what is unknown in a record; return whether that is all of it."""
        kind = record.type
        if kind not in names.TREE:
            known = OTHERS.get(kind)
            if known is not None:
                self._others(record, known)
            return False
        for name in record.unknown_members():
            nested = NESTED.get(name)
            value = value_of(record.get(name))
            if nested is None:
                self._found(record, Strange(name, name, value))
            for one in strange(value, nested, name) if nested is not None else ():
                self._found(record, one)
        if kind in _SPOKEN:
            return self._message(record)
        if kind == names.ATTACHMENT:
            return self._attachment(record)
        return kind == names.SYSTEM and self._system(record)

    def _system(self, record: Record) -> bool:
        if record.subtype and record.subtype not in SUBTYPES:
            self.unknown.name(KIND, f"system subtype {record.subtype}", record.where)
            return True
        told = value_of(record.get("compactMetadata"))
        if isinstance(told, dict):
            for one in strange(told, COMPACTED, "compactMetadata"):
                self._found(record, one)
        return False

    def _others(self, record: Record, known: Shape) -> None:
        members = record.members
        for one in _among(members, known):
            self._keep(record, one)
        if record.type == names.BLOB:
            for one in _in_message(members.get("message")):
                self._keep(record, one)
        if record.type in _LOGGED:
            record.forget()

    def _message(self, record: Record) -> bool:
        role = record.role if isinstance(record.role, str) else "of no type"
        whole = record.role is not None and role not in ROLES
        if whole:
            self.unknown.name(KIND, f"message role {role}", record.where)
            self._keep_beside(record, Strange("role", "message.role", record.role))
        self._usage(record)
        if not record.is_odd:
            return whole
        is_copy = self._accounts.is_left_out(record.number)
        for one in _in_message(record.get("message")):
            if one.is_kind and isinstance(one.value, dict):
                # The block is an item, or stands in one.
                self.unknown.size += one.holdable()[1]
                kind = one.value.get("type")
                name = kind if isinstance(kind, str) else "of no type"
                self.unknown.name("unknown-block", name, record.where)
                if is_copy and not self._is_kept(record, one, in_message=True):
                    self.unknown.keep(one, record.where, record.number)
            elif _is_in_block(one) and not is_copy:
                self.unknown.found(one, record.where)
            else:
                self._found(record, one, in_message=True)
        record.forget()
        return whole

    def _usage(self, record: Record) -> None:
        """Take in what is unknown of an answer's tokens: its entry has those of one record."""
        told = record.usage
        if not isinstance(told, dict) or _is_counted_plainly(record):
            return
        answer = record.answer
        held = (
            answer.used.native
            if answer is not None and self._accounts.is_entry(record.number)
            else None
        )
        for one in strange(told, USAGE, "message.usage"):
            if held == told and record.message_id not in self._copied:
                self.unknown.found(one, record.where)
            else:
                self._found(record, one, in_message=True)

    def _rendered(self, record: Record) -> None:
        """Take in what is unknown beside the words that an attachment was sent as."""
        raw = record.get("rendered")
        if raw is None or rendered_fits(raw):
            return
        value = value_of(raw)
        if isinstance(value, list):
            found = strange(value, RENDERED, "rendered")
        else:
            found = [Strange("rendered", "rendered", value, is_kind=True)] if value else []
        for one in found:
            self._found(record, one, in_message=True)

    def _attachment(self, record: Record) -> bool:
        self._rendered(record)
        raw = record.get("attachment")
        members = members_of(bytes(raw)) if raw is not None else None
        kind = kind_of(record) if members is not None else ""
        known = ATTACHMENTS.get(kind)
        if known is not None and members is not None:
            for one in _among(members, known, "attachment."):
                self._found(record, one)
        if members is None or kind in ATTACHMENTS:
            return False
        self.unknown.name(KIND, f"attachment type {kind or 'of no type'}", record.where)
        self._keep_beside(record, Strange("attachment", "attachment", value_of(raw)))
        return True

    # Keeping.

    def _found(self, record: Record, one: Strange, *, in_message: bool = False) -> None:
        """Take in what is found, and keep it unless an entry of the record does."""
        if self._is_kept(record, one, in_message=in_message):
            self.unknown.found(one, record.where)
        else:
            self._keep(record, one)

    def _keep(self, record: Record, one: Strange) -> None:
        self.unknown.found(one, record.where, record.number)

    def _keep_beside(self, record: Record, one: Strange) -> None:
        """Keep a part of what is counted as a whole."""
        if not self._is_kept(record, one, in_message=one.place.startswith("message.")):
            self.unknown.keep(one, record.where, record.number)

    def _is_kept(self, record: Record, one: Strange, *, in_message: bool) -> bool:
        """Whether an entry holds what is not known in a record, or in the one it is a copy of."""
        accounts, number = self._accounts, record.number
        if accounts.is_left_out(number):
            # What its original says as well was asked of that.
            original, (name, *_) = record.original, re.split(r"[.\[]", one.place, maxsplit=1)
            return original is not None and original.get(name) == record.get(name)
        if record.noted == "waiting":
            return True
        if not accounts.is_entry(number):
            # What was not sent stands in a note as it is, and its code says so.
            return bool(accounts.code_of(number))
        # The compaction that a summary became holds what its boundary says, not the summary.
        if in_message or record.is_local_command or record.is_summary:
            return False
        return record.type != names.ATTACHMENT or kind_of(record) != SNAPSHOT


def _is_plain_to_see(record: Record) -> bool:
    """Whether what was decoded of a message already shows that all of it is known."""
    if record.is_odd or not record.uuid or record.role not in _FITTING:
        return False
    return _is_counted_plainly(record) and not record.unknown_members()


def _is_in_block(one: Strange) -> bool:
    """Whether something stands in a block, whose item has all but the marks of storage."""
    if one.is_kind or not one.place.startswith("message.content["):
        return False
    return _MARKED.search(one.place) is None


def _is_counted_plainly(record: Record) -> bool:
    """Whether what is said of an answer's tokens is nothing, or all known."""
    told = record.usage_text
    return record.usage is None if told is None else usage_fits(told)


def _among(members: Members, known: Shape, under: str = "") -> Iterator[Strange]:
    """Yield what is not known among members, of which those that hold nothing are not decoded."""
    for name in members if not members.keys() <= known.members else ():
        if name not in known.members:
            yield Strange(f"{under}{name}", f"{under}{name}", value_of(members[name]))
    for name, inner in known.inner:
        value = value_of(members.get(name))
        if isinstance(value, (dict, list)):
            yield from strange(value, inner, f"{under}{name}")


def _in_message(raw: msgspec.Raw | None) -> Iterator[Strange]:
    """Yield what is not known in the text of a message."""
    try:
        if raw is None:
            return
        plain = _plain(raw)
        if plain.output_config is NOTHING and blocks_fit(plain.content):
            return
    except REFUSALS:
        pass
    value = value_of(raw)
    for name in value if isinstance(value, dict) else ():
        if name not in MESSAGE:
            yield Strange(f"message.{name}", f"message.{name}", value[name])
    output = value.get("output_config") if isinstance(value, dict) else None
    if isinstance(output, dict):
        yield from strange(output, OUTPUT, "message.output_config")
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, (dict, list)):
        yield from strange(content, CONTENT, "message.content")
