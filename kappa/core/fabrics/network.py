"""Vertices, cables and routes of a fabric. A vertex is a node (``n0``) or a switch; each shape has its own file."""

import abc
from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from kappa.core.fabrics.schema import Link
from kappa.core.ground.errors import InputError


class Cable(NamedTuple):
    """``ends``: from the first to the second it is used *up*, back *down*. Bandwidth is that of each direction."""

    ends: tuple[str, str]
    bandwidth_gb_s: float
    latency_us: float
    between_switches: bool


class Hop(NamedTuple):
    cable: str
    up: bool


class Network(abc.ABC):
    """``nodes`` and ``switches``, and the ``cables`` that are not ``lost``, by name."""

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

    def _add_link(self, first: str, second: str, link: Link, name: str = "") -> None:
        """A cable of the fabric; half of a switch's latency is on each of its sides."""
        switches = (first[0] != "n") + (second[0] != "n")
        latency = link.cable_latency_us.value + link.switch_latency_us.value * switches / 2
        rate = link.bandwidth_gb_s.value * link.payload_share.value
        self._add(first, second, Cable((first, second), rate, latency, switches == 2), name)

    @abc.abstractmethod
    def _preferred(self, source: int, target: int) -> list[Hop] | None:
        """The fabric's own route between two nodes; ``None``: it is lost."""

    def route(self, source: str, target: str) -> list[Hop]:
        """:raises InputError: what is lost has cut one from the other."""
        found = None
        if source[0] == target[0] == "n":
            found = self._preferred(int(source[1:]), int(target[1:]))
        if found is None:
            found = self._shortest(source, target)
        if found is None:
            raise InputError(f"no route from {source} to {target} is left without {', '.join(sorted(self._lost))}")
        return found

    def switch_of(self, node: str) -> str:
        return self._beside[node][0][0]

    def way(self, source: str, target: str) -> list[str]:
        """The vertices of a shortest way, both ends among them; those from one source form a tree. Empty: none."""
        known = self._reached(source)
        found = [target] if target in known else []
        while found and (step := known[found[-1]]) is not None:
            found.append(step[0])
        return found[::-1]

    def cut_off(self) -> str | None:
        """The first node that no route leads to."""
        known = self._reached(self.nodes[0]) if self.nodes[0] in self._beside else {}
        return next((node for node in self.nodes if node not in known), None)

    def latency_us(self, route: list[Hop]) -> float:
        return sum(self.cables[hop.cable].latency_us for hop in route)

    def _has(self, hops: list[Hop]) -> bool:
        return all(hop.cable in self.cables for hop in hops)

    def _reached(self, source: str) -> dict[str, tuple[str, Hop] | None]:
        """How each vertex is reached by the fewest cables: from where, over which."""
        known: dict[str, tuple[str, Hop] | None] = {source: None}
        waiting = deque([source])
        while waiting:
            vertex = waiting.popleft()
            for other, hop in self._beside.get(vertex, ()):
                # A node passes nothing on.
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
