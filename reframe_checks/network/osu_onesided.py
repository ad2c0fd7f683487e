"""OSU one-sided communication between two ranks, by placement; windows and synchronisation as OSU chooses them.

These programs cannot validate their data (they refuse ``-c``). They are for acceptance: the link is what changes
from night to night, and point-to-point shows it; where inside a node the ranks sit is left to point-to-point too.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Placed
from reframe_checks.network.osu_base import BANDWIDTH, OsuCheck


class OsuOneSided(ManyNodes, Placed, OsuCheck):
    family = "network/osu-onesided"
    needs_environ = ["osu-suite"]
    modes = ("acceptance",)
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)
    validates = False
    hint = "if point-to-point passes on these nodes, look at the one-sided component that MPI chose"

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuOneSidedLatency(OsuOneSided):
    descr = "OSU one-sided latency"
    estimated_s = 20
    program = rfmb.parameter(
        ["osu_put_latency", "osu_get_latency", "osu_acc_latency", "osu_get_acc_latency"], loggable=True
    )


@rfm.simple_test
class OsuAtomicLatency(OsuOneSided):
    descr = "OSU latency of an atomic operation on one element"
    estimated_s = 20
    program = rfmb.parameter(["osu_fop_latency", "osu_cas_latency"], loggable=True)

    def size_options(self):
        return []

    def expected_sizes(self):
        return [1]

    def gated_sizes(self):
        return {1: ""}


@rfm.simple_test
class OsuOneSidedBandwidth(OsuOneSided):
    descr = "OSU one-sided bandwidth"
    estimated_s = 20
    program = rfmb.parameter(["osu_put_bw", "osu_get_bw", "osu_put_bibw"], loggable=True)
    quantity = BANDWIDTH
    iterations = 10
    warmup = 2
