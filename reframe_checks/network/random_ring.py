"""Random ring of HPC Challenge, with messages, puts or gets: the bandwidth that is left when all ranks talk at once."""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.network.pattern_base import LargePuts, PatternCheck
from reframe_checks.parsers import patterns


@rfm.simple_test
class RandomRing(LargePuts, PatternCheck):
    descr = "Bandwidth of each rank in a ring of random order"
    parse = staticmethod(patterns.random_ring)
    family = "network/random-ring"
    measured_s = 4
    each_case_puts = False
    scale = rfmb.parameter(LargePuts.SCALES, loggable=True)
    way = rfmb.parameter(["isend", "put", "get"], loggable=True)
    hint = "compare with the bandwidth of one pair: what is lost is contention, by routing or a tapered network"

    iterations = 5
    message_bytes = rfmb.variable(int, value=2_000_000)
    tunable = {
        **PatternCheck.tunable,
        "message_bytes": Tunable("whole number", "B", "to each of both neighbours"),
    }

    def puts(self):
        return self.way == "put"

    def pattern_words(self, ranks):
        return ["random-ring", f"--way={self.way}", f"--bytes={self.message_bytes}"]

    def asked(self):
        return {"way": self.way, "message_bytes": self.message_bytes}

    def record_series(self):
        self.over_ranks("bandwidth", "Bandwidth of a rank", "MB/s", lambda result: result.bandwidth_mb_s)

    @rfmb.performance_function("MB/s")
    def bandwidth(self):
        return self.largest.bandwidth_mb_s
