"""Run commands on nodes, without a shell and with a time limit, and read the states of all nodes from Slurm."""

import errno
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import ask, user_name
from kappa.core.sites.site_file import CLUSTER_VARIABLE, SiteDescription
from kappa.core.vocabulary.node_states import SINFO_FORMAT_OF_ALL, nodes_of_partitions
from kappa.core.vocabulary.rules import filled
from reports.quarantine.decide import NodeNow

COMMAND_S = 60.0
# Longest time until a command takes effect: a wrapper may pass it on, and a resumed node answers at Slurm's next ping.
SETTLE_S = 60.0
_POLL_S = 0.5
_STATES = ("sinfo", "--all", "--Node", "--noheader", f"--format={SINFO_FORMAT_OF_ALL}")
# Variables of the job in which this may run, as a night does. With them, srun would start a step of that job.
_OF_JOB = re.compile(r"SLURM_(JOB|STEP|TASK|NNODES|NODE|NTASKS|NPROCS|CPU|MEM|TRES|GPU|GRES|DISTRIBUTION|THREADS)")
_DENIED = ("denied", "permission", "not authorized", "invalid user", "privilege")


class CommandError(InputError):
    """A command failed. The message has the command, its output and a remedy."""


class NodeCommands:
    """Run the commands of a site."""

    def __init__(self, site: SiteDescription) -> None:
        folders = [str(site.base / folder) for folder in site.described.path]
        around = {name: value for name, value in os.environ.items() if not _OF_JOB.match(name)}
        self.environment = {**around, "PATH": os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])}
        cluster = site.described.cluster
        if cluster:
            self.environment[CLUSTER_VARIABLE] = cluster
        self.sacct = ("sacct", *([f"--clusters={cluster}"] if cluster else []))
        """The first words of each sacct command. Only sacct does not read the cluster from the variable."""

    def run(self, command: Sequence[str], patience_s: float | None = None) -> str:
        """Run a command and return its standard output.

        :raises CommandError: there is no such program, it fails, or does not end within ``patience_s`` (``COMMAND_S``).
        """
        patience_s = COMMAND_S if patience_s is None else patience_s
        shown = clean(" ".join(command[:3]))
        try:
            output, problem, status = ask(command, self.environment, patience_s)
        except OSError as err:
            missing = "there is no such program; add its folder to `path` in site.yaml, or to PATH"
            raise CommandError(f"`{shown}`: {missing if err.errno == errno.ENOENT else err.strerror}") from None
        except subprocess.TimeoutExpired:
            problem = f"`{shown}` did not end within {patience_s:g} s; test slurmctld with `scontrol ping`"
            raise CommandError(problem) from None
        if status:
            said = one_line(clean(f"{problem} {output}"), 300) or "nothing"
            denied = any(word in said.lower() for word in _DENIED)
            mend = "; it needs an operator of Slurm, root or a sudo rule" if denied else ""
            raise CommandError(f"`{shown}` ended with status {status} and said: {said}{mend}")
        return output

    def said(self, command: Sequence[str]) -> str | None:
        """Run a command and return its output without control characters; ``None`` if it fails."""
        try:
            return clean(self.run(command))
        except CommandError:
            return None

    def filled(self, command: Sequence[str], node: str, reason: str = "") -> tuple[str, ...]:
        """Return a command of the rule, filled in for ``node``."""
        return filled(command, node=node, reason=reason, reservation=self.reservation(node), user=user_name())

    @staticmethod
    def reservation(node: str) -> str:
        return f"kappa-return-{node}"

    def nodes(self) -> dict[str, NodeNow]:
        """Return every node of Slurm by name.

        :raises CommandError: Slurm does not answer, or its answer cannot be read.
        """
        said = self.run(_STATES)
        try:
            lines = nodes_of_partitions(said)
        except InputError as err:
            raise CommandError(f"the output of sinfo cannot be read: {err}") from None
        partitions: dict[str, set[str]] = {}
        for partition, node in lines:
            partitions.setdefault(node.name, set()).add(partition)
        return {
            name: NodeNow(
                name,
                frozenset(partitions[name]),
                node.state,
                usable=node.usable,
                reserved=node.condition.reserved,
                responds=node.condition.responds,
                reason="" if node.reason == "none" else clean(node.reason),
            )
            for name, node in {node.name: node for _, node in lines}.items()
        }

    def run_until(self, command: Sequence[str], node: str, done: Callable[[NodeNow], bool]) -> None:
        """Run a command on ``node``, and wait until Slurm shows the node in the wanted state.

        :param done: returns whether the node is in the wanted state.
        :raises CommandError: as ``run``; or the node is in another state after ``SETTLE_S``.
        """
        self.run(command)
        deadline = time.monotonic() + SETTLE_S
        while not ((found := self.nodes().get(node)) and done(found)):
            if time.monotonic() > deadline:
                now = found or f"Slurm does not list {node}"
                raise CommandError(f"`{clean(' '.join(command[:3]))}` ended well, but {SETTLE_S:g} s later {now}")
            time.sleep(_POLL_S)
