"""Time that each node takes to start a job and to complete it: prologs, epilogs, slow slurmds."""

import pathlib
import statistics
import time

import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.evidence import Finding
from kappa.node.watch.steps import asked
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.hangs import ENDED_FILE
from reframe_checks.base.job_files import runs_in_slurm, staged
from reframe_checks.base.scaled import OncePerPartition, OnEachNode
from reframe_checks.parsers import node_times, slurm

JOB, FIRST, SECOND = "start_of_job.txt", "first_step.txt", "second_step.txt"
LOOK_EVERY_S = 0.5
#: If all other nodes are at least this quick, load on the shared machine is not the cause of a late node.
QUICK_S = 1.5


@rfm.simple_test
class JobTurnaround(OncePerPartition, OnEachNode, SystemCheck):
    """Measure the time from a job's start to its first task, and the time in COMPLETING, for each node of a partition.

    A node runs its prolog before its first task of a job. Two steps start a task on each node. The time between the
    two, on the node's own clock, is short on a node whose first task began late. On the job's first node, the prolog
    runs before the job script; there, slurmctld gives the time since the job's start. After the job, nodes that Slurm
    lists as COMPLETING run their epilogs. The check does not re-measure in the same allocation, because prologs do not
    run again; a new job re-measures.
    """

    descr = "Measures start and completion of a job on every node; finds slow prologs, epilogs and slurmds"
    family = "node/job-turnaround"
    measured_s = 2
    tags = {"smoke"}
    sourcesdir = "src"
    hold_s = 0
    hint = "check Prolog, Epilog and slurmd's log on the named node; run the scripts there by hand (`time`)"
    failure_means = (
        "A node takes too long to start the first task of a job, or to come back after it. Find the slow script in its "
        "prolog or epilog; users wait for it at each job."
    )

    #: Limit for a node that does not end its epilog.
    epilog_wait_s = SiteVariable(40, "whole number", "s", "longest wait for the epilogs of the job's nodes")

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable, self.executable_opts = "bash", [staged(self, "start_of_task.sh"), f"> {SECOND}"]

    def command_lines(self):
        return [self.launched("bash", staged(self, "start_of_task.sh"), f"> {FIRST}"), *super().command_lines()]

    # First, before other commands of the job take time.
    @rfmb.run_before("run", always_last=True)
    def ask_slurm_first(self):
        if runs_in_slurm(self):
            self.prerun_cmds = [f"bash {staged(self, 'start_of_task.sh')} --job > {JOB}", *self.prerun_cmds]

    @rfmb.run_after("run")
    def wait_for_epilogs(self):
        self.completing_s = {}
        if not self.is_dry_run() and runs_in_slurm(self):
            self.completing_s = completing(str(self.job.jobid), pathlib.Path(self.stagedir), self.epilog_wait_s)

    @rfmb.sanity_function
    def read_times(self):
        job = self.parsed(node_times.job_start, self.output_text(JOB)) if runs_in_slurm(self) else None
        if job is None or job.elapsed_s is None:
            # ReFrame records no reason for a skip.
            self.hint = "Slurm does not report the job's start time (`squeue`)"
            self.skip(self.hint)
        nodes = self.provenance["nodelist"]
        first, second = (
            self.parsed(node_times.task_starts, self.output_text(name), expect_nodes=nodes) for name in (FIRST, SECOND)
        )
        between = {node: second[node] - first[node] for node in nodes}
        self.start_s = {node: max(between.values()) - seconds for node, seconds in between.items()}
        self.elapsed_s = job.elapsed_s
        if not job.prologs_at_allocation:
            self.start_s[nodes[0]] += job.elapsed_s
        self.end_s = {node: self.completing_s.get(node, 0.0) for node in nodes}
        self.record_per_node("start", "s", self.start_s)
        self.record_per_node("completing", "s", self.end_s)
        self.record_findings(
            [
                *self.late("start_excess", self.start_s, "prolog", "before its first task"),
                *self.late("completing_excess", self.end_s, "epilog", "after the job"),
            ]
        )
        return True

    def late(self, metric, seconds, script, when):
        """Return a finding for each node that is out of bounds; none if this is half of the nodes or more."""
        usual = statistics.median_low(seconds.values())
        late = {node: took for node, took in seconds.items() if self.out_of_bounds(metric, took - usual)}
        if 2 * len(late) >= len(seconds):
            return []
        if late and all(took <= QUICK_S for node, took in seconds.items() if node not in late):
            self.robbed = ""
        said = {node: f"took {took:.1f} s {when}, the median node {usual:.1f} s" for node, took in late.items()}
        ranking = sorted(late, key=late.__getitem__, reverse=True)
        return [Finding("node", node, (node,), script, None, None, said[node]) for node in ranking]

    metrics = {
        # Slowest node, from the start of the job. If Slurm runs prologs at allocation: all nodes together.
        "start_max": ("s", lambda self: max(self.elapsed_s, *self.start_s.values())),
        # Slowest node minus the median node.
        "start_excess": ("s", lambda self: excess(self.start_s)),
        "completing_max": ("s", lambda self: max(self.end_s.values())),
        "completing_excess": ("s", lambda self: excess(self.end_s)),
    }


def excess(seconds):
    return max(seconds.values()) - statistics.median_low(seconds.values())


def completing(job, stage, patience_s):
    """Return the time from the end of the job script until Slurm has the node back: node -> s, for completing nodes."""
    found, began_s = {}, time.monotonic()
    late_s = since_its_end_s(stage)
    while (now_s := time.monotonic() - began_s) < patience_s:
        lines = asked("squeue", "--noheader", f"--jobs={job}", "--states=COMPLETING", "--format=%N")
        try:
            left = slurm.expand_nodes(lines[0]) if lines and lines[0] else []
        except ValueError:
            left = []
        if not left:
            break
        found.update(dict.fromkeys(left, late_s + now_s))
        time.sleep(LOOK_EVERY_S)
    return found


def since_its_end_s(stage):
    """Return the seconds since the job script's end. Both times come from the file system, whose clock may differ."""
    try:
        write_atomically(stage / "looked", "now\n", lasting=False)
        return max(0.0, (stage / "looked").stat().st_mtime - (stage / ENDED_FILE).stat().st_mtime)
    except (OSError, InputError):
        return 0.0
