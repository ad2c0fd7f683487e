"""Speed of every node in one job, with ``kappa-measure node``: all cores, some cores, and NUMA domains."""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import AllCores, OnEachNode
from reframe_checks.localise.finding import ranked, slowest_share, suspects_of_nodes
from reframe_checks.localise.parts import suspects_of_paths
from reframe_checks.parsers import core_programs

TRIAD, GFLOPS = "triad", "multiply_add"


class NodeSweepCheck(AllCores, OnEachNode, KappaCheck):
    """Run ``kappa-measure node`` on all cores of each node; leaves define ``mode``, ``result`` and their options."""

    needs_partition = ["cores"]
    needs_environ = ["sweep-build"]
    build = rfmb.fixture(MeasureProgram, scope="environment")
    result = ""
    mode = ""

    #: At least four times the last-level cache of a core.
    mib_per_core = SiteVariable(192, "whole number", "MiB", "size of the triad's three arrays on each core")

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable_opts = [
            "node", self.mode, f"--output={self.result}", f"--mib-per-core={self.mib_per_core}",
            f"--seconds={self.seconds}", *self.options(),
        ]  # fmt: skip


@rfm.simple_test
class NodeSweep(NodeSweepCheck):
    """Measure memory bandwidth and floating-point speed of every node in one job: each core alone, and all cores.

    The check compares equal nodes with each other to name slow nodes (``localise/finding.py``), so it needs no
    reference. The own program (``kappa-measure node cores``) takes the best of five time windows. The mean of the
    windows divided by the best shows how steady a core is: a core that raises its clock slowly is not steady.
    """

    descr = (
        "Measures memory bandwidth and floating-point speed of every node and core; finds slow nodes and unsteady cores"
    )
    family = "compute/node-sweep"
    relative = [
        "triad_uniformity", "multiply_add_uniformity", "core_triad_uniformity", "core_multiply_add_uniformity",
        "steady_uniformity",
    ]  # fmt: skip
    measured_s = 8
    tags = {"smoke"}
    hint = "on the named nodes, check CPU frequency, cooling, missing memory modules, BIOS settings and other processes"
    failure_means = (
        "A node or one of its cores is slow or unsteady beside the others, all nodes are below the bound, or a core "
        "computed a wrong result. Take a node with a wrong result out of service; for a slow one, compare its clock, "
        "memory modules and processes with those of a fast node."
    )
    result, mode = "node_sweep.json", "cores"

    #: Duration of each kernel with all cores; a tenth of it on each core alone.
    seconds = SiteVariable(0.5, "number", "s", "time of each kernel with all cores")
    at_once = SiteVariable(0, "whole number", "nodes", "nodes measured at the same time; 0: all")
    least_slowdown = SiteVariable(1.1, "number", "", "least slow-down, as a factor, at which a node is named")

    def options(self):
        return [f"--at-once={self.at_once}"]

    @rfmb.sanity_function
    def read_speeds(self):
        nodes = self.parsed(core_programs.node_sweep, self.output_text(self.result))
        self.of_node = {
            TRIAD: {node: sum(speeds.together.triad_mbps) for node, speeds in nodes.items()},
            GFLOPS: {node: sum(speeds.together.gflops) for node, speeds in nodes.items()},
        }
        self.of_slowest_core = {
            TRIAD: {node: min(speeds.alone.triad_mbps) for node, speeds in nodes.items()},
            GFLOPS: {node: min(speeds.alone.gflops) for node, speeds in nodes.items()},
        }
        self.steadiness = {node: min((*speeds.alone.steady, *speeds.together.steady)) for node, speeds in nodes.items()}
        self.record_per_node("steady", "", self.steadiness)
        for kernel, unit in ((TRIAD, "MB/s"), (GFLOPS, "Gflop/s")):
            self.record_per_node(kernel, unit, self.of_node[kernel])
            self.record_per_node(f"{kernel}_slowest_core", unit, self.of_slowest_core[kernel])
        wrong = [f"core {core} of {node}" for node, speeds in nodes.items() for core in speeds.wrong]
        if wrong:
            self.suspects = sorted(node for node, speeds in nodes.items() if speeds.wrong)
            raise SanityError(f"wrong result of {', '.join(wrong)}")
        few = [node for node, speeds in nodes.items() if len(speeds.cores) != self.cores_per_node]
        if few:
            raise SanityError(
                f"expected results of {self.cores_per_node} cores on {', '.join(few)}; check the binding of tasks"
            )
        self.record_findings(self.judged())
        return self.require_all_nodes(nodes)

    def judged(self):
        return ranked(
            [
                finding
                for figures, what in ((self.of_node, "of all cores"), (self.of_slowest_core, "of the slowest core"))
                for kernel, speeds in figures.items()
                for finding in suspects_of_nodes(f"{kernel} {what}", speeds, least_slowdown=self.least_slowdown)
            ]
            + suspects_of_nodes(
                "mean over best speed of the least steady core", self.steadiness, least_slowdown=self.least_slowdown
            )
        )

    metrics = {
        "slowest_node_triad": ("MB/s", lambda self: min(self.of_node[TRIAD].values())),
        "slowest_node_multiply_add": ("Gflop/s", lambda self: min(self.of_node[GFLOPS].values())),
        # Slowest node divided by the median node.
        "triad_uniformity": ("", lambda self: slowest_share(self.of_node[TRIAD])),
        "multiply_add_uniformity": ("", lambda self: slowest_share(self.of_node[GFLOPS])),
        # The slowest core of all nodes divided by the median node's slowest core.
        "core_triad_uniformity": ("", lambda self: slowest_share(self.of_slowest_core[TRIAD])),
        "core_multiply_add_uniformity": ("", lambda self: slowest_share(self.of_slowest_core[GFLOPS])),
        # The least steady core of all nodes divided by the median node's least steady core.
        "steady_uniformity": ("", lambda self: slowest_share(self.steadiness)),
    }


ACTIVE_CORES, TRIAD_OF_CORE = ("Active cores of a node", ""), ("Triad of a core", "MB/s")
GFLOPS_OF_CORE, MEMORY_OF_CORE = ("Multiply-adds of a core", "Gflop/s"), ("Memory for each active core", "MiB")


@rfm.simple_test
class NodeFills(NodeSweepCheck):
    """Measure memory bandwidth, clock and memory of a core while half or three quarters of its node's cores are idle.

    The own program (``kappa-measure node fills``) runs STREAM's triad and multiply-adds on all cores, half, a quarter
    and one of them. ``spread`` distributes the cores evenly over NUMA domains and caches. ``packed`` fills the first
    domains, so the cores share the memory of these domains only. The gain is the speed of a core divided by its speed
    with all cores. It is 1 if the core is the limit; with half of the cores, it is 2 if memory is the limit.
    """

    descr = (
        "Measures the speed of a core while others of its node are idle; finds saturated memory and low turbo clocks"
    )
    family = "compute/node-fills"
    measured_s = 10
    modes = ("acceptance",)
    informational = ["quarter_triad_gain", "half_multiply_add_gain", "half_packed_share", "half_memory"]
    hint = "compare with NodeSweep: a gain of 1 means that memory is no limit, or that the active cores share a domain"
    failure_means = (
        "A core gets too little memory bandwidth while half of its node's cores rest, or a core computed a wrong "
        "result. If NodeSweep is slow on the same node too, look there first; take a node with a wrong result out of "
        "service."
    )
    result, mode = "node_fills.json", "fills"

    #: Duration of each kernel; the best of five time windows counts.
    seconds = SiteVariable(0.5, "number", "s", "time of each kernel on each number of cores")
    at_once = SiteVariable(0, "whole number", "nodes", "nodes measured at the same time; 0: all")
    least_slowdown = SiteVariable(1.1, "number", "", "least slow-down, as a factor, at which a node is named")

    def options(self):
        return [f"--at-once={self.at_once}"]

    @rfmb.run_after("setup")
    def leave_out_a_quarter(self):
        if self.cores_per_node < 4:
            del self.perf_variables["quarter_triad_gain"]

    @rfmb.sanity_function
    def read_fills(self):
        self.nodes = self.parsed(core_programs.node_fills, self.output_text(self.result))
        every, self.half = self.cores_per_node, max(self.cores_per_node // 2, 1)
        few = [node for node, fills in self.nodes.items() if len(fills.cores) != every]
        if few:
            raise SanityError(f"expected results of {every} cores on {', '.join(few)}; check the binding of tasks")
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
                suspects_of_nodes("triad of a core, half of them idle", triads, least_slowdown=self.least_slowdown)
            )
        )
        return self.require_all_nodes(self.nodes)

    def record_fills(self):
        """Record curves over the active cores, for the median node."""
        first = next(iter(self.nodes.values()))
        for placed in ("spread", "packed"):
            counts = getattr(first, placed)
            for name, axis, speed in (("triad", TRIAD_OF_CORE, triad_of), ("multiply_add", GFLOPS_OF_CORE, gflops_of)):
                points = {active: self.median(placed, active, speed) for active in counts}
                self.record_curve(f"{name}, {placed}", ACTIVE_CORES, axis, points, {})
        memory = {active: self.memory(active) for active in first.spread}
        self.record_curve("memory of a core", ACTIVE_CORES, MEMORY_OF_CORE, memory, {})

    def median(self, placed, active, speed):
        return statistics.median(speed(getattr(fills, placed)[active]) for fills in self.nodes.values())

    def memory(self, active):
        return min(fills.available_mib for fills in self.nodes.values()) / active

    def gain(self, active, speed):
        return self.median("spread", active, speed) / self.median("spread", self.cores_per_node, speed)

    def half_packed_share(self):
        """Return the bandwidth of half of the cores, packed, divided by the bandwidth of as many cores, spread."""
        packed = "packed" if self.cores_per_node > 1 else "spread"
        return self.median(packed, self.half, triad_of) / self.median("spread", self.half, triad_of)

    metrics = {
        # Per core, on the slowest node.
        "half_triad": ("MB/s", lambda self: min(triad_of(fills.spread[self.half]) for fills in self.nodes.values())),
        "half_triad_gain": ("", lambda self: self.gain(self.half, triad_of)),
        "quarter_triad_gain": ("", lambda self: self.gain(self.cores_per_node // 4, triad_of)),
        # Above 1 if cores have a higher clock while others are idle.
        "half_multiply_add_gain": ("", lambda self: self.gain(self.half, gflops_of)),
        "half_packed_share": ("", half_packed_share),
        # Memory per rank with a rank on half of the cores, on the node with the least.
        "half_memory": ("MiB", lambda self: self.memory(self.half)),
    }


def triad_of(speeds):
    return statistics.mean(speeds.triad_mbps)


def gflops_of(speeds):
    return statistics.mean(speeds.gflops)


DOMAIN_OF_CORES, DOMAIN_OF_MEMORY = ("NUMA domain of the cores", ""), ("NUMA domain of the memory", "")


@rfm.simple_test
class NumaMatrix(NodeSweepCheck):
    """Measure bandwidth and latency between the cores and the memory of each pair of NUMA domains, on every node.

    The own program (``kappa-measure node numa``) binds threads and memory (``set_mempolicy``). It runs STREAM's triad
    on all cores of a domain, and a chain of unpredictable loads on one of them. Bounds apply to the bandwidth and
    latency of remote memory relative to local memory. For each pair of domains, the check compares nodes with each
    other, and a path with the similar paths of its node (``localise/parts.py``). So it names the node and its slow link
    between sockets.
    """

    descr = (
        "Measures memory bandwidth and latency between NUMA domains of every node; finds slow memory and socket links"
    )
    family = "compute/numa-matrix"
    estimated_s = 60
    modes = ("acceptance",)
    needs_partition = ["cores", "numa_domains"]
    informational = ["local_latency", "remote_latency", "remote_triad"]
    hint = (
        "if a domain's memory is slow from all domains, check its memory modules; if its cores are slow with all "
        "memory, check the cores; else check the link between sockets (width, speed, BIOS settings)"
    )
    failure_means = (
        "Cores reach the memory of some NUMA domain too slowly, or a result was wrong. If one node is named, look at "
        "its memory and socket link; if all nodes are slow, look at a BIOS setting that they share."
    )
    result, mode = "node_numa.json", "numa"

    latency_mib = SiteVariable(
        1024, "whole number", "MiB", "memory that a chain of loads passes through; more than the caches hold",
    )
    seconds = SiteVariable(0.5, "number", "s", "time of each measurement of each pair of domains")
    least_slowdown = SiteVariable(1.15, "number", "", "least slow-down, as a factor, at which a node is named")

    def options(self):
        return [f"--latency-mib={self.latency_mib}"]

    @rfmb.sanity_function
    def read_matrices(self):
        self.nodes = self.parsed(core_programs.node_numa, self.output_text(self.result))
        wrong = sorted(node for node, paths in self.nodes.items() if not all(one.correct for one in paths.values()))
        if wrong:
            self.suspects = wrong
            raise SanityError(f"wrong result on {', '.join(wrong)}")
        few = sorted(node for node, paths in self.nodes.items() if len(paths) == 1)
        if few:
            raise SanityError(
                f"only one NUMA domain on {', '.join(few)}; check the binding, or remove the feature numa_domains"
            )
        others = sorted(node for node, paths in self.nodes.items() if set(paths) != set(self.first))
        if others:
            raise SanityError(f"NUMA domains differ from the first node's on {', '.join(others)}")
        for name, title, unit in (("triad_mb_s", "Triad", "MB/s"), ("latency_ns", "Latency", "ns")):
            points = {pair: self.median(pair, name) for pair in self.first}
            self.record_heat_map(title.lower(), DOMAIN_OF_CORES, DOMAIN_OF_MEMORY, (title, unit), points)
        self.record_findings(suspects_of_paths(self.nodes, least_slowdown=self.least_slowdown))
        return self.require_all_nodes(self.nodes)

    @property
    def first(self):
        return next(iter(self.nodes.values()))

    def median(self, pair, name):
        return statistics.median(getattr(paths[pair], name) for paths in self.nodes.values())

    def worst(self, choose, name, *, local):
        """Choose a figure of all nodes, over paths to local or to remote memory."""
        return choose(
            getattr(one, name)
            for paths in self.nodes.values()
            for (cores, memory), one in paths.items()
            if (cores == memory) == local
        )

    metrics = {
        # Slowest domain of all nodes.
        "local_triad": ("MB/s", lambda self: self.worst(min, "triad_mb_s", local=True)),
        "remote_triad": ("MB/s", lambda self: self.worst(min, "triad_mb_s", local=False)),
        # Slowest remote bandwidth divided by the slowest local one.
        "remote_triad_share": (
            "", lambda self: self.worst(min, "triad_mb_s", local=False) / self.worst(min, "triad_mb_s", local=True),
        ),
        "local_latency": ("ns", lambda self: self.worst(max, "latency_ns", local=True)),
        "remote_latency": ("ns", lambda self: self.worst(max, "latency_ns", local=False)),
        # Longest remote latency divided by the longest local one.
        "remote_latency_ratio": (
            "", lambda self: self.worst(max, "latency_ns", local=False) / self.worst(max, "latency_ns", local=True),
        ),
    }
