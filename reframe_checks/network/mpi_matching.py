"""Depth of matching: how long MPI looks for the message of a receive behind many others."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.network.mpi_behaviour_base import RESULT_FILE, MpiBehaviourCheck
from reframe_checks.parsers import mpi_behaviour

DEPTHS = (0, 1, 4, 16, 64, 256, 1024)
DEEPEST = DEPTHS[-1]
DEPTH = ("Others in the queue", "")


@rfm.simple_test
class MpiMatching(MpiBehaviourCheck):
    descr = "Round trip of a message behind unexpected messages, and behind receives posted for others"
    parse = staticmethod(mpi_behaviour.matching)
    family = "network/mpi-matching"
    measured_s = 3
    hint = (
        "a time that grows with the depth: MPI looks through lists; post receives before their messages come, keep few "
        "outstanding, or let the adapter match tags"
    )

    def steps(self):
        return {RESULT_FILE: ["matching", f"--depths={','.join(map(str, DEPTHS))}"]}

    def asked(self, name):
        return {"expect_depths": DEPTHS}

    def record_series(self):
        series = self.results[RESULT_FILE].series
        self.unexpected = {one.depth: min(one.unexpected_us) for one in series}
        self.posted = {one.depth: min(one.posted_us) for one in series}
        for name, points in (("unexpected", self.unexpected), ("posted", self.posted)):
            self.record_curve(name, DEPTH, (f"Round trip, {name} queue", "us"), points, {DEEPEST: f"{name}_1024"})

    @rfmb.performance_function("us")
    def round_trip(self):
        """With empty queues."""
        return min(self.unexpected[0], self.posted[0])

    @rfmb.performance_function("us")
    def unexpected_1024(self):
        return self.unexpected[DEEPEST]

    @rfmb.performance_function("us")
    def posted_1024(self):
        return self.posted[DEEPEST]

    @rfmb.performance_function("ns")
    def unexpected_per_message(self):
        return 1000 * (self.unexpected[DEEPEST] - self.unexpected[0]) / DEEPEST

    @rfmb.performance_function("ns")
    def posted_per_receive(self):
        return 1000 * (self.posted[DEEPEST] - self.posted[0]) / DEEPEST
