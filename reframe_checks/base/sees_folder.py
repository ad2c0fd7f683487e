"""A job whose first node does not see the folder that it runs in: Slurm cannot open the job's output there, and no
line of the job script runs. Of the other nodes the watch says so (``hang_watch.py``).
"""

import os
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from reframe_checks.base.hang_watch import ENDED_BY_SLURM, said
from reframe_checks.base.job_files import runs_in_slurm
from reframe_checks.parsers.hang import Named


class SeesFolder(rfm.RegressionTestPlugin):
    """Says which node it is; nobody where the folder cannot be written to from here either."""

    @rfmb.run_after("run")
    def say_who_does_not_see_the_folder(self):
        if not runs_in_slurm(self) or self.is_dry_run() or self.has_output():
            return
        # One that Slurm has ended need not have begun. Without accounting ReFrame takes every other for completed.
        if not self.job.nodelist or any(state in str(self.job.state) for state in ENDED_BY_SLURM):
            return
        try:
            write_atomically(pathlib.Path(self.stagedir, "written_here"), "as a job would\n")
        except InputError as err:
            raise SanityError(f"no job can write its output, nor can this machine: {err}") from None
        # A change of its own makes a client of a network file system look again.
        if self.has_output():
            return
        named = Named(self.job.nodelist[0], "unseen", None)
        self.blame("crash", {named.node: (named.reason, said(named, self.stagedir))})

    def has_output(self):
        """Listed, not asked for by its name: a network file system remembers for long that a file was not there."""
        return str(self.job.stdout) in os.listdir(self.stagedir)
