"""A program of this repository: installed, or built with CMake once for each environment, on the login node.

The environment's ``extras`` name the folder for it (``build_dir``), so that later sessions build nothing.
"""

import os
import pathlib
import shlex
import shutil

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError
from reframe.utility import sanity as sn

# Without a number make starts every compiler at once; login nodes are shared.
BUILD_JOBS = min(os.cpu_count() or 1, 8)
_LANGUAGES = {"cc": "C", "cxx": "CXX"}


class CMakeProgram(rfm.RunOnlyRegressionTest):
    """Asks the installed program, or builds what is not up to date. A fixture derives from it for each program."""

    #: Folder with the ``CMakeLists.txt``.
    source = rfmb.variable(str)
    #: What is built, and the name of its folder below ``build_dir``.
    program = rfmb.variable(str)
    cmake_options = rfmb.variable(typ.List[str], value=[])
    #: Feature of an environment that has the program on its PATH: nothing is built there.
    installed = rfmb.variable(str, value="")

    local = True
    #: How to call the program.
    command = rfmb.variable(str, value="")

    @rfmb.run_after("setup")
    def command_line(self):
        if self.installed in self.current_environ.features:
            self.command = self.executable = self.program
            self.executable_opts = ["--help"]
            return
        build_dir = self.current_environ.extras.get("build_dir")
        if not build_dir:
            raise ReframeError(f"environment {self.current_environ.name}: the site's settings must give build_dir")
        built = pathlib.Path(build_dir) / self.program
        self.command = str(built / self.program)
        folder = shlex.quote(str(built))
        # Of the extras: where a site names no compiler, ReFrame names its own.
        compilers = {key: self.current_environ.extras.get(key) for key in ("cc", "cxx")}
        named = [f"-DCMAKE_{_LANGUAGES[key]}_COMPILER={value}" for key, value in compilers.items() if value]
        configure = ["cmake", "-S", self.source, "-B", str(built), "-DCMAKE_BUILD_TYPE=Release", *named]
        # ReFrame runs this once for each partition, at the same time, and they may share the folder.
        self.prerun_cmds = [
            f"mkdir -p {folder} && exec 9> {folder}/lock && flock 9",
            shlex.join([*configure, *self.cmake_options]),
        ]
        self.executable, self.executable_opts = "cmake", ["--build", folder, "--parallel", str(BUILD_JOBS)]

    @rfmb.sanity_function
    def program_is_there(self):
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, msg=f"{self.executable} failed: see the job's standard error"),
                sn.assert_true(self.executable != "cmake" or shutil.which(self.command), msg="no program was built"),
            ]
        )
