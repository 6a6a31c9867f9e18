"""A mapping that is never changed: with another value it is another mapping that shares the rest.

The state below each entry of a tree is kept this way, so that a fork costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Generic, TypeAlias, TypeVar

V = TypeVar("V")

_Node: TypeAlias = Any
"""A dict of few values, or a tuple of a node for each value of four bits of a key's hash."""

_FEW: Final = 8
_BITS: Final = 4
_WIDTH: Final = 1 << _BITS
_LOWEST: Final = 60
"""Bits of a hash beyond which keys are not told apart."""


class Kept(Generic[V]):
    """An immutable mapping from texts; every operation takes time with its logarithm."""

    __slots__ = ("_root",)

    def __init__(self, root: _Node = None) -> None:
        self._root: _Node = {} if root is None else root

    def get(self, key: str) -> V | None:
        """Return a value, or ``None``."""
        node, bits = self._root, hash(key)
        while type(node) is tuple:
            node, bits = node[bits & _WIDTH - 1], bits >> _BITS
        found: V | None = node.get(key)
        return found

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def put(self, key: str, value: V) -> Kept[V]:
        """Return this mapping with a value that is not ``None``."""
        return Kept(_put(self._root, hash(key), 0, key, value))

    def drop(self, key: str) -> Kept[V]:
        """Return this mapping without a key."""
        return Kept(_drop(self._root, hash(key), key)) if key in self else self

    def items(self) -> Iterator[tuple[str, V]]:
        """Yield keys and values in no order."""
        return self.items_beside(set())

    def items_beside(self, met: set[int]) -> Iterator[tuple[str, V]]:
        """Yield keys and values but for what is shared with mappings met before.

        Args:
            met: what was met; filled. The mappings must be kept as long as it is used.
        """
        nodes = [self._root]
        while nodes:
            node = nodes.pop()
            if id(node) in met:
                continue
            met.add(id(node))
            if type(node) is tuple:
                nodes += node
            else:
                yield from node.items()


def _put(node: _Node, bits: int, used: int, key: str, value: Any) -> _Node:
    if type(node) is tuple:
        place = bits & _WIDTH - 1
        child = _put(node[place], bits >> _BITS, used + _BITS, key, value)
        return (*node[:place], child, *node[place + 1 :])
    found = {**node, key: value}
    if len(found) <= _FEW or used >= _LOWEST:
        return found
    children: list[dict[str, Any]] = [{} for _ in range(_WIDTH)]
    for each, its in found.items():
        children[hash(each) >> used & _WIDTH - 1][each] = its
    return tuple(children)


def _drop(node: _Node, bits: int, key: str) -> _Node:
    if type(node) is tuple:
        place = bits & _WIDTH - 1
        child = _drop(node[place], bits >> _BITS, key)
        return (*node[:place], child, *node[place + 1 :])
    return {each: its for each, its in node.items() if each != key}
