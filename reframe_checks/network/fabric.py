"""A simulated fabric alone: its description is usable, and the simulator is installed.

The check records the census of the suite for runs on simulated machines, as ``PartitionState`` does on Slurm.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.backends import getlauncher
from reframe.core.exceptions import SanityError

from kappa.core.ground.folders import suite_revision
from kappa.core.record.evidence import written
from kappa.core.vocabulary.features import SIMULATED
from reframe_checks.base.census import take_census
from reframe_checks.base.check import SystemCheck


@rfm.simple_test
class Fabric(SystemCheck):
    descr = (
        "Loads the description of a simulated fabric and starts the simulator; finds a wrong description or no SimGrid"
    )
    family = "network/fabric"
    measured_s = 1
    tags = {"smoke"}
    on_fabrics = True
    needs_partition = [SIMULATED]
    num_tasks = 2
    hint = "check the description with `kappa fabric show`"
    failure_means = (
        "The simulator SimGrid does not start, or the description of the fabric cannot be used, so that no other check "
        "runs on this partition. Install the simulator, or correct the fabric's file."
    )
    census = rfmb.variable(dict, type(None), value=None, loggable=True)

    @rfmb.run_after("setup")
    def ask_simulator(self):
        self.job.launcher = getlauncher("local")()
        self.executable, self.executable_opts = "smpirun", ["-version"]
        self.census = written(take_census(suite_revision()))

    @rfmb.sanity_function
    def simulator_is_there(self):
        said = self.output_text().strip()
        if not said.startswith("SimGrid version"):
            raise SanityError(f"expected the version of SimGrid, found {said[:80]!r}")
        return True

    metrics = {"ranks": ("ranks", lambda self: self.fabric.nodes * self.fabric.ranks_per_node)}
