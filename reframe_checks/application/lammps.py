"""LAMMPS: molecular dynamics of a Lennard-Jones liquid at constant energy, over ranks.

Forces have a short range: each rank exchanges halos with its six neighbours at every step. Strong scaling keeps a cube
of cells; weak scaling gives each rank such a cube.

Physics:

- no atom is lost (LAMMPS reports it, and the parser counts);
- no neighbour list came too late;
- the energy of an atom drifts by less than ``MOST_DRIFT`` per step;
- the temperature is as expected for the molten lattice.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.application.scaled_application import STRONG, ScaledApplication, process_box
from reframe_checks.base.case import SiteVariable
from reframe_checks.parsers import applications

ATOMS_OF_CELL = 4
MELTING_STEPS, ROWS_EVERY = 100, 10
# Drift per atom and step, in units of the potential's depth. Measured for 864 to 16384 atoms: at most 5 * 10^-7; with
# neighbour lists that came too late: 2 * 10^-5.
MOST_DRIFT = 2e-6
# In units of the potential's depth. The lattice starts at 1.44 and gives half of its motion to the potential.
# Measured: 0.73 to 0.77.
TEMPERATURES = (0.68, 0.82)


@rfm.simple_test
class Lammps(ScaledApplication):
    descr = (
        "Measures LAMMPS's time per step for a Lennard-Jones liquid over ranks; finds slow messages, and wrong forces "
        "by the energy"
    )
    family = "application/lammps"
    measured_s = 17
    needs_environ = ["lammps"]
    programs = ["lmp"]
    sourcesdir = "src/lammps"
    informational = ["speedup", "energy_drift"]
    hint = "compare the layouts with each other, and with EmtSeries; time outside Pair in the log is communication"
    failure_means = (
        "A step on the largest layout takes too long, its efficiency is too low, or the liquid's energy or temperature "
        "is wrong. With wrong physics, run BitSweep on the same nodes first; if it passes, rebuild LAMMPS."
    )

    cells = SiteVariable(60, "whole number", "", "cells of four atoms along each edge of the cube, strong scaling")
    cells_per_rank = SiteVariable(20, "whole number", "", "cells along each edge of each rank's cube, weak scaling")
    steps = SiteVariable(100, "whole number", "", f"measured steps, a multiple of {ROWS_EVERY}")

    @rfmb.run_after("setup")
    def require_rows(self):
        if self.steps < 2 * ROWS_EVERY or self.steps % ROWS_EVERY:
            where = f"partition {self.current_partition.fullname}: Lammps.steps"
            raise ReframeError(f"{where}: expected a multiple of {ROWS_EVERY} above {ROWS_EVERY}, found {self.steps}")

    def cells_of(self, layout):
        if self.series == STRONG:
            return (self.cells,) * 3
        return tuple(number * self.cells_per_rank for number in process_box(layout.ranks))

    def command_of(self, layout, name):
        sizes = dict(zip("xyz", self.cells_of(layout), strict=True))
        numbers = {**sizes, "melting_steps": MELTING_STEPS, "steps": self.steps, "rows_every": ROWS_EVERY}
        variables = [word for key, value in numbers.items() for word in ("-var", key, str(value))]
        return ["lmp", "-in", "melt.in", *variables, "-screen", "none", "-log", f"{name}.log"]

    def measured(self, layout, name):
        runs = self.parsed(applications.lammps, self.output_text(f"{name}.log"))
        if len(runs) != 2:
            raise SanityError(f"{name}.log: expected two runs, melting and measured, found {len(runs)}")
        x, y, z = self.cells_of(layout)
        asked = (layout.ranks, ATOMS_OF_CELL * x * y * z, MELTING_STEPS, self.steps)
        melting, run = runs
        ran = (run.ranks, run.atoms, melting.steps, run.steps)
        self.require_ran(f"{name}.log", ran, asked, "ranks, atoms, steps of melting, steps")
        self.require_physics(run, name)
        return run

    def require_physics(self, run, name):
        if run.dangerous_builds:
            raise SanityError(
                f"{name}.log: {run.dangerous_builds} neighbour lists came too late, so forces are missing"
            )
        if not drift_of(run) <= MOST_DRIFT:
            raise SanityError(
                f"{name}.log: the energy of an atom drifts by {drift_of(run):.2g} per step, expected at most "
                f"{MOST_DRIFT:g}: wrong forces, or another floating-point precision"
            )
        temperature = statistics.mean(row.temperature_lj for row in run.rows)
        low, high = TEMPERATURES
        if not low <= temperature <= high:
            raise SanityError(f"{name}.log: temperature {temperature:.3f}, expected {low:g} to {high:g} after melting")

    metrics = {
        # Drift per atom in units of the potential's depth, the largest of all runs.
        "energy_drift": (
            "energy/step", lambda self: max(drift_of(run) for runs in self.results.values() for run in runs),
        ),
    }


def drift_of(run):
    """Return the drift of an atom's energy per step: the absolute slope of a least-squares line."""
    steps, energies = zip(*((row.step, row.total_energy_lj) for row in run.rows), strict=True)
    return abs(statistics.linear_regression(steps, energies).slope)
