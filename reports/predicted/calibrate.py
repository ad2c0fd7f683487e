"""A partition as a fabric: what its ping-pong and its bursts make of it, and how far that is from what was held out."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.fabrics.schema import (
    Calibration,
    Count,
    Counts,
    Fabric,
    FatTree,
    HeldOut,
    Link,
    Memory,
    Node,
    Number,
    Software,
    SoftwareBySize,
)
from kappa.core.ground.errors import InputError
from kappa.core.record.model import Case
from reports.predicted.fit import Fitted, fit
from reports.predicted.pairs import Pair

#: What a message is compared with when it stays in its node, and when it leaves it.
NEAR, FAR = "same_node", "two_nodes"
PING_PONG, BURST = "OsuLatency", "OsuBandwidth"
#: What is held out of the fit: the suite's own allreduce, and the exchange of the EMT application.
HELD_OUT = ("PatternAllreduce", "NeighbourExchange")
_IN_CABLES = Number(value=0, origin="assumed", source="it is in the cables' latency, which is fitted")


@dataclass(frozen=True)
class Machine:
    """What a site says of the partition: ``window`` is the number of messages of a burst."""

    site: str
    partition: str
    nodes: int
    cores_per_node: int
    window: int
    mpi: str
    when: str


def calibrated(name: str, machine: Machine, cases: Iterable[Case]) -> Fabric:
    """The fabric ``name`` that stands for the partition.

    Messages between nodes and inside a node have one software: that of messages between nodes, whose overhead decides;
    inside a node the memory's latency and bandwidth are fitted with it.

    :param cases: a run's, with the ping-pong and the burst on the partition between two nodes and inside one.
    :raises InputError: one of them is missing; says which.
    """
    cases = list(cases)
    far = _fitted(cases, machine, FAR)
    near_latency, near_burst = (_curve(cases, machine, check, NEAR) for check in (PING_PONG, BURST))
    source = f"{PING_PONG} and {BURST} of {machine.site}:{machine.partition}, {machine.when}"

    def fitted(value: float) -> Number:
        return Number(value=float(f"{value:.4g}"), origin="fitted", source=source)

    smallest = min(far.send_us)
    memory_us = near_latency[min(near_latency)] - far.send_us[smallest] - far.receive_us[smallest]
    sizes = sorted(far.send_us)
    return Fabric(
        name=name,
        descr=f"{machine.site}:{machine.partition}, {machine.nodes} nodes of {machine.cores_per_node} cores",
        kind="calibrated",
        topology=_one_switch(machine.nodes),
        link=Link(
            bandwidth_gb_s=fitted(far.bandwidth_mb_s / 1000),
            payload_share=Number(value=1, origin="measured", source="the bandwidth is that of payloads"),
            cable_latency_us=fitted(far.latency_us / 2),
            switch_latency_us=_IN_CABLES,
        ),
        node=Node(
            ranks=Count(value=machine.cores_per_node, origin="specification", source="the site's site.yaml"),
            memory=Memory(
                bandwidth_gb_s=fitted(max(near_burst.values()) / 1000),
                latency_us=fitted(max(memory_us, 0.05 * near_latency[min(near_latency)])),
            ),
        ),
        software=Software(
            mpi=machine.mpi or "unknown",
            collectives="ompi" if "Open MPI" in machine.mpi or "OpenRTE" in machine.mpi else "mpich",
            send_us=fitted(far.send_us[smallest]),
            receive_us=fitted(far.receive_us[smallest]),
            node_latency_us=_IN_CABLES,
            eager_limit_bytes=Count(value=65536, origin="assumed", source="where SimGrid's own default is"),
            by_size=SoftwareBySize(
                source=source,
                bytes=sizes,
                send_us=_rounded(far.send_us, sizes),
                isend_us=_rounded(far.isend_us, sizes),
                receive_us=_rounded(far.receive_us, sizes),
            ),
        ),
    )


def held_out(found: Sequence[Pair]) -> Calibration:
    """The error on what the fit did not see: of each check its median factor, and the largest of these.

    :raises InputError: the run measured none of it.
    """
    factors: dict[str, list[float]] = {}
    for pair in found:
        if pair.case.check_class in HELD_OUT:
            factors.setdefault(pair.case.check_class, []).append(max(pair.worse_by, 1 / pair.worse_by))
    if not factors:
        raise InputError(f"expected {' or '.join(HELD_OUT)} in the run, which the error of the fit is stated on")
    entries = [
        HeldOut(
            check=check, figures=len(of_check), median_factor=round(statistics.median(of_check), 3),
            largest_factor=round(max(of_check), 3),
        )
        for check, of_check in sorted(factors.items())
    ]  # fmt: skip
    return Calibration(held_out=entries)


def _fitted(cases: Sequence[Case], machine: Machine, placement: str) -> Fitted:
    ping_pong, burst = (_curve(cases, machine, check, placement) for check in (PING_PONG, BURST))
    try:
        return fit(ping_pong, burst, machine.window)
    except ValueError as err:
        raise InputError(f"{machine.site}:{machine.partition}, {placement}: {err}") from None


def _curve(cases: Sequence[Case], machine: Machine, check: str, placement: str) -> Mapping[int, float]:
    wanted = check, machine.partition, placement
    for case in cases:
        if (case.check_class, case.partition, case.parameters.get("placement")) == wanted:
            for curve in case.curves.values():
                return {round(x): y for x, y in curve.points}
    raise InputError(f"expected {check} with placement {placement} on {machine.partition} in the run: measure it first")


def _one_switch(nodes: int) -> FatTree:
    def counts(value: int) -> Counts:
        return Counts(value=[value], origin="assumed", source="one switch: what lies between nodes is in the latency")

    count = Count(value=nodes, origin="specification", source="the site's site.yaml")
    return FatTree(nodes=count, down=counts(nodes), up=counts(1))


def _rounded(values: Mapping[int, float], sizes: Sequence[int]) -> list[float]:
    return [float(f"{values[size]:.4g}") for size in sizes]
