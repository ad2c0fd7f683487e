"""STREAM: sustainable memory bandwidth of a node, all cores (McCalpin 1995)."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.stream_base import StreamCheck


@rfm.simple_test
class Stream(ManyNodes, Scaled, StreamCheck):
    descr = "STREAM triad: memory bandwidth of a node"
    family = "compute/stream"
    measured_s = 9
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    hint = "look for missing memory modules, NUMA settings, other jobs on the node and CPU frequency"

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable, self.executable_opts = self.program, self.arguments()

    @rfmb.sanity_function
    def read_bandwidth(self):
        self.triad_mb_s = self.triad_of(self.output_text())
        return True

    @rfmb.performance_function("MB/s")
    def triad(self):
        return self.triad_mb_s
