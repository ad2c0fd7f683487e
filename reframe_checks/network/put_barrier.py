"""Barriers made of one-sided puts of one word and polling: by the ring, and by recursive doubling."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.pattern_base import PatternCheck


@rfm.simple_test
class PutBarrier(PatternCheck):
    descr = "Time of a barrier by puts"
    family = "network/put-barrier"
    measured_s = 4
    algorithm = rfmb.parameter(["ring", "recursive-doubling"], loggable=True)
    hint = "compare with OSU's put latency: a barrier takes as many of them, one after the other, as it has steps"

    iterations = 100

    def pattern_words(self, ranks):
        # Simulated barriers are alike.
        return ["barrier", f"--algorithm={self.algorithm}", *(["--iterations=2"] if self.simulated else [])]

    def record_series(self):
        self.over_ranks("latency", "Time of a barrier", "us", lambda result: min(result.times_us))

    @rfmb.performance_function("us")
    def latency(self):
        return min(self.largest.times_us)
