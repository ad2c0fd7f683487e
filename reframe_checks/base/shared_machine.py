"""Nodes that share a machine: waits for a quieter machine, and why a measurement counts as robbed."""

import time

from kappa.core.ground.processes import BusyCores

# How long one robbed job, and all robbed jobs of a session, wait for a quieter machine. A job waits at most `hold_s`
# for its answer, so the answer must come `MARGIN_S` earlier.
WAIT_S, SESSION_WAIT_S, MARGIN_S = 20, 120, 15


class QuietWait:
    """A wait for a quieter machine: at most ``limit_s``, and ``SESSION_WAIT_S`` for all waits of the session."""

    #: Total time of all waits of this session, s.
    waited_s = 0.0

    def __init__(self, limit_s):
        self.busy, self.last_s = BusyCores(), time.monotonic()
        self.deadline_s = self.last_s + min(limit_s, SESSION_WAIT_S - QuietWait.waited_s)

    def wait(self, cores_share, tell):
        """Wait until the machine is quiet for a second, or the time is over."""
        told = False
        time.sleep(1)
        while self.goes_on(cores_share):
            if not told:
                tell("this machine is busy: waiting until it is quieter")
                told = True
            time.sleep(1)

    def goes_on(self, cores_share):
        """Tell whether more than ``cores_share`` of the cores were busy since the last call, and there is time left."""
        now_s = time.monotonic()
        QuietWait.waited_s += now_s - self.last_s
        self.last_s = now_s
        return now_s < self.deadline_s and self.busy.since_last() > cores_share * self.busy.cores


def why_robbed(taken, *, cores_share, disk_mb_per_s):
    """Describe how much others took beyond the limits; empty if they stayed within the limits.

    :param cores_share: of the machine's cores.
    """
    found = []
    if taken.cores > cores_share * taken.of_cores:
        found.append(f"{taken.cores:.1f} of {taken.of_cores} cores (limit {cores_share * taken.of_cores:.2g})")
    if taken.disk_mb_per_s > disk_mb_per_s:
        found.append(f"{taken.disk_mb_per_s:.0f} MB/s of the disk (limit {disk_mb_per_s:g})")
    return f"others used {' and '.join(found)} while it was measured" if found else ""
