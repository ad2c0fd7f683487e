"""What the checks of the MPI library's own behaviour share: our program ``mpi_behaviour``, one or several steps of
it in a job, and a result of each.

What they measure is set by the library, its version and its settings rather than by cables: a new release, another
transport or a changed default shows here first.
"""

import pathlib
import shlex

import reframe.core.builtins as rfmb

from kappa.core.vocabulary.features import MPI_BEHAVIOUR
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import CMakeProgram
from reframe_checks.base.scaled import Scaled
from reframe_checks.base.several_steps import SeveralSteps, with_variables

RESULT_FILE = "result.json"


class MpiBehaviourProgram(CMakeProgram):
    source = str(pathlib.Path(__file__).parent / "src/mpi_behaviour")
    program = "mpi_behaviour"


class MpiBehaviourCheck(SeveralSteps, Scaled, KappaCheck):
    """``mpi_behaviour SUBCOMMAND``; leaves say the words of each step and read the results."""

    needs_partition = [MPI_BEHAVIOUR]
    needs_environ = ["sweep-build"]
    # A library changes with software, not overnight.
    modes = ("acceptance",)
    #: The parser of a result, of ``reframe_checks.parsers.mpi_behaviour``.
    parse = None
    build = rfmb.fixture(MpiBehaviourProgram, scope="environment")
    scale = rfmb.parameter(["2_ranks", "2_nodes"], loggable=True)

    iterations = rfmb.variable(int, value=200)
    tunable = {"iterations": Tunable("whole number", "", "of which each repeat gives the median")}

    @rfmb.run_after("setup")
    def take_program(self):
        self.program = self.build.command
        self.executable, self.programs = shlex.quote(self.program), [self.program]

    def command_lines(self):
        return [
            with_variables(
                self.variables_of(name),
                [self.program, f"--iterations={self.iterations}", f"--output={name}", *words],
            )
            for name, words in self.steps().items()
        ]

    def steps(self):
        """File of the result -> the subcommand and its options."""
        raise NotImplementedError

    def variables_of(self, name):
        """Environment variables of this step alone."""
        return {}

    @rfmb.sanity_function
    def read_results(self):
        self.results = {name: self.result(name) for name in self.steps()}
        self.record_series()
        return True

    def result(self, name):
        return self.parsed(type(self).parse, self.output_text(name), expect_ranks=self.num_tasks, **self.asked(name))

    def asked(self, name):
        """What the parser has to be told of the step, by its parameters."""
        return {}

    def record_series(self):
        """Keep the curves of the results, and complain of what MPI did not give."""
        raise NotImplementedError
