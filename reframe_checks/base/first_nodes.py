"""Which jobs lost their first node: Slurm is asked for all of this user's jobs at once, however many run."""

import contextlib
import subprocess
import time

from kappa.core.vocabulary.node_states import condition

#: Between two questions, s.
ASK_EVERY_S = 10


def nodes_down(nodes) -> list[str]:
    """Those of the nodes that Slurm has given up."""
    # An empty list would be all nodes for sinfo.
    lines = asked("sinfo", "--noheader", "--Node", f"--nodes={','.join(nodes)}", "--format=%N %T") if nodes else []
    states = (line.partition(" ") for line in lines)
    return sorted({node for node, _, state in states if "DOWN" in condition(state).words})


def asked(*command: str) -> list[str]:
    """What a command of Slurm's says; nothing when it fails: a controller that does not answer is no node's fault."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=ASK_EVERY_S, check=True)
        return done.stdout.splitlines()
    return []


class FirstNodes:
    """One answer for all jobs, as old as ``ASK_EVERY_S`` at most."""

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
