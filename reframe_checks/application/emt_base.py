"""What the checks of the EMT application share: the program, and the reference network.

An environment with the feature ``emt`` has ``emt`` on PATH. One with ``emt-build`` builds it from this
repository, in the folder that its ``extras`` name (``emt_build_dir``), so that later sessions build nothing.
"""

import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError
from reframe.utility import sanity as sn

from reframe_checks.base.check import KappaCheck

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "emt_app"


class EmtProgram(rfm.RunOnlyRegressionTest):
    """Sees on the login node that the program is there: asks the installed one, or builds what is not up to date."""

    local = True
    build_dir = rfmb.variable(str, value="")

    @rfmb.run_after("setup")
    def command_line(self):
        if "emt-build" not in self.current_environ.features:
            self.executable, self.executable_opts = "emt", ["--version"]
            return
        self.build_dir = self.current_environ.extras.get("emt_build_dir", "")
        if not self.build_dir:
            raise ReframeError(f"environment {self.current_environ.name}: the site's settings must give emt_build_dir")
        folder = shlex.quote(self.build_dir)
        self.prerun_cmds = [
            f"cmake -S {shlex.quote(str(SOURCE))} -B {folder} -DCMAKE_BUILD_TYPE=Release -DEMT_TESTS=OFF"
        ]
        self.executable, self.executable_opts = "cmake", ["--build", folder, "--parallel"]

    @property
    def program(self):
        return str(pathlib.Path(self.build_dir) / "emt") if self.build_dir else "emt"

    @rfmb.sanity_function
    def program_is_there(self):
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, msg=f"{self.executable} failed: see the job's standard error"),
                sn.assert_true(not self.build_dir or pathlib.Path(self.program).is_file(), msg="the build left no emt"),
            ]
        )


class EmtCheck(KappaCheck):
    """A check of the Hydro-Quebec-like network (IPST 2023, Table I), replicated ``network_scale`` times."""

    needs_partition = ["compute"]
    needs_environ = ["emt|emt-build"]
    source = rfmb.fixture(EmtProgram, scope="environment")

    network_scale = rfmb.variable(int, value=1)
    steps = rfmb.variable(int, value=20000)
    tunable = ["network_scale", "steps"]

    @rfmb.run_after("setup")
    def generate_network(self):
        self.program = self.source.program
        self.programs = [self.program]
        self.prerun_cmds = [
            *self.prerun_cmds,
            f"{shlex.quote(self.program)} generate hq --scale {self.network_scale} --seed 1 -o network.json",
        ]
