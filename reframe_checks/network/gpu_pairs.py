"""Bandwidth between every two GPUs of neighbouring nodes, each pair alone: which GPU of which node is slow.

In each step nodes of even numbers take one GPU and those of odd numbers one, and each node sends to both of its
neighbours and receives from both, out of that GPU's memory into that of theirs (own program, ``src/ring_traffic``, with
``--gpus``). Over all steps every GPU of a node has met every GPU of its neighbours, and no other GPU of its node was at
work. A slow GPU of a node, a GPU that is slow on all nodes, a slow node and two GPUs that are slow only with each other
are told apart in ``localise/gpu_pairs.py``.
"""

import itertools
import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_gpus import SEVERAL_GPUS, OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.base.several_steps import SeveralSteps
from reframe_checks.localise.gpu_pairs import fastest_pairs, suspects_of_gpus
from reframe_checks.network.transport_used import RingTrafficBuild
from reframe_checks.parsers import ring_traffic


@rfm.simple_test
class GpuPairs(SeveralSteps, OnGpus, Scaled, KappaCheck):
    descr = "Bandwidth between every two GPUs of neighbouring nodes, each pair alone"
    family = "network/gpu-pairs"
    estimated_s = 60
    needs_partition = ["links", "nvidia", SEVERAL_GPUS]
    needs_environ = ["sweep-build", "mpi-cuda"]
    modes = ("acceptance",)
    scale = rfmb.parameter(["each_node"], loggable=True)
    rank_for_each_gpu = False
    relative = ["uniformity"]
    hint = "look at the PCIe width and speed of the GPU that is named, at its switch, and at the adapter nearest to it"
    build = rfmb.fixture(RingTrafficBuild, scope="environment")

    mib = rfmb.variable(int, value=256)
    rounds = rfmb.variable(int, value=2)
    #: How many times slower than its like a GPU has to be to be named.
    least_slowdown = rfmb.variable(float, value=1.25)
    tunable = {
        "mib": Tunable("whole number", "MiB", "to each of two others in a round, out of each GPU"),
        "rounds": Tunable("whole number", "", "in which all pairs take turns; the best counts"),
        "least_slowdown": Tunable("number", "", "times slower than its like, for a GPU or node to be named"),
    }

    @rfmb.run_after("setup")
    def take_program(self):
        self.executable, self.programs = shlex.quote(self.build.command), [self.build.command]

    def command_lines(self):
        return [
            shlex.join(
                [
                    self.build.command, f"--output={self.result_file(number, pair)}", f"--mib={self.mib}",
                    "--gpus", *map(str, pair),
                ]
            )
            for number in range(1, self.rounds + 1)
            for pair in self.pairs()
        ]  # fmt: skip

    def pairs(self):
        """GPU of the nodes with even numbers, and of those with odd ones."""
        return itertools.product(range(self.gpus_per_node), repeat=2)

    @staticmethod
    def result_file(number, pair):
        return f"round-{number}-gpus-{pair[0]}-{pair[1]}.json"

    @rfmb.sanity_function
    def read_pairs(self):
        self.rates, buses = {}, {}
        for number in range(1, self.rounds + 1):
            for pair in self.pairs():
                traffic = self.traffic_of(number, pair)
                for one, other, rate in traffic.links_mb_s:
                    key = (one, traffic.gpus[one].ordinal, other, traffic.gpus[other].ordinal)
                    self.rates[key] = max(rate, self.rates.get(key, 0.0))
                for node, gpu in traffic.gpus.items():
                    buses.setdefault((node, gpu.ordinal), set()).add(gpu.pci)
        self.require_distinct(buses)
        nodes = sorted(self.provenance["nodelist"])
        self.fastest = fastest_pairs(self.rates)
        for gpu in range(self.gpus_per_node):
            self.record_per_node(f"bandwidth_gpu{gpu}", "MB/s", {node: self.fastest[node, gpu] for node in nodes})
        self.record_heat_map(
            "bandwidth between GPUs", ("GPU", ""), ("GPU of a neighbour", ""), ("Bandwidth", "MB/s"), self.of_kinds()
        )
        self.record_findings(
            suspects_of_gpus("bandwidth", nodes, self.gpus_per_node, self.rates, least_slowdown=self.least_slowdown)
        )
        return True

    def traffic_of(self, number, pair):
        text = self.output_text(self.result_file(number, pair))
        traffic = self.parsed(ring_traffic.parse, text, expect_nodes=self.num_tasks, expect_gpus=pair)
        self.require_all_nodes(traffic.nodes)
        return traffic

    def require_distinct(self, buses):
        """Each number is one GPU of its node in all steps, and no two numbers are the same."""
        for (node, gpu), of_gpu in sorted(buses.items()):
            same = [other for other in range(gpu) if buses[node, other] & of_gpu]
            if len(of_gpu) > 1 or same:
                what = f"was at {', '.join(sorted(of_gpu))}" + (f", as GPU {same[0]}" if same else "")
                raise SanityError(f"{node}: GPU {gpu} {what}: expected one place of its own on PCIe")

    def of_kinds(self):
        """(GPU, GPU of a neighbour) -> median rate of all nodes, both ways."""
        kinds = {}
        for (_, g, _, h), rate in self.rates.items():
            for kind in {(g, h), (h, g)}:
                kinds.setdefault(kind, []).append(rate)
        return {kind: statistics.median(rates) for kind, rates in kinds.items()}

    @rfmb.performance_function("MB/s")
    def slowest_gpu_bandwidth(self):
        return min(self.fastest.values())

    @rfmb.performance_function("MB/s")
    def slowest_pair_bandwidth(self):
        return min(self.rates.values())

    @rfmb.performance_function("")
    def uniformity(self):
        """Slowest GPU of a node against the median of all."""
        return min(self.fastest.values()) / statistics.median(self.fastest.values())
