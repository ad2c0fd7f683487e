"""Builds a program of this repository with CMake, once for each environment, on the login node.

The environment's ``extras`` name the folder for it (``build_dir``), so that later sessions build nothing.
"""

import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError
from reframe.utility import sanity as sn


class CMakeProgram(rfm.RunOnlyRegressionTest):
    """Configures and builds; does nothing when all is up to date. A fixture derives from it for each program."""

    #: Folder with the ``CMakeLists.txt``.
    source = rfmb.variable(str)
    #: What is built, and the name of its folder below ``build_dir``.
    program = rfmb.variable(str)
    cmake_options = rfmb.variable(typ.List[str], value=[])

    local = True
    executable = "cmake"

    @rfmb.run_after("setup")
    def command_line(self):
        build_dir = self.current_environ.extras.get("build_dir")
        if not build_dir:
            raise ReframeError(f"environment {self.current_environ.name}: the site's settings must give build_dir")
        self.path = pathlib.Path(build_dir) / self.program / self.program
        folder = shlex.quote(str(self.path.parent))
        configure = ["cmake", "-S", self.source, "-B", str(self.path.parent), "-DCMAKE_BUILD_TYPE=Release"]
        # ReFrame runs this once for each partition, at the same time, and they may share the folder.
        self.prerun_cmds = [
            f"mkdir -p {folder} && exec 9> {folder}/lock && flock 9",
            shlex.join([*configure, *self.cmake_options]),
        ]
        self.executable_opts = ["--build", folder, "--parallel"]

    @rfmb.sanity_function
    def program_is_there(self):
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, msg="cmake failed: see the job's standard error"),
                sn.assert_true(self.path.is_file(), msg=f"the build left no {self.program}"),
            ]
        )
