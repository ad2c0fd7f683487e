"""Wrong bits: every core of every node simulates the same network by itself, and all have to end with the same bits.

The digest is over all voltages at all steps and all that is left in memory (``emt alike``). It is compared with those
of all other cores and with the one on record for the version of Eigen (``localise/golden_bits.json``). Which network
it is changes from night to night.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.application.emt_base import EmtCheck
from reframe_checks.base.same_bits import WRONG_BITS, SameBits
from reframe_checks.base.scaled import Scaled

# Of a round: values on record are of so many.
STEPS = 1000


@rfm.simple_test
class EmtBits(SameBits, Scaled, EmtCheck):
    descr = "EMT application: same solution on every core"
    family = "application/emt-bits"
    measured_s = 4
    needs_partition = ["cores"]
    scale = rfmb.parameter(["each_node"], loggable=True)
    hint = WRONG_BITS

    seconds = rfmb.variable(float, value=1.0)
    tunable = {"seconds": Tunable("number", "s", "of simulations, on all cores at once")}

    @rfmb.run_after("init")
    def choose_network(self):
        self.seed = self.variant + 1

    @rfmb.run_after("setup")
    def command_line(self):
        self.num_tasks, self.num_tasks_per_node = self.num_tasks * self.cores_per_node, self.cores_per_node
        self.use_multithreading = False  # a rank on each core, not on each thread of half of them
        self.executable = shlex.quote(self.program)
        self.executable_opts = [
            "alike", "network.json", f"--steps={STEPS}", f"--seconds={self.seconds}", f"--variant={self.variant}",
            f"--result={self.result}",
        ]  # fmt: skip
