"""The EMT application computes the same bits on one rank and on all, in both exchange modes.

One job runs the network on one rank and then on all ranks of the scale; the checksum over all node voltages
at all steps has to be the same. A difference means a wrong message, memory error or arithmetic unit.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.utility import sanity as sn

from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import emt


@rfm.simple_test
class EmtCorrectness(Scaled, EmtCheck):
    descr = "EMT application: same solution for any number of ranks"
    family = "application/emt-correctness"
    measured_s = 2
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    exchange = rfmb.parameter(["step", "slack"], loggable=True)
    steps = 2000
    hint = "run it on each node alone: a node whose checksum differs computes or transmits wrongly; look at its memory"

    @rfmb.run_after("setup")
    def command_line(self):
        run = ["run", "network.json", f"--steps={self.steps}", f"--exchange={self.exchange}"]
        single = [self.program, *run, "--result=single.json"]
        self.prerun_cmds = [*self.prerun_cmds, f"srun --nodes=1 --ntasks=1 {shlex.join(single)}"]
        self.executable = shlex.quote(self.program)
        self.executable_opts = [*run, "--result=all.json"]

    @rfmb.sanity_function
    def read_results(self):
        self.single, self.all = (self.parsed(emt.parse, self.output_text(name)) for name in ("single.json", "all.json"))
        # No figure out of bounds: what is wrong once is not measured again.
        same = "the checksums of one rank and of all differ: {0} and {1}"
        return sn.all([
            sn.assert_eq((self.single.ranks, self.all.ranks), (1, self.num_tasks)),
            sn.assert_eq(self.single.checksum, self.all.checksum, msg=same),
        ])  # fmt: skip

    @rfmb.performance_function("")
    def distinct_checksums(self):
        return len({self.single.checksum, self.all.checksum})
