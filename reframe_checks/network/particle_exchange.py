"""Exchange of particles after a domain decomposition: irregular puts, with the barrier before or after packing."""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.network.pattern_base import LargePuts, PatternCheck
from reframe_checks.parsers import patterns


@rfm.simple_test
class ParticleExchange(LargePuts, PatternCheck):
    descr = "Time to pack and put particles after a domain decomposition"
    parse = staticmethod(patterns.particle_exchange)
    family = "network/particle-exchange"
    measured_s = 4
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    barrier = rfmb.parameter(["before", "after"], loggable=True)
    within_nodes = rfmb.parameter(["yes", "no"], loggable=True)
    informational = ["pack_time"]
    hint = "compare the barrier before with the barrier after packing, and without the traffic inside nodes"

    iterations = 5
    drawn = rfmb.variable(int, value=1 << 18)
    #: Of a node of NSIM-ACE's machine, estimated; a fabric has no memory that a program could copy in.
    pack_gb_s = rfmb.variable(float, int, value=1)
    tunable = {
        **PatternCheck.tunable,
        "drawn": Tunable("whole number", "", "particles that are drawn, each of which stands for 1512 B"),
        "pack_gb_s": Tunable("number", "GB/s", "at which a rank of a fabric packs"),
    }

    @rfmb.run_after("init")
    def leave_out_what_puts_nothing(self):
        if self.scale == "one_node" and self.within_nodes == "no":
            self.valid_systems = []

    def pattern_words(self, ranks):
        packing = [f"--pack-gb-s={self.pack_gb_s:g}"] if self.simulated else []
        within = f"--within-nodes={self.within_nodes}"
        return ["particles", f"--barrier={self.barrier}", within, f"--drawn={self.drawn}", *packing]

    def asked(self):
        return {"barrier": self.barrier, "within_nodes": self.within_nodes == "yes"}

    def record_series(self):
        self.over_ranks("put_time", "Time to put", "us", lambda result: result.put_us[result.best])
        self.over_ranks("pack_time", "Time to pack", "us", lambda result: result.pack_us[result.best])

    @rfmb.performance_function("us")
    def put_time(self):
        return self.largest.put_us[self.largest.best]

    @rfmb.performance_function("us")
    def pack_time(self):
        return self.largest.pack_us[self.largest.best]
