"""A check that only waits, for tests of jobs that do not depend on measurements."""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.sanity as sn

from reframe_checks.base.check import SystemCheck


@rfm.simple_test
class Nap(SystemCheck):
    family = "node/nap"
    measured_s = 2
    number = rfmb.parameter(["1", "2", "3"], loggable=True)
    num_tasks = num_tasks_per_node = 1
    executable = "sleep 2; echo slept"

    def launch_command(self):
        return ""

    @rfmb.sanity_function
    def has_slept(self):
        return sn.assert_found("slept", self.stdout)

    @rfmb.performance_function("naps")
    def naps(self):
        return sn.count(sn.findall("slept", self.stdout))
