"""Programs of this repository: installed, or built with CMake once for each environment, on the login node.

The environment's ``extras`` name the folder for it (``build_dir``), so that later sessions build nothing. Other
checkouts take the program from the user's cache (``src/kept_build.sh``).
"""

import pathlib
import shlex
import shutil

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError
from reframe.utility import sanity as sn

KEPT_BUILD = pathlib.Path(__file__).parent / "src/kept_build.sh"
_LANGUAGES = {"cc": "C", "cxx": "CXX"}


class CMakeProgram(rfm.RunOnlyRegressionTest):
    """Asks the installed program, or builds what is not up to date. A fixture derives from it for each program."""

    #: Folder with the ``CMakeLists.txt``.
    source = rfmb.variable(str)
    #: What is built.
    program = rfmb.variable(str)
    #: The name of its folder below ``build_dir``, if not the program's.
    folder = rfmb.variable(str, value="")
    cmake_options = rfmb.variable(typ.List[str], value=[])
    #: Feature of an environment that has what the program is built with.
    built_with = "sweep-build"
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
        extras = self.current_environ.extras
        if "build_dir" not in extras:
            raise ReframeError(f"environment {self.current_environ.name}: the site's settings must give build_dir")
        self.command = str(folder_of(self, extras) / self.program)
        self.executable, *self.executable_opts = map(shlex.quote, build_command(self, extras))

    @rfmb.sanity_function
    def program_is_there(self):
        there = self.executable == self.program or shutil.which(self.command)
        return sn.all(
            [
                sn.assert_eq(self.job.exitcode, 0, msg=f"{self.program}: see the job's standard error"),
                sn.assert_true(there, msg=f"{self.program} was not built"),
            ]
        )


class MeasureProgram(CMakeProgram):
    """``kappa-measure``: one build of an environment for all checks that measure with a subcommand of it."""

    source = str(pathlib.Path(__file__).parents[1] / "src")
    program = "kappa-measure"


def folder_of(program, extras):
    """Return the folder where ``program``, a class or an instance of `CMakeProgram`, is built with these extras."""
    return pathlib.Path(extras["build_dir"], str(program.folder) or str(program.program))


def build_command(program, extras):
    """The words that build ``program`` for an environment with these extras."""
    # Of the extras: where a site names no compiler, ReFrame names its own.
    compilers = {key: extras.get(key) for key in _LANGUAGES}
    named = [f"-DCMAKE_{_LANGUAGES[key]}_COMPILER={value}" for key, value in compilers.items() if value]
    name, folder = str(program.program), str(folder_of(program, extras))
    options = ["-DCMAKE_BUILD_TYPE=Release", *named, *program.cmake_options]
    return ["bash", str(KEPT_BUILD), str(program.source), folder, name, *options]
