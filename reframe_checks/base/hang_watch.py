"""Find the node that makes a job hang, fail or unable to write (docs/hangs.md)."""

import contextlib
import os
import pathlib
import re
import time

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.whole_files import read_end, read_text, write_atomically
from kappa.core.record.evidence import RANK_CRASHED, Finding
from kappa.node.watch.job import HANG_FILE, LOG_FILE
from kappa.node.watch.steps import asked, nodes_down
from reframe_checks.base.job_files import runs_in_slurm, sourced
from reframe_checks.base.many_nodes import FOLDER
from reframe_checks.base.node_program import node_program
from reframe_checks.base.patient_slurm import end_unseen, ended_with
from reframe_checks.base.provenance import PROVENANCE_FILE
from reframe_checks.base.reframe_internals import forget_resizing
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.job_scripts import BlamedNode

#: Time between two questions to Slurm, s.
ASK_EVERY_S = 10
#: Time within which Slurm ends a job after its script has ended, s: an epilog may run before.
ENDS_WITHIN_S = 20


class FirstNodes:
    """Jobs that lost their first node. One question to Slurm serves all jobs for ``ASK_EVERY_S``."""

    def __init__(self) -> None:
        self._asked_s = -float("inf")
        self._lost: dict[str, str] = {}

    def lost(self, job_id: str) -> str:
        """Return the first node of the running job if Slurm reports it as DOWN, else an empty string."""
        if time.monotonic() >= self._asked_s + ASK_EVERY_S:
            running = asked("squeue", "--noheader", "--me", "--states=RUNNING", "--format=%A %B")
            first = dict(line.split(" ", 1) for line in running if " " in line)
            down = {*nodes_down({*first.values()})} if first else set()
            self._lost = {job: node for job, node in first.items() if node in down}
            self._asked_s = time.monotonic()
        return self._lost.get(job_id, "")


FIRST_NODES = FirstNodes()


MOST_BYTES = 1 << 20
# As in `src/job/watch_nodes.sh`.
PYTHONS_FILE = "kappa_pythons"
# As in `src/job/hold_nodes.sh`.
ENDED_FILE = "kappa_ended"
#: States of a job that Slurm has ended. They are no evidence against its nodes.
ENDED_BY_SLURM = ("TIMEOUT", "CANCELLED", "PREEMPTED", "DEADLINE", "NODE_FAIL", "BOOT_FAIL")
#: Our state of a job if Slurm did not start one of its steps, for instance because the controller did not answer.
NO_STEP = "NO_STEP"
#: Our state of an unfinished job that Slurm no longer lists or has started twice.
FORGOTTEN = "FORGOTTEN"
#: State and exit code that slurmctld gives to a job that it starts a second time: the node refuses the second start.
STARTED_TWICE = ("FAILED", 1)
# The reason in srun's message when Slurm refuses a step; and reasons that mean: the controller did not answer, or has
# forgotten the job.
_REFUSED = re.compile(r"srun: error: (?:Unable to (?:create step|confirm allocation) for job|SLURM job) \d+:? (.+)")
_OF_CONTROLLER = re.compile(
    "Unable to contact slurm controller|Socket timed out|Zero Bytes|Communication"
    "|Invalid job id|Job is pending|Job/step already complet|has expired"
)
# What Slurm's daemon or the loader says on the job's standard error if the script cannot begin.
_NOT_BEGUN = re.compile(
    r"^(?:slurmstepd\S*: error: .*(?:[Tt]ask[_-]?[Pp]rolog|execve\(\)).*|.*error while loading shared libraries: .*)$",
    re.M,
)
#: Reason of a finding -> why the node or link is named, with the fields of `said`, and the remedy.
REASONS = {
    "stopped": (
        "{who} is stopped (state {state}){where}",
        "find who stopped the process: a debugger, a user or a tool of the site",
    ),
    "blocked": (
        "{who} waits in the kernel without progress (state {state}){waits}{where}",
        "check `dmesg` and the file systems of the node; /proc/PID/stack shows where the process waits",
    ),
    "unseen": (
        "does not see {folder}, or may not write there",
        "mount the folder on the node, or put results on storage that all nodes share: KAPPA_RESULTS, or `home` "
        "(KAPPA_HOME)",
    ),
    "unexecutable": (
        "it cannot execute files in {folder} (mounted noexec?), so Slurm ends each task",
        "compare `findmnt -T FOLDER` on the node with another node, and mount the folder in the same way",
    ),
    "silent": (
        "no step starts there, while steps start on the other nodes",
        "check whether the node is up: its console, its slurmd log and its network",
    ),
    "lost": ("Slurm reports it as DOWN", "check `scontrol show node`, the node's console and its slurmd log"),
    "address": ("{said}", "check `ip addr` on the node, and give each node its own address"),
    "link": ("{said}", "check the firewalls (`nft list ruleset`), the routes, and the MTU of every port on the path"),
    "launcher": (
        "srun on this node starts no step of this kind, but srun on another node does",
        "run `srun --mpi=list` on the node; compare its Slurm plug-ins and PMIx library with another node's",
    ),
    "mpi": (
        "MPI does not start with this node, but starts on all other nodes{stuck}",
        "start MPI on this node alone; compare its MPI and PMIx packages, configuration files and firewall with "
        "another node's",
    ),
    "crashed": (
        "its tasks crashed first: {said}",
        "check `dmesg` and memory errors there; compare programs, libraries and prologs with another node's",
    ),
}


class HangWatch(rfm.RegressionTestPlugin):
    """Start the watch (``kappa-node watch``) in the job, and read its result.

    If a job loses its first node, it can report nothing: then this class asks Slurm from the login node. A job that
    Slurm ended for another reason, for instance at its time limit, is no evidence against a node.
    """

    #: False for a job without a watch.
    watch_hangs = rfmb.variable(typ.Bool, value=True)
    #: The nodes on which the job hung, or that made it fail.
    hung_on = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: The state in which Slurm ended the job before its end; empty when it did not.
    ended_by_slurm = rfmb.variable(str, value="", loggable=True)

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
                for why in _REFUSED.findall(read_end(path, MOST_BYTES)):
                    if self.job.state == "FAILED" or _OF_CONTROLLER.match(why):
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


def said(named: BlamedNode, folder: str = "the job's folder") -> str:
    """Return the text that says why a node or link is named, for a job in ``folder``."""
    who = stuck = where = ""
    if named.pid is not None:
        rank = f"rank {named.rank} of " if named.rank is not None else ""
        who = f"{rank}{named.program} (process {named.pid})"
        if named.phase is not None and named.stands_s is not None:
            where = f" in the phase '{named.phase}', for {named.stands_s:.0f} s"
        stuck = f"; {who} makes no progress{where}"
    waits = f", in {named.waits}" if named.waits else ""
    return REASONS[named.reason][0].format(
        who=who, state=named.state, waits=waits, where=where, stuck=stuck, said=named.said, folder=folder
    )


class FirstNodeBegins(rfm.RegressionTestPlugin):
    """Name a first node on which no line of the job's script runs. For the other nodes, the watch does this.

    Either the node does not see the job's folder, so that Slurm cannot open the output, or it cannot start the script.
    If this machine cannot write to the folder, no node is named.
    """

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

    def say_who_cannot_start_the_script(self):
        # A script may end before it writes its provenance.
        if not {PROVENANCE_FILE, ENDED_FILE}.isdisjoint(os.listdir(self.stagedir)):
            return
        told = None
        with contextlib.suppress(OSError):
            told = _NOT_BEGUN.search(read_end(pathlib.Path(self.stagedir, str(self.job.stderr)), MOST_BYTES))
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
