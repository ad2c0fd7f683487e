"""ReFrame's launcher of simulations: SimGrid's ``smpirun``, on the platform and the hosts in the stage folder."""

from reframe.core.backends import register_launcher  # type: ignore[import-untyped]
from reframe.core.launchers import JobLauncher  # type: ignore[import-untyped]

PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"


@register_launcher("smpirun", local=True)
class SmpirunLauncher(JobLauncher):  # type: ignore[misc]
    """``hosts_file`` has one for each rank, node by node."""

    hosts_file = HOSTS_FILE

    def command(self, job: object) -> list[str]:
        ranks = job.num_tasks  # type: ignore[attr-defined]
        return ["smpirun", "-np", str(ranks), "-platform", PLATFORM_FILE, "-hostfile", self.hosts_file]
