"""Random ring of HPC Challenge, with messages, puts or gets: the bandwidth that is left when all ranks talk at once."""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.vocabulary.features import LARGE_PUTS
from kappa.vocabulary.tunables import Tunable
from reframe_checks.network.pattern_base import PatternCheck
from reframe_checks.parsers import patterns


@rfm.simple_test
class RandomRing(PatternCheck):
    descr = "Bandwidth of each rank in a ring of random order"
    parse = staticmethod(patterns.random_ring)
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

    @classmethod
    def alternative_features(cls):
        return [[*features, *more] for features in super().alternative_features() for more in ([], [LARGE_PUTS])]

    def chosen_features(self):
        return [*super().chosen_features(), *([LARGE_PUTS] if self.way == "put" else [])]

    def pattern_words(self, ranks):
        return ["random-ring", f"--way={self.way}", f"--bytes={self.message_bytes}"]

    def asked(self):
        return {"way": self.way, "message_bytes": self.message_bytes}

    def record_series(self):
        self.over_ranks("bandwidth", "Bandwidth of a rank", "MB/s", lambda result: result.bandwidth_mb_s)

    @rfmb.performance_function("MB/s")
    def bandwidth(self):
        return self.largest.bandwidth_mb_s
