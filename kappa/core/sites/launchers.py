"""Launchers that ReFrame does not bring: it knows them once this file was imported."""

from reframe.core.backends import register_launcher  # type: ignore[import-untyped]
from reframe.core.launchers import JobLauncher  # type: ignore[import-untyped]

PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"
# A platform that is a program: it reads PLATFORM_FILE and counts what its links carry. SMPI's own model has no place
# for that; with factors of 1, as in Kappa's platforms, it is the same as CM02.
COUNTER = ("./link_use.so", "--cfg=network/model:CM02", "--log=root.threshold:warning")


@register_launcher("mpiexec.hydra")
class HydraLauncher(JobLauncher):  # type: ignore[misc]
    """Hydra starts ranks of MPICH, MVAPICH and Intel MPI where srun has no plug-in for them.

    Not ``mpiexec``: where several MPI libraries are installed that is any of them. The nodes and the ranks on each are
    those of Slurm's job, which Hydra reads from its variables.
    """

    def command(self, job: object) -> list[str]:
        variables = [word for name, value in self.env_vars.items() for word in ("-genv", name, str(value))]
        return ["mpiexec.hydra", "-n", str(job.num_tasks), *variables]  # type: ignore[attr-defined]


@register_launcher("smpirun", local=True)
class SmpirunLauncher(JobLauncher):  # type: ignore[misc]
    """SimGrid's ``smpirun`` simulates, on the platform in the stage folder; ``hosts_file`` has a host for each rank.

    Each rank has a copy of the program, which a simulation that was killed leaves behind: in the stage folder, then.
    ``-tmpdir`` would say so, but smpirun of SimGrid 3.32 takes its value for the program.
    """

    hosts_file = HOSTS_FILE

    def command(self, job: object) -> list[str]:
        ranks = job.num_tasks  # type: ignore[attr-defined]
        return [
            "env",
            'TMPDIR="$PWD"',
            "smpirun",
            "-np",
            str(ranks),
            "-hostfile",
            self.hosts_file,
            "-platform",
            *COUNTER,
        ]
