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
    """1, 2, 4, … and all ``nodes``, each with 1, 2, 4, … and all ``cores`` of a node, and with so many that together
    they are the ranks of one full node."""
    found = []
    for some in doublings(nodes):
        spread = [] if cores % some else [cores // some]
        found += [Layout(some * ranks, ranks) for ranks in sorted({*doublings(cores), *spread})]
    return found


def over_nodes(layouts: Iterable[Layout]) -> dict[int, dict[int, Layout]]:
    """Ranks -> number of nodes -> the layout, of ranks that several numbers of nodes have: full ones and such on which
    cores rest."""
    found: dict[int, dict[int, Layout]] = {}
    for layout in layouts:
        found.setdefault(layout.ranks, {})[layout.nodes] = layout
    return {ranks: dict(sorted(of_nodes.items())) for ranks, of_nodes in sorted(found.items()) if len(of_nodes) > 1}


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


def within_and_over(layouts: Iterable[Layout]) -> dict[str, list[Layout]]:
    """Title -> the layouts of one node; and those of several, after the one that has as many ranks on one."""
    layouts = list(layouts)
    within = [layout for layout in layouts if layout.nodes == 1]
    over = [layout for layout in layouts if layout.nodes > 1]
    start = [layout for layout in within if over and layout.per_node == over[0].per_node]
    found = {"within a node": within, "over nodes": [*start, *over] if over else []}
    return {title: of_title for title, of_title in found.items() if of_title}


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
