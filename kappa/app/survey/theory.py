"""Make a new site's first references, from theory. They have one bound: what sound hardware reaches at least.

Each is a share of a value from a data sheet. If the value is unknown, or nodes are virtual, there is no reference, and
the verdict is INCOMPLETE until the site has measured its own.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kappa.app.survey.fabric import INFINIBAND
from kappa.app.survey.features import partition_features
from kappa.app.survey.found import FoundPart, Survey
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


# Parameter and its value, as the last key of a reference.
_EACH_NODE, _ONE_NODE, _TWO_NODES = ("scale", "each_node"), ("scale", "one_node"), ("placement", "two_nodes")
# Check, metric, value, bounds, method.
_OF_ALL_NODES: tuple[tuple[Any, ...], ...] = (
    ("PartitionHealth", "clock_offset_max", 0, None, 5000, _EVERYWHERE),
    ("PartitionHealth", "memory_spread", 0, None, 0.01, _EVERYWHERE),
    ("PartitionHealth", "free_space_min", 0.02, 0, None, _EVERYWHERE),
    ("JobTurnaround", "start_max", 0, None, 30, _PROLOGS),
    ("JobTurnaround", "start_excess", 0, None, 5, _PROLOGS),
    ("JobTurnaround", "completing_max", 0, None, 30, _PROLOGS),
    ("JobTurnaround", "completing_excess", 0, None, 5, _PROLOGS),
)


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
    found = [Reference("PartitionState", ("$system",), (name,), "fraction_usable", 1, 0, 0, _EVERYWHERE)]
    found += [Reference(check, ("scale",), ("each_node",), *values) for check, *values in _OF_ALL_NODES]
    for scale in catalogue()["EmtCorrectness"].values_of("scale"):
        found.append(Reference("EmtCorrectness", ("scale",), (scale,), "distinct_checksums", 1, 0, 0, _SAME))
    for title, part in survey.parts.items():
        features = partition_features(survey, part) if part.told else []
        for check, (parameter, value), *values in _of_hardware(part, survey):
            if (SCALES if parameter == "scale" else PLACEMENTS)[value].feature in features:
                found.append(Reference(check, ("$partition", parameter), (f"{name}:{title}", value), *values))
    return found


def _of_hardware(part: FoundPart, survey: Survey) -> Iterator[Any]:
    """Yield a reference for the nodes' hardware as check, last key, metric, value, bounds, method."""
    node = part.node
    if gpus := part.whole_gpus:
        yield "GpuInventory", _EACH_NODE, "gpus_per_node_min", gpus, 0, None, _GPUS
    if survey.login.shares_machine:
        return
    if part.count > 2:
        for metric in ("triad", "multiply_add", "core_triad", "core_multiply_add", "steady"):
            yield "NodeSweep", _EACH_NODE, f"{metric}_uniformity", 1, -0.25, None, _EQUAL
        yield "NodeLinks", _EACH_NODE, "uniformity", 1, -0.25, None, _EQUAL
    if node.peak_gflops_per_core and not node.hypervisor:
        peak = round(node.peak_gflops_per_core * part.cores, 1)
        yield "Hpl", _ONE_NODE, "gflops", peak, -0.5, None, _PEAK
        yield "Hpl", _ONE_NODE, "fraction_of_peak", 1, -0.5, None, _PEAK
    if node.memory_gb_per_s and not node.hypervisor:
        of_node = node.memory_gb_per_s * _MB_PER_GB
        yield "Stream", _ONE_NODE, "triad", round(of_node, 1), -0.5, None, _MEMORY
        yield "NodeSweep", _EACH_NODE, "slowest_node_triad", round(of_node, 1), -0.5, None, _MEMORY
        if node.numa_domains > 1:
            of_domain = round(of_node / node.numa_domains, 1)
            yield "StreamNuma", _ONE_NODE, "local_triad", of_domain, -0.5, None, _MEMORY
            yield "NumaMatrix", _EACH_NODE, "local_triad", of_domain, -0.5, None, _MEMORY
    if node.link_gbit_per_s and part.count > 1:
        rate = node.link_gbit_per_s * _MB_PER_GBIT
        yield "OsuBandwidth", _TWO_NODES, "bandwidth_1MiB", rate, -0.5, None, _LINK
        yield "OsuBidirectionalBandwidth", _TWO_NODES, "bandwidth_1MiB", 2 * rate, -0.5, None, _LINK
        yield "NodeLinks", _EACH_NODE, "slowest_node_bandwidth", 2 * rate, -0.5, None, _LINK
    if node.link == INFINIBAND:
        yield "PairSweep", _EACH_NODE, "worst_loss", 0, None, 0.01, _LOSS
