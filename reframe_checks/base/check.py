"""The base of every check. Its four parts say by phase what happens and what a check may set.

- ``case.py``: where and how large; ``measure.py``: commands, metrics, references; ``evidence.py``: what the check
  concludes from the output; ``watch.py``: what watches the job.
- ReFrame runs the hooks of a phase in this order: those of ``SpackPrograms``, ``CheckCase``, ``CheckWatch``,
  ``CheckEvidence`` and ``CheckMeasure``, then those of the check's own bases and of the check; hooks that are
  ``always_last`` in the opposite order, after all others.
- Bases that a check adds before ``KappaCheck``: ``scaled.py`` (scales, placements, all cores, GPUs), ``on_storage.py``
  (storage targets), ``many_nodes.py`` (one job measures many nodes, each alone), ``same_bits.py`` (equal bits).
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.case import CheckCase
from reframe_checks.base.case_journal import keep_journal
from reframe_checks.base.evidence import CheckEvidence
from reframe_checks.base.measure import CheckMeasure
from reframe_checks.base.patient_slurm import outlast_slurm, wait_at_limit
from reframe_checks.base.reframe_internals import (
    ask_slurm_less,
    free_places_of_failed_cases,
    look_for_who_is_warned_only_to_warn,
    note_variables_given,
    require_tested,
)
from reframe_checks.base.spack import SpackPrograms
from reframe_checks.base.watch import CheckWatch

require_tested(rfm.VERSION)
look_for_who_is_warned_only_to_warn()
ask_slurm_less()
note_variables_given()
outlast_slurm()
wait_at_limit()
free_places_of_failed_cases()
keep_journal()


class SystemCheck(rfm.RunOnlyRegressionTest, CheckMeasure, CheckEvidence, CheckWatch, CheckCase, special=True):
    """A run-only check of the system itself; it runs no program of an environment.

    Leaf classes define ``family``, ``needs_*``, the command, the sanity function and the metrics.

    A partition gives its number of ``nodes`` in ``extras``, and the limit for waiting jobs in ``max_pending_time``.
    The number of cores per node comes from its ``processor``.
    """

    time_limit = "10m"
    exclusive_access = True

    # After the hooks of the parts, before the hooks of the leaf.
    @rfmb.run_before("run")
    def note_commands_of_job(self):
        self.commands_of_job = list(self.prerun_cmds)

    def run_complete(self):
        """Answer whether the job has ended. ReFrame calls this at each poll, and has no hook there."""
        if self.job and not self.is_dry_run():
            self.answer_held_job()
            self.look_for_first_node()
        return super().run_complete()


class KappaCheck(SystemCheck, SpackPrograms):
    """A run-only check that runs programs of an environment."""

    @rfmb.run_after("setup")
    def take_program(self):
        """Run the program that the fixture ``build`` has built, if the check has this fixture."""
        if hasattr(self, "build"):
            self.program = self.build.command
            self.programs, self.executable = [self.program], shlex.quote(self.program)
