"""Make a new site's first references, from theory. They have one bound: what sound hardware reaches at least.

Each is a share of a value from a data sheet. If the value is unknown, or nodes are virtual, there is no reference, and
the verdict is INCOMPLETE until the site has measured its own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kappa.app.survey.fabric import INFINIBAND
from kappa.app.survey.features import partition_features
from kappa.app.survey.found import FoundPart, NodeKind, Survey
from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.scales import PLACEMENTS, SCALES

_MB_PER_GBIT = 125.0
_MB_PER_GB = 1000.0
_EVERYWHERE = (
    "all nodes are in service and equal, NTP keeps clocks within milliseconds, and a full file system stops jobs"
)
_PROLOGS = "prologs and epilogs take less than half a minute, and equally long on equal nodes"
_SAME = "the solution does not depend on the number of ranks"
_PEAK = (
    "double-precision operations per cycle x their clock x cores, by the maker; half of it, because wide vectors may "
    "lower the clock"
)
_MEMORY = (
    "sockets x channels x transfers per second x 8 bytes, with all channels at the maker's highest speed; half of it, "
    "because STREAM does not count the read before a store; below it, look for missing or slow memory modules"
)
_LINK = "half of the link's stated rate, in each direction"
_LOSS = (
    "InfiniBand's credits prevent buffer overflows, so a lost packet was damaged; one packet in 10 000 is margin for a "
    "retraining link"
)
_GPUS = "as many GPUs as nvidia-smi listed on the probed node"
_EQUAL = "equal nodes are equally fast; a quarter is margin until the site has measured them"


class Reference(NamedTuple):
    """A reference. ``keys``: a value for each of ``by``, as nested in the file. Bounds are shares of the value."""

    check: str
    by: tuple[str, ...]
    keys: tuple[str, ...]
    metric: str
    value: float
    lower: float | None
    upper: float | None
    method: str

    @property
    def folder(self) -> str:
        return catalogue()[self.check].family.partition("/")[0]

    @property
    def unit(self) -> str:
        return catalogue()[self.check].metrics[self.metric]


def references(name: str, survey: Survey) -> list[Reference]:
    """Return the first references of the site ``name``."""
    each: tuple[tuple[str, ...], tuple[str, ...]] = ("scale",), ("each_node",)
    found = [
        Reference("PartitionState", ("$system",), (name,), "fraction_usable", 1, 0, 0, _EVERYWHERE),
        Reference("PartitionHealth", *each, "clock_offset_max", 0, None, 5000, _EVERYWHERE),
        Reference("PartitionHealth", *each, "memory_spread", 0, None, 0.01, _EVERYWHERE),
        Reference("PartitionHealth", *each, "free_space_min", 0.02, 0, None, _EVERYWHERE),
        Reference("JobTurnaround", *each, "start_max", 0, None, 30, _PROLOGS),
        Reference("JobTurnaround", *each, "start_excess", 0, None, 5, _PROLOGS),
        Reference("JobTurnaround", *each, "completing_max", 0, None, 30, _PROLOGS),
        Reference("JobTurnaround", *each, "completing_excess", 0, None, 5, _PROLOGS),
    ]
    for scale in catalogue()["EmtCorrectness"].values_of("scale"):
        found.append(Reference("EmtCorrectness", ("scale",), (scale,), "distinct_checksums", 1, 0, 0, _SAME))
    for title, part in survey.parts.items():
        found += _of_part(f"{name}:{title}", part, survey)
    return found


def _of_part(place: str, part: FoundPart, survey: Survey) -> Iterator[Reference]:
    told, features = part.told, partition_features(survey, part)
    if told is None or not features:
        return
    needs = {("scale", scale): SCALES[scale].feature for scale in SCALES} | {
        ("placement", place): PLACEMENTS[place].feature for place in PLACEMENTS
    }
    for reference in _of_hardware(place, part, told, survey):
        if needs[reference.by[-1].removeprefix("$"), reference.keys[-1]] in features:
            yield reference


def _of_hardware(place: str, part: FoundPart, told: NodeKind, survey: Survey) -> Iterator[Reference]:
    """Yield the references for the nodes' hardware, for all scales."""
    on_nodes = ("$partition", "scale"), (place, "each_node")
    if gpus := part.whole_gpus:
        yield Reference("GpuInventory", *on_nodes, "gpus_per_node_min", gpus, 0, None, _GPUS)
    if survey.login.shares_machine:
        return
    if part.count > 2:
        for metric in ("triad", "multiply_add", "core_triad", "core_multiply_add", "steady"):
            yield Reference("NodeSweep", *on_nodes, f"{metric}_uniformity", 1, -0.25, None, _EQUAL)
        yield Reference("NodeLinks", *on_nodes, "uniformity", 1, -0.25, None, _EQUAL)
    if told.peak_gflops_per_core and not told.hypervisor:
        peak = round(told.peak_gflops_per_core * part.cores, 1)
        one_node = ("$partition", "scale"), (place, "one_node")
        yield Reference("Hpl", *one_node, "gflops", peak, -0.5, None, _PEAK)
        yield Reference("Hpl", *one_node, "fraction_of_peak", 1, -0.5, None, _PEAK)
    if told.memory_gb_per_s and not told.hypervisor:
        yield from _of_memory(place, told.memory_gb_per_s * _MB_PER_GB, told.numa_domains)
    if told.link_gbit_per_s and part.count > 1:
        rate = told.link_gbit_per_s * _MB_PER_GBIT
        two_nodes = ("$partition", "placement"), (place, "two_nodes")
        yield Reference("OsuBandwidth", *two_nodes, "bandwidth_1MiB", rate, -0.5, None, _LINK)
        yield Reference("OsuBidirectionalBandwidth", *two_nodes, "bandwidth_1MiB", 2 * rate, -0.5, None, _LINK)
        yield Reference("NodeLinks", *on_nodes, "slowest_node_bandwidth", 2 * rate, -0.5, None, _LINK)
    if told.link == INFINIBAND:
        yield Reference("PairSweep", *on_nodes, "worst_loss", 0, None, 0.01, _LOSS)


def _of_memory(place: str, node: float, domains: int) -> Iterator[Reference]:
    """Yield the references for memory. ``node``: its bandwidth in MB/s; each NUMA domain has an equal part."""
    of_node = {("Stream", "one_node"): "triad", ("NodeSweep", "each_node"): "slowest_node_triad"}
    of_domain = {("StreamNuma", "one_node"): "local_triad", ("NumaMatrix", "each_node"): "local_triad"}
    for metrics, parts in [(of_node, 1), *([(of_domain, domains)] if domains > 1 else [])]:
        for (check, scale), metric in metrics.items():
            rate = round(node / parts, 1)
            yield Reference(check, ("$partition", "scale"), (place, scale), metric, rate, -0.5, None, _MEMORY)
