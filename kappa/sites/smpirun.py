"""ReFrame's launcher of simulations: SimGrid's ``smpirun``, on the platform and the hosts in the stage folder."""

from reframe.core.backends import register_launcher  # type: ignore[import-untyped]
from reframe.core.launchers import JobLauncher  # type: ignore[import-untyped]

PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"
# A platform that is a program: it reads PLATFORM_FILE and counts what its links carry. SMPI's own model has no place
# for that; with factors of 1, as in Kappa's platforms, it is the same as CM02.
COUNTER = ("./link_use.so", "--cfg=network/model:CM02", "--log=root.threshold:warning")


@register_launcher("smpirun", local=True)
class SmpirunLauncher(JobLauncher):  # type: ignore[misc]
    """``hosts_file`` has one for each rank, node by node.

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
