"""Write simulated tables of papers in Markdown: NSIM-ACE, the EMT paper's fabrics, and reductions in the network."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import NOTHING, figure
from kappa.core.record.model import Case

#: Times of NSIM-ACE's own simulator at 512 processes (4.1.1, 4.2.3), in s.
WALL_S = {("RandomRing", "put"): 40.0, ("PutBarrier", "ring"): 148.0, ("PutBarrier", "recursive-doubling"): 0.33}
CasesByFabric = Mapping[str, Sequence[Case]]


@dataclass(frozen=True)
class PaperKappa:
    """Hold kappa' of the EMT paper on a fabric; ``how`` states whether a number of the fabric was fitted to it."""

    fabric: str
    ranks: int
    paper_us: float
    how: str


KAPPAS = (
    PaperKappa("hdr-8", 48, 11, "fitted: the overhead of a message"),
    PaperKappa("hdr-3", 96, 11, "predicted with the overhead of hdr-8"),
    PaperKappa("numalink-7", 150, 22, "fitted: the overhead of a message"),
    PaperKappa("flex-grid", 128, 19, "predicted with the overhead of numalink-7"),
    PaperKappa("qdr-8", 17, 90, "fitted: a latency between nodes"),
    PaperKappa("qdr-8", 128, 105, "predicted with that latency"),
)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def points(cases: Iterable[Case], check: str, curve: str, **parameters: str) -> dict[int, float]:
    """Return a curve of the case of ``check`` with these parameters: ranks -> value; empty without such a case."""
    for case in cases:
        if case.check_class == check and parameters.items() <= case.parameters.items() and curve in case.curves:
            return {round(x): y for x, y in case.curves[curve].points}
    return {}


def over_ranks(columns: Mapping[str, Mapping[int, float]], unit: str) -> str:
    """Return a table with a row for each number of ranks and a column for each curve."""
    ranks = sorted({count for column in columns.values() for count in column})
    header = ["ranks", *(f"{name}, {unit}" for name in columns)]
    rows = [[str(count), *(_shown(column.get(count)) for column in columns.values())] for count in ranks]
    return table(header, rows)


def random_ring(found: CasesByFabric) -> str:
    """Return the bandwidth of a process in GB/s for each way to send."""
    columns = {
        f"{fabric}, {way}": {
            ranks: value / 1000 for ranks, value in points(found[fabric], "RandomRing", "bandwidth", way=way).items()
        }
        for fabric in ("nsim-ace-16", "nsim-ace-256")
        for way in ("isend", "put", "get")
    }
    return over_ranks(columns, "GB/s")


def barriers(found: CasesByFabric) -> str:
    """Return the latency of barriers in us for each fabric and algorithm."""
    columns = {
        f"{fabric}, {algorithm}": points(found[fabric], "PutBarrier", "latency", algorithm=algorithm)
        for fabric in ("nsim-ace-16", "nsim-ace-256")
        for algorithm in ("ring", "recursive-doubling")
    }
    return over_ranks(columns, "us")


def swept(found: CasesByFabric, latencies_us: Mapping[str, float], algorithm: str) -> str:
    """Return the latency of barriers for several node latencies; ``latencies_us``: fabric -> node latency in us."""
    columns = {
        f"{figure(us)} us": points(found[fabric], "PutBarrier", "latency", algorithm=algorithm)
        for fabric, us in latencies_us.items()
    }
    return over_ranks(columns, "us")


def particles(found: CasesByFabric) -> str:
    """Return the times of put of the particle exchange in ms."""
    names = [(barrier, within) for within in ("yes", "no") for barrier in ("before", "after")]
    columns = {
        f"barrier {barrier} packing{'' if within == 'yes' else ', between nodes only'}": {
            ranks: us / 1000
            for ranks, us in points(
                found["nsim-ace-256"], "ParticleExchange", "put_time", barrier=barrier, within_nodes=within
            ).items()
        }
        for barrier, within in names
    }
    return over_ranks(columns, "ms")


def wall_times(found: CasesByFabric) -> str:
    """Return the simulator's wall time for each pattern at its largest number of ranks."""
    rows = []
    for (check, parameter), paper_s in WALL_S.items():
        key = "way" if check == "RandomRing" else "algorithm"
        took = points(found["nsim-ace-256"], check, "wall time", **{key: parameter})
        ranks = max(took, default=0)
        rows.append([f"{check}, {parameter}", str(ranks), _shown(took.get(ranks)), figure(paper_s)])
    return table(["pattern", "ranks", "wall time here, s", "NSIM-ACE at 512, s"], rows)


def kappas(found: CasesByFabric) -> str:
    """Return kappa' of the paper and of the simulation for each fabric."""
    rows = []
    for one in KAPPAS:
        curve = points(found[one.fabric], "EmtSeries", "kappa, nodes filled", exchange="step")
        value = curve.get(one.ranks)
        off = "" if value is None else f"{round(100 * (value / one.paper_us - 1)):+d} %"
        rows.append([one.fabric, str(one.ranks), figure(one.paper_us), _shown(value), off, one.how])
    return table(["fabric", "ranks", "κ′ in the paper, us", "simulated, us", "off by", "how"], rows)


def in_network(found: CasesByFabric) -> str:
    """Return the latency of reductions by hosts and in the network, with their ratios."""
    sharp = points(found["edr-sharp"], "PatternAllreduce", "latency_8B", where="in-network")
    hosts = points(found["edr-sharp"], "PatternAllreduce", "latency_8B", where="host")
    roce = points(found["roce"], "PatternAllreduce", "latency_8B", where="host")
    rows = [
        [
            str(nodes), _shown(hosts.get(nodes)), _shown(us), _shown(roce.get(nodes)),
            _shown(hosts.get(nodes, math.nan) / us), _shown(roce.get(nodes, math.nan) / us),
        ]
        for nodes, us in sharp.items()
    ]  # fmt: skip
    return table(["nodes", "hosts, us", "in the network, us", "RoCE, us", "hosts / network", "RoCE / network"], rows)


def _shown(value: float | None) -> str:
    return NOTHING if value is None or math.isnan(value) else figure(value, 3)
