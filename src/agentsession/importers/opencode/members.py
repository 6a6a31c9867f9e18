"""Typed views of JSON objects that keep the object as it was read.

A view never copies: the decoded object stays the truth, so that encoding it
again gives the same JSON value, with undeclared members, members of another
type than declared and nulls included.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

import msgspec

from agentsession import text
from agentsession.errors import InvalidEntry

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
V = TypeVar("V", bound="Members")


class Member(Generic[T]):
    """A declared member of a view: reading it gives its value, or the default.

    Attributes:
        name: the member's JSON name.
    """

    __slots__ = ("_attribute", "_default", "_fits", "_read", "name")

    def __init__(
        self,
        name: str,
        fits: type | None,
        read: Callable[[Any], T] | None,
        default: T,
    ) -> None:
        self.name = name
        self._fits = fits
        self._read = read
        self._default = default
        self._attribute = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    @overload
    def __get__(self, view: None, owner: type[Members]) -> Self: ...
    @overload
    def __get__(self, view: Members, owner: type[Members]) -> T: ...
    def __get__(self, view: Members | None, owner: type[Members]) -> Self | T:
        if view is None:
            return self
        found: Any = view.value.get(self.name)
        value: T
        fits = self._fits
        if fits is not None and not isinstance(found, fits):
            found = self._default
        elif self._read is not None:
            found = self._read(found)
        # The next time the view itself has it.
        view.__dict__[self._attribute] = value = found
        return value

    def fits(self, value: object) -> bool:
        """Return whether a value has the declared type."""
        return self._fits is None or isinstance(value, self._fits)


class Members(msgspec.Struct, eq=False, dict=True):
    """An object as it was read, and typed access to what its kind declares.

    A declared member that is absent, null or of another JSON type reads as the
    empty value of its type (``""``, ``False``, ``None``, ``()``); the object
    itself is in :attr:`value` and must not be changed.
    """

    value: dict[str, Any]
    """The object as it was read."""

    _declared: ClassVar[dict[str, Member[Any]]] = {}

    def __init_subclass__(cls) -> None:
        found = {m.name: m for m in vars(cls).values() if isinstance(m, Member)}
        cls._declared = {**cls._declared, **found}

    def __repr__(self) -> str:
        # Never the values: they may be long, and deeper than repr can go.
        return f"{type(self).__name__}({', '.join(self.value)})"

    @property
    def undeclared(self) -> dict[str, Any]:
        """The members this kind of object does not declare, with their values."""
        return {k: v for k, v in self.value.items() if k not in self._declared}

    @property
    def mistyped(self) -> tuple[str, ...]:
        """Names of the declared members whose value, not null, has another type."""
        return tuple(
            name
            for name, value in self.value.items()
            if value is not None and name in self._declared and not self._declared[name].fits(value)
        )

    def has(self, name: str) -> bool:
        """Return whether the object has a member, be it null."""
        return name in self.value

    def encode(self) -> bytes:
        """Return the object as compact JSON, the same value as was read."""
        try:
            return text.encode(self.value)
        except InvalidEntry:
            return text.encode(_spelled(self.value))


def string_member(name: str) -> Member[str]:
    """Return a member that is a string, ``""`` by default."""
    return Member(name, str, None, "")


def bool_member(name: str) -> Member[bool]:
    """Return a member that is a boolean, ``False`` by default."""
    return Member(name, bool, None, False)


def json_member(name: str) -> Member[Any]:
    """Return a member that is any JSON value, ``None`` by default."""
    return Member(name, None, None, None)


def list_member(name: str) -> Member[tuple[Any, ...]]:
    """Return a member that is an array, ``()`` by default."""
    empty: tuple[Any, ...] = ()
    return Member(name, list, tuple, empty)


def view_member(name: str, view: type[V]) -> Member[V | None]:
    """Return a member that is an object, seen as another view, ``None`` by default."""
    return Member(name, dict, view, None)


def _spelled(value: dict[str, Any]) -> Any:
    """Return a copy whose infinite floats, numbers beyond any double, are written out."""
    holder: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        parent, key = todo.pop()
        child = parent[key]
        if isinstance(child, dict):
            parent[key] = copy = dict(child)
            todo.extend((copy, k) for k in copy)
        elif isinstance(child, list):
            parent[key] = items = list(child)
            todo.extend((items, i) for i in range(len(items)))
        elif isinstance(child, float) and math.isinf(child):
            parent[key] = msgspec.Raw(b"1e400" if child > 0 else b"-1e400")
    return holder[0]
