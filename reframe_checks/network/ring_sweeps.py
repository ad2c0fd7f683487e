"""Sweeps with ``kappa-measure ring-traffic`` over a ring of nodes: each adapter alone, each pair of GPUs alone."""

import itertools
import shlex
import statistics

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import RAILS
from kappa.core.vocabulary.transports import only_over
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.measure import with_variables
from reframe_checks.base.scaled import SEVERAL_GPUS, OnEachNode, OnGpus
from reframe_checks.localise.finding import slowest_share
from reframe_checks.localise.parts import fastest_pairs, suspects_of_gpus, suspects_of_rails
from reframe_checks.network.transport import wrong_adapters
from reframe_checks.parsers import transport


@rfm.simple_test
class RailSweep(OnEachNode, KappaCheck):
    """Measure the bandwidth of every adapter of every node, one adapter after the other in one job.

    MPI uses one adapter only (``only_over`` of the vocabulary). All nodes send to both neighbours and receive from both
    at the same time (``kappa-measure ring-traffic``). A node's figure for an adapter is its better neighbour, in the
    slower direction. Adapters alternate over several rounds, and the best round counts. The adapters' own counters
    prove that MPI used the right adapter. ``localise/parts.py`` separates a slow adapter of one node, an adapter that
    is slow on all nodes, and a node that is slow over all adapters.
    """

    descr = "Measures the bandwidth of every adapter of every node, each alone; finds slow adapters and rails"
    family = "network/rails"
    measured_s = 9
    needs_partition = [RAILS]
    needs_environ = ["sweep-build"]
    # PairSweep measures all adapters together every night.
    modes = ("acceptance",)
    relative = ["uniformity"]
    hint = "check cable, port counters, link speed and PCIe width of the named adapter, or its switch"
    failure_means = (
        "An adapter of a node is slow, all adapters are below the bound, or MPI does not use the adapter that it was "
        "told to. Look at the named adapter; if MPI does not obey on any node, look at MPI's settings."
    )
    build = rfmb.fixture(MeasureProgram, scope="environment")

    mib = SiteVariable(256, "whole number", "MiB", "data over each adapter to each of two other nodes in a round")
    rounds = SiteVariable(3, "whole number", "", "rounds in which all adapters take turns; the best counts")
    least_slowdown = SiteVariable(
        1.25, "number", "", "least slow-down, as a factor, at which an adapter or node is named"
    )

    @rfmb.run_after("setup")
    def take_rails(self):
        self.rails = self.stated("extras/rails", self.current_partition.extras.get("rails"))

    def command_lines(self):
        return [
            self.launched(with_variables(only_over(adapter), [
                self.program, "ring-traffic", f"--output={self.result_file(number, adapter)}", f"--mib={self.mib}",
            ]))
            for number in range(1, self.rounds + 1)
            for adapter in self.rails
        ]  # fmt: skip

    @staticmethod
    def result_file(number, adapter):
        return f"round-{number}-{adapter.replace(':', '-')}.json"

    @rfmb.sanity_function
    def read_rails(self):
        self.speeds = {adapter: self.best_of_rounds(adapter) for adapter in self.rails}
        nodes = sorted(self.provenance["nodelist"])
        for adapter, speeds in self.speeds.items():
            self.record_per_node(f"bandwidth_{adapter}", "MB/s", speeds)
        table = np.array([[speeds[node] for speeds in self.speeds.values()] for node in nodes])
        found = suspects_of_rails("bandwidth", nodes, self.rails, 1 / table, least_slowdown=self.least_slowdown)
        self.record_findings(found)
        self.slowest = float(table.min())
        self.typical = float(np.median(table))
        return True

    def best_of_rounds(self, adapter):
        """Return the best of the rounds: node -> MB/s."""
        rounds = [self.speeds_of(self.result_file(number, adapter), adapter) for number in range(1, self.rounds + 1)]
        return {node: max(speeds[node] for speeds in rounds) for node in rounds[0]}

    def speeds_of(self, name, adapter):
        traffic = self.parsed(transport.ring_traffic, self.output_text(name), expect_nodes=self.num_tasks)
        self.require_all_nodes(traffic.rates_mb_s)
        wrong = list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, [adapter], traffic.ip_over_infiniband))
        if wrong:
            nodes = {node for node, _ in wrong}
            # On all nodes, the cause is MPI's settings and no node.
            self.suspects = sorted(nodes) if len(nodes) < len(traffic.rates_mb_s) else []
            text = "; ".join(f"{node}: {text}" for node, text in wrong[:8])
            raise SanityError(f"{name}: MPI should use only {adapter} ({', '.join(only_over(adapter))}); {text}")
        return traffic.speeds_mb_s

    metrics = {
        "slowest_adapter_bandwidth": ("MB/s", lambda self: self.slowest),
        # Slowest adapter of a node divided by the median of all.
        "uniformity": ("", lambda self: self.slowest / self.typical),
    }


@rfm.simple_test
class GpuPairs(OnGpus, OnEachNode, KappaCheck):
    """Measure the bandwidth between every two GPUs of neighbouring nodes, each pair alone.

    In each step, nodes with even numbers use one GPU and nodes with odd numbers use one GPU. Each node sends to both
    neighbours and receives from both, from GPU memory to GPU memory (own program, ``kappa-measure ring-traffic
    --gpus``). Over all steps, every GPU of a node meets every GPU of its neighbours, while the other GPUs of its node
    are idle. ``localise/parts.py`` separates a slow GPU of one node, a GPU number that is slow on all nodes, a slow
    node, and two GPUs that are slow only with each other.
    """

    descr = "Measures the bandwidth between every two GPUs of neighbouring nodes; finds slow GPUs, PCIe paths and nodes"
    family = "network/gpu-pairs"
    estimated_s = 60
    needs_partition = ["links", "nvidia", SEVERAL_GPUS]
    needs_environ = ["sweep-build", "mpi-cuda"]
    modes = ("acceptance",)
    rank_for_each_gpu = False
    relative = ["uniformity"]
    hint = "check the PCIe width and speed of the named GPU, its PCIe switch, and the adapter nearest to it"
    failure_means = (
        "Some GPUs of neighbouring nodes exchange data too slowly, or a GPU changed its place on PCIe. Kappa names the "
        "GPU or node that explains the pairs: look at its PCIe link and at the adapter nearest to it."
    )
    build = rfmb.fixture(MeasureProgram, scope="environment")

    mib = SiteVariable(256, "whole number", "MiB", "data from each GPU to each of two others in a round")
    rounds = SiteVariable(2, "whole number", "", "rounds in which all pairs take turns; the best counts")
    least_slowdown = SiteVariable(1.25, "number", "", "least slow-down, as a factor, at which a GPU or node is named")

    def command_lines(self):
        return [
            self.launched(
                shlex.quote(self.program), "ring-traffic", f"--output={self.result_file(number, pair)}",
                f"--mib={self.mib}", "--gpus", *map(str, pair),
            )
            for number in range(1, self.rounds + 1)
            for pair in self.pairs()
        ]  # fmt: skip

    def pairs(self):
        """Yield each pair: the GPU of nodes with even numbers, and the GPU of nodes with odd numbers."""
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
        traffic = self.parsed(transport.ring_traffic, text, expect_nodes=self.num_tasks, expect_gpus=pair)
        self.require_all_nodes(traffic.rates_mb_s)
        return traffic

    def require_distinct(self, buses):
        """Require that each GPU number means one GPU of its node in all steps, and each another GPU.

        :raises SanityError: by the addresses on PCIe, this is not so.
        """
        for (node, gpu), of_gpu in sorted(buses.items()):
            same = [other for other in range(gpu) if buses[node, other] & of_gpu]
            if len(of_gpu) > 1 or same:
                what = f"was at {', '.join(sorted(of_gpu))}" + (f", as GPU {same[0]}" if same else "")
                raise SanityError(f"{node}: GPU {gpu} {what}: expected one PCIe address, different from other GPUs")

    def of_kinds(self):
        """Return (GPU, GPU of a neighbour) -> median rate over all nodes, in both directions."""
        kinds = {}
        for (_, g, _, h), rate in self.rates.items():
            for kind in {(g, h), (h, g)}:
                kinds.setdefault(kind, []).append(rate)
        return {kind: statistics.median(rates) for kind, rates in kinds.items()}

    metrics = {
        "slowest_gpu_bandwidth": ("MB/s", lambda self: min(self.fastest.values())),
        "slowest_pair_bandwidth": ("MB/s", lambda self: min(self.rates.values())),
        # Slowest GPU of a node divided by the median of all.
        "uniformity": ("", lambda self: slowest_share(self.fastest)),
    }
