"""Chassis of sockets, joined all to all by ASICs: ``p1.2`` is socket 2 of chassis 1, ``a1.0`` its ASIC 0.

A message goes around the ring of its chassis, or to its socket's ASIC, over one cable to the ASIC of the other socket,
and to that. An ASIC serves neighbouring sockets; of several cables between two ASICs the sockets' sum names one.
"""

from collections.abc import Collection
from itertools import combinations, pairwise, product

from kappa.core.fabrics.network import Cable, Hop, Network
from kappa.core.fabrics.schema import AllToAll, Link, Memory


class ChassisNetwork(Network):
    def __init__(self, shape: AllToAll, link: Link, memory: Memory, lost: Collection[str] = ()) -> None:
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
        """The shorter way around the ring, forward if both are as long."""
        count = self._sockets
        forward = last > socket if count == 2 else (last - socket) % count <= (socket - last) % count
        hops = []
        while socket != last:
            after = (socket + (1 if forward else -1)) % count
            first, second = (socket, after) if forward else (after, socket)
            hops.append(Hop(f"p{chassis}.{first}-p{chassis}.{second}", forward))
            socket = after
        return hops
