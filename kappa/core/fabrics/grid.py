"""Torus and mesh: the switch ``r2.0.1`` has these coordinates; the first dimension counts fastest.

Routes go dimension by dimension, first to last, each the shorter way around and forward if both are as long.
"""

import math
from collections.abc import Collection, Sequence

from kappa.core.fabrics.network import Hop, Network
from kappa.core.fabrics.schema import Link, Mesh, Torus


class GridNetwork(Network):
    def __init__(self, grid: Torus | Mesh, link: Link, lost: Collection[str] = ()) -> None:
        super().__init__(lost)
        self._sizes = grid.sizes.value
        self._wraps = isinstance(grid, Torus)
        self._each = grid.nodes_per_switch.value
        switches = math.prod(self._sizes)
        self.nodes = [f"n{number}" for number in range(switches * self._each)]
        self.switches = [_name(self._coordinates(number)) for number in range(switches)]
        for number, node in enumerate(self.nodes):
            self._add_link(node, self.switches[number // self._each], link)
        for number in range(switches):
            at = self._coordinates(number)
            for dimension, size in enumerate(self._sizes):
                last = at[dimension] == size - 1
                if not last or (self._wraps and size > 2):
                    self._add_link(_name(at), _name(self._moved(at, dimension, 1)), link)

    def _coordinates(self, number: int) -> list[int]:
        at = []
        for size in self._sizes:
            number, place = divmod(number, size)
            at.append(place)
        return at

    def _moved(self, at: Sequence[int], dimension: int, step: int) -> list[int]:
        return [(place + step * (of == dimension)) % self._sizes[of] for of, place in enumerate(at)]

    def _step(self, start: int, end: int, size: int) -> int:
        if not self._wraps or size == 2:
            return 1 if end > start else -1
        return 1 if (end - start) % size <= (start - end) % size else -1

    def _preferred(self, source: int, target: int) -> list[Hop] | None:
        at, goal = (self._coordinates(number // self._each) for number in (source, target))
        hops = [Hop(f"n{source}-{_name(at)}", True)]
        for dimension, size in enumerate(self._sizes):
            step = self._step(at[dimension], goal[dimension], size)
            while at[dimension] != goal[dimension]:
                after = self._moved(at, dimension, step)
                forth, back = f"{_name(at)}-{_name(after)}", f"{_name(after)}-{_name(at)}"
                hops.append(Hop(forth, True) if step > 0 else Hop(back, False))
                at = after
        hops.append(Hop(f"n{target}-{_name(at)}", False))
        return hops if self._has(hops) else None


def _name(at: Sequence[int]) -> str:
    return "r" + ".".join(map(str, at))
