"""Steps of a job: the command lines that it runs in turn, on all ranks of the job or on a part of them."""

import copy
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.backends import getlauncher
from reframe.core.exceptions import ReframeError

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites.launchers import HOSTS_FILE

# Launcher -> its option for the number of ranks on each node.
PER_NODE = {
    "srun": "--ntasks-per-node={}",
    "srunalloc": "--ntasks-per-node={}",
    "mpirun-openmpi": "-npernode {}",
    "mpirun-intelmpi": "-ppn {}",
    "mpiexec.hydra": "-ppn {}",
}
SLURMS = ("srun", "srunalloc")
SERIES_FILE = "series.sh"
# Longer series go to a file of their own: hundreds of lines would hide the rest of the job script.
MOST_IN_SCRIPT = 3


class Launching(rfm.RegressionTestPlugin):
    """Make the job run its command lines in turn; each starts a step on all of the job's ranks or on a part of them."""

    #: How often the command runs in the job.
    repeats = rfmb.variable(int, value=1)

    def command_lines(self):
        """Return the command lines of the job in turn, each with its launcher and quoted for the shell.

        A leaf with several steps overrides this, and redirects the output of each step.
        """
        return [self.launched(self.executable, *self.executable_opts)] * self.repeats

    # After the hooks of leaves, before the job reads its nodes' counters for the last time.
    @rfmb.run_before("run", always_last=True)
    def take_command_lines(self):
        *before, last = self.command_lines()
        if last != self.launched(self.executable, *self.executable_opts):
            # ReFrame would put a launcher of all ranks before it.
            self.job.launcher = getlauncher("local")()
            self.executable, *self.executable_opts = last.split(" ")
        if len(before) > MOST_IN_SCRIPT:
            path = pathlib.Path(self.stagedir, self.kept(SERIES_FILE))
            write_atomically(path, "".join(f"{line}\n" for line in before))
            before = [f". ./{SERIES_FILE}"]
        self.prerun_cmds = [*self.prerun_cmds, *before]

    def launched(self, *words):
        """Return the command line that starts these words on all of the job's ranks."""
        return " ".join([self.launch_command(), *words])

    def launch_command(self):
        """Return the launcher and its options for a step on all of the job's ranks."""
        # ReFrame sets this only after the hooks; without it, a step would have one core for each task.
        self.job.num_cpus_per_task = self.num_cpus_per_task
        return self.job.launcher.run_command(self.job)

    def launch_on(self, ranks, ranks_per_node=None):
        """Return the launcher and its options for a step on ``ranks`` ranks of the job, node by node.

        :param ranks_per_node: by default as many as the job has.
        :raises ReframeError: the job has fewer ranks or nodes, or the launcher cannot place the ranks in this way.
        """
        most_per_node = self.num_tasks_per_node or 1
        per_node = min(ranks, ranks_per_node or most_per_node)
        nodes = -(-ranks // per_node)
        if nodes > -(-self.num_tasks // most_per_node) or per_node > most_per_node:
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
            raise ReframeError(f"the launcher {name} cannot place {per_node} ranks on a node; use one of {can}")
        return launcher.run_command(job)

    def hosts_file_of(self, ranks, per_node):
        """Write the file with the host of each rank of a simulated job, and return its name."""
        if per_node == self.num_tasks_per_node:
            return HOSTS_FILE
        path = pathlib.Path(self.stagedir, f"hosts-{per_node}-per-node.txt")
        try:
            write_atomically(path, "".join(f"{host}\n" for host in self.hosts(self.num_nodes_used, per_node)))
        except InputError as err:
            raise ReframeError(f"fabric {self.fabric.name}: {err}") from None
        self.keep_files = [*self.keep_files, path.name]
        return path.name


def with_variables(variables, words):
    """Return the command line of ``words`` that sets these environment variables, for this step only, on every node."""
    settings = [f"{name}={value}" for name, value in sorted(variables.items())]
    return shlex.join(["env", *settings, *words] if settings else words)
