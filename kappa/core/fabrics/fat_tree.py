"""A fat tree: switch ``s2.5`` is the one numbered 5 of the second level from the nodes.

Routes are those of D-mod-k: on its way up a message takes the cable that its destination's number names, so a
destination is always reached over the same switches, which spreads the destinations over them.
"""

import math
from collections.abc import Collection
from itertools import product

from kappa.core.fabrics.network import Hop, Network
from kappa.core.fabrics.schema import FatTree, Link


class FatTreeNetwork(Network):
    def __init__(self, tree: FatTree, link: Link, lost: Collection[str] = ()) -> None:
        super().__init__(lost)
        self._down = tree.down.value
        self._up = tree.up.value
        self._parallel = tree.parallel.value if tree.parallel else [1] * len(self._down)
        self._levels = len(self._down)
        # Nodes below a switch of each level, and its switches that are above the same nodes.
        self._below = [math.prod(self._down[:level]) for level in range(self._levels + 1)]
        self._alike = [math.prod(self._up[:level]) for level in range(self._levels + 1)]
        # From each first switch to each node: its other nodes take the same way.
        self._between: dict[tuple[int, int], list[Hop] | None] = {}
        self.nodes = [f"n{number}" for number in range(tree.nodes.value)]
        for number, node in enumerate(self.nodes):
            self._add_link(node, self._switch(1, number // self._below[1], 0), link)
        for level in range(1, self._levels + 1):
            groups = range(math.ceil(len(self.nodes) / self._below[level]))
            self.switches += [self._switch(level, *which) for which in product(groups, range(self._alike[level]))]
            if level < self._levels:
                self._add_level(level, groups, link)

    def _add_level(self, level: int, groups: range, link: Link) -> None:
        choices = range(self._up[level] * self._parallel[level])
        for group, alike, choice in product(groups, range(self._alike[level]), choices):
            child, parent = self._switch(level, group, alike), self._parent(level, group, alike, choice)
            self._add_link(child, parent, link, self._cable(level, group, alike, choice))

    def _switch(self, level: int, group: int, alike: int) -> str:
        return f"s{level}.{group * self._alike[level] + alike}"

    def _parent(self, level: int, group: int, alike: int, choice: int) -> str:
        above = alike + choice % self._up[level] * self._alike[level]
        return self._switch(level + 1, group // self._down[level], above)

    def _cable(self, level: int, group: int, alike: int, choice: int) -> str:
        """``choice`` of a switch of ``level``: first each parent once, then their second cables."""
        name = f"{self._switch(level, group, alike)}-{self._parent(level, group, alike, choice)}"
        return name if self._parallel[level] == 1 else f"{name}.{choice // self._up[level]}"

    def _preferred(self, source: int, target: int) -> list[Hop] | None:
        first, last = (f"n{each}-{self._switch(1, each // self._below[1], 0)}" for each in (source, target))
        if first not in self.cables or last not in self.cables:
            return None
        ends = source // self._below[1], target
        if ends not in self._between:
            self._between[ends] = self._inner(source, target)
        inner = self._between[ends]
        return None if inner is None else [Hop(first, True), *inner, Hop(last, False)]

    def _inner(self, source: int, target: int) -> list[Hop] | None:
        """Between the first and the last switch; over a higher level than it takes only if those below are lost."""
        levels = range(1, self._levels + 1)
        lowest = next(level for level in levels if source // self._below[level] == target // self._below[level])
        ways = (self._over(source, target, 1, top, 0) for top in levels[lowest - 1 :])
        return next((way for way in ways if way is not None), None)

    def _over(self, source: int, target: int, level: int, top: int, alike: int) -> list[Hop] | None:
        """From the switch ``alike`` above ``source`` up to the level ``top`` and down again to ``target``'s."""
        if level == top:
            return []
        count = self._up[level] * self._parallel[level]
        named = target // self._alike[level] % count
        for step in range(count):
            choice = (named + step) % count
            up = self._cable(level, source // self._below[level], alike, choice)
            if up not in self.cables:
                continue
            parent = choice % self._up[level]
            down = self._downward(target, level, alike, parent, choice // self._up[level])
            inner = self._over(source, target, level + 1, top, alike + parent * self._alike[level])
            if down is not None and inner is not None:
                return [Hop(up, True), *inner, Hop(down, False)]
        return None

    def _downward(self, target: int, level: int, alike: int, parent: int, named: int) -> str | None:
        """The cable from the parent down towards ``target``: the one named, or the next that is left."""
        for step in range(self._parallel[level]):
            choice = parent + (named + step) % self._parallel[level] * self._up[level]
            cable = self._cable(level, target // self._below[level], alike, choice)
            if cable in self.cables:
                return cable
        return None

    def cut_off(self) -> str | None:
        """Routes go up and then down: one that would have to go up again is none."""
        leaves = range(0, len(self.nodes), self._below[1])
        for source, target in product(leaves, leaves):
            if self._preferred(source, target) is None:
                return f"n{target}"
        return super().cut_off()

