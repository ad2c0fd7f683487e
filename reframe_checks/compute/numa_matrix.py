"""Bandwidth and latency of the cores of each NUMA domain on the memory of each, on every node.

Own program (``node_sweep --numa``), which binds threads and memory itself (``set_mempolicy``): STREAM's triad on all
cores of a domain, and a chain of loads that no prefetcher guesses on one of them. Gated are what remote memory has of
local memory's bandwidth and how many times its latency; nodes are compared with each other for each pair of domains,
and a path is held against those of its node that should be alike (``localise/numa.py``): so the node whose link between
sockets runs slower is named, and which link.
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
from reframe_checks.localise.numa import suspects_of_paths
from reframe_checks.parsers import node_numa

RESULT = "node_numa.json"
CORES, MEMORY = ("NUMA domain of the cores", ""), ("NUMA domain of the memory", "")


@rfm.simple_test
class NumaMatrix(AllCores, Scaled, KappaCheck):
    descr = "Memory bandwidth and latency between the NUMA domains of every node"
    family = "compute/numa-matrix"
    estimated_s = 60
    modes = ("acceptance",)
    needs_partition = ["cores", "numa_domains"]
    needs_environ = ["sweep-build"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    informational = ["local_latency", "remote_latency", "remote_triad"]
    hint = (
        "slow from all domains: memory modules of that domain; slow to all memory: its cores; else the link between "
        "sockets (its width and speed, BIOS settings)"
    )
    build = rfmb.fixture(NodeSweepBuild, scope="environment")

    mib_per_core = rfmb.variable(int, value=192)
    latency_mib = rfmb.variable(int, value=1024)
    seconds = rfmb.variable(float, value=0.5)
    least_slowdown = rfmb.variable(float, value=1.15)
    tunable = {
        "mib_per_core": Tunable("whole number", "MiB", "the triad's three arrays on each core"),
        "latency_mib": Tunable("whole number", "MiB", "through which a chain of loads goes; more than the caches hold"),
        "seconds": Tunable("number", "s", "of each measurement of each pair of domains"),
        "least_slowdown": Tunable("number", "", "times slower than its like, to be named"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.programs = [self.build.command]
        self.executable = shlex.quote(self.build.command)
        self.executable_opts = [
            "--numa", f"--output={RESULT}", f"--mib-per-core={self.mib_per_core}", f"--seconds={self.seconds}",
            f"--latency-mib={self.latency_mib}",
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_matrices(self):
        self.nodes = self.parsed(node_numa.parse, self.output_text(RESULT))
        wrong = sorted(node for node, paths in self.nodes.items() if not all(one.correct for one in paths.values()))
        if wrong:
            self.suspects = wrong
            raise SanityError(f"wrong result on {', '.join(wrong)}")
        few = sorted(node for node, paths in self.nodes.items() if len(paths) == 1)
        if few:
            raise SanityError(f"one NUMA domain only on {', '.join(few)}: see the binding, or remove numa_domains")
        others = sorted(node for node, paths in self.nodes.items() if set(paths) != set(self.first))
        if others:
            raise SanityError(f"other NUMA domains than on the first node on {', '.join(others)}")
        for name, title, unit in (("triad_mb_s", "Triad", "MB/s"), ("latency_ns", "Latency", "ns")):
            points = {pair: self.median(pair, name) for pair in self.first}
            self.record_heat_map(title.lower(), CORES, MEMORY, (title, unit), points)
        self.record_findings(suspects_of_paths(self.nodes, least_slowdown=self.least_slowdown))
        return self.require_all_nodes(self.nodes)

    @property
    def first(self):
        return next(iter(self.nodes.values()))

    def median(self, pair, name):
        return statistics.median(getattr(paths[pair], name) for paths in self.nodes.values())

    def worst(self, choose, name, *, local):
        """Of all nodes, over paths to local or to remote memory."""
        return choose(
            getattr(one, name)
            for paths in self.nodes.values()
            for (cores, memory), one in paths.items()
            if (cores == memory) == local
        )

    @rfmb.performance_function("MB/s")
    def local_triad(self):
        """Of the slowest domain of all nodes."""
        return self.worst(min, "triad_mb_s", local=True)

    @rfmb.performance_function("MB/s")
    def remote_triad(self):
        return self.worst(min, "triad_mb_s", local=False)

    @rfmb.performance_function("")
    def remote_triad_share(self):
        """Slowest remote over slowest local bandwidth."""
        return self.worst(min, "triad_mb_s", local=False) / self.worst(min, "triad_mb_s", local=True)

    @rfmb.performance_function("ns")
    def local_latency(self):
        return self.worst(max, "latency_ns", local=True)

    @rfmb.performance_function("ns")
    def remote_latency(self):
        return self.worst(max, "latency_ns", local=False)

    @rfmb.performance_function("")
    def remote_latency_ratio(self):
        """Longest remote over longest local latency."""
        return self.worst(max, "latency_ns", local=False) / self.worst(max, "latency_ns", local=True)
