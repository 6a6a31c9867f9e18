"""Records: JSON objects whose text is the truth and whose members are decoded when asked.

A header, an entry and the small objects inside them (:class:`Record`) hold the JSON text
of each member. A :class:`Member` names one of them, says how it is written and gives its
value; a :class:`Kind` knows the JSON type behind it. Members nobody declared stay in the
record as they came.

Spec: format 3.4, 4 and 6.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from agentsession import payload, text
from agentsession.errors import InvalidEntry

T = TypeVar("T")

Version = tuple[int, int]


class Missing(enum.Enum):
    """The type of :data:`MISSING`."""

    MISSING = "missing"


MISSING = Missing.MISSING
"""Says that a member is absent where ``None`` would mean JSON ``null``."""


def join_members(texts: Mapping[str, bytes]) -> bytes:
    """Return the text of a JSON object with these member texts, in their order."""
    return b"{%s}" % b",".join([_name_text(name) + value for name, value in texts.items()])


@lru_cache(maxsize=4096)
def _name_text(name: str) -> bytes:
    return text.encode(name) + b":"


@lru_cache(maxsize=4096)
def following_name(name: str) -> bytes:
    """Return what stands between the text of one member and that of the next, of this name."""
    return b"," + _name_text(name)


def needs_no_escape(value: str) -> bool:
    """Return whether a string's JSON text is itself in quotes, in ASCII."""
    return value.isascii() and value.isprintable() and '"' not in value and "\\" not in value


def string_text(value: str) -> bytes:
    """Return a string as JSON text; what needs no escape, as ids and times do, is quick."""
    if needs_no_escape(value):
        return b'"%s"' % value.encode("ascii")
    return text.encode(value)


class Written(enum.Enum):
    """When a member is written.

    Spec: format 4, the notation of its tables.
    """

    ALWAYS = "always"
    """Even when empty."""
    FILLED = "filled"
    """Only when not empty: not ``""``, ``[]``, ``{}``, ``0`` or ``False``."""
    GIVEN = "given"
    """Whenever it is not ``None``, empty values included."""


class Kind(Generic[T]):
    """A JSON type a member may have.

    Args:
        name: how messages call it, with its article.
        accepts: whether a member's text (never ``null``) is of this type.
        decode: the value of such a text.
        encode: the text of a value given by a caller.
        keeps_null: whether ``null`` is a value of the type and not its absence.
        nested: whether the value is a record, or a list of them.
    """

    __slots__ = ("accepts", "decode", "encode", "keeps_null", "name", "nested")

    def __init__(
        self,
        name: str,
        accepts: Callable[[bytes], bool],
        decode: Callable[[bytes], T],
        encode: Callable[[Any], bytes],
        *,
        keeps_null: bool = False,
        nested: bool = False,
    ) -> None:
        self.name = name
        self.accepts = accepts
        self.decode = decode
        self.encode = encode
        self.keeps_null = keeps_null
        self.nested = nested


_EMPTY_TEXTS = frozenset({b'""', b"[]", b"{}", b"0", b"false"})


class Member(Generic[T]):
    """One declared member of a record, as a read-only attribute of its class.

    Args:
        kind: its JSON type.
        default: what the attribute gives when the member is absent or ``null``.
        written: when it is written.
        required: whether reading and writing refuse a record without it.
        wire: its name in JSON, when that is not the attribute's.
        since: the first format version that defines it.
    """

    def __init__(
        self,
        kind: Kind[T],
        default: Any = None,
        *,
        written: Written = Written.FILLED,
        required: bool = False,
        wire: str = "",
        since: Version = (0, 1),
    ) -> None:
        self.kind = kind
        self.default = default
        self.written = written
        self.required = required
        self.wire = wire
        self.since = since
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.wire = self.wire or name

    @overload
    def __get__(self, record: None, owner: type) -> Member[T]: ...
    @overload
    def __get__(self, record: Record, owner: type) -> T: ...
    def __get__(self, record: Record | None, owner: type) -> Member[T] | T:
        if record is None:
            return self
        values = record._values
        if values is not None and self.name in values:
            found: T = values[self.name]
            return found
        return record._decode(self)

    def encode(self, value: Any) -> bytes | None:
        """Return the member's text for ``value``, or ``None`` when it is not written."""
        if value is MISSING:
            return None
        if self.written is Written.FILLED and not self.required:
            # Most members are not given; their default needs no encoding to be seen as empty.
            default = self.default
            if not value and (value is default or type(value) is type(default)):
                return None
        if value is None and not self.kind.keeps_null:
            if self.required:
                raise InvalidEntry(f"{self.wire} is required", member=self.wire)
            return b"null" if self.written is Written.ALWAYS else None
        try:
            encoded = self.kind.encode(value)
        except InvalidEntry:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidEntry(
                f"{self.wire} must be {self.kind.name}, not {type(value).__name__}",
                member=self.wire,
            ) from error
        if self.required and encoded == b'""':
            raise InvalidEntry(f"{self.wire} must not be empty", member=self.wire)
        if self.written is Written.FILLED and encoded in _EMPTY_TEXTS:
            return None
        return encoded

    def problem(self, member_text: bytes | None) -> str:
        """Return what is wrong with a member's text as read, or an empty string."""
        if member_text is None or member_text == b"null":
            if self.required and not (self.kind.keeps_null and member_text):
                return f"{self.wire} is required"
            return ""
        if not self.kind.accepts(member_text):
            return f"{self.wire} must be {self.kind.name}"
        if self.required and member_text == b'""':
            return f"{self.wire} must not be empty"
        return ""


class Record:
    """A JSON object with declared members, unknown ones kept.

    Two records of one class are equal when they are the same JSON value.
    """

    __slots__ = ("_texts", "_values")

    MEMBERS: ClassVar[dict[str, Member[Any]]] = {}
    """The declared members by their JSON name, in the order they are written."""

    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """The names of those a record must have."""

    _texts: dict[str, bytes] | None
    _values: dict[str, Any] | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = [member for member in vars(cls).values() if isinstance(member, Member)]
        cls.MEMBERS = {**cls.MEMBERS, **{member.wire: member for member in own}}
        cls.REQUIRED = tuple(wire for wire, member in cls.MEMBERS.items() if member.required)

    @classmethod
    def from_texts(cls, texts: Mapping[str, bytes]) -> Self:
        """Return the record that holds these member texts; nothing is checked."""
        record = cls.__new__(cls)
        record._texts = dict(texts)
        record._values = None
        return record

    @classmethod
    def from_json(cls, json_text: bytes) -> Self:
        """Return the record of a JSON object's text; nothing but its syntax is checked."""
        return cls.from_texts(text.split_members(json_text))

    @classmethod
    def problem(cls, texts: Mapping[str, bytes], version: Version = (0, 3)) -> str:
        """Return what makes these member texts unreadable, or an empty string.

        A member that a later version than ``version`` defines may have any form: the name
        was free when the file was written.
        """
        for wire in (*cls.REQUIRED, *texts):
            member = cls.MEMBERS.get(wire)
            found = member.problem(texts.get(wire)) if member else ""
            if found and member and member.since <= version:
                return found
        return ""

    def _build(self, given: Mapping[str, Any], unknown: Mapping[str, Any] | None) -> None:
        texts: dict[str, bytes] = {}
        for wire, member in self.MEMBERS.items():
            encoded = member.encode(given.get(member.name))
            if encoded is not None:
                texts[wire] = encoded
        for wire in sorted(unknown or (), key=lambda name: name.encode("utf-8", "surrogatepass")):
            encoded = payload.encoded_value((unknown or {})[wire])
            if wire in texts or (wire in self.MEMBERS and not self._is_unknown(wire, encoded)):
                raise InvalidEntry(
                    f"{wire} is a member of its own, not an unknown one", member=wire
                )
            texts[wire] = encoded
        self._texts = texts
        self._values = None

    def _loaded(self) -> dict[str, bytes]:
        if self._texts is None:
            self._texts = self._load()
        return self._texts

    def _load(self) -> dict[str, bytes]:
        return {}

    def _decode(self, member: Member[T]) -> T:
        member_text = self._loaded().get(member.wire)
        value: T
        if member_text is None or (member_text == b"null" and not member.kind.keeps_null):
            value = member.default
        elif member.kind.accepts(member_text):
            value = member.kind.decode(member_text)
        else:
            value = member.default
        if self._values is None:
            self._values = {}
        self._values[member.name] = value
        return value

    def text_of(self, wire: str) -> bytes | None:
        """Return the JSON text of a member by its JSON name, or ``None`` when it is absent."""
        return self._loaded().get(wire)

    def has(self, wire: str) -> bool:
        """Return whether the member is present and not ``null``."""
        return self._loaded().get(wire, b"null") != b"null"

    @property
    def unknown(self) -> Mapping[str, Any]:
        """The members no version declares (or declares in another form), decoded, by name."""
        return {
            wire: text.parse(member_text)
            for wire, member_text in self._loaded().items()
            if self._is_unknown(wire, member_text)
        }

    def _is_unknown(self, wire: str, member_text: bytes) -> bool:
        member = self.MEMBERS.get(wire)
        if member is None:
            return True
        return member_text != b"null" and not member.kind.accepts(member_text)

    @property
    def json_text(self) -> bytes:
        """The record as JSON text, members in the order they are held."""
        return join_members(self._loaded())

    def to_dict(self) -> dict[str, Any]:
        """Return the record as new plain Python values, by JSON name."""
        return {wire: text.parse(member_text) for wire, member_text in self._loaded().items()}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Record):
            return NotImplemented
        mine, theirs = self.json_text, other.json_text
        return mine == theirs or text.equal(mine, theirs)

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozenset(self._loaded())))

    def __repr__(self) -> str:
        shown = self.json_text.decode("utf-8", "replace")
        return f"{type(self).__name__}({shown if len(shown) <= 120 else shown[:119] + '…'})"
