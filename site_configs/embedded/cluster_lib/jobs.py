"""Jobs that must not outlive, or survive, the cluster they were submitted to."""

from .instance import Instance
from .layout import LOGIN


def cancel_all_jobs(instance: Instance, timeout_s: float) -> int:
    """Cancel every job; gives their number.  They end when their nodes confirm it.

    Raises ClusterError when slurmctld does not answer in `timeout_s`.
    """
    jobs = instance.run_in(LOGIN, ["squeue", "--noheader", "--format=%A"], timeout_s).stdout.split()
    if jobs:
        instance.run_in(LOGIN, ["scancel", "--quiet", *jobs], timeout_s)
    return len(jobs)


def no_jobs(instance: Instance) -> bool:
    """Whether the queue is empty: nothing waits, runs or ends."""
    queue = instance.run_in(LOGIN, ["squeue", "--noheader"])
    return queue.returncode == 0 and not queue.stdout.strip()
