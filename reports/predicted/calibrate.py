"""Fit a fabric to a partition from its ping-pong and bursts, and state the error on measurements outside the fit.

In SMPI's model a message of m bytes takes

    ping-pong, half the round trip   T(m) = send(m) + L + m / B + receive(m)
    each message of a burst          G(m) = max(isend(m), receive(m), m / B)

where L is the network's latency, B its bandwidth, and send, isend and receive are the software overheads of a rank. A
burst gives the software overhead of each message for any latency. The ping-pong gives the rest, for the network. Either
of them alone misses the other (the ping-pong alone gives a message rate that is wrong by a third).
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.fabrics.schema import (
    Calibration,
    Count,
    Counts,
    FabricLink,
    FabricNode,
    FabricSoftware,
    FatTree,
    HeldOut,
    NodeMemory,
    Number,
    SimulatedFabric,
    SoftwareBySize,
)
from kappa.core.ground.errors import InputError
from kappa.core.record.model import Case
from reports.predicted.pairs import PredictedPair

#: The largest share of the smallest message's ping-pong for the software on both sides; the network has the rest.
MOST_SOFTWARE = 0.9
#: Placements of the measurements inside a node, and between two nodes.
NEAR, FAR = "same_node", "two_nodes"
PING_PONG, BURST = "OsuLatency", "OsuBandwidth"
#: Checks outside the fit, for its error: the suite's own allreduce, and the exchange of the EMT application.
HELD_OUT = ("PatternAllreduce", "NeighbourExchange")
_IN_CABLES = Number(value=0, origin="assumed", source="included in the fitted latency of the cables")


@dataclass(frozen=True)
class Fitted:
    """Hold the fitted numbers; the overheads map the message size in bytes to microseconds."""

    latency_us: float
    bandwidth_mb_s: float
    send_us: dict[int, float]
    isend_us: dict[int, float]
    receive_us: dict[int, float]


def fit(latency_us: Mapping[int, float], burst_mb_s: Mapping[int, float], window: int) -> Fitted:
    """Solve the two equations at each message size in both curves.

    :param latency_us: half the round trip by message size in bytes, as in OSU's latency test.
    :param burst_mb_s: bandwidth of windows of ``window`` messages by message size in bytes; one small message answers
        each window, as in OSU's bandwidth test.
    :raises ValueError: fewer than two sizes are in both curves, or a value is not positive.
    """
    sizes = sorted(latency_us.keys() & burst_mb_s.keys())
    if len(sizes) < 2 or window < 1:
        raise ValueError("expected a ping-pong and a burst with at least two message sizes, and a window of at least 1")
    if any(figures[size] <= 0 for figures in (latency_us, burst_mb_s) for size in sizes):
        raise ValueError("expected values above 0")
    smallest = sizes[0]
    answer_us = latency_us[smallest]
    # A byte per microsecond is a megabyte per second. An answer cannot take longer than its window.
    each_us = {size: size / burst_mb_s[size] for size in sizes}
    gap_us = {size: max(each - answer_us / window, each / 2) for size, each in each_us.items()}
    bandwidth_mb_s = max(size / gap for size, gap in gap_us.items())
    side_us = min(gap_us[smallest], MOST_SOFTWARE * answer_us / 2)
    network_us = answer_us - 2 * side_us - smallest / bandwidth_mb_s
    network_us = max(network_us, (1 - MOST_SOFTWARE) * answer_us)
    send_us, receive_us = {}, {}
    for size in sizes:
        software_us = max(latency_us[size] - network_us - size / bandwidth_mb_s, 0.0)
        # A receiver cannot be slower than the burst.
        receive_us[size] = min(software_us / 2, gap_us[size])
        send_us[size] = software_us - receive_us[size]
    return Fitted(network_us, bandwidth_mb_s, send_us, gap_us, receive_us)


@dataclass(frozen=True)
class Machine:
    """Describe a partition; ``window`` is the number of messages in a burst."""

    site: str
    partition: str
    nodes: int
    cores_per_node: int
    window: int
    mpi: str
    when: str


def calibrated(name: str, machine: Machine, cases: Iterable[Case]) -> SimulatedFabric:
    """Return the fabric ``name`` that models the partition.

    Messages between nodes and inside a node share the software overheads of messages between nodes. Inside a node,
    latency and bandwidth of the memory are fitted with them.

    :param cases: the cases of a run, with ping-pong and burst on the partition between two nodes and inside one.
    :raises InputError: a measurement is missing; the message names it.
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
    return SimulatedFabric(
        name=name,
        descr=f"{machine.site}:{machine.partition}, {machine.nodes} nodes of {machine.cores_per_node} cores",
        kind="calibrated",
        topology=_one_switch(machine.nodes),
        link=FabricLink(
            bandwidth_gb_s=fitted(far.bandwidth_mb_s / 1000),
            payload_share=Number(value=1, origin="measured", source="the measured bandwidth counts payloads only"),
            cable_latency_us=fitted(far.latency_us / 2),
            switch_latency_us=_IN_CABLES,
        ),
        node=FabricNode(
            ranks=Count(value=machine.cores_per_node, origin="specification", source="the site's site.yaml"),
            memory=NodeMemory(
                bandwidth_gb_s=fitted(max(near_burst.values()) / 1000),
                latency_us=fitted(max(memory_us, 0.05 * near_latency[min(near_latency)])),
            ),
        ),
        software=FabricSoftware(
            mpi=machine.mpi or "unknown",
            collectives="ompi" if "Open MPI" in machine.mpi or "OpenRTE" in machine.mpi else "mpich",
            send_us=fitted(far.send_us[smallest]),
            receive_us=fitted(far.receive_us[smallest]),
            node_latency_us=_IN_CABLES,
            eager_limit_bytes=Count(value=65536, origin="assumed", source="SimGrid's default"),
            by_size=SoftwareBySize(
                source=source,
                bytes=sizes,
                send_us=_rounded(far.send_us, sizes),
                isend_us=_rounded(far.isend_us, sizes),
                receive_us=_rounded(far.receive_us, sizes),
            ),
        ),
    )


def held_out(found: Sequence[PredictedPair]) -> Calibration:
    """Return the error on measurements outside the fit: for each check the median and the largest factor.

    :raises InputError: the run has no such measurement.
    """
    factors: dict[str, list[float]] = {}
    for pair in found:
        if pair.case.check_class in HELD_OUT:
            factors.setdefault(pair.case.check_class, []).append(max(pair.worse_by, 1 / pair.worse_by))
    if not factors:
        raise InputError(f"expected {' or '.join(HELD_OUT)} in the run, for the error of the fit: measure one first")
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
        return Counts(value=[value], origin="assumed", source="one switch: the latency includes all hops")

    count = Count(value=nodes, origin="specification", source="the site's site.yaml")
    return FatTree(nodes=count, down=counts(nodes), up=counts(1))


def _rounded(values: Mapping[int, float], sizes: Sequence[int]) -> list[float]:
    return [float(f"{values[size]:.4g}") for size in sizes]
