"""What no known release writes: counted by its bytes, named, and kept.

An importer describes what it knows as shapes: which members an object of each kind has, and
inside which of them it looks itself. What a model or a tool made freely is no object with a
shape, and is kept whole anyway. Nearly every record fits its shape, which costs a comparison
of key sets; only one that does not is looked at member by member.

Spec: decision D11.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from agentsession import text
from agentsession.errors import AgentSessionError
from agentsession.importers.accounts import Accounts
from agentsession.importers.holding import holdable

MEMBER: Final = "unknown-member"
"""The code of a member that no known release writes."""

KIND: Final = "unknown-kind"
"""The code of a part, or another thing within a record, of a kind no known release writes."""

SENTENCES: Final = {
    MEMBER: "a record has a member no known release writes; it is kept as it is",
    KIND: "a record holds something of a kind no known release writes; it is kept as it is",
}
"""What the codes mean."""

NOTED: Final = "unknown"
"""The member of a note in which an importer keeps what no other entry holds."""

LOUD: Final = 20
"""One part in so many of a file may be unknown before that is loud."""

_NAMED: Final = 50
_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class Shape:
    """An object whose members are known.

    Attributes:
        members: their names.
        inner: what is known of some of them; a value that is neither an object nor an array
            fits, whatever was expected.
    """

    members: frozenset[str]
    inner: tuple[tuple[str, Known], ...] = ()

    def fits(self, value: Mapping[str, Any]) -> bool:
        """Return whether an object holds nothing that is not known."""
        if not value.keys() <= self.members:
            return False
        for name, shape in self.inner:
            member: Any = value.get(name)
            if member.__class__ in _LOOKED_AT and not _fits(member, shape):
                return False
        return True

    def strange(self, value: Mapping[str, Any], name: str, place: str) -> Iterator[Strange]:
        """Yield what is not known in an object."""
        for member in value:
            if member not in self.members:
                yield Strange(f"{name}{member}", f"{place}{member}", value[member])
        for member, shape in self.inner:
            if value.get(member).__class__ in _LOOKED_AT:
                yield from _strange(value[member], shape, f"{name}{member}", f"{place}{member}")


@dataclass(frozen=True, slots=True)
class Kinds:
    """An object, or an array of objects, of several kinds.

    Attributes:
        tag: the member that says which.
        kinds: the shape of each kind; ``None`` for one that is kept whole, whatever it holds.
        plain: elements of an array may be strings.
    """

    tag: str
    kinds: Mapping[str, Shape | None]
    plain: bool = False

    def of(self, value: Mapping[str, Any]) -> Shape | Kinds | None:
        """Return the shape of an object, ``None`` for what is kept whole.

        Raises:
            KeyError: when its kind is not known.
        """
        kind = value.get(self.tag)
        if not isinstance(kind, str):
            raise KeyError(kind)
        return self.kinds[kind]


@dataclass(frozen=True, slots=True)
class Each:
    """An object whose members have names of their own, such as models, and one shape.

    Attributes:
        of: the shape of each.
        words: what one may be instead of an object; anything else is not known.
    """

    of: Shape
    words: Container[str] = frozenset()

    def fits(self, value: Mapping[str, Any]) -> bool:
        """Return whether the object holds nothing that is not known."""
        for one in value.values():
            if one.__class__ is dict:
                if not self.of.fits(one):
                    return False
            elif one.__class__ is not str or one not in self.words:
                return False
        return True

    def strange(self, value: Mapping[str, Any], name: str, place: str) -> Iterator[Strange]:
        """Yield what is not known in an object."""
        for member, one in value.items():
            if isinstance(one, dict):
                yield from self.of.strange(one, f"{name}*.", f"{place}{member}.")
            elif not isinstance(one, str) or one not in self.words:
                yield Strange(f"{name}{member}", f"{place}{member}", one)


Known = Shape | Kinds | Each
"""What is known of an object, or of each object of an array."""


class Strange(NamedTuple):
    """Something that is not known.

    Attributes:
        name: what it is called, the same wherever it stands.
        place: where it stands in its record.
        value: the member, or the whole object of a kind that is not known.
        is_kind: whether it is that.
    """

    name: str
    place: str
    value: Any
    is_kind: bool = False

    def holdable(self) -> tuple[Any, int]:
        """Return the value as an entry can hold it, and how many bytes the whole has, about."""
        named = 0 if self.is_kind else len(self.place.rpartition(".")[2]) + 4
        try:
            return self.value, named + len(text.encode(self.value))
        except (AgentSessionError, RecursionError):
            held = holdable({"": self.value})[""]
            return held, named + len(text.encode(held))


_LOOKED_AT: Final[frozenset[Any]] = frozenset({dict, list})


def shape(members: str, **inner: Known) -> Shape:
    """Return the shape of an object with some members, their names parted by spaces.

    >>> shape("type text").fits({"type": "text", "words": "hi"})
    False
    """
    return Shape(frozenset(members.split()) | inner.keys(), tuple(inner.items()))


def _fits(value: Any, wanted: Known) -> bool:
    if value.__class__ is list:
        plain = isinstance(wanted, Kinds) and wanted.plain
        for one in value:
            if one.__class__ is dict:
                if not _fits(one, wanted):
                    return False
            elif not (plain and one.__class__ is str):
                return False
        return True
    if not isinstance(wanted, Kinds):
        return wanted.fits(value)
    try:
        found = wanted.of(value)
    except KeyError:
        return False
    return found is None or _fits(value, found)


def _strange(value: Any, wanted: Known, name: str, place: str) -> Iterator[Strange]:
    if isinstance(value, list):
        plain = isinstance(wanted, Kinds) and wanted.plain
        for at, one in enumerate(value):
            if isinstance(one, dict):
                yield from _strange(one, wanted, f"{name}[]", f"{place}[{at}]")
            elif not (plain and isinstance(one, str)):
                yield Strange(f"{name}[]", f"{place}[{at}]", one, is_kind=True)
        return
    if not isinstance(wanted, Kinds):
        yield from wanted.strange(value, f"{name}." if name else "", f"{place}." if place else "")
        return
    try:
        found = wanted.of(value)
    except KeyError:
        kind = value.get(wanted.tag)
        yield Strange(f"{name} {wanted.tag} {_short(kind)}".strip(), place, value, is_kind=True)
    else:
        if found is not None:
            yield from _strange(value, found, name, place)


def strange(value: Any, wanted: Known, under: str = "") -> list[Strange]:
    """Return what is not known in an object or an array.

    >>> strange({"type": "text", "words": "hi"}, shape("type text"))
    [Strange(name='words', place='words', value='hi', is_kind=False)]
    """
    if _fits(value, wanted):
        return []
    return list(_strange(value, wanted, under, under))


def _short(name: object) -> str:
    """A name as people are told it."""
    words = name if isinstance(name, str) else "of no type"
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words[:_LONGEST])
    return f"{shown}…" if len(words) > _LONGEST else shown


def noted(*kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a note says that keeps something of some records.

    Args:
        kept: of each ``record`` its name, and ``members`` by their place in it.
    """
    return {NOTED: list(kept)}


@dataclass(slots=True)
class Unknown:
    """What a conversion met that is not known.

    Attributes:
        accounts: where it is named.
        size: how many bytes it has.
        kept: what no entry holds of each record, by the record's number in the account.
    """

    accounts: Accounts
    size: int = 0
    kept: dict[int, dict[str, Any]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def name(self, code: str, name: str, where: str) -> None:
        """Name something; of very many names those behind the first ones are only counted."""
        name = _short(name)
        if name not in self._names:
            if len(self._names) >= _NAMED:
                name = "and others"
            self._names.add(name)
        self.accounts.find(code, where, named=name)

    def found(self, one: Strange, where: str, number: int = -1) -> None:
        """Take in something.

        Args:
            one: what.
            where: its record, for people.
            number: the record in the account, when no entry of it holds what was found.
        """
        self.size += one.holdable()[1]
        self.name(KIND if one.is_kind else MEMBER, one.name, where)
        if number >= 0:
            self.keep(one, where, number)

    def again(self, one: Strange) -> None:
        """Take in something that the entry its record is folded into says already."""
        self.size += one.holdable()[1]

    def keep(self, one: Strange, where: str, number: int) -> None:
        """Keep something that no entry of its record holds."""
        record = self.kept.setdefault(number, {"record": where, "members": {}})
        record["members"][one.place] = one.holdable()[0]

    @property
    def note(self) -> dict[str, Any]:
        """What is to be kept in an entry that trails; empty for nothing."""
        return noted(*self.kept.values()) if self.kept else {}

    def noted(self, entry_id: str) -> None:
        """Say that this entry holds what no other does."""
        for number in self.kept:
            self.accounts.folded(number, entry_id)

    def is_loud(self, size: int, more: int = 0) -> bool:
        """Return whether so much of a file is unknown that an import must not be quiet.

        Args:
            size: the file's bytes.
            more: bytes that are unknown beside those taken in.
        """
        return (self.size + more) * LOUD > size
