"""Programs of this repository: installed, or built with CMake once for each environment, on the login node.

The environment's ``extras`` name the build folder (``build_dir``), so later sessions do not build again. Other
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
    """Start the installed program once, or build the program if it is not up to date. Each program has a subclass."""

    #: Folder with the ``CMakeLists.txt``.
    source = rfmb.variable(str)
    #: Name of the program.
    program = rfmb.variable(str)
    #: The name of its folder below ``build_dir``, if it is not the program's name.
    folder = rfmb.variable(str, value="")
    cmake_options = rfmb.variable(typ.List[str], value=[])
    #: Feature of an environment that has the compilers and libraries to build the program.
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
                sn.assert_true(there, msg=f"{self.program}: the build made no program; see the job's standard output"),
            ]
        )


class MeasureProgram(CMakeProgram):
    """``kappa-measure``: one build for each environment. Many checks run one of its subcommands."""

    source = str(pathlib.Path(__file__).parents[1] / "src")
    program = "kappa-measure"


def folder_of(program, extras):
    """Return the build folder of ``program``, a class or an instance of `CMakeProgram`, for an environment's extras."""
    return pathlib.Path(extras["build_dir"], str(program.folder) or str(program.program))


def build_command(program, extras):
    """Return the words of the command that builds ``program`` for an environment with these extras."""
    # From the extras: ReFrame names a default compiler if the site names none.
    compilers = {key: extras.get(key) for key in _LANGUAGES}
    named = [f"-DCMAKE_{_LANGUAGES[key]}_COMPILER={value}" for key, value in compilers.items() if value]
    name, folder = str(program.program), str(folder_of(program, extras))
    options = ["-DCMAKE_BUILD_TYPE=Release", *named, *program.cmake_options]
    return ["bash", str(KEPT_BUILD), str(program.source), folder, name, *options]
