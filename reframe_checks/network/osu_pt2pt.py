"""OSU point-to-point between two ranks: latency, bandwidth and bidirectional bandwidth, by placement.

The curve over message sizes is kept whole; 8 B and 1 MiB are gated. Latency is half the round-trip time.
"""

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Placed
from reframe_checks.network.osu_base import BANDWIDTH, OsuCheck


class OsuPointToPoint(ManyNodes, Placed, OsuCheck):
    family = "network/osu-pt2pt"

    def check_tables(self, tables):
        self.require_placement()


@rfm.simple_test
class OsuLatency(OsuPointToPoint):
    descr = "OSU latency between two ranks"
    measured_s = 4
    benchmark = "osu_latency"
    tags = {"smoke"}
    hint = "look at the route between the nodes, CPU frequency and binding, and the transport that MPI chose"


class OsuStream(OsuPointToPoint):
    """A window of messages in flight: few iterations move enough data."""

    quantity = BANDWIDTH
    iterations = 10
    warmup = 2
    window = rfmb.variable(int, value=64)
    tunable = {
        **OsuPointToPoint.tunable,
        "window": Tunable("whole number", "messages", "in flight"),
    }
    hint = "compare with the same check on other nodes; look at link width and speed, errors on the port, and the MTU"

    def size_options(self):
        return [*super().size_options(), "-W", str(self.window)]


@rfm.simple_test
class OsuBandwidth(OsuStream):
    descr = "OSU bandwidth between two ranks"
    measured_s = 3
    benchmark = "osu_bw"
    tags = {"smoke"}


@rfm.simple_test
class OsuBidirectionalBandwidth(OsuStream):
    descr = "OSU bidirectional bandwidth between two ranks"
    measured_s = 3
    benchmark = "osu_bibw"
    # Inside a node, and between switches, it follows from bandwidth.
    placement = rfmb.parameter(["same_node", "two_nodes"], loggable=True)
