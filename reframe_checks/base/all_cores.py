"""A plug-in for a task on each node that has all of its cores, one hardware thread of each."""

import reframe as rfm
import reframe.core.builtins as rfmb


class AllCores(rfm.RegressionTestPlugin):
    """What the task does with them is its own."""

    @rfmb.run_after("setup")
    def take_all_cores(self):
        self.num_cpus_per_task = self.cores_per_node
        # Else Slurm counts threads as CPUs, and gives two of each of half as many cores.
        self.use_multithreading = False
        # Since Slurm 22.05, srun no longer takes --cpus-per-task from the job.
        self.env_vars = {**self.env_vars, "SRUN_CPUS_PER_TASK": self.cores_per_node}
