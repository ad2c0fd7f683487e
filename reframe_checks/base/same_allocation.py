"""Re-measure in the same allocation if a metric is out of bounds or names a node.

1. The job script runs itself as a child, which measures. Then the script holds the nodes.
2. ReFrame, which polls the job, judges the figures on a copy of the check, and writes *enough* or *again* into a file.
3. After *again*, the script moves the output aside and measures a second time. The report has both measurements.

A job does not re-measure if it crashed, if its time limit is too short, or if ReFrame did not answer in time.
"""

import contextlib
import os
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ForceExitError, PerformanceError, RunSessionTimeout
from reframe.core.logging import getlogger

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.metric import figures_of
from kappa.core.record.runs import FIRST_FOLDER
from reframe_checks.base.job_files import KILLABLE, in_stage, runs_in_slurm, sourced
from reframe_checks.base.reframe_internals import begin_job_script, copy_of_ended

# As in `src/job/hold_nodes.sh`. The job makes the first file and waits for the second, which ReFrame makes.
MEASURED_FILE, ANSWER_FILE = "kappa_measured", "kappa_answer"


class SameAllocation(rfm.RegressionTestPlugin):
    """Make the job hold its nodes after it has measured; the check calls ``answer_held_job`` at each poll."""

    #: How long a job holds its nodes for a judgement of its figures, s; 0: it does not wait.
    hold_s = rfmb.variable(int, value=60)
    #: ReFrame's ``perfvalues`` and the evidence of the first measurement, if the job re-measured.
    first_measurement = rfmb.variable(dict, value={}, loggable=True)

    @rfmb.run_before("run", always_last=True)
    def hold_the_nodes(self):
        self.first_measurement, self._judged = {}, None
        begin_job_script(self.job, self.holding_commands())

    def holding_commands(self):
        if not runs_in_slurm(self):
            return []
        # Without a time limit, the job cannot know whether a second measurement fits in.
        hold_s = max(0, self.hold_s) if self.time_limit else 0
        in_stage(self, KILLABLE)
        return [sourced(self, "hold_nodes.sh", hold_s, int(self.time_limit or 0), self.job.stdout, self.job.stderr)]

    def answer_held_job(self):
        """Judge the job's figures if the job waits for the answer."""
        stage = pathlib.Path(self.stagedir)
        # An error here is harmless: the job stops waiting after a while, and the check is judged when it has ended.
        with contextlib.suppress(OSError, InputError):
            names = os.listdir(stage)
            if MEASURED_FILE not in names or ANSWER_FILE in names:
                return
            if self._judged is None:
                self._judged = self._in_doubt()
            self.first_measurement, output = self._judged
            if self.waits_for_quiet(self.first_measurement):
                return
            answer = "".join(f"{line}\n" for line in (["again", *output] if output else ["enough"]))
            # Without fsync: the job waits for it.
            write_atomically(stage / ANSWER_FILE, answer, lasting=False)

    def _in_doubt(self):
        """Return the measurement and its files if it is out of bounds or names a node, and has no other error."""
        try:
            twin = copy_of_ended(self)
            twin.run_wait()
            twin.sanity()
            with contextlib.suppress(PerformanceError):
                twin.performance()
        except (ForceExitError, RunSessionTimeout):
            raise
        except Exception as err:  # The job's errors are reported when it has ended.
            getlogger().debug(f"{self.name}: not judged while its nodes are held: {err}")
            return {}, []
        if not twin.suspects and not any(one.failed for one in figures_of(twin.perfvalues).values()):
            return {}, []
        read = [name for name in twin.keep_files if name not in self.keep_files]
        there = os.listdir(self.stagedir)
        files = dict.fromkeys([str(self.job.stdout), str(self.job.stderr), *read])
        found = {"perfvalues": dict(twin.perfvalues), **twin.evidence()}
        return found, [name for name in files if name in there]

    @rfmb.run_after("run")
    def keep_first_measurement(self):
        if not self.first_measurement:
            return
        # List the folder: a network file system caches for long that a file is missing.
        if FIRST_FOLDER not in os.listdir(self.stagedir):
            self.first_measurement = {}  # The answer came too late.
            return
        self.keep_files = [*self.keep_files, FIRST_FOLDER]
        outside = [
            f"{name}={figure.value} {figure.unit}"
            for name, figure in figures_of(self.first_measurement["perfvalues"]).items()
            if figure.failed
        ]
        why = f"out of bounds, so re-measured in the same allocation: {', '.join(outside)}"
        if not outside:
            suspects = ", ".join(self.first_measurement["suspects"])
            why = f"within bounds, but re-measured in the same allocation because of {suspects}"
        getlogger().warning(f"{self.name}: {why}")
