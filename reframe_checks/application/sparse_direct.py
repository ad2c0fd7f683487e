"""A sparse direct solver over ranks: MUMPS factorises a discretised convection-diffusion problem in each step.

It represents codes that factorise in their time steps, as JOREK does with PaStiX. Panels of a sparse factorisation go
between ranks along a tree; at its root they are few and large. There is only strong scaling, because the work of a
factorisation grows faster than its unknowns. ``src/sparse_direct/sparse_direct.cpp`` defines the problem.

Physics: the backward error is of the order of the rounding errors, and the solution is the known one.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.application.scaled_application import STRONG, ScaledApplication
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.parsers import applications

# Measured: 3e-16, some units of the last place. Without pivoting, or in single precision, it is 10^7 times larger.
MOST_BACKWARD_ERROR = 1e-13
# Multiplied by the order of the matrix's condition number, edge^2.
MOST_ERROR_OF_EDGE = 1e-13


class SparseDirectBuild(MeasureProgram):
    """A separate build: MUMPS needs libraries that start threads, which would disturb other measurements."""

    folder = "kappa-measure-mumps"
    cmake_options = ["-DMEASURE_MUMPS=ON"]
    built_with = "mumps"


@rfm.simple_test
class SparseDirect(ScaledApplication):
    descr = (
        "Measures MUMPS's time to factorise and solve a sparse system over ranks; finds slow messages, and wrong "
        "results by the residual"
    )
    family = "application/sparse-direct"
    measured_s = 10
    needs_environ = ["mumps"]
    series = rfmb.parameter([STRONG], loggable=True)
    informational = ["speedup", "backward_error"]
    hint = "compare the layouts with each other, and with Hpl: if only this check is slow, large messages are slow"
    failure_means = (
        "A factorisation on the largest layout takes too long, its efficiency is too low, or its solution is wrong. "
        "With a wrong solution, run BitSweep on the same nodes first; if it passes, rebuild MUMPS and its BLAS."
    )
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
                f"{name}.json: wrong arithmetic, messages or pivots: backward error {run.backward_error:.2g}, "
                f"expected at most {MOST_BACKWARD_ERROR:g}"
            )
        most = MOST_ERROR_OF_EDGE * run.edge**2
        if not run.error <= most:
            raise SanityError(f"{name}.json: wrong solution: error {run.error:.2g}, expected at most {most:.2g}")

    metrics = {
        # The largest of all runs.
        "backward_error": ("", lambda self: max(run.backward_error for runs in self.results.values() for run in runs)),
    }
