"""Slow-down of latency, bandwidth and small sums on some nodes (victims) while other nodes load the network."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.features import CONGESTION, LARGE_PUTS
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.case import SiteVariable
from reframe_checks.network.patterns import PatternCheck
from reframe_checks.parsers import patterns

ROUNDS = ("Round", "")
IMPACT = ("Time beside the load over time alone", "")


@rfm.simple_test
class Congestion(PatternCheck):
    descr = (
        "Measures latency, bandwidth and sums on some nodes while others load the network; finds poor congestion "
        "control and routing"
    )
    parse = staticmethod(patterns.CongestionResult.read)
    family = "network/congestion"
    measured_s = 20
    needs_partition = [CONGESTION]
    on_fabrics = False
    hint = (
        "if an impact is above the control's, check uplinks, routing and congestion control; if the control has it, "
        "too, the cause is on the nodes"
    )
    failure_means = (
        "Messages of some nodes lose more speed beside the load of other nodes than the bound allows. If the control "
        "loses as much, the nodes themselves are busy; otherwise routing or congestion control does not keep jobs "
        "apart."
    )
    informational = ["impacts_above_control"]

    iterations = 100
    rounds = SiteVariable(5, "whole number", "", "rounds of samples alone and beside a load")
    aggressor_bytes = SiteVariable(1 << 16, "whole number", "B", "size of an aggressor's message")
    victims = SiteVariable(0.5, "number", "", "share of the nodes that are victims")
    not_tunable = ("ranks",)
    tunable = {"iterations": Tunable("whole number", "", "samples of each pattern in each round")}

    @rfmb.run_after("setup")
    def choose_loads(self):
        puts = ["put-incast"] if LARGE_PUTS in self.current_partition.features else []
        self.loads = [patterns.CONTROL, "all-to-all", "incast", *puts, "broadcast"]

    @rfmb.run_after("setup")
    def require_four_nodes(self):
        if self.num_nodes_used < 4:
            raise ReframeError(
                f"{self.current_partition.fullname}: Congestion needs 4 nodes or more, found {self.num_nodes_used}"
            )

    def pattern_words(self, ranks):
        return [
            "congestion", f"--loads={','.join(self.loads)}", f"--rounds={self.rounds}", f"--victims={self.victims:g}",
            f"--aggressor-bytes={self.aggressor_bytes}",
        ]  # fmt: skip

    def asked(self):
        return {"aggressor_bytes": self.aggressor_bytes}

    def record_series(self):
        if list(self.largest.loads) != self.loads:
            raise SanityError(f"expected the loads {self.loads}, found {list(self.largest.loads)}")
        for name, load in self.largest.loads.items():
            for pattern, samples in load.samples.items():
                impacts = dict(enumerate(samples.impacts_of_rounds(), 1))
                self.record_curve(f"{pattern} beside {name}", ROUNDS, IMPACT, impacts, {})

    def worst(self, pattern, percent):
        loads = [load for name, load in self.largest.loads.items() if name != patterns.CONTROL]
        return max(load.samples[pattern].impact(percent) for load in loads)

    metrics = {
        "latency_impact": ("", lambda self: self.worst("latency", 50)),
        "latency_impact_p99": ("", lambda self: self.worst("latency", 99)),
        "bandwidth_impact": ("", lambda self: self.worst("bandwidth", 50)),
        "bandwidth_impact_p99": ("", lambda self: self.worst("bandwidth", 99)),
        "allreduce_impact": ("", lambda self: self.worst("allreduce", 50)),
        "allreduce_impact_p99": ("", lambda self: self.worst("allreduce", 99)),
        "impacts_above_control": ("", lambda self: len(self.largest.above_control())),
    }
