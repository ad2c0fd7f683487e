"""Memory bandwidth and floating-point speed of every node in one job, each core alone and all cores of a node.

Which node is slow comes from the comparison of equal nodes (``localise/nodes.py``), so it needs no reference. Own
program (``src/node_sweep``); each figure is the best of five windows of time.
"""

import pathlib
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.all_cores import AllCores
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.localise.finding import ranked
from reframe_checks.localise.nodes import suspects_of_nodes
from reframe_checks.parsers import node_sweep

RESULT = "node_sweep.json"
TRIAD, GFLOPS = "triad", "multiply_add"


class NodeSweepBuild(CMakeProgram):
    source = str(pathlib.Path(__file__).parent / "src/node_sweep")
    program = "node_sweep"


@rfm.simple_test
class NodeSweep(AllCores, Scaled, KappaCheck):
    descr = "Memory bandwidth and floating-point speed of every node and core"
    family = "compute/node-sweep"
    relative = [
        "triad_uniformity", "multiply_add_uniformity", "core_triad_uniformity", "core_multiply_add_uniformity",
    ]  # fmt: skip
    measured_s = 8
    needs_partition = ["cores"]
    needs_environ = ["sweep-build"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    tags = {"smoke"}
    hint = "look at CPU frequency, cooling, missing memory modules, BIOS settings and other processes of what is named"
    build = rfmb.fixture(NodeSweepBuild, scope="environment")

    #: Size of the triad's three arrays; four times the last-level cache of a core or more.
    mib_per_core = rfmb.variable(int, value=192)
    #: Duration of each kernel with all cores; a tenth of it on each core alone.
    seconds = rfmb.variable(float, value=0.5)
    #: Nodes measured at the same time; 0 is all.
    at_once = rfmb.variable(int, value=0)
    #: How many times slower than the median node a node has to be to be named.
    least_slowdown = rfmb.variable(float, value=1.1)
    tunable = {
        "mib_per_core": Tunable("whole number", "MiB", "the triad's three arrays on each core"),
        "seconds": Tunable("number", "s", "of each kernel with all cores"),
        "at_once": Tunable("whole number", "nodes", "measured at the same time; 0 is all"),
        "least_slowdown": Tunable("number", "", "times slower than the median node, to be named"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.programs = [self.build.command]
        self.executable = shlex.quote(self.build.command)
        self.executable_opts = [
            f"--output={RESULT}", f"--mib-per-core={self.mib_per_core}", f"--seconds={self.seconds}",
            f"--at-once={self.at_once}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_speeds(self):
        nodes = self.parsed(node_sweep.parse, self.output_text(RESULT)).nodes
        self.of_node = {
            TRIAD: {node: sum(speeds.together.triad_mbps) for node, speeds in nodes.items()},
            GFLOPS: {node: sum(speeds.together.gflops) for node, speeds in nodes.items()},
        }
        self.of_slowest_core = {
            TRIAD: {node: min(speeds.alone.triad_mbps) for node, speeds in nodes.items()},
            GFLOPS: {node: min(speeds.alone.gflops) for node, speeds in nodes.items()},
        }
        for kernel, unit in ((TRIAD, "MB/s"), (GFLOPS, "Gflop/s")):
            self.record_per_node(kernel, unit, self.of_node[kernel])
            self.record_per_node(f"{kernel}_slowest_core", unit, self.of_slowest_core[kernel])
        self.record_findings(self.judged())
        wrong = [f"core {core} of {node}" for node, speeds in nodes.items() for core in speeds.wrong]
        if wrong:
            self.suspects = sorted(node for node, speeds in nodes.items() if speeds.wrong)
            raise SanityError(f"wrong result of {', '.join(wrong)}")
        few = [node for node, speeds in nodes.items() if len(speeds.cores) != self.cores_per_node]
        if few:
            raise SanityError(f"not {self.cores_per_node} cores on {', '.join(few)}: see the binding of tasks")
        return self.require_all_nodes(nodes)

    def judged(self):
        return ranked(
            [
                finding
                for figures, what in ((self.of_node, "of all cores"), (self.of_slowest_core, "of the slowest core"))
                for kernel, speeds in figures.items()
                for finding in suspects_of_nodes(f"{kernel} {what}", speeds, least_slowdown=self.least_slowdown)
            ]
        )

    def slowest_share(self, speeds):
        return min(speeds.values()) / statistics.median(speeds.values())

    @rfmb.performance_function("MB/s")
    def slowest_node_triad(self):
        return min(self.of_node[TRIAD].values())

    @rfmb.performance_function("Gflop/s")
    def slowest_node_multiply_add(self):
        return min(self.of_node[GFLOPS].values())

    @rfmb.performance_function("")
    def triad_uniformity(self):
        """Slowest node against the median node."""
        return self.slowest_share(self.of_node[TRIAD])

    @rfmb.performance_function("")
    def multiply_add_uniformity(self):
        return self.slowest_share(self.of_node[GFLOPS])

    @rfmb.performance_function("")
    def core_triad_uniformity(self):
        """The node with the slowest core, against the median node's slowest core."""
        return self.slowest_share(self.of_slowest_core[TRIAD])

    @rfmb.performance_function("")
    def core_multiply_add_uniformity(self):
        return self.slowest_share(self.of_slowest_core[GFLOPS])
