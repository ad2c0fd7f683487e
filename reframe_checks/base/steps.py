"""Steps of a job: how one starts on a part of the job's ranks, and several commands one after the other."""

import copy
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites.launchers import HOSTS_FILE

# Launcher -> how it is told the number of ranks on each node.
PER_NODE = {
    "srun": "--ntasks-per-node={}",
    "srunalloc": "--ntasks-per-node={}",
    "mpirun-openmpi": "-npernode {}",
    "mpirun-intelmpi": "-ppn {}",
    "mpiexec.hydra": "-ppn {}",
}
SLURMS = ("srun", "srunalloc")
SERIES_FILE = "series.sh"


class Launching(rfm.RegressionTestPlugin):
    """Start steps on all of a job's ranks, or on a part of them, and several in one job."""

    def launch_command(self):
        """The launcher and its options, for further steps in the job."""
        # ReFrame tells the job only after the hooks; without it a step would have one core for each task.
        self.job.num_cpus_per_task = self.num_cpus_per_task
        return self.job.launcher.run_command(self.job)

    def launch_on(self, ranks, ranks_per_node=None):
        """The launcher and its options for a step on ``ranks`` ranks of the job, node by node.

        :param ranks_per_node: by default as many as the job has.
        :raises ReframeError: the job has not so many, or the launcher cannot place them so.
        """
        per_node = min(ranks, ranks_per_node or self.num_tasks_per_node or 1)
        nodes = -(-ranks // per_node)
        if nodes > self.num_nodes_used or per_node > (self.num_tasks_per_node or 1):
            raise ReframeError(
                f"{ranks} ranks, {per_node} on a node, need more than this job's {self.num_nodes_used} nodes of "
                f"{self.num_tasks_per_node} ranks"
            )
        name = self.job.launcher.registered_name
        job, launcher = copy.copy(self.job), copy.copy(self.job.launcher)
        job.num_tasks, job.num_tasks_per_node, job.num_cpus_per_task = ranks, per_node, self.num_cpus_per_task
        if self.simulated:
            launcher.hosts_file = self.hosts_file_of(ranks, per_node)
        elif name in PER_NODE:
            per_node_option = PER_NODE[name].format(per_node)
            counts = [f"--nodes={nodes}", f"--ntasks={ranks}"] if name in SLURMS else []
            launcher.options = [*launcher.options, *counts, per_node_option]
        elif (ranks, per_node) != (self.num_tasks, self.num_tasks_per_node):
            can = ", ".join(PER_NODE)
            raise ReframeError(f"the launcher {name} cannot place {per_node} ranks on a node; {can} can")
        return launcher.run_command(job)

    def take_steps(self, steps):
        """Have the job run these command lines in turn, the last as ReFrame's own, those before it from a file."""
        *before, last = steps
        if before:
            self.run_from_file(before)
        self.executable, *self.executable_opts = last.split(" ")

    def run_from_file(self, lines):
        """Have the job source these lines: hundreds on a large partition, which would hide the rest of its script."""
        write_atomically(pathlib.Path(self.stagedir, SERIES_FILE), "".join(f"{line}\n" for line in lines))
        self.prerun_cmds = [*self.prerun_cmds, f". ./{SERIES_FILE}"]

    def hosts_file_of(self, ranks, per_node):
        """The file with the host of each of these ranks, of a simulated job."""
        if per_node == self.num_tasks_per_node:
            return HOSTS_FILE
        path = pathlib.Path(self.stagedir, f"hosts-{per_node}-per-node.txt")
        try:
            write_atomically(path, "".join(f"{host}\n" for host in self.hosts(self.num_nodes_used, per_node)))
        except InputError as err:
            raise ReframeError(f"fabric {self.fabric.name}: {err}") from None
        self.keep_files = [*self.keep_files, path.name]
        return path.name


class SeveralSteps(rfm.RegressionTestPlugin):
    """Several steps on all ranks of one job, one after the other, each with an output file of its own."""

    def command_lines(self):
        """The command of each step without its launcher, quoted for the shell; the first word is the program."""
        raise NotImplementedError

    @rfmb.run_before("run")
    def take_command_lines(self):
        *before, last = self.command_lines()
        launch = self.launch_on(self.num_tasks)
        self.take_steps([*(f"{launch} {line}" for line in before), last])


def with_variables(variables, words):
    """The command line of ``words`` with these environment variables set, for that step alone and on every node."""
    settings = [f"{name}={value}" for name, value in sorted(variables.items())]
    return shlex.join(["env", *settings, *words] if settings else words)
