"""Layouts of a series over ranks: how many ranks, and how many on each node."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from reframe_checks.compute.hpl_input import doublings

_STATED = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


@dataclass(frozen=True)
class Layout:
    """Nodes are filled one after the other; the last may have fewer than ``per_node`` ranks."""

    ranks: int
    per_node: int

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.per_node)

    def __str__(self) -> str:
        return f"{self.nodes}x{self.per_node}"


def every_layout(nodes: int, cores: int) -> list[Layout]:
    """1, 2, 4, … and all ``nodes``, each with 1, 2, 4, … and all ``cores`` of a node."""
    return [Layout(some * ranks, ranks) for some in doublings(nodes) for ranks in doublings(cores)]


def stated_layouts(text: str, nodes: int, cores: int) -> list[Layout]:
    """Of a text as ``1x8 4x2``: nodes, and ranks on each.

    :raises ValueError: not of this form, or more than there is.
    """
    found = []
    for word in text.split():
        match = _STATED.fullmatch(word)
        if not match:
            raise ValueError(f"expected layouts as `1x8 4x2`, nodes and ranks on each, found {word!r}")
        some, ranks = map(int, match.groups())
        if some > nodes or ranks > cores:
            raise ValueError(f"layout {word} needs more than {nodes} nodes of {cores} cores")
        found.append(Layout(some * ranks, ranks))
    return found


def filled(ranks: Iterable[int], nodes: int, cores: int) -> list[Layout]:
    """Each of these numbers of ranks that the nodes hold, one node full after the other."""
    return [Layout(one, min(one, cores)) for one in sorted(set(ranks)) if 0 < one <= nodes * cores]


def on_cores(layouts: Iterable[Layout], cores: int) -> list[Layout]:
    """Those with a core for each rank: more ranks take turns, and what they measure is how they wait for each other."""
    return [layout for layout in layouts if layout.ranks <= cores]


def on_full_nodes(layouts: Iterable[Layout]) -> list[Layout]:
    """Those of one node, and of each larger number of nodes the one with the most ranks on each: the usual series of an
    application."""
    layouts = list(layouts)
    most = {layout.nodes: max(one.per_node for one in layouts if one.nodes == layout.nodes) for layout in layouts}
    return [layout for layout in layouts if layout.nodes == 1 or layout.per_node == most[layout.nodes]]


def process_box(ranks: int) -> tuple[int, int, int]:
    """X >= Y >= Z as cubic as possible, with a product of ``ranks``."""
    boxes = [
        (ranks // (y * z), y, z)
        for z in range(1, round(ranks ** (1 / 3)) + 1)
        if ranks % z == 0
        for y in range(z, math.isqrt(ranks // z) + 1)
        if ranks // z % y == 0
    ]
    return min(boxes, key=sum)
