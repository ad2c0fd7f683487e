"""Slow-down of some nodes' messages while other nodes load the network: GPCNeT (docs/congestion.md).

``network_load_test`` has no options: four fifths of the nodes load the network in four ways, the others measure. It
prints an impact factor for the mean and for the 99th percentile of each measurement, and the figures behind it.
"""

import re
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from kappa.core.vocabulary.features import CONGESTION, NODES_OF_FEATURE
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers.text import INTEGER, Output, Unit

_FIGURE = r" +([0-9]{1,12}\.[0-9])"
_VERSION = re.compile(r"NetworkLoad Tests v(1\.[0-9])")
_LAYOUT = re.compile(rf"  Test with ({INTEGER}) MPI ranks \(({INTEGER}) nodes\)")
_OF_KIND = re.compile(
    rf"  ({INTEGER}) nodes running (?:Network Tests|Congestion Tests \(min {INTEGER} nodes per congestor\))"
)
_ROW = re.compile(rf"\| +(\S[^|]{{1,30}}) \|{_FIGURE} \|{_FIGURE} \| +(usec|MiB/s/rank) \|")
_IMPACT = re.compile(rf"\| +(\S[^|]{{1,30}}) \|{_FIGURE}X \|{_FIGURE}X \|")
_UNITS = {"usec": Unit.OPERATION_US, "MiB/s/rank": Unit.MIB_S}
#: GPCNeT's name of a measurement -> ours.
MEASUREMENTS = {
    "RR Two-sided Lat (8 B)": "latency", "RR Two-sided BW+Sync (131072 B)": "bandwidth",
    "Multiple Allreduce (8 B)": "allreduce",
}  # fmt: skip


@dataclass(frozen=True)
class LoadTest:
    """A run. ``alone``, ``beside``: measurement -> mean and 99th percentile, in us or MiB/s of a rank."""

    alone: dict[str, tuple[float, float]]
    beside: dict[str, tuple[float, float]]

    def impact(self, measurement: str, which: int) -> float:
        """Return how many times slower the mean (0) or the 99th percentile (1) is beside the load."""
        alone, beside = self.alone[measurement][which], self.beside[measurement][which]
        return alone / beside if measurement == "bandwidth" else beside / alone


def parse(text: str, *, ranks: int, nodes: int) -> LoadTest:
    """Parse the output of ``network_load_test``, version 1.1 to 1.3, on so many ranks and nodes.

    :raises ParseError: the version is unknown; a table or a row is missing or repeated; a figure is not above 0; the
        nodes do not add up; or an impact factor does not follow from the printed figures.
    """
    output = Output.read("network_load_test", text)
    output.one(_VERSION, "`NetworkLoad Tests v1.3`")
    at, layout = output.one(_LAYOUT, "`Test with N MPI ranks (M nodes)`")
    of_kind = output.find(_OF_KIND, range(at + 1, at + 3))
    if (int(layout[1]), int(layout[2])) != (ranks, nodes):
        raise output.error(at, f"{ranks} ranks on {nodes} nodes")
    if len(of_kind) != 2 or sum(int(one[1]) for _, one in of_kind) != nodes:
        raise output.error(at, "nodes that run network tests and nodes that run congestion tests, together all nodes")
    rows, factors = output.find(_ROW), output.find(_IMPACT)
    names = [*MEASUREMENTS]
    for found, expected in ((rows, [*names, *names]), (factors, names)):
        if [row[1] for _, row in found] != expected:
            raise output.missing(f"a table with the rows {', '.join(names)} alone, beside the load, and of impacts")
    figures = [
        tuple(output.positive(number, row[1], token, _UNITS[row[4]]) for token in (row[2], row[3]))
        for number, row in rows
    ]
    alone, beside = (dict(zip(MEASUREMENTS.values(), part, strict=True)) for part in (figures[:3], figures[3:]))
    found = LoadTest(alone, beside)
    for number, row in factors:
        follow = [f"{found.impact(MEASUREMENTS[row[1]], which):.1f}" for which in (0, 1)]
        if follow != [row[2], row[3]]:
            raise output.error(number, f"the impacts {follow[0]}X and {follow[1]}X, which follow from the figures")
    return found


@rfm.simple_test
class Congestion(Scaled, KappaCheck):
    descr = (
        "Measures latency, bandwidth and sums on some nodes while others load the network; finds poor congestion "
        "control and routing"
    )
    family = "network/congestion"
    needs_partition = [CONGESTION]
    needs_environ = ["gpcnet"]
    scale = rfmb.parameter(["whole_partition"], loggable=True)
    # It takes the whole partition for minutes, and a fabric's routing changes rarely.
    modes = ("acceptance",)
    estimated_s = 300
    time_limit = "30m"
    executable = "network_load_test"
    informational = ["latency", "bandwidth", "allreduce"]
    hint = "check uplinks, routing and congestion control; compare with RandomRing, which loads all nodes alike"
    failure_means = (
        "Messages of some nodes lose more speed beside the load of other nodes than the bound allows. If the figures "
        "without the load are slow, too, look at RandomRing first; otherwise routing or congestion control does not "
        "keep jobs apart."
    )

    @rfmb.run_after("setup")
    def require_enough_nodes(self):
        if self.num_nodes_used < NODES_OF_FEATURE[CONGESTION]:
            raise ReframeError(
                f"{self.current_partition.fullname}: GPCNeT needs {NODES_OF_FEATURE[CONGESTION]} nodes or more, found "
                f"{self.num_nodes_used}"
            )

    @rfmb.sanity_function
    def read_impacts(self):
        self.test = self.parsed(parse, self.output_text(), ranks=self.num_tasks, nodes=self.num_nodes_used)
        return True

    metrics = {
        # Without the load.
        "latency": ("us", lambda self: self.test.alone["latency"][0]),
        "bandwidth": ("MiB/s", lambda self: self.test.alone["bandwidth"][0]),
        "allreduce": ("us", lambda self: self.test.alone["allreduce"][0]),
        **{
            f"{name}_impact{suffix}": ("", lambda self, name=name, which=which: self.test.impact(name, which))
            for name in MEASUREMENTS.values()
            for which, suffix in enumerate(("", "_p99"))
        },
    }  # fmt: skip
