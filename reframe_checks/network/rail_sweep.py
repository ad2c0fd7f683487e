"""Bandwidth of every adapter of every node, one after the other in one job: which adapter of which node is slow.

MPI is told to use one adapter alone (``only_over`` of the vocabulary), and each node sends to both of its neighbours
and receives from both, all nodes at the same time (own program, ``src/ring_traffic``). A node's figure over an adapter
is that to the better neighbour, in the slower direction; of several rounds, in which the adapters take turns, the best
counts. The adapters' own counters prove that MPI did as it was told. One slow adapter of a node, an adapter that is
slow on all nodes, and a node that is slow over all adapters are told apart in ``localise/rails.py``.
"""

import shlex

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import RAILS
from kappa.core.vocabulary.transports import only_over
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.base.several_steps import SeveralSteps, with_variables
from reframe_checks.localise.rails import suspects_of_rails
from reframe_checks.network.transport_faults import wrong_adapters
from reframe_checks.network.transport_used import RingTrafficBuild
from reframe_checks.parsers import ring_traffic


@rfm.simple_test
class RailSweep(SeveralSteps, Scaled, KappaCheck):
    descr = "Bandwidth of every adapter of every node, each alone"
    family = "network/rails"
    measured_s = 9
    needs_partition = [RAILS]
    needs_environ = ["sweep-build"]
    # PairSweep, every night, sees what they carry together.
    modes = ("acceptance",)
    scale = rfmb.parameter(["each_node"], loggable=True)
    relative = ["uniformity"]
    hint = "look at cable, port counters, link speed and PCIe width of the adapter that is named, or at its switch"
    build = rfmb.fixture(RingTrafficBuild, scope="environment")

    mib = rfmb.variable(int, value=256)
    rounds = rfmb.variable(int, value=3)
    #: How many times slower than its like an adapter has to be to be named.
    least_slowdown = rfmb.variable(float, value=1.25)
    tunable = {
        "mib": Tunable("whole number", "MiB", "to each of two others in a round, over each adapter"),
        "rounds": Tunable("whole number", "", "in which all adapters take turns; the best counts"),
        "least_slowdown": Tunable("number", "", "times slower than its like, for an adapter or node to be named"),
    }

    @rfmb.run_after("setup")
    def take_rails(self):
        self.rails = self.stated("extras/rails", self.current_partition.extras.get("rails"))
        self.executable, self.programs = shlex.quote(self.build.command), [self.build.command]

    def command_lines(self):
        return [
            with_variables(
                only_over(adapter),
                [self.build.command, f"--output={self.result_file(number, adapter)}", f"--mib={self.mib}"],
            )
            for number in range(1, self.rounds + 1)
            for adapter in self.rails
        ]

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
        traffic = self.parsed(ring_traffic.parse, self.output_text(name), expect_nodes=self.num_tasks)
        self.require_all_nodes(traffic.nodes)
        wrong = list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, [adapter], traffic.ip_over_infiniband))
        if wrong:
            nodes = {node for node, _ in wrong}
            # On all of them it is MPI that does not listen.
            self.suspects = sorted(nodes) if len(nodes) < len(traffic.nodes) else []
            text = "; ".join(f"{node}: {text}" for node, text in wrong[:8])
            raise SanityError(f"{name}: MPI was told to use {adapter} alone ({', '.join(only_over(adapter))}): {text}")
        return traffic.speeds_mb_s

    @rfmb.performance_function("MB/s")
    def slowest_adapter_bandwidth(self):
        return self.slowest

    @rfmb.performance_function("")
    def uniformity(self):
        """Slowest adapter of a node against the median of all."""
        return self.slowest / self.typical
