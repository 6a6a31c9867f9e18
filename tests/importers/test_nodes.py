"""Which nodes of a draft stand below which others, against a walk up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsession.importers.nodes import Node
from agentsession.settings import Settings


def grown(parents: list[int]) -> list[Node]:
    """A root and a node below the node of each number, where there is one yet."""
    nodes = [Node("", None, 0, Settings())]
    for parent in parents:
        nodes.append(Node(f"{len(nodes)}", nodes[min(parent, len(nodes) - 1)], 0, Settings()))
    return nodes


def walked(node: Node, other: Node) -> bool:
    at: Node | None = node
    while at is not None:
        if at is other:
            return True
        at = at.parent
    return False


@given(st.lists(st.integers(0, 40), max_size=40))
def test_is_below_is_what_a_walk_up_finds(parents: list[int]) -> None:
    nodes = grown(parents)
    for node in nodes:
        for other in nodes:
            assert node.is_below(other) == walked(node, other)


def test_a_way_up_takes_few_steps() -> None:
    nodes = grown(list(range(5000)))
    at, steps = nodes[-1], 0
    while at.level > 1:
        assert at.parent is not None
        at = at.jump if at.jump.level >= 1 else at.parent
        steps += 1
    assert steps < 40
