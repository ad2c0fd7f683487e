"""Figures out of bounds are measured again in the same allocation, before the job gives its nodes back.

The job script runs itself as a child, which measures. Then the script holds the nodes until ReFrame, which polls it,
has judged the figures on a copy of the check, and says in a file whether they are *enough* or to be measured *again*.
The first measurement's output is moved aside, the second takes its place, and both are in the report. Nothing is
measured again that crashed, for which the time limit leaves no room, or that ReFrame did not judge in time.
"""

import contextlib
import copy
import os
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ForceExitError, PerformanceError, RunSessionTimeout
from reframe.core.logging import getlogger

# Made by the job, which then waits for the other, made by ReFrame.
MEASURED_FILE, ANSWER_FILE = "kappa_measured", "kappa_answer"
FIRST_FOLDER = "first_measurement"

# Slurm ends a job by a signal to all of its processes, or to the script alone (`sbatch --signal=B:…`): the measurement
# gets it and cleans up, and only then the script ends. A second measurement must fit into the time limit, which begins
# before the script does. `: ./*` reads the folder: a network file system remembers for long that a file is not there.
_SCRIPT = r"""if [[ ${{KAPPA_MEASURES-}} != "$SLURM_JOB_ID" && -z ${{SLURM_ARRAY_TASK_ID-}} ]]; then
# This script runs itself to measure, holds the nodes until ReFrame has judged the figures, and measures once more if
# they are out of bounds.
shell=("$BASH")
if shopt -q login_shell; then shell+=(-l); fi
measure() {{
  KAPPA_MEASURES=$SLURM_JOB_ID "${{shell[@]}}" "$0" & measuring=$!
  status=0; wait "$measuring" || status=$?
  while kill -0 "$measuring" 2>/dev/null; do status=0; wait "$measuring" || status=$?; done
}}
rm -rf {measured} {answer} {first}
ended='' said=''
trap 'ended=yes; kill "$measuring" 2>/dev/null || true' TERM INT
measure
if [[ $status == 0 && -z $ended ]] && (( 5 * SECONDS / 2 + {hold_s} < {limit_s} )); then
  touch {measured}
  for (( i = 0; i < 10 * {hold_s}; i++ )); do
    : ./*
    if [[ -s {answer} || $ended ]]; then break; fi
    sleep 0.1
  done
  (set -o noclobber; echo late > {answer}) 2>/dev/null || true
  {{ read -r said; mapfile -t files; }} < {answer} || true
fi
if [[ $said == again && -z $ended ]]; then
  if mkdir {first} && mv -- "${{files[@]}}" {first}; then
    exec > {stdout} 2> {stderr}
    measure
  else
    mv -- {first}/* . || true
    rmdir {first} || true
  fi
fi
exit "$status"
fi"""


def holding_script(hold_s: int, limit_s: int, stdout: str, stderr: str) -> str:
    """What a job script that writes to ``stdout`` and ``stderr`` has to begin with.

    :param limit_s: the job's time limit; it is not held when a second measurement would not fit in.
    """
    return _SCRIPT.format(
        hold_s=hold_s,
        limit_s=limit_s,
        measured=MEASURED_FILE,
        answer=ANSWER_FILE,
        first=FIRST_FOLDER,
        stdout=shlex.quote(stdout),
        stderr=shlex.quote(stderr),
    )


class SameAllocation(rfm.RegressionTestPlugin):
    """Adds the holding to the job script; the check calls ``answer_held_job`` whenever it looks for its job."""

    #: How long a job waits for its figures to be judged, before it gives its nodes back; 0 for not at all.
    hold_s = rfmb.variable(int, value=60)
    #: What was out of bounds and measured again: ReFrame's ``perfvalues`` of the first measurement, and its evidence.
    first_measurement = rfmb.variable(dict, value={}, loggable=True)

    @rfmb.run_before("run", always_last=True)
    def hold_the_nodes(self):
        self.first_measurement, self._judged = {}, None
        scheduler = self.current_partition.scheduler.registered_name
        # Without a limit of the check's own it cannot be told whether a second measurement fits in.
        if self.is_local() or scheduler not in ("slurm", "squeue") or self.hold_s <= 0 or not self.time_limit:
            return
        script = holding_script(self.hold_s, int(self.time_limit), str(self.job.stdout), str(self.job.stderr))
        self.prerun_cmds = [script, *self.prerun_cmds]

    def answer_held_job(self):
        """Judge what the job has measured, if it waits for that."""
        stage = pathlib.Path(self.stagedir)
        with contextlib.suppress(OSError):  # The job does not wait for ever, and the check is judged when it has ended.
            names = os.listdir(stage)
            if MEASURED_FILE not in names or ANSWER_FILE in names:
                return
            if self._judged is None:
                self._judged = self._measured_out_of_bounds()
            self.first_measurement, output = self._judged
            if self.waits_for_quiet(self.first_measurement):
                return
            answer = "".join(f"{line}\n" for line in (["again", *output] if output else ["enough"]))
            part = stage / f"{ANSWER_FILE}.part"
            part.write_text(answer, encoding="utf-8")
            os.replace(part, stage / ANSWER_FILE)

    def _measured_out_of_bounds(self):
        """What was measured, if it is out of bounds and all else is right, and the files that it is from."""
        job = copy.copy(self.job)
        job._exitcode = 0
        job.wait = lambda: None
        shared = [self.current_partition, self.current_environ, self.current_system]
        shared += [fixture for fixture in vars(self).values() if isinstance(fixture, rfm.RegressionTest)]
        try:
            twin = copy.deepcopy(self, {id(self.job): job, **{id(one): one for one in shared}})
            twin.run_wait()
            twin.sanity()
            with contextlib.suppress(PerformanceError):
                twin.performance()
        except (ForceExitError, RunSessionTimeout):
            raise
        except Exception as err:  # What is wrong with the job is said when it has ended.
            getlogger().debug(f"{self.name}: not judged while its nodes are held: {err}")
            return {}, []
        if all(result != "fail" for *_, result in twin.perfvalues.values()):
            return {}, []
        read = [name for name in twin.keep_files if name not in self.keep_files]
        there = os.listdir(self.stagedir)
        files = dict.fromkeys([str(self.job.stdout), str(self.job.stderr), *read])
        found = {"perfvalues": dict(twin.perfvalues), **twin.evidence(), **twin.load_evidence()}
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
            f"{key.split(':')[-1]}={value} {unit}"
            for key, (value, _, _, _, unit, result) in self.first_measurement["perfvalues"].items()
            if result == "fail"
        ]
        getlogger().warning(f"{self.name}: out of bounds, so measured again in its job: {', '.join(outside)}")
