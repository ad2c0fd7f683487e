"""Load that other programs put on the job's nodes during the measurement.

On a real node, the load is evidence. On virtual nodes that share a machine, it decides: if others take more than the
partition's extra ``shared_host`` allows, the measurement counts as *robbed* and blames no node (docs/architecture.md).
Each node reads its counters before each step and after the last (``src/node_watch.sh``), so nothing runs beside the
measurement.
"""

import os
import pathlib
import shlex
import shutil
import time

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.logging import getlogger

from kappa.core.ground.processes import BusyCores
from kappa.core.ground.whole_files import read_text
from kappa.core.record.evidence import written
from kappa.core.record.metric import figures_of
from reframe_checks.base.job_files import runs_in_slurm
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.text import ParseError

SCRIPT = pathlib.Path(__file__).parent / "src/node_watch.sh"
WATCH_FOLDER = "load_watch"
MAX_BYTES = 2**24
# How long one robbed job, and all robbed jobs of a session, wait for a quieter machine. A job waits at most `hold_s`
# for its answer, so the answer must come `MARGIN_S` earlier.
WAIT_S, SESSION_WAIT_S, MARGIN_S = 20, 120, 15
#: The name of the machine that all nodes of a site share.
MACHINE = "this machine"


class LoadWatch(rfm.RegressionTestPlugin):
    """Have the nodes record the load while the job runs its steps, and read their records."""

    #: Place (node, or ``this machine``) -> ``LoadByOthers``.
    load_by_others = rfmb.variable(dict, value={}, loggable=True)
    #: Why the measurement counts as robbed; empty if it does not.
    robbed = rfmb.variable(str, value="", loggable=True)
    #: False: do not record the load, so that other programs never excuse a result.
    watch_load = rfmb.variable(typ.Bool, value=True)
    #: The share of the partition's allowed load that already excuses a result of this check.
    load_allowed = rfmb.variable(float, value=1.0)
    #: How long a job waits for a quieter machine before its submission, if nodes share one; used to re-measure.
    quiet_wait_s = rfmb.variable(int, value=0)

    @rfmb.run_before("run")
    def watch_the_nodes(self):
        self.load_by_others, self.robbed, self._quiet, self._unless_unusable = {}, "", None, ""
        if not self.watch_load or not runs_in_slurm(self):
            return
        limits = self.current_partition.extras.get("shared_host")
        if limits and self.quiet_wait_s:
            QuietWait(self.quiet_wait_s).wait(limits["cores_share"], getlogger().warning)
        # All nodes see the stage folder.
        script = str(shutil.copy(SCRIPT, self.stagedir))
        os.chmod(script, 0o700)  # an installed package need not keep the mode
        shutil.rmtree(pathlib.Path(self.stagedir, WATCH_FOLDER), ignore_errors=True)
        # Slurm ends a task whose prolog cannot be executed, as on storage that is mounted noexec.
        self._unless_unusable = f"[[ ! -x {shlex.quote(script)} ]] ||"
        self.prerun_cmds = [
            f"{self._unless_unusable} export SLURM_TASK_PROLOG={shlex.quote(script)}",
            *self.prerun_cmds,
        ]

    @rfmb.run_before("run", always_last=True)
    def look_once_more(self):
        """Read the counters once more, in a separate step: Slurm would wait a second for an epilog of each step."""
        if self._unless_unusable:
            look = "srun --mpi=none --nodes=$SLURM_NNODES --ntasks=$SLURM_NNODES --ntasks-per-node=1 true"
            self.postrun_cmds = [*self.postrun_cmds, f"{self._unless_unusable} {look}"]

    @rfmb.run_after("run")
    def read_load(self):
        folder = pathlib.Path(self.stagedir, WATCH_FOLDER)
        # List the folder: a network file system caches for long that a file is missing.
        if WATCH_FOLDER not in os.listdir(self.stagedir):
            return
        self.keep_files = [*self.keep_files, WATCH_FOLDER]
        try:
            nodes = {path.name: job_scripts.snapshots(read_text(path, MAX_BYTES)) for path in sorted(folder.iterdir())}
        except (OSError, UnicodeDecodeError, ParseError) as err:
            getlogger().warning(f"{self.name}: cannot read the load by other programs on its nodes: {err}")
            return
        limits = self.current_partition.extras.get("shared_host")
        taken = {MACHINE: job_scripts.taken_of_machine(nodes)} if limits else taken_of_nodes(nodes)
        self.load_by_others = {place: written(found) for place, found in taken.items() if found}
        if limits and taken[MACHINE]:
            allowed = {name: self.load_allowed * limit for name, limit in limits.items()}
            self.robbed = why_robbed(taken[MACHINE], **allowed)

    def waits_for_quiet(self, measured):
        """Tell whether a robbed job that is out of bounds should wait before it re-measures.

        The answer depends on the load since the last call. ReFrame runs on the machine that the nodes share, and only
        this job uses the nodes.
        """
        figures = figures_of(measured["perfvalues"]) if measured.get("robbed") else {}
        if not any(one.failed and name not in self.steady for name, one in figures.items()):
            return False
        if self._quiet is None:
            self._quiet = QuietWait(min(WAIT_S, self.hold_s - MARGIN_S))
            getlogger().warning(f"{self.name}: {measured['robbed']}: waiting until this machine is quieter")
            return True
        return self._quiet.goes_on(self.current_partition.extras["shared_host"]["cores_share"])


class QuietWait:
    """A wait for a quieter machine: at most ``limit_s``, and ``SESSION_WAIT_S`` for all waits of the session."""

    #: Total time of all waits of this session, s.
    waited_s = 0.0

    def __init__(self, limit_s):
        self.busy, self.last_s = BusyCores(), time.monotonic()
        self.deadline_s = self.last_s + min(limit_s, SESSION_WAIT_S - QuietWait.waited_s)

    def wait(self, cores_share, tell):
        """Wait until the machine is quiet for a second, or the time is over."""
        told = False
        time.sleep(1)
        while self.goes_on(cores_share):
            if not told:
                tell("this machine is busy: waiting until it is quieter")
                told = True
            time.sleep(1)

    def goes_on(self, cores_share):
        """Tell whether more than ``cores_share`` of the cores were busy since the last call, and there is time left."""
        now_s = time.monotonic()
        QuietWait.waited_s += now_s - self.last_s
        self.last_s = now_s
        return now_s < self.deadline_s and self.busy.since_last() > cores_share * self.busy.cores


def taken_of_nodes(nodes):
    return {node: job_scripts.taken_of_machine({node: snapshots}) for node, snapshots in nodes.items()}


def why_robbed(taken, *, cores_share, disk_mb_per_s):
    """Describe how much others took beyond the limits; empty if they stayed within the limits.

    :param cores_share: of the machine's cores.
    """
    found = []
    if taken.cores > cores_share * taken.of_cores:
        found.append(f"{taken.cores:.1f} of {taken.of_cores} cores (limit {cores_share * taken.of_cores:.2g})")
    if taken.disk_mb_per_s > disk_mb_per_s:
        found.append(f"{taken.disk_mb_per_s:.0f} MB/s of the disk (limit {disk_mb_per_s:g})")
    return f"others used {' and '.join(found)} while it was measured" if found else ""
