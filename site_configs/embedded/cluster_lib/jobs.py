"""Jobs that must not outlive, or survive, the cluster they were submitted to."""

from .console import Deadline
from .instance import Instance
from .layout import LOGIN


def cancel_all_jobs(instance: Instance, timeout_s: float) -> int:
    """Cancel every job and wait until they have ended, or `timeout_s`; gives their number.

    Raises ClusterError when slurmctld does not answer in that time.
    """
    jobs = instance.run_in(LOGIN, ["squeue", "--noheader", "--format=%A"], timeout_s).stdout.split()
    if jobs:
        instance.run_in(LOGIN, ["scancel", "--quiet", *jobs], timeout_s)
        Deadline(timeout_s).poll(
            lambda: not instance.run_in(LOGIN, ["squeue", "--noheader"], timeout_s).stdout.strip(), interval_s=0.1
        )
    return len(jobs)
