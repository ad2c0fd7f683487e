"""Random ring of HPC Challenge, with messages, puts or gets: the bandwidth that is left when all ranks talk at once."""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.vocabulary.tunables import Tunable
from reframe_checks.network.pattern_base import PatternCheck


@rfm.simple_test
class RandomRing(PatternCheck):
    descr = "Bandwidth of each rank in a ring of random order"
    family = "network/random-ring"
    measured_s = 4
    way = rfmb.parameter(["isend", "put", "get"], loggable=True)
    hint = "compare with the bandwidth of one pair: what is lost is contention, by routing or a tapered network"

    iterations = 5
    message_bytes = rfmb.variable(int, value=2_000_000)
    tunable = {
        **PatternCheck.tunable,
        "message_bytes": Tunable("whole number", "B", "to each of both neighbours"),
    }

    def pattern_words(self, ranks):
        return ["random-ring", f"--way={self.way}", f"--bytes={self.message_bytes}"]

    def record_series(self):
        self.over_ranks("bandwidth", "Bandwidth of a rank", "MB/s", self.bandwidth_of)

    def bandwidth_of(self, result):
        # A byte in a microsecond is a megabyte in a second.
        return 2 * self.message_bytes / min(result.times_us)

    @rfmb.performance_function("MB/s")
    def bandwidth(self):
        return self.bandwidth_of(self.largest)
