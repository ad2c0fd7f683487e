"""Jobs that hang, fail or cannot write: which node it is (docs/hangs.md)."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import read_end, write_atomically
from kappa.core.record.evidence import RANK_CRASHED, Finding
from kappa.core.vocabulary.node_states import condition
from reframe_checks.base.job_files import in_stage, runs_in_slurm, sourced
from reframe_checks.base.many_nodes import FOLDER
from reframe_checks.base.patient_slurm import end_unseen, ended_with
from reframe_checks.base.provenance import PROVENANCE_FILE
from reframe_checks.base.reframe_internals import forget_resizing
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.job_scripts import BlamedNode

#: Between two questions, s.
ASK_EVERY_S = 10
#: After its script a job ends within so long: an epilog may run before.
ENDS_WITHIN_S = 20


def nodes_down(nodes) -> list[str]:
    """Return the nodes that Slurm has given up."""
    # An empty list would be all nodes for sinfo.
    lines = asked("sinfo", "--noheader", "--Node", f"--nodes={','.join(nodes)}", "--format=%N %T") if nodes else []
    states = (line.partition(" ") for line in lines)
    return sorted({node for node, _, state in states if "DOWN" in condition(state).words})


def asked(*command: str) -> list[str]:
    """Return a command's lines; none when it fails: a controller that does not answer is no node's fault."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_EVERY_S, check=True)
        return done.stdout.splitlines()
    return []


class FirstNodes:
    """Jobs that lost their first node: one question for all jobs, whose answer is as old as ``ASK_EVERY_S`` at most."""

    def __init__(self) -> None:
        self._asked_s = -float("inf")
        self._lost: dict[str, str] = {}

    def lost(self, job_id: str) -> str:
        """The first node of the running job, if Slurm has given it up; else nothing."""
        if time.monotonic() >= self._asked_s + ASK_EVERY_S:
            running = asked("squeue", "--noheader", "--me", "--states=RUNNING", "--format=%A %B")
            first = dict(line.split(" ", 1) for line in running if " " in line)
            down = {*nodes_down({*first.values()})} if first else set()
            self._lost = {job: node for job, node in first.items() if node in down}
            self._asked_s = time.monotonic()
        return self._lost.get(job_id, "")


FIRST_NODES = FirstNodes()


MOST_BYTES = 1 << 20
# As in `src/job/watch_nodes.py`.
HANG_FILE, LOG_FILE = "hang.json", "watch.err"
# As in `src/job/hold_nodes.sh`.
ENDED_FILE = "kappa_ended"
PARTS = (
    "watch_nodes.py", "search.py", "steps.py", "halves.py", "crashed.py", "look_at_node.py", "start_mpi.py",
    "exchange.py", "exchanged.py",
)  # fmt: skip
#: States of a job that Slurm has ended, which says nothing of its nodes.
ENDED_BY_SLURM = ("TIMEOUT", "CANCELLED", "PREEMPTED", "DEADLINE", "NODE_FAIL", "BOOT_FAIL")
#: In its place where Slurm did not start a step of the job, as when its controller did not answer.
NO_STEP = "NO_STEP"
#: Where Slurm lists the job no more, or has started it twice, and the job has not come to its end.
FORGOTTEN = "FORGOTTEN"
#: With which slurmctld ends a job that it has forgotten to have started: its node takes it no second time.
STARTED_TWICE = ("FAILED", 1)
# Of what srun says when Slurm refuses it a step: why; and that its controller did not answer, or has forgotten the job.
_REFUSED = re.compile(r"srun: error: (?:Unable to (?:create step|confirm allocation) for job|SLURM job) \d+:? (.+)")
_OF_CONTROLLER = re.compile(
    "Unable to contact slurm controller|Socket timed out|Zero Bytes|Communication"
    "|Invalid job id|Job is pending|Job/step already complet|has expired"
)
HINTS = {
    "stopped": "find out who stopped the process: a debugger, a user, a tool of the site",
    "blocked": "look at `dmesg` and the file systems there; /proc/PID/stack says what the process waits for",
    "unseen": "mount it there; or put results where all nodes see them: KAPPA_RESULTS, or `home` (KAPPA_HOME)",
    "unexecutable": "compare `findmnt -T FOLDER` there with another node, and mount it alike",
    "silent": "is it up? look at its console, at slurmd's log there and at its network",
    "lost": "look at `scontrol show node`, its console and slurmd's log",
    "address": "look at `ip addr` there, and give each node an address of its own",
    "link": "look at its firewall (`nft list ruleset`) and routes, and at the MTU of every port on the way",
    "mpi": "start MPI on it alone; compare its MPI and PMIx packages, their configuration files and its firewall",
    "crashed": "look at `dmesg` and memory errors there; compare programs, libraries and prologs with another node's",
}


class HangWatch(rfm.RegressionTestPlugin):
    """Has the job watched, and reads what the watch (``src/job/watch_nodes.py``) has found.

    What no job can say, as when its first node dies with it, Slurm is asked where ReFrame runs. A job that Slurm has
    ended for another reason, as its time limit, is no node's fault.
    """

    #: False for a job that nobody watches.
    watch_hangs = rfmb.variable(typ.Bool, value=True)
    #: The nodes on which the job hung, or that made it fail.
    hung_on = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: The state in which Slurm ended the job before its end; empty when it did not.
    ended_by_slurm = rfmb.variable(str, value="", loggable=True)

    @rfmb.run_before("run")
    def watch_for_hangs(self):
        self.hung_on, self.ended_by_slurm, self._lost_nodes = [], "", ()
        if not self.watch_hangs or not runs_in_slurm(self):
            return
        for name in PARTS:
            in_stage(self, name)
        program = (self.programs or [self.executable])[0]
        expected_s = self.measured_s or self.estimated_s
        launcher = self.job.launcher.command(self.job)[:1] or ["srun"]
        mpi = [option for option in self.job.launcher.options if option.startswith("--mpi=")]
        watch = sourced(self, "watch_nodes.sh", f"{expected_s:g}", program, *launcher, *mpi)
        self.prerun_cmds = [watch, *self.prerun_cmds]
        # Else the job ends with a node that dies, before it can say anything. On one line: job scripts are short.
        self.job.options = [" ".join([*self.job.options, "--no-kill"])]

    def look_for_first_node(self):
        """Cancel a job that would stay until its time limit: Slurm has given up its first node, which ``--no-kill``
        keeps, or does not believe its end, as from a node that has the address of the first one."""
        forget_resizing(self.job)
        if not runs_in_slurm(self) or self._lost_nodes or self.job.state != "RUNNING":
            return
        if self.failed_and_not_ended():
            job = self.job.jobid
            getlogger().warning(f"{self.name}: the script of job {job} failed, and Slurm has not ended it: cancelled")
            self.job.cancel()
            return
        first = FIRST_NODES.lost(str(self.job.jobid))
        if first:
            self._lost_nodes = (first,)
            getlogger().warning(f"{self.name}: {first}, the first node of job {self.job.jobid}, is down: cancelled")
            self.job.cancel()

    def failed_and_not_ended(self):
        """Tell whether the job's script ended with an error, longer ago than Slurm takes to see it."""
        if ENDED_FILE not in os.listdir(self.stagedir):
            return False
        path = pathlib.Path(self.stagedir, ENDED_FILE)
        with contextlib.suppress(OSError):
            return path.read_text() not in ("", "0\n") and time.time() > path.stat().st_mtime + ENDS_WITHIN_S
        return False

    @rfmb.run_before("sanity")
    def say_who_hangs(self):
        if not runs_in_slurm(self) or self.is_dry_run():
            return
        forget_resizing(self.job)
        state = next((state for state in ENDED_BY_SLURM if state in str(self.job.state)), "")
        refused = self.refused_step()
        if (refused or state == "NODE_FAIL") and not self._lost_nodes:
            self._lost_nodes = tuple(nodes_down(self.provenance.get("nodelist") or self.job.nodelist))
        files = os.listdir(self.stagedir)
        if LOG_FILE in files:
            self.keep_files = [*self.keep_files, LOG_FILE]
        if HANG_FILE in files:
            found = self.parsed(job_scripts.hang, self.output_text(HANG_FILE))
            named = {named.ends: (named.reason, said(named, self.stagedir)) for named in found.named}
            # No job reaches those whose address is taken, either.
            self.blame(found.how, named, [one.peer for one in found.named if one.reason == "address" and one.peer])
        if self._lost_nodes:
            self.blame("hang", {(node,): ("lost", "Slurm has given it up") for node in self._lost_nodes})
        if state:
            self.ended_by_slurm = state
            self.hint = "nothing speaks against a node: was the machine busy, the limit too short, was it cancelled?"
            raise SanityError(f"Slurm ended the job before it was done: {state}")
        twice = PROVENANCE_FILE in files and (self.job.state, self.job.exitcode) == STARTED_TWICE
        if (twice or end_unseen(self.job)) and not self.came_to_its_end(files):
            self.ended_by_slurm, self.hint = FORGOTTEN, "nothing speaks against a node: was slurmctld killed?"
            how = "Slurm has started the job twice" if twice else "Slurm knows the job no more"
            raise SanityError(f"{how}, and it has not come to its end")
        if refused:
            self.ended_by_slurm, self.hint = NO_STEP, "nothing speaks against a node: was slurmctld up? `scontrol ping`"
            raise SanityError(f"Slurm did not start a step of the job: {refused}")

    def came_to_its_end(self, files):
        """Tell whether the job script has written how it ended, which then counts."""
        return ENDED_FILE in files and ended_with(self.job, self.output_text(ENDED_FILE))

    def refused_step(self):
        """Why Slurm refused a step of the job, or of a node's part of it, which would else look like faults of nodes.

        A controller that did not answer, or has forgotten the job, always counts. Another reason, as what the step
        asked for, counts only if the job failed: it may do without the step.
        """
        stage, error = pathlib.Path(self.stagedir), str(self.job.stderr)
        for path in (stage / error, *stage.glob(f"{FOLDER}/*/{error}")):
            with contextlib.suppress(OSError):
                for why in _REFUSED.findall(read_end(path, MOST_BYTES)):
                    if self.job.state == "FAILED" or _OF_CONTROLLER.match(why):
                        return one_line(clean(why), 200)
        return ""

    def blame(self, how, nodes, out_of_reach=()):
        """Record a finding for each node, or for the two ends of a link.

        :param nodes: (node,) or (node, node) -> (reason, evidence).
        :param out_of_reach: nodes without a fault that cannot be measured, either.
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
        self.hint = HINTS[next(iter(nodes.values()))[0]]
        told = (f"{'-'.join(ends)}: {evidence}" for ends, (_, evidence) in nodes.items())
        raise SanityError(f"{how} on {'; '.join(told)}")


def said(named: BlamedNode, folder: str = "the job's folder") -> str:
    """Tell why a node is named, of a job in ``folder``."""
    process = named.process
    where = ""
    if process:
        rank = f"rank {process.rank} of " if process.rank is not None else ""
        who = f"{rank}{process.program} (process {process.pid})"
        if process.phase is not None and process.stands_s is not None:
            where = f" in the phase '{process.phase}', for {process.stands_s:.0f} s"
    match named.reason:
        case "stopped":
            return f"{who} is stopped (state {process.state}){where}"
        case "blocked":
            waits = f", in {process.waits}" if process.waits else ""
            return f"{who} waits in the kernel and moves nothing (state {process.state}){waits}{where}"
        case "mpi":
            return "MPI does not start with it, but on all other nodes" + (f"; {who} stands{where}" if process else "")
        case "crashed":
            return f"its tasks crashed first: {named.said}"
        case "address" | "link":
            return named.said
    others = {
        "lost": "Slurm has given it up",
        "unseen": f"does not see {folder}, or may not write there",
        "silent": "no step starts there, but on the other nodes",
        "unexecutable": f"files in {folder} cannot be executed there (mounted noexec?), so Slurm ends each task",
    }
    return others[named.reason]


class SeesFolder(rfm.RegressionTestPlugin):
    """Names a first node that does not see the job's folder: Slurm cannot open the output there, and no line runs.

    No node is named where the folder cannot be written to from here either. Of other nodes the watch says so.
    """

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
        named = BlamedNode(node=self.job.nodelist[0], reason="unseen")
        self.blame("crash", {named.ends: (named.reason, said(named, self.stagedir))})

    def has_output(self):
        """Listed, not asked for by its name: a network file system remembers for long that a file was not there."""
        return str(self.job.stdout) in os.listdir(self.stagedir)
