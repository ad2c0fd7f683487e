"""OSU collectives over the scales: barrier, bcast, gather, reduce, allreduce, alltoall.

Latency is the mean over ranks as OSU reports it; the best of the repeats counts.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.scaled import Scaled
from reframe_checks.network.osu_base import OsuCheck


class OsuCollective(Scaled, OsuCheck):
    family = "network/osu-collective"
    needs_partition = ["collectives"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    iterations = 50
    warmup = 5
    hint = "if the point-to-point checks on these nodes pass, look at the collective algorithm and at noise on one node"


@rfm.simple_test
class OsuBarrier(OsuCollective):
    descr = "OSU barrier"
    benchmark = "osu_barrier"
    tags = {"smoke"}
    iterations = 1000

    def size_options(self):
        return []

    def expected_sizes(self):
        return [0]

    def gated_sizes(self):
        return {0: ""}


@rfm.simple_test
class OsuBcast(OsuCollective):
    descr = "OSU broadcast"
    benchmark = "osu_bcast"


@rfm.simple_test
class OsuGather(OsuCollective):
    descr = "OSU gather"
    benchmark = "osu_gather"


@rfm.simple_test
class OsuAlltoall(OsuCollective):
    descr = "OSU all-to-all"
    benchmark = "osu_alltoall"


class OsuReduction(OsuCollective):
    """Reductions work on 4-byte floats, so their smallest message is 4 B."""

    def size_options(self):
        return ["-m", "4:1048576"]

    def expected_sizes(self):
        return [size for size in super().expected_sizes() if size >= 4]


@rfm.simple_test
class OsuReduce(OsuReduction):
    descr = "OSU reduce, sum of floats"
    benchmark = "osu_reduce"


@rfm.simple_test
class OsuAllreduce(OsuReduction):
    descr = "OSU allreduce, sum of floats"
    benchmark = "osu_allreduce"
    tags = {"smoke"}
