"""A job that hangs or fails names the node that it is, in its own allocation, and ends then (docs/hangs.md).

The job script starts a watch beside the measurement (``src/job/watch_nodes.py``), which writes down what it finds. What
no job can say, as when its first node dies with it, Slurm is asked where ReFrame runs. A job that Slurm has ended for
another reason, as its time limit, is no node's fault.
"""

import contextlib
import os
import subprocess
import time

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from kappa.record.evidence import RANK_CRASHED, Finding
from reframe_checks.base.job_files import in_stage, runs_in_slurm, sourced
from reframe_checks.base.reframe_internals import forget_resizing
from reframe_checks.parsers import hang

# As in `src/job/watch_nodes.py`.
HANG_FILE, LOG_FILE = "hang.json", "watch.err"
PARTS = ("watch_nodes.py", "search.py", "steps.py", "halves.py", "crashed.py", "look_at_node.py", "start_mpi.py")
#: Between two questions for the state of a job's first node.
ASK_EVERY_S = 10
#: States of a job that Slurm has ended, which says nothing of its nodes.
ENDED_BY_SLURM = ("TIMEOUT", "CANCELLED", "PREEMPTED", "DEADLINE", "NODE_FAIL", "BOOT_FAIL")
HINTS = {
    "stopped": "find out who stopped the process: a debugger, a user, a tool of the site",
    "blocked": "look at `dmesg` and the file systems there; /proc/PID/stack says what the process waits for",
    "silent": "is it up? look at its console, at slurmd's log there and at its network",
    "lost": "look at `scontrol show node`, its console and slurmd's log",
    "mpi": "start MPI on it alone; compare its MPI and PMIx packages, their configuration files and its firewall",
    "crashed": "look at `dmesg` and the memory's errors there; compare its programs and libraries with another node's",
}


class HangWatch(rfm.RegressionTestPlugin):
    """Has the job watched, and reads what the watch has found."""

    #: False for a job that nobody watches.
    watch_hangs = rfmb.variable(typ.Bool, value=True)
    #: The nodes on which the job hung, or that made it fail.
    hung_on = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: The state in which Slurm ended the job before its end; empty when it did not.
    ended_by_slurm = rfmb.variable(str, value="", loggable=True)

    @rfmb.run_before("run")
    def watch_for_hangs(self):
        self.hung_on, self.ended_by_slurm, self._lost_nodes, self._asked_s = [], "", (), time.monotonic()
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
        """Cancel a job whose first node Slurm has given up: with ``--no-kill`` it would stay until its time limit."""
        forget_resizing(self.job)
        if not runs_in_slurm(self) or self._lost_nodes or time.monotonic() < self._asked_s + ASK_EVERY_S:
            return
        self._asked_s = time.monotonic()
        if self.job.state != "RUNNING":
            return
        first = next(iter(asked("squeue", "--noheader", f"--jobs={self.job.jobid}", "--format=%B")), "")
        if first and first in nodes_down([first]):
            self._lost_nodes = (first,)
            getlogger().warning(f"{self.name}: {first}, the first node of job {self.job.jobid}, is down: cancelled")
            self.job.cancel()

    @rfmb.run_before("sanity")
    def say_who_hangs(self):
        if not runs_in_slurm(self) or self.is_dry_run():
            return
        forget_resizing(self.job)
        state = next((state for state in ENDED_BY_SLURM if state in str(self.job.state)), "")
        if state == "NODE_FAIL" and not self._lost_nodes:
            self._lost_nodes = tuple(nodes_down(self.provenance["nodelist"]))
        files = os.listdir(self.stagedir)
        if LOG_FILE in files:
            self.keep_files = [*self.keep_files, LOG_FILE]
        if HANG_FILE in files:
            found = self.parsed(hang.parse, self.output_text(HANG_FILE))
            self.blame(found.how, {named.node: (named.reason, said(named)) for named in found.named})
        if self._lost_nodes:
            self.blame("hang", {node: ("lost", "Slurm has given it up") for node in self._lost_nodes})
        if state:
            self.ended_by_slurm = state
            self.hint = "nothing speaks against a node: was the machine busy, the limit too short, was it cancelled?"
            raise SanityError(f"Slurm ended the job before it was done: {state}")

    def blame(self, how, nodes):
        """:raises SanityError: always; each of the nodes has a finding. ``nodes``: name -> (reason, evidence)."""
        self.hung_on = sorted(nodes)
        self.record_findings(
            [
                Finding("node", node, (node,), RANK_CRASHED if reason == "crashed" else f"{how}:", None, None, evidence)
                for node, (reason, evidence) in nodes.items()
            ]
        )
        self.hint = HINTS[next(iter(nodes.values()))[0]]
        raise SanityError(f"{how} on {'; '.join(f'{node}: {evidence}' for node, (_, evidence) in nodes.items())}")


def said(named: hang.Named) -> str:
    """Why a node is named."""
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
            return f"{who} waits in the kernel and moves nothing (state D){where}"
        case "mpi":
            return "MPI does not start with it, but on all other nodes" + (f"; {who} stands{where}" if process else "")
        case "silent":
            return "no step starts there, but on the other nodes"
        case "crashed":
            return f"its tasks crashed first: {named.said}"
    return "Slurm has given it up"


def nodes_down(nodes) -> list[str]:
    """Those of the nodes that Slurm has given up."""
    lines = asked("sinfo", "--noheader", "--Node", f"--nodes={','.join(nodes)}", "--format=%N %T")
    return sorted({node for node, _, state in (line.partition(" ") for line in lines) if state.startswith("down")})


def asked(*command: str) -> list[str]:
    """What a command of Slurm's says; nothing when it fails: a controller that does not answer is no node's fault."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_EVERY_S, check=True)
        return done.stdout.splitlines()
    return []
