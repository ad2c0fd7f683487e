"""Barriers made of one-sided puts of one word and polling: by the ring, and by recursive doubling."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.pattern_base import PatternCheck
from reframe_checks.parsers import patterns


@rfm.simple_test
class PutBarrier(PatternCheck):
    descr = "Time of a barrier by puts"
    parse = staticmethod(patterns.put_barrier)
    family = "network/put-barrier"
    measured_s = 4
    algorithm = rfmb.parameter(["ring", "recursive-doubling"], loggable=True)
    hint = "compare with OSU's put latency: a barrier takes as many of them, one after the other, as it has steps"

    iterations = 100

    def pattern_words(self, ranks):
        return ["barrier", f"--algorithm={self.algorithm}"]

    def asked(self):
        return {"algorithm": self.algorithm}

    def record_series(self):
        self.over_ranks("latency", "Time of a barrier", "us", lambda result: result.shortest_us)

    @rfmb.performance_function("us")
    def latency(self):
        return self.largest.shortest_us
