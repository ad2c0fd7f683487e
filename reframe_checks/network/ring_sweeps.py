"""Sweeps with ``kappa-measure ring-traffic`` over a ring of nodes: every adapter alone, every pair of GPUs alone."""

import itertools
import shlex
import statistics

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import RAILS
from kappa.core.vocabulary.transports import only_over
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import SEVERAL_GPUS, OnEachNode, OnGpus
from reframe_checks.base.steps import with_variables
from reframe_checks.localise.finding import slowest_share
from reframe_checks.localise.parts import fastest_pairs, suspects_of_gpus, suspects_of_rails
from reframe_checks.network.transport import wrong_adapters
from reframe_checks.parsers import transport


@rfm.simple_test
class RailSweep(OnEachNode, KappaCheck):
    """Bandwidth of every adapter of every node, one after the other in one job: which adapter of which node is slow.

    MPI is told to use one adapter alone (``only_over`` of the vocabulary), and each node sends to both of its
    neighbours and receives from both, all nodes at the same time (``kappa-measure ring-traffic``). A node's
    figure over an adapter is that to the better neighbour, in the slower direction; of several rounds, in which the
    adapters take turns, the best counts. The adapters' own counters prove that MPI did as it was told. One slow
    adapter of a node, an adapter that is slow on all nodes, and a node that is slow over all adapters are told
    apart in ``localise/parts.py``.
    """

    descr = "Bandwidth of every adapter of every node, each alone"
    family = "network/rails"
    measured_s = 9
    needs_partition = [RAILS]
    needs_environ = ["sweep-build"]
    # PairSweep, every night, sees what they carry together.
    modes = ("acceptance",)
    relative = ["uniformity"]
    hint = "look at cable, port counters, link speed and PCIe width of the adapter that is named, or at its switch"
    build = rfmb.fixture(MeasureProgram, scope="environment")

    mib = SiteVariable(256, "whole number", "MiB", "data over each adapter to each of two other nodes in a round")
    rounds = SiteVariable(3, "whole number", "", "rounds in which all adapters take turns; the best counts")
    least_slowdown = SiteVariable(
        1.25, "number", "", "least slow-down, as a factor, for which an adapter or node is named"
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
        """Node -> MB/s."""
        rounds = [self.speeds_of(self.result_file(number, adapter), adapter) for number in range(1, self.rounds + 1)]
        return {node: max(speeds[node] for speeds in rounds) for node in rounds[0]}

    def speeds_of(self, name, adapter):
        traffic = self.parsed(transport.ring_traffic, self.output_text(name), expect_nodes=self.num_tasks)
        self.require_all_nodes(traffic.rates_mb_s)
        wrong = list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, [adapter], traffic.ip_over_infiniband))
        if wrong:
            nodes = {node for node, _ in wrong}
            # On all of them it is MPI that does not listen.
            self.suspects = sorted(nodes) if len(nodes) < len(traffic.rates_mb_s) else []
            text = "; ".join(f"{node}: {text}" for node, text in wrong[:8])
            raise SanityError(f"{name}: MPI was told to use {adapter} alone ({', '.join(only_over(adapter))}): {text}")
        return traffic.speeds_mb_s

    metrics = {
        "slowest_adapter_bandwidth": ("MB/s", lambda self: self.slowest),
        # Slowest adapter of a node against the median of all.
        "uniformity": ("", lambda self: self.slowest / self.typical),
    }


@rfm.simple_test
class GpuPairs(OnGpus, OnEachNode, KappaCheck):
    """Bandwidth between every two GPUs of neighbouring nodes, each pair alone: which GPU of which node is slow.

    In each step nodes of even numbers take one GPU and those of odd numbers one, and each node sends to both of its
    neighbours and receives from both, out of that GPU's memory into that of theirs (own program,
    ``kappa-measure ring-traffic --gpus``). Over all steps every GPU of a node has met every GPU of its neighbours,
    and no other GPU of its node was at work. A slow GPU of a node, a GPU that is slow on all nodes, a slow node and
    two GPUs that are slow only with each other are told apart in ``localise/parts.py``.
    """

    descr = "Bandwidth between every two GPUs of neighbouring nodes, each pair alone"
    family = "network/gpu-pairs"
    estimated_s = 60
    needs_partition = ["links", "nvidia", SEVERAL_GPUS]
    needs_environ = ["sweep-build", "mpi-cuda"]
    modes = ("acceptance",)
    rank_for_each_gpu = False
    relative = ["uniformity"]
    hint = "look at the PCIe width and speed of the GPU that is named, at its switch, and at the adapter nearest to it"
    build = rfmb.fixture(MeasureProgram, scope="environment")

    mib = SiteVariable(256, "whole number", "MiB", "data from each GPU to each of two others in a round")
    rounds = SiteVariable(2, "whole number", "", "rounds in which all pairs take turns; the best counts")
    least_slowdown = SiteVariable(1.25, "number", "", "least slow-down, as a factor, for which a GPU or node is named")

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
        traffic = self.parsed(transport.ring_traffic, text, expect_nodes=self.num_tasks, expect_gpus=pair)
        self.require_all_nodes(traffic.rates_mb_s)
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

    metrics = {
        "slowest_gpu_bandwidth": ("MB/s", lambda self: min(self.fastest.values())),
        "slowest_pair_bandwidth": ("MB/s", lambda self: min(self.rates.values())),
        # Slowest GPU of a node against the median of all.
        "uniformity": ("", lambda self: slowest_share(self.fastest)),
    }
