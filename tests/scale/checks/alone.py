"""A step with next to no work on one node: the rest of its time comes from the suite and Slurm."""

import time

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import SystemCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import OncePerPartition, Scaled


@rfm.simple_test
class Alone(ManyNodes, OncePerPartition, Scaled, SystemCheck):
    descr = "a step on one node"
    family = "node/alone"
    tags = {"smoke"}
    measured_s = 1
    scale = rfmb.parameter(["one_node"], loggable=True)
    executable = "hostname"
    informational = ["waited"]
    hint = "no figure of it says anything of a node"

    @rfmb.sanity_function
    def read_name(self):
        said = set(self.output_text().split())
        if said != set(self.provenance["nodelist"]):
            raise SanityError(f"expected the names of {self.provenance['nodelist']}, got {sorted(said)}")
        return True

    @rfmb.performance_function("s")
    def waited(self):
        return time.time() - self.job.submit_time
