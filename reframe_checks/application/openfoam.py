"""OpenFOAM: the flow in a cavity with a moving lid, by ``icoFoam`` (PISO), over ranks.

Each step solves for velocity and pressure. The pressure uses conjugate gradients: each iteration has a halo exchange
and sums over all ranks. Strong scaling divides a square of cells. Weak scaling gives each rank such a square and
extends the cavity, so the flow changes and its pressure takes more iterations (``pressure_iterations``).

Physics, at every step: the residuals of pressure and velocity are below the case's tolerances, mass is conserved to
``MOST_CONTINUITY_ERROR``, and the Courant number is stable.
"""

import pathlib
import statistics
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.ground.whole_files import write_atomically
from reframe_checks.application.scaled_application import STRONG, ScaledApplication
from reframe_checks.base.case import SiteVariable
from reframe_checks.compute.hpl import process_grid
from reframe_checks.parsers import applications

# The lid moves at 1 m/s over squares of 1 m: a fifth of a cell in a step.
COURANT = 0.2
# `tolerance` of the velocity in fvSolution, the larger of the two.
MOST_RESIDUAL = 1e-5
# Local errors, summed and scaled by volume and time step; about 10^-11 at 10^4 cells.
MOST_CONTINUITY_ERROR = 1e-8


@dataclass(frozen=True)
class OpenFoamRun:
    log: applications.FoamLog
    profile: applications.FoamProfile

    @property
    def step_s(self):
        return self.profile.run_s / self.profile.steps


@rfm.simple_test
class OpenFoam(ScaledApplication):
    descr = (
        "Measures OpenFOAM's time per step for a lid-driven cavity over ranks; finds slow reductions, and wrong "
        "results by residuals"
    )
    family = "application/openfoam"
    measured_s = 11
    needs_environ = ["openfoam"]
    programs = ["icoFoam"]
    sourcesdir = "src/openfoam"
    informational = ["speedup", "residual", "continuity_error", "pressure_iterations"]
    hint = (
        "compare the layouts with each other, and with OsuAllreduce, because each iteration ends with sums over all "
        "ranks"
    )
    failure_means = (
        "A step on the largest layout takes too long, its efficiency is too low, a solver did not converge, or mass is "
        "lost. With wrong physics, run BitSweep on the same nodes first; if it passes, rebuild OpenFOAM."
    )

    cells = SiteVariable(500, "whole number", "", "cells along each edge of the square, strong scaling")
    cells_per_rank = SiteVariable(200, "whole number", "", "cells along each edge of each rank's square, weak scaling")
    steps = SiteVariable(20, "whole number", "", "steps of the simulation")

    @rfmb.run_before("run")
    def prepare_cases(self):
        for layout in self.laid_out:
            write_atomically(pathlib.Path(self.stagedir, f"{layout}.size"), self.size_of(layout))
        names = map(str, self.laid_out)
        self.prerun_cmds = [" ".join(["bash ./prepare_cases.sh", *names]), *self.prerun_cmds]

    def size_of(self, layout):
        """Return the text that the case's dictionaries include."""
        height, width = process_grid(layout.ranks)
        squares, cells = ((1, 1), self.cells) if self.series == STRONG else ((width, height), self.cells_per_rank)
        step_s = COURANT / cells
        entries = {
            "columns": squares[0] * cells, "rows": squares[1] * cells, "width": squares[0], "height": squares[1],
            "steps": self.steps, "deltaT": f"{step_s:.12g}", "endTime": f"{self.steps * step_s:.12g}",
            "ranks": layout.ranks, "grid": f"({width} {height} 1)",
        }  # fmt: skip
        return "".join(f"{key} {value};\n" for key, value in entries.items())

    def command_of(self, layout, name):
        parallel, part = (["-parallel"], "/processor0") if layout.ranks > 1 else ([], "")
        profiling = f"{layout}{part}/*/uniform/profiling"
        return ["icoFoam", *parallel, "-case", str(layout), ">", f"{name}.log;", "cp", profiling, f"{name}.profiling"]

    def measured(self, layout, name):
        log = self.parsed(applications.openfoam, self.output_text(f"{name}.log"))
        profile = self.parsed(applications.openfoam_profiling, self.output_text(f"{name}.profiling"))
        ran = (log.ranks, len(log.steps), profile.steps)
        self.require_ran(name, ran, (layout.ranks, self.steps, self.steps), "ranks, steps, timed steps")
        self.require_physics(log, name)
        return OpenFoamRun(log, profile)

    def require_physics(self, log, name):
        for number, step in enumerate(log.steps, start=1):
            limits = {
                "residual": (step.residual, MOST_RESIDUAL, "the solvers did not converge"),
                "continuity error": (step.continuity_error, MOST_CONTINUITY_ERROR, "mass is lost"),
                "Courant number": (step.courant, 1, "the velocity is wrong"),
            }
            for what, (found, most, why) in limits.items():
                if not found <= most:
                    raise SanityError(f"{name}.log: step {number}: {why}: {what} {found:g}, expected at most {most:g}")

    def worst(self, figure):
        return max(figure(step) for runs in self.results.values() for run in runs for step in run.log.steps)

    def pressure_iterations(self):
        """Return the mean number of pressure iterations per step, for the largest layout."""
        steps = [step for run in self.results[str(self.largest)] for step in run.log.steps]
        return statistics.mean(sum(step.pressure_iterations) for step in steps)

    metrics = {
        # The largest final residual of all runs.
        "residual": ("", lambda self: self.worst(lambda step: step.residual)),
        # The largest of all runs.
        "continuity_error": ("", lambda self: self.worst(lambda step: step.continuity_error)),
        "pressure_iterations": ("1/step", pressure_iterations),
    }
