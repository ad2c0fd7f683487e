"""Second measurement in the same allocation, of metrics that are out of bounds or that name a node.

The job script runs itself as a child, which measures. Then the script holds the nodes until ReFrame, which polls it,
has judged the figures on a copy of the check, and says in a file whether they are *enough* or to be measured *again*.
The first measurement's output is moved aside, the second takes its place, and both are in the report. Nothing is
measured again that crashed, for which the time limit leaves no room, or that ReFrame did not judge in time.
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
from kappa.core.record.evidence import figures_of
from kappa.core.record.load import FIRST_FOLDER
from reframe_checks.base.job_files import KILLABLE, in_stage, runs_in_slurm, sourced
from reframe_checks.base.reframe_internals import begin_job_script, copy_of_ended

# As in `src/job/hold_nodes.sh`. The first is made by the job, which then waits for the other, made by ReFrame.
MEASURED_FILE, ANSWER_FILE = "kappa_measured", "kappa_answer"


class SameAllocation(rfm.RegressionTestPlugin):
    """Adds the holding to the job script; the check calls ``answer_held_job`` whenever it looks for its job."""

    #: How long a job waits for its figures to be judged, before it gives its nodes back; 0 for not at all.
    hold_s = rfmb.variable(int, value=60)
    #: What was measured again: ReFrame's ``perfvalues`` of the first measurement, and its evidence.
    first_measurement = rfmb.variable(dict, value={}, loggable=True)

    @rfmb.run_before("run", always_last=True)
    def hold_the_nodes(self):
        self.first_measurement, self._judged = {}, None
        begin_job_script(self.job, self.holding_commands())

    def holding_commands(self):
        if not runs_in_slurm(self):
            return []
        # Without a limit of the check's own it cannot be told whether a second measurement fits in.
        hold_s = max(0, self.hold_s) if self.time_limit else 0
        in_stage(self, KILLABLE)
        return [sourced(self, "hold_nodes.sh", hold_s, int(self.time_limit or 0), self.job.stdout, self.job.stderr)]

    def answer_held_job(self):
        """Judge what the job has measured, if it waits for that."""
        stage = pathlib.Path(self.stagedir)
        # The job does not wait for ever, and the check is judged when it has ended.
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
            # The job waits for it.
            write_atomically(stage / ANSWER_FILE, answer, lasting=False)

    def _in_doubt(self):
        """Return a measurement that is out of bounds or singles out a node, while all else is right; and its files."""
        try:
            twin = copy_of_ended(self)
            twin.run_wait()
            twin.sanity()
            with contextlib.suppress(PerformanceError):
                twin.performance()
        except (ForceExitError, RunSessionTimeout):
            raise
        except Exception as err:  # What is wrong with the job is said when it has ended.
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
        # Not by its name: a network file system remembers for long that it was not there.
        if FIRST_FOLDER not in os.listdir(self.stagedir):
            self.first_measurement = {}  # The answer came too late.
            return
        self.keep_files = [*self.keep_files, FIRST_FOLDER]
        outside = [
            f"{name}={figure.value} {figure.unit}"
            for name, figure in figures_of(self.first_measurement["perfvalues"]).items()
            if figure.failed
        ]
        why = f"out of bounds, so measured again in its job: {', '.join(outside)}"
        if not outside:
            why = f"within bounds, and measured again in its job: {', '.join(self.first_measurement['suspects'])}"
        getlogger().warning(f"{self.name}: {why}")
