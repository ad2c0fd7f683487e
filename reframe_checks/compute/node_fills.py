"""What a core has when half of its node's cores rest, or three quarters: memory bandwidth, clock, memory.

Own program (``node_sweep --fills``) on each node: STREAM's triad and multiply-adds on all cores, on half, a quarter and
one of them. The cores are spread evenly over NUMA domains and caches; packed into the first domains, as a binding that
fills one after the other has them, they share these domains' memory alone. A gain is the speed of a core over that with
all cores: between 1, where a core is its own limit, and the share of cores that rest, where memory is.
"""

import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.all_cores import AllCores
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.node_sweep import NodeSweepBuild
from reframe_checks.localise.finding import ranked
from reframe_checks.localise.nodes import suspects_of_nodes
from reframe_checks.parsers import node_fills

RESULT = "node_fills.json"
CORES, TRIAD = ("Active cores of a node", ""), ("Triad of a core", "MB/s")
GFLOPS, MEMORY = ("Multiply-adds of a core", "Gflop/s"), ("Memory for each active core", "MiB")


@rfm.simple_test
class NodeFills(AllCores, Scaled, KappaCheck):
    descr = "Memory bandwidth and speed of a core when others of its node rest"
    family = "compute/node-fills"
    measured_s = 10
    modes = ("acceptance",)
    needs_partition = ["cores"]
    needs_environ = ["sweep-build"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    informational = ["quarter_triad_gain", "half_multiply_add_gain", "half_packed_share", "half_memory"]
    hint = "compare with NodeSweep: a gain of 1 says that memory was no limit, or that the active cores share a domain"
    build = rfmb.fixture(NodeSweepBuild, scope="environment")

    mib_per_core = rfmb.variable(int, value=192)
    #: Duration of each kernel, of which the best of five windows counts.
    seconds = rfmb.variable(float, value=0.5)
    at_once = rfmb.variable(int, value=0)
    least_slowdown = rfmb.variable(float, value=1.1)
    tunable = {
        "mib_per_core": Tunable("whole number", "MiB", "the triad's three arrays on each core"),
        "seconds": Tunable("number", "s", "of each kernel on each number of cores"),
        "at_once": Tunable("whole number", "nodes", "measured at the same time; 0 is all"),
        "least_slowdown": Tunable("number", "", "times slower than the median node, to be named"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.programs = [self.build.command]
        self.executable = shlex.quote(self.build.command)
        self.executable_opts = [
            "--fills", f"--output={RESULT}", f"--mib-per-core={self.mib_per_core}", f"--seconds={self.seconds}",
            f"--at-once={self.at_once}",
        ]  # fmt: skip
        if self.cores_per_node < 4:
            del self.perf_variables["quarter_triad_gain"]

    @rfmb.sanity_function
    def read_fills(self):
        self.nodes = self.parsed(node_fills.parse, self.output_text(RESULT))
        every, self.half = self.cores_per_node, max(self.cores_per_node // 2, 1)
        few = [node for node, fills in self.nodes.items() if len(fills.cores) != every]
        if few:
            raise SanityError(f"not {every} cores on {', '.join(few)}: see the binding of tasks")
        wrong = {node: fills.wrong for node, fills in self.nodes.items() if fills.wrong}
        if wrong:
            self.suspects = sorted(wrong)
            said = [f"cores {', '.join(map(str, cores))} of {node}" for node, cores in wrong.items()]
            raise SanityError(f"wrong result of {'; '.join(said)}")
        self.record_fills()
        triads = {node: triad_of(fills.spread[self.half]) for node, fills in self.nodes.items()}
        gains = {node: triads[node] / triad_of(fills.spread[every]) for node, fills in self.nodes.items()}
        self.record_per_node("half_triad", "MB/s", triads)
        self.record_per_node("half_triad_gain", "", gains)
        self.record_findings(
            ranked(
                suspects_of_nodes("triad of a core, half of them at rest", triads, least_slowdown=self.least_slowdown)
            )
        )
        return self.require_all_nodes(self.nodes)

    def record_fills(self):
        """Curves over the active cores, of the median node."""
        first = next(iter(self.nodes.values()))
        for placed in ("spread", "packed"):
            counts = getattr(first, placed)
            for name, axis, speed in (("triad", TRIAD, triad_of), ("multiply_add", GFLOPS, gflops_of)):
                points = {active: self.median(placed, active, speed) for active in counts}
                self.record_curve(f"{name}, {placed}", CORES, axis, points, {})
        memory = {active: self.memory(active) for active in first.spread}
        self.record_curve("memory of a core", CORES, MEMORY, memory, {})

    def median(self, placed, active, speed):
        return statistics.median(speed(getattr(fills, placed)[active]) for fills in self.nodes.values())

    def memory(self, active):
        return min(fills.available_mib for fills in self.nodes.values()) / active

    def gain(self, active, speed):
        return self.median("spread", active, speed) / self.median("spread", self.cores_per_node, speed)

    @rfmb.performance_function("MB/s")
    def half_triad(self):
        """Of a core of the slowest node."""
        return min(triad_of(fills.spread[self.half]) for fills in self.nodes.values())

    @rfmb.performance_function("")
    def half_triad_gain(self):
        return self.gain(self.half, triad_of)

    @rfmb.performance_function("")
    def quarter_triad_gain(self):
        return self.gain(self.cores_per_node // 4, triad_of)

    @rfmb.performance_function("")
    def half_multiply_add_gain(self):
        """Above 1 where cores clock higher when others rest."""
        return self.gain(self.half, gflops_of)

    @rfmb.performance_function("")
    def half_packed_share(self):
        """Bandwidth of half of the cores packed into the first domains, over that of as many spread."""
        packed = "packed" if self.cores_per_node > 1 else "spread"
        return self.median(packed, self.half, triad_of) / self.median("spread", self.half, triad_of)

    @rfmb.performance_function("MiB")
    def half_memory(self):
        """For each rank where half of the cores have one, of the node with the least."""
        return self.memory(self.half)


def triad_of(speeds):
    return statistics.mean(speeds.triad_mbps)


def gflops_of(speeds):
    return statistics.mean(speeds.gflops)
