"""What watches a job: for nodes that hang, fail or do not begin, for load by others, for figures out of bounds."""

import contextlib
import os
import pathlib
import shlex
import shutil
import time

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ForceExitError, PerformanceError, RunSessionTimeout, SanityError
from reframe.core.logging import getlogger

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.whole_files import read_end, read_text, write_atomically
from kappa.core.record.evidence import RANK_CRASHED, Finding, written
from kappa.core.record.metric import figures_of
from kappa.core.record.runs import FIRST_FOLDER
from kappa.node.watch.job import HANG_FILE, LOG_FILE
from kappa.node.watch.steps import nodes_down
from reframe_checks.base.evidence import PROVENANCE_FILE
from reframe_checks.base.hangs import (
    ENDED_BY_SLURM,
    ENDED_FILE,
    ENDS_WITHIN_S,
    FIRST_NODES,
    FORGOTTEN,
    MOST_BYTES,
    NO_STEP,
    NOT_BEGUN,
    OF_CONTROLLER,
    PYTHONS_FILE,
    REASONS,
    REFUSED,
    STARTED_TWICE,
    said,
)
from reframe_checks.base.job_files import KILLABLE, in_stage, runs_in_slurm, sourced
from reframe_checks.base.many_nodes import FOLDER
from reframe_checks.base.node_program import node_program
from reframe_checks.base.patient_slurm import end_unseen, ended_with
from reframe_checks.base.reframe_internals import begin_job_script, copy_of_ended, forget_resizing
from reframe_checks.base.shared_machine import MARGIN_S, WAIT_S, QuietWait, why_robbed
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.job_scripts import BlamedNode
from reframe_checks.parsers.text import ParseError

# As in `src/job/hold_nodes.sh`. The job makes the first file and waits for the second, which ReFrame makes.
MEASURED_FILE, ANSWER_FILE = "kappa_measured", "kappa_answer"
SCRIPT = pathlib.Path(__file__).parent / "src/node_watch.sh"
WATCH_FOLDER = "load_watch"
MAX_LOAD_BYTES = 2**24
#: The name of the machine that all nodes of a site share.
MACHINE = "this machine"


class CheckWatch(rfm.RegressionTestPlugin):
    """Watch the job while it measures.

    ==============  ==================================================  ==============================================
    phase           what happens                                        what a check may set or override
    ==============  ==================================================  ==============================================
    before run      ``watch_for_hangs`` and ``watch_the_nodes`` put     ``watch_hangs``, ``watch_load``,
                    their lines before those of the check; after the    ``load_allowed``, ``quiet_wait_s``
                    hooks of the check ``look_once_more``, then
                    ``hold_the_nodes`` around the whole script          ``holding_commands``, ``hold_s``
    while it runs   at each poll, ``answer_held_job`` and               –
                    ``look_for_first_node``
    after run       ``say_who_did_not_begin``,                          –
                    ``keep_first_measurement``, ``read_load``
    before sanity   ``say_who_hangs``                                   –
    ==============  ==================================================  ==============================================

    **Hangs** (docs/hangs.md). The job starts ``kappa-node watch``. If it loses its first node, it can report nothing:
    then this class asks Slurm from the login node. If no line of its script runs there, either the node does not see
    the job's folder, so that Slurm cannot open the output, or it cannot start the script. A job that Slurm ended for
    another reason, for instance at its time limit, is no evidence against a node.

    **Load.** Each node reads its counters before each step and after the last (``src/node_watch.sh``), so nothing runs
    beside the measurement. On a real node, the load by other programs is evidence. On virtual nodes that share a
    machine, it decides: if others take more than the partition's extra ``shared_host`` allows, the measurement counts
    as *robbed* and blames no node (docs/architecture.md).

    **The same allocation.** A job re-measures if a metric is out of bounds or names a node:

    1. The job script runs itself as a child, which measures. Then the script holds the nodes.
    2. ReFrame, which polls the job, judges the figures on a copy of the check, and writes *enough* or *again* into a
       file.
    3. After *again*, the script moves the output aside and measures a second time. The report has both measurements.

    A job does not re-measure if it crashed, if its time limit is too short, or if ReFrame did not answer in time.
    """

    #: False for a job without a watch.
    watch_hangs = rfmb.variable(typ.Bool, value=True)
    #: The nodes on which the job hung, or that made it fail.
    hung_on = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: The state in which Slurm ended the job before its end; empty when it did not.
    ended_by_slurm = rfmb.variable(str, value="", loggable=True)
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
    #: How long a job holds its nodes for a judgement of its figures, s; 0: it does not wait.
    hold_s = rfmb.variable(int, value=60)
    #: ReFrame's ``perfvalues`` and the evidence of the first measurement, if the job re-measured.
    first_measurement = rfmb.variable(dict, value={}, loggable=True)

    @rfmb.run_before("run")
    def watch_for_hangs(self):
        self.hung_on, self.ended_by_slurm, self.lost_nodes = [], "", ()
        if not self.watch_hangs or not runs_in_slurm(self):
            return
        node_program(self)
        program = (self.programs or [self.executable])[0]
        expected_s = self.measured_s or self.estimated_s
        launcher = self.job.launcher.command(self.job)[:1] or ["srun"]
        mpi = [option for option in self.job.launcher.options if option.startswith("--mpi=")]
        watch = sourced(self, "watch_nodes.sh", f"{expected_s:g}", program, *launcher, *mpi)
        self.prerun_cmds = [watch, *self.prerun_cmds]
        # Else the job ends with a node that dies, before it can report it. On one line: job scripts are short.
        self.job.options = [" ".join([*self.job.options, "--no-kill"])]

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
    def hold_the_nodes(self):
        self.first_measurement, self._judged = {}, None
        begin_job_script(self.job, self.holding_commands())

    @rfmb.run_before("run", always_last=True)
    def look_once_more(self):
        """Read the counters once more, in a separate step: Slurm would wait a second for an epilog of each step."""
        if self._unless_unusable:
            look = "srun --mpi=none --nodes=$SLURM_NNODES --ntasks=$SLURM_NNODES --ntasks-per-node=1 true"
            self.postrun_cmds = [*self.postrun_cmds, f"{self._unless_unusable} {look}"]

    @rfmb.run_after("run")
    def say_who_did_not_begin(self):
        if not runs_in_slurm(self) or self.is_dry_run():
            return
        # A job that Slurm ended may not have begun. Without accounting, ReFrame takes all other jobs for completed.
        if not self.job.nodelist or any(state in str(self.job.state) for state in ENDED_BY_SLURM):
            return
        if self.has_output():
            self.say_who_cannot_start_the_script()
        else:
            self.say_who_does_not_see_the_folder()

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

    @rfmb.run_after("run")
    def read_load(self):
        folder = pathlib.Path(self.stagedir, WATCH_FOLDER)
        # List the folder: a network file system caches for long that a file is missing.
        if WATCH_FOLDER not in os.listdir(self.stagedir):
            return
        self.keep_files = [*self.keep_files, WATCH_FOLDER]
        try:
            files = sorted(folder.iterdir())
            nodes = {path.name: job_scripts.snapshots(read_text(path, MAX_LOAD_BYTES)) for path in files}
        except (OSError, UnicodeDecodeError, ParseError) as err:
            getlogger().warning(f"{self.name}: cannot read the load by other programs on its nodes: {err}")
            return
        limits = self.current_partition.extras.get("shared_host")
        machines = {MACHINE: nodes} if limits else {node: {node: nodes[node]} for node in nodes}
        taken = {place: job_scripts.taken_of_machine(sharing) for place, sharing in machines.items()}
        self.load_by_others = {place: written(found) for place, found in taken.items() if found}
        if limits and taken[MACHINE]:
            allowed = {name: self.load_allowed * limit for name, limit in limits.items()}
            self.robbed = why_robbed(taken[MACHINE], **allowed)

    @rfmb.run_before("sanity")
    def say_who_hangs(self):
        if not runs_in_slurm(self) or self.is_dry_run():
            return
        forget_resizing(self.job)
        state = next((state for state in ENDED_BY_SLURM if state in str(self.job.state)), "")
        refused = self.refused_step()
        if (refused or state == "NODE_FAIL") and not self.lost_nodes:
            self.lost_nodes = tuple(nodes_down(self.provenance.get("nodelist") or self.job.nodelist))
        files = os.listdir(self.stagedir)
        if LOG_FILE in files:
            self.keep_files = [*self.keep_files, LOG_FILE]
        if HANG_FILE in files:
            found = self.parsed(job_scripts.hang, self.output_text(HANG_FILE))
            named = {named.ends: (named.reason, said(named, self.stagedir)) for named in found.named}
            # No job reaches a node whose address another node has.
            self.blame(found.how, named, [one.peer for one in found.named if one.reason == "address" and one.peer])
        if PYTHONS_FILE in files and ENDED_FILE in files and self.output_text(ENDED_FILE) != "0\n":
            self.say_that_no_python_runs()
        if self.lost_nodes:
            self.blame("hang", {(node,): ("lost", REASONS["lost"][0]) for node in self.lost_nodes})
        if state:
            self.ended_by_slurm = state
            self.hint = "no evidence against a node; was the machine busy, the limit too short, or the job cancelled?"
            raise SanityError(f"Slurm ended the job before it was done: {state}")
        twice = PROVENANCE_FILE in files and (self.job.state, self.job.exitcode) == STARTED_TWICE
        if (twice or end_unseen(self.job)) and not self.came_to_its_end(files):
            self.ended_by_slurm, self.hint = FORGOTTEN, "no evidence against a node; was slurmctld killed?"
            how = "Slurm has started the job twice" if twice else "Slurm no longer knows the job"
            raise SanityError(f"{how}, and the job did not reach its end")
        if refused:
            self.ended_by_slurm = NO_STEP
            self.hint = "no evidence against a node; check that slurmctld is up: `scontrol ping`"
            raise SanityError(f"Slurm did not start a step of the job: {refused}")

    def look_for_first_node(self):
        """Cancel a job that would stay until its time limit.

        This happens if its first node is DOWN, because ``--no-kill`` keeps the job. It also happens if Slurm does not
        accept the job's end, for instance because another node has the address of the first one.
        """
        forget_resizing(self.job)
        if not runs_in_slurm(self) or self.lost_nodes or self.job.state != "RUNNING":
            return
        if self.failed_and_not_ended():
            job = self.job.jobid
            getlogger().warning(f"{self.name}: the script of job {job} failed, but Slurm did not end it: job cancelled")
            self.job.cancel()
            return
        first = FIRST_NODES.lost(str(self.job.jobid))
        if first:
            self.lost_nodes = (first,)
            getlogger().warning(f"{self.name}: {first}, the first node of job {self.job.jobid}, is DOWN: job cancelled")
            self.job.cancel()

    def failed_and_not_ended(self):
        """Tell whether the job's script ended with an error more than ``ENDS_WITHIN_S`` ago."""
        if ENDED_FILE not in os.listdir(self.stagedir):
            return False
        path = pathlib.Path(self.stagedir, ENDED_FILE)
        with contextlib.suppress(OSError):
            code = read_text(path, MOST_BYTES, errors="replace")
            return code not in ("", "0\n") and time.time() > path.stat().st_mtime + ENDS_WITHIN_S
        return False

    def say_that_no_python_runs(self):
        """Name the first node of a failed job if Python runs on others, but not there: no watch could start."""
        works = {*self.output_text(PYTHONS_FILE).split()}.intersection(self.job.nodelist)
        first = self.job.nodelist[0] if self.job.nodelist else ""
        if works and first not in works:
            why = f"`python3` does not run there, but on {counted(len(works), 'other node')}"
            self.blame("crash", {(first,): ("crashed", why)})

    def came_to_its_end(self, files):
        """Tell whether the job script wrote its exit code at its end; the job then gets this exit code."""
        return ENDED_FILE in files and ended_with(self.job, self.output_text(ENDED_FILE))

    def refused_step(self):
        """Return why Slurm refused a step of the job or of a node's part; empty if it refused none.

        Without this, a refused step would look like a fault of nodes. A controller that did not answer or has forgotten
        the job always counts. Any other reason counts only if the job failed, because a job can go on without a step.
        """
        stage, error = pathlib.Path(self.stagedir), str(self.job.stderr)
        for path in (stage / error, *stage.glob(f"{FOLDER}/*/{error}")):
            with contextlib.suppress(OSError):
                for why in REFUSED.findall(read_end(path, MOST_BYTES)):
                    if self.job.state == "FAILED" or OF_CONTROLLER.match(why):
                        return one_line(clean(why), 200)
        return ""

    def blame(self, how, nodes, out_of_reach=()):
        """Record a finding for each node or link.

        :param nodes: (node,) or, for a link, (node, node) -> (reason, evidence).
        :param out_of_reach: nodes without a fault that cannot be measured now.
        :raises SanityError: always.
        """
        self.hung_on = sorted({*out_of_reach}.union(*nodes))
        self.record_findings(
            [
                Finding(
                    "node" if len(ends) == 1 else "link", "-".join(ends), ends,
                    RANK_CRASHED if reason == "crashed" else f"{how}:", None, None, evidence,
                )
                for ends, (reason, evidence) in nodes.items()
            ]
        )  # fmt: skip
        self.hint = REASONS[next(iter(nodes.values()))[0]][1]
        told = (f"{'-'.join(ends)}: {evidence}" for ends, (_, evidence) in nodes.items())
        raise SanityError(f"{how} on {'; '.join(told)}")

    def say_who_cannot_start_the_script(self):
        # A script may end before it writes its provenance.
        if not {PROVENANCE_FILE, ENDED_FILE}.isdisjoint(os.listdir(self.stagedir)):
            return
        told = None
        with contextlib.suppress(OSError):
            told = NOT_BEGUN.search(read_end(pathlib.Path(self.stagedir, str(self.job.stderr)), MOST_BYTES))
        if told:
            why = f"the job's script did not begin there: {one_line(clean(told.group()), 200)}"
            self.blame("crash", {(self.job.nodelist[0],): ("crashed", why)})

    def say_who_does_not_see_the_folder(self):
        try:
            write_atomically(pathlib.Path(self.stagedir, "written_here"), "as a job would\n")
        except InputError as err:
            raise SanityError(f"neither the job nor this machine can write the job's output: {err}") from None
        # Writing makes the client of a network file system list the folder anew.
        if self.has_output():
            return
        named = BlamedNode(node=self.job.nodelist[0], reason="unseen")
        self.blame("crash", {named.ends: (named.reason, said(named, self.stagedir))})

    def has_output(self):
        """Tell whether the job wrote output. List the folder: a network file system caches that a file is missing."""
        return str(self.job.stdout) in os.listdir(self.stagedir)

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
