"""OSU between many pairs of ranks at once: latency, bandwidth and message rate of all pairs together."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.network.osu_base import BANDWIDTH, OsuCheck
from reframe_checks.parsers import osu

RATE_BYTES = 8


class OsuMultiPair(ManyNodes, Scaled, OsuCheck):
    family = "network/osu-multi-pair"
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["one_node", "two_nodes"], loggable=True)
    hint = "if one pair alone is fast, look at the adapter's queues and at ranks that share cores"


@rfm.simple_test
class OsuMultiLatency(OsuMultiPair):
    descr = "OSU latency of all pairs at once"
    estimated_s = 30
    benchmark = "osu_multi_lat"


@rfm.simple_test
class OsuMessageRate(OsuMultiPair):
    descr = "OSU bandwidth and message rate of all pairs together"
    estimated_s = 30
    benchmark = "osu_mbw_mr"
    quantity = BANDWIDTH
    iterations = 10
    warmup = 2

    def check_tables(self, tables):
        self.rate = osu.curve(tables, "max", column=1)[RATE_BYTES]

    @rfmb.performance_function("1/s")
    def message_rate(self):
        return self.rate
