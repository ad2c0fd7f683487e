"""GROMACS: molecular dynamics of water with PME, over ranks.

Each rank exchanges halos with its neighbours at every step. The 3-D FFT of the long-range forces connects all ranks.
Strong scaling keeps a cube of boxes of 216 molecules; weak scaling gives each rank such a cube. GROMACS times the
second half of the steps, after it has balanced its domains.

Physics: a molecule has the energy of SPC water, and the energy drifts by less than ``MOST_DRIFT``.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.application.scaled_application import STRONG, ScaledApplication, process_box
from reframe_checks.base.case import SiteVariable
from reframe_checks.parsers import gromacs

ATOMS_OF_BOX = 3 * 216
# Energy of a molecule with the kinetic energy of the initial 300 K, kJ/mol. Measured: -35.2 to -35.0.
ENERGIES = (-35.7, -34.5)
# Drift per atom, kJ/mol/ps. Measured for 648 to 5184 atoms and 100 to 400 steps: at most 0.009, mostly fluctuation.
MOST_DRIFT = 0.05


@rfm.simple_test
class Gromacs(ScaledApplication):
    descr = (
        "Measures GROMACS's time per step for water with PME over ranks; finds slow messages, and wrong forces by the "
        "energy"
    )
    family = "application/gromacs"
    estimated_s = 60
    needs_environ = ["gromacs"]
    programs = ["gmx_mpi"]
    sourcesdir = "src/gromacs"
    informational = ["speedup", "energy_drift"]
    hint = "compare the layouts with each other, and with OsuAlltoall: PME's FFT transposes between all ranks"
    failure_means = (
        "A step on the largest layout takes too long, its efficiency is too low, or the energy of the water is wrong. "
        "With a wrong energy, run BitSweep on the same nodes first; if it passes, rebuild GROMACS."
    )

    boxes = SiteVariable(
        12, "whole number", "", "boxes of 216 water molecules along each edge of the cube, strong scaling"
    )
    boxes_per_rank = SiteVariable(
        4, "whole number", "", "boxes along each edge of each rank's cube, weak scaling; at least 2"
    )
    steps = SiteVariable(2000, "whole number", "", "steps of the simulation; the second half is timed")

    def boxes_of(self, layout):
        if self.series == STRONG:
            return (self.boxes,) * 3
        return tuple(number * self.boxes_per_rank for number in process_box(layout.ranks))

    @rfmb.run_before("run")
    def prepare_boxes(self):
        boxes = [":".join(map(str, (layout, *self.boxes_of(layout)))) for layout in self.laid_out]
        self.prerun_cmds = [f"bash ./prepare_boxes.sh {self.steps} {' '.join(boxes)}", *self.prerun_cmds]

    def command_of(self, layout, name):
        options = f"-resethway -noconfout -npme 0 -ntomp 1 -s {layout}.tpr -deffnm {name}"
        return ["gmx_mpi", "mdrun", *options.split()]

    def measured(self, layout, name):
        run = self.parsed(gromacs.parse, self.output_text(f"{name}.log"))
        x, y, z = self.boxes_of(layout)
        asked = (layout.ranks, ATOMS_OF_BOX * x * y * z, self.steps)
        self.require_ran(f"{name}.log", (run.ranks, run.atoms, run.steps), asked, "ranks, atoms, steps")
        low, high = ENERGIES
        energy = 3 * run.energy_kj_mol / run.atoms
        if not (low <= energy <= high and abs(run.drift_kj_mol_ps) <= MOST_DRIFT):
            raise SanityError(
                f"{name}.log: wrong forces: energy of a molecule {energy:.2f} kJ/mol, expected {low:g} to {high:g}; "
                f"drift of an atom {run.drift_kj_mol_ps:g} kJ/mol/ps, expected at most {MOST_DRIFT:g}"
            )
        return run

    metrics = {
        # Drift per atom, the largest of all runs.
        "energy_drift": (
            "kJ/mol/ps",
            lambda self: max(abs(run.drift_kj_mol_ps) for runs in self.results.values() for run in runs),
        ),
    }
