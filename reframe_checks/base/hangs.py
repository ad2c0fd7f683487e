"""What Slurm and a job say of the node that makes the job hang, fail or unable to write (docs/hangs.md)."""

import re
import time

from kappa.node.watch.steps import asked, nodes_down
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
REFUSED = re.compile(r"srun: error: (?:Unable to (?:create step|confirm allocation) for job|SLURM job) \d+:? (.+)")
OF_CONTROLLER = re.compile(
    "Unable to contact slurm controller|Socket timed out|Zero Bytes|Communication"
    "|Invalid job id|Job is pending|Job/step already complet|has expired"
)
# What Slurm's daemon or the loader says on the job's standard error if the script cannot begin.
NOT_BEGUN = re.compile(
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
