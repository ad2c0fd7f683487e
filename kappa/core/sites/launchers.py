"""Launchers that ReFrame lacks. The import of this file registers them with ReFrame."""

from reframe.core.backends import register_launcher  # type: ignore[import-untyped]
from reframe.core.launchers import JobLauncher  # type: ignore[import-untyped]

PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"
# A platform that is a program: it reads PLATFORM_FILE and counts the load of its links. SMPI's own model cannot be used
# with it. With factors of 1, as in Kappa's platforms, SMPI's model equals CM02.
COUNTER = ("./link_use.so", "--cfg=network/model:CM02", "--log=root.threshold:warning")


@register_launcher("mpiexec.hydra")
class HydraLauncher(JobLauncher):  # type: ignore[misc]
    """Start ranks of MPICH, MVAPICH and Intel MPI with Hydra if srun has no plug-in for them.

    The program is not ``mpiexec``, because with several MPI libraries this name can be any of them. Hydra reads the
    nodes and the ranks per node from the variables of Slurm's job.
    """

    def command(self, job: object) -> list[str]:
        variables = [word for name, value in self.env_vars.items() for word in ("-genv", name, str(value))]
        return ["mpiexec.hydra", "-n", str(job.num_tasks), *variables]  # type: ignore[attr-defined]


@register_launcher("smpirun", local=True)
class SmpirunLauncher(JobLauncher):  # type: ignore[misc]
    """Simulate with SimGrid's ``smpirun`` on the platform in the stage folder; ``hosts_file`` has a host per rank.

    Each rank has a copy of the program, which a killed simulation leaves behind. TMPDIR puts the copies into the stage
    folder. The option ``-tmpdir`` does not work: smpirun of SimGrid 3.32 takes its value for the program.
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
