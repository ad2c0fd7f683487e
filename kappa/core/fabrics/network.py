"""Vertices, cables and routes of a fabric, for each shape. A vertex is a node (``n0``) or a switch."""

import abc
import math
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, pairwise, product
from typing import Literal, NamedTuple

from kappa.core.fabrics.schema import AllToAll, FabricLink, FatTree, Mesh, NodeMemory, SimulatedFabric, Torus
from kappa.core.ground.errors import InputError


class Cable(NamedTuple):
    """A cable. Its direction from the first of ``ends`` to the second is *up*. The bandwidth is per direction."""

    ends: tuple[str, str]
    bandwidth_gb_s: float
    latency_us: float
    between_switches: bool


class Hop(NamedTuple):
    cable: str
    up: bool


class Network(abc.ABC):
    """A network: ``nodes``, ``switches``, and the ``cables`` that are not ``lost``, by name."""

    def __init__(self, lost: Collection[str] = ()) -> None:
        self.nodes: list[str] = []
        self.switches: list[str] = []
        self.cables: dict[str, Cable] = {}
        self._lost = frozenset(lost)
        self._beside: dict[str, list[tuple[str, Hop]]] = {}

    def _add(self, first: str, second: str, cable: Cable, name: str = "") -> None:
        name = name or f"{first}-{second}"
        if self._lost & {first, second, name}:
            return
        self.cables[name] = cable
        self._beside.setdefault(first, []).append((second, Hop(name, True)))
        self._beside.setdefault(second, []).append((first, Hop(name, False)))

    def _add_link(self, first: str, second: str, link: FabricLink, name: str = "") -> None:
        """Add a cable of the fabric. A switch adds half of its latency on each side."""
        switches = (first[0] != "n") + (second[0] != "n")
        latency = link.cable_latency_us.value + link.switch_latency_us.value * switches / 2
        rate = link.bandwidth_gb_s.value * link.payload_share.value
        self._add(first, second, Cable((first, second), rate, latency, switches == 2), name)

    @abc.abstractmethod
    def _preferred(self, source: int, target: int) -> list[Hop] | None:
        """Return the fabric's normal route between two nodes; ``None`` if a part of it is lost."""

    def route(self, source: str, target: str) -> list[Hop]:
        """Return the route between two vertices.

        :raises InputError: the lost parts leave no route.
        """
        found = None
        if source[0] == target[0] == "n":
            found = self._preferred(int(source[1:]), int(target[1:]))
        if found is None:
            found = self._shortest(source, target)
        if found is None:
            raise InputError(f"no route from {source} to {target} without {', '.join(sorted(self._lost))}")
        return found

    def switch_of(self, node: str) -> str:
        return self._beside[node][0][0]

    def way(self, source: str, target: str) -> list[str]:
        """Return the vertices of a shortest way, including both ends; empty if there is none.

        The ways from one source form a tree.
        """
        known = self._reached(source)
        found = [target] if target in known else []
        while found and (step := known[found[-1]]) is not None:
            found.append(step[0])
        return found[::-1]

    def cut_off(self) -> str | None:
        """Return the first node without a route to it, or ``None``."""
        known = self._reached(self.nodes[0]) if self.nodes[0] in self._beside else {}
        return next((node for node in self.nodes if node not in known), None)

    def latency_us(self, route: list[Hop]) -> float:
        return sum(self.cables[hop.cable].latency_us for hop in route)

    def _has(self, hops: list[Hop]) -> bool:
        return all(hop.cable in self.cables for hop in hops)

    def _reached(self, source: str) -> dict[str, tuple[str, Hop] | None]:
        """Return how each vertex is reached with the fewest cables: the previous vertex and the hop from it."""
        known: dict[str, tuple[str, Hop] | None] = {source: None}
        waiting = deque([source])
        while waiting:
            vertex = waiting.popleft()
            for other, hop in self._beside.get(vertex, ()):
                # A node does not forward messages.
                if other not in known and (vertex == source or vertex[0] != "n"):
                    known[other] = (vertex, hop)
                    waiting.append(other)
        return known

    def _shortest(self, source: str, target: str) -> list[Hop] | None:
        known = self._reached(source)
        if target not in known:
            return None
        return list(_back(known, target))[::-1]


def _back(known: dict[str, tuple[str, Hop] | None], target: str) -> Iterator[Hop]:
    while (step := known[target]) is not None:
        target, hop = step
        yield hop


class GridNetwork(Network):
    def __init__(self, grid: Torus | Mesh, link: FabricLink, lost: Collection[str] = ()) -> None:
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


class FatTreeNetwork(Network):
    def __init__(self, tree: FatTree, link: FabricLink, lost: Collection[str] = ()) -> None:
        super().__init__(lost)
        self._down = tree.down.value
        self._up = tree.up.value
        self._parallel = tree.parallel.value if tree.parallel else [1] * len(self._down)
        self._levels = len(self._down)
        # For each level: the number of nodes below a switch, and of switches above the same nodes.
        self._below = [math.prod(self._down[:level]) for level in range(self._levels + 1)]
        self._alike = [math.prod(self._up[:level]) for level in range(self._levels + 1)]
        # Routes from each first switch to each node: all nodes of the switch use the same route.
        self._between: dict[tuple[int, int], list[Hop] | None] = {}
        self.nodes = [f"n{number}" for number in range(tree.nodes.value)]
        for number, node in enumerate(self.nodes):
            self._add_link(node, self._switch(1, number // self._below[1], 0), link)
        for level in range(1, self._levels + 1):
            groups = range(math.ceil(len(self.nodes) / self._below[level]))
            self.switches += [self._switch(level, *which) for which in product(groups, range(self._alike[level]))]
            if level < self._levels:
                self._add_level(level, groups, link)

    def _add_level(self, level: int, groups: range, link: FabricLink) -> None:
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
        """Return the cable ``choice`` of a switch of ``level``: first one cable to each parent, then second cables."""
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
        """Return the route between the first and the last switch, over the lowest level that is not lost."""
        levels = range(1, self._levels + 1)
        lowest = next(level for level in levels if source // self._below[level] == target // self._below[level])
        ways = (self._over(source, target, 1, top, 0) for top in levels[lowest - 1 :])
        return next((way for way in ways if way is not None), None)

    def _over(self, source: int, target: int, level: int, top: int, alike: int) -> list[Hop] | None:
        """Return the hops from the switch ``alike`` above ``source`` up to the level ``top`` and down to ``target``."""
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
        """Return the cable from the parent down towards ``target``: number ``named``, or the next one not lost."""
        for step in range(self._parallel[level]):
            choice = parent + (named + step) % self._parallel[level] * self._up[level]
            cable = self._cable(level, target // self._below[level], alike, choice)
            if cable in self.cables:
                return cable
        return None

    def cut_off(self) -> str | None:
        """Return the first node without a route to it. A route goes up once and then down, never up again."""
        leaves = range(0, len(self.nodes), self._below[1])
        for source, target in product(leaves, leaves):
            if self._preferred(source, target) is None:
                return f"n{target}"
        return super().cut_off()


class ChassisNetwork(Network):
    def __init__(self, shape: AllToAll, link: FabricLink, memory: NodeMemory, lost: Collection[str] = ()) -> None:
        super().__init__(lost)
        self._sockets = shape.sockets_per_chassis.value
        self._asics = shape.asics_per_chassis.value
        self._cables = shape.links_between_asics.value
        chassis = range(shape.chassis.value)
        self.nodes = [f"n{number}" for number in range(len(chassis) * self._sockets)]
        for which in chassis:
            self.switches += [f"p{which}.{socket}" for socket in range(self._sockets)]
            self.switches += [f"a{which}.{asic}" for asic in range(self._asics)]
        for number, node in enumerate(self.nodes):
            ends = node, f"p{number // self._sockets}.{number % self._sockets}"
            self._add(*ends, Cable(ends, memory.bandwidth_gb_s.value, 0, False))
        rate, latency = shape.socket_link_gb_s.value, shape.socket_link_latency_us.value
        to_asic = latency + link.switch_latency_us.value / 2
        for which in chassis:
            for first, second in self._ring(which):
                self._add(first, second, Cable((first, second), rate, latency, True))
            for socket in range(self._sockets):
                ends = f"p{which}.{socket}", self._asic(which, socket)
                self._add(*ends, Cable(ends, rate, to_asic, True))
        for one, other in combinations(chassis, 2):
            for mine, theirs in product(range(self._asics), repeat=2):
                ends = f"a{one}.{mine}", f"a{other}.{theirs}"
                for cable in range(self._cables):
                    self._add_link(*ends, link, self._cable(*ends, cable))

    def _ring(self, which: int) -> list[tuple[str, str]]:
        sockets = [f"p{which}.{socket}" for socket in range(self._sockets)]
        return list(pairwise(sockets)) + ([(sockets[-1], sockets[0])] if len(sockets) > 2 else [])

    def _asic(self, which: int, socket: int) -> str:
        return f"a{which}.{socket * self._asics // self._sockets}"

    def _cable(self, first: str, second: str, cable: int) -> str:
        return f"{first}-{second}" if self._cables == 1 else f"{first}-{second}.{cable}"

    def _preferred(self, source: int, target: int) -> list[Hop] | None:
        (chassis, socket), (other, last) = (divmod(number, self._sockets) for number in (source, target))
        hops = [Hop(f"n{source}-p{chassis}.{socket}", True)]
        if chassis == other:
            hops += self._around(chassis, socket, last)
        else:
            mine, theirs = self._asic(chassis, socket), self._asic(other, last)
            hops.append(Hop(f"p{chassis}.{socket}-{mine}", True))
            number = (socket + last) % self._cables
            forward = chassis < other
            ends = (mine, theirs) if forward else (theirs, mine)
            hops.append(Hop(self._cable(*ends, number), forward))
            hops.append(Hop(f"p{other}.{last}-{theirs}", False))
        hops.append(Hop(f"n{target}-p{other}.{last}", False))
        return hops if self._has(hops) else None

    def _around(self, chassis: int, socket: int, last: int) -> list[Hop]:
        """Return the shorter way around the ring; forward if both are equally long."""
        count = self._sockets
        forward = last > socket if count == 2 else (last - socket) % count <= (socket - last) % count
        hops = []
        while socket != last:
            after = (socket + (1 if forward else -1)) % count
            first, second = (socket, after) if forward else (after, socket)
            hops.append(Hop(f"p{chassis}.{first}-p{chassis}.{second}", forward))
            socket = after
        return hops


Variant = Literal["sound", "degraded", "shared"]
VARIANTS: tuple[Variant, ...] = ("sound", "degraded", "shared")


def variants(fabric: SimulatedFabric) -> list[Variant]:
    """Return the variants that the fabric has."""
    return [each for each in VARIANTS if each == "sound" or getattr(fabric.variants, each)]


def network_of(fabric: SimulatedFabric, variant: Variant = "sound") -> Network:
    """Return the network of a variant.

    :raises InputError: the fabric has no such variant.
    """
    if variant not in variants(fabric):
        raise InputError(f"fabric {fabric.name} has no variant {variant!r}, only {', '.join(variants(fabric))}")
    degraded = fabric.variants.degraded
    lost = [*degraded.switches, *degraded.links] if degraded and variant == "degraded" else []
    return network_without(fabric, lost)


def network_without(fabric: SimulatedFabric, lost: Collection[str]) -> Network:
    match fabric.topology:
        case FatTree() as tree:
            return FatTreeNetwork(tree, fabric.link, lost)
        case AllToAll() as chassis:
            return ChassisNetwork(chassis, fabric.link, fabric.node.memory, lost)
        case grid:
            return GridNetwork(grid, fabric.link, lost)
