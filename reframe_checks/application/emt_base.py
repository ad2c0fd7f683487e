"""What the checks of the EMT application share: the program, and the reference network.

An environment with the feature ``emt`` has ``emt`` on PATH; one with ``emt-build`` builds it from this repository
(``base/cmake_program.py``).
"""

import pathlib
import shlex

import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram


class EmtProgram(CMakeProgram):
    source = str(pathlib.Path(__file__).resolve().parents[2] / "emt_app")
    program = "emt"
    # All files in a few: less than half of the time, and what the compiler reads of libraries it reads once.
    cmake_options = ["-DEMT_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16"]
    built_with = "emt-build"
    installed = "emt"


class EmtCheck(KappaCheck):
    """A check of the Hydro-Quebec-like network (IPST 2023, Table I), replicated ``network_scale`` times.

    References and bits on record are those of the network alone, with constant EMFs in place of its machines.
    """

    needs_partition = ["compute"]
    needs_environ = ["emt|emt-build"]
    build = rfmb.fixture(EmtProgram, scope="environment")

    network_scale = rfmb.variable(int, value=1)
    #: Of the network's random choices.
    seed = rfmb.variable(int, value=1)
    steps = rfmb.variable(int, value=20000)
    tunable = {
        "network_scale": Tunable("whole number", "", "copies of the reference network"),
        "steps": Tunable("whole number", "", "of the simulation"),
    }

    @rfmb.run_after("setup")
    def generate_networks(self):
        self.program = self.build.command
        self.programs = [self.program]
        # What is built for simulations runs in no other way.
        launch = [self.launch_on(1)] if self.simulated else []
        self.prerun_cmds = [
            *self.prerun_cmds,
            *(
                " ".join([
                    *launch, shlex.quote(self.program), "generate hq --network-only", f"--scale {scale}",
                    f"--seed {self.seed} -o {name}",
                ])
                for name, scale in self.networks().items()
            ),
        ]  # fmt: skip

    def networks(self):
        """File -> copies of the reference network in it."""
        return {"network.json": self.network_scale}
