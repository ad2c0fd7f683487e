"""ReFrame's launcher by Hydra, which starts ranks of MPICH, MVAPICH and Intel MPI where srun has no plug-in for them.

Not ``mpiexec``: where several MPI libraries are installed that is any of them.
"""

from reframe.core.backends import register_launcher  # type: ignore[import-untyped]
from reframe.core.launchers import JobLauncher  # type: ignore[import-untyped]


@register_launcher("mpiexec.hydra")
class HydraLauncher(JobLauncher):  # type: ignore[misc]
    """The nodes and the ranks on each are those of Slurm's job, which Hydra reads from its variables."""

    def command(self, job: object) -> list[str]:
        variables = [word for name, value in self.env_vars.items() for word in ("-genv", name, str(value))]
        return ["mpiexec.hydra", "-n", str(job.num_tasks), *variables]  # type: ignore[attr-defined]
