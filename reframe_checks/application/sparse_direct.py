"""A sparse direct solver over ranks: LU of a discretised convection-diffusion problem by MUMPS, anew in each step.

Stands for codes that factorise in their time steps, as JOREK does with PaStiX: panels of a sparse factorisation go
between ranks along a tree, few and large at its root. Strong scaling alone: the work of a factorisation grows faster
than its unknowns. ``src/sparse_direct/sparse_direct.cpp`` has the problem.

Physics: the backward error is of the order of the arithmetic's, and the solution is the known one.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.application.scaled_application import STRONG, ScaledApplication
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.parsers import applications

# Some units of the last place: it was 3e-16. Without pivoting, or in single precision, it is 10^7 times as much.
MOST_BACKWARD_ERROR = 1e-13
# That times the condition of the matrix, edge^2 by its order.
MOST_ERROR_OF_EDGE = 1e-13


class SparseDirectBuild(MeasureProgram):
    """A build of its own: MUMPS brings libraries that start threads, which other measurements have to do without."""

    folder = "kappa-measure-mumps"
    cmake_options = ["-DMEASURE_MUMPS=ON"]
    built_with = "mumps"


@rfm.simple_test
class SparseDirect(ScaledApplication):
    descr = "MUMPS: a sparse system factorised and solved over ranks, its residual at the arithmetic's"
    family = "application/sparse-direct"
    measured_s = 10
    needs_environ = ["mumps"]
    series = rfmb.parameter([STRONG], loggable=True)
    informational = ["speedup", "backward_error"]
    hint = "compare the layouts with each other, and with Hpl: much time beyond its is messages of a few panels"
    build = rfmb.fixture(SparseDirectBuild, scope="environment")

    edge = SiteVariable(
        80, "whole number", "", "points along each edge of the cube; edge³ unknowns",
    )
    steps = SiteVariable(3, "whole number", "", "factorisations, each with a solution")

    def command_of(self, layout, name):
        return [
            shlex.quote(self.program), "sparse-direct", "--edge", str(self.edge), "--steps", str(self.steps),
            "--output", f"{name}.json",
        ]  # fmt: skip

    def measured(self, layout, name):
        run = self.parsed(applications.SparseDirectResult.read, self.output_text(f"{name}.json"))
        asked = (layout.ranks, self.edge, self.steps)
        self.require_ran(f"{name}.json", (run.ranks, run.edge, run.steps), asked, "ranks, edge, steps")
        self.require_physics(run, name)
        return run

    def require_physics(self, run, name):
        if not run.backward_error <= MOST_BACKWARD_ERROR:
            raise SanityError(
                f"{name}.json: the backward error is {run.backward_error:.2g}, more than {MOST_BACKWARD_ERROR:g}: "
                "wrong arithmetic, messages or pivots"
            )
        most = MOST_ERROR_OF_EDGE * run.edge**2
        if not run.error <= most:
            raise SanityError(f"{name}.json: the solution is {run.error:.2g} from the right one, more than {most:.2g}")

    metrics = {
        # The largest of all runs.
        "backward_error": ("", lambda self: max(run.backward_error for runs in self.results.values() for run in runs)),
    }
