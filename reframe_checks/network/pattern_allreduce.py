"""Sums over all ranks, by the hosts and in the network.

On a real machine both are MPI_Allreduce: in the network with the library's offload, which the environment's variables
switch on where the partition has the feature ``sharp``. On a fabric switches that reduce are ranks of their own.
"""

import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from kappa.core.fabrics.hosts import aggregators, tree_text
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary.features import SHARP
from reframe_checks.network.pattern_base import PatternCheck
from reframe_checks.parsers import patterns

HOST, IN_NETWORK = "host", "in-network"
LARGEST_BYTES = 1 << 20


@rfm.simple_test
class PatternAllreduce(PatternCheck):
    descr = "Time of sums over all ranks, by the hosts or in the network"
    parse = staticmethod(patterns.allreduce)
    family = "network/pattern-allreduce"
    measured_s = 4
    where = rfmb.parameter([HOST, IN_NETWORK], loggable=True)
    hint = "compare with OSU's allreduce; in the network, is the offload on, and does the fabric's manager run?"

    iterations = 10

    @classmethod
    def alternative_features(cls):
        return [[*features, *more] for features in super().alternative_features() for more in ([], [SHARP])]

    def chosen_features(self):
        return [*super().chosen_features(), *([SHARP] if self.where == IN_NETWORK else [])]

    @rfmb.run_after("setup")
    def one_rank_a_node(self):
        """Switches reduce over nodes; what a node's ranks add up among themselves is another pattern, so that hosts are
        compared with one rank each, too."""
        if self.simulated:
            self.series = sorted({min(ranks, self.partition_nodes) for ranks in self.series})
            self.num_tasks, self.num_tasks_per_node = self.series[-1], 1

    def prepared(self, ranks):
        if not self.of_switches:
            return []
        stage = pathlib.Path(self.stagedir)
        try:
            tree = aggregators(self.fabric, ranks, self.fabric_variant)
            hosts = [*self.hosts(ranks, 1), *(one.host for one in tree)]
            write_atomically(stage / f"tree-{ranks}.txt", tree_text(tree, ranks))
            write_atomically(stage / f"hosts-{ranks}.txt", "".join(f"{host}\n" for host in hosts))
        except InputError as err:
            raise ReframeError(str(err)) from None
        self.keep_files = [*self.keep_files, f"tree-{ranks}.txt", f"hosts-{ranks}.txt"]
        return []

    @property
    def of_switches(self):
        return self.simulated and self.where == IN_NETWORK

    def launcher_options(self, ranks):
        """The last of several counts and host files is smpirun's."""
        if not self.of_switches:
            return []
        processes = ranks + len(aggregators(self.fabric, ranks, self.fabric_variant))
        return ["-np", str(processes), "-hostfile", f"hosts-{ranks}.txt"]

    def pattern_words(self, ranks):
        words = ["allreduce", f"--where={self.where if self.simulated else HOST}", f"--largest-bytes={LARGEST_BYTES}"]
        if self.of_switches:
            level_us = self.fabric.in_network.level_latency_us.value
            words += [f"--tree=tree-{ranks}.txt", f"--level-latency-us={level_us:g}"]
        return words

    def asked(self):
        return {"where": self.where if self.simulated else HOST}

    def record_series(self):
        self.over_ranks("latency_8B", "Time of a sum of 8 B", "us", lambda result: result.median_of_sizes_us[8])
        points = self.largest.median_of_sizes_us
        gated = {8: "latency_8B", LARGEST_BYTES: "latency_1MiB"}
        self.record_curve("latency", ("Message size", "B"), ("Time of a sum", "us"), points, gated)

    @rfmb.performance_function("us")
    def latency_8B(self):  # noqa: N802 - as OSU's
        return self.largest.median_of_sizes_us[8]

    @rfmb.performance_function("us")
    def latency_1MiB(self):  # noqa: N802
        return self.largest.median_of_sizes_us[LARGEST_BYTES]
