"""``MPI_ANY_SOURCE`` against named sources: what it costs to let a message come from anybody, the more peers there are.

Some libraries look through the queues of all their connections for it, as ParTec MPI did on HPC-FF, where the code GENE
scaled the worse for it.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.mpi_behaviour_base import RESULT_FILE, MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

PEERS = ("Peers", "")


@rfm.simple_test
class MpiAnySource(MpiBehaviourCheck):
    descr = "Latency of receives from MPI_ANY_SOURCE and from named sources"
    parse = staticmethod(mpi_behaviour.any_source)
    family = "network/mpi-any-source"
    measured_s = 3
    scale = rfmb.parameter(["2_ranks", "two_nodes", "whole_partition"], loggable=True)
    hint = (
        "a ratio above 1 that grows with the peers: the library polls every connection for MPI_ANY_SOURCE; let the "
        "application name its sources, or look for a transport with one receive queue for all (UCX: ud, dc)"
    )

    def steps(self):
        return {RESULT_FILE: ["any-source"]}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.most = series[-1]
        for kind, title in (("expected", "Latency"), ("unexpected", "Time of a receive")):
            for source in ("named", "any"):
                points = {one.peers: self.best(one, kind, source) for one in series}
                self.record_curve(
                    f"{kind}, {source} source", PEERS, (f"{title}, {source} source", "us"), points,
                    {self.most.peers: f"{kind}_{source}_latency"},
                )  # fmt: skip

    @staticmethod
    def best(one, kind, source):
        """Of the repeats."""
        return min(getattr(one, f"{kind}_{source}_us"))

    def ratio(self, kind):
        return self.best(self.most, kind, "any") / self.best(self.most, kind, "named")

    @rfmb.performance_function("us")
    def expected_named_latency(self):
        return self.best(self.most, "expected", "named")

    @rfmb.performance_function("us")
    def expected_any_latency(self):
        return self.best(self.most, "expected", "any")

    @rfmb.performance_function("us")
    def unexpected_named_latency(self):
        return self.best(self.most, "unexpected", "named")

    @rfmb.performance_function("us")
    def unexpected_any_latency(self):
        return self.best(self.most, "unexpected", "any")

    @rfmb.performance_function("")
    def expected_any_over_named(self):
        return self.ratio("expected")

    @rfmb.performance_function("")
    def unexpected_any_over_named(self):
        return self.ratio("unexpected")
