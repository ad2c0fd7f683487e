"""How busy this machine is."""

import os
import pathlib
import time

STAT = pathlib.Path("/proc/stat")


def busy_seconds(stat: str, cores: set[int], ticks_per_s: int) -> float:
    """For how long ``cores`` were busy, or taken by a hypervisor, since the machine started.

    :param stat: the text of ``/proc/stat`` (proc(5)): user, nice and system time are fields 1 to 3, steal is 8.
    """
    rows = [line.split() for line in stat.splitlines()]
    mine = [row for row in rows if row and row[0] in {f"cpu{core}" for core in cores}]
    return sum(int(row[field]) for row in mine for field in (1, 2, 3, 8)) / ticks_per_s


class BusyCores:
    """How many cores of those that this process may use were busy since it was last asked, whoever used them."""

    def __init__(self) -> None:
        self._at_s, self._busy_s = time.monotonic(), self._read()

    def since_last(self) -> float:
        at_s, busy_s = time.monotonic(), self._read()
        passed_s, used_s = at_s - self._at_s, busy_s - self._busy_s
        self._at_s, self._busy_s = at_s, busy_s
        return used_s / passed_s if passed_s > 0 else 0.0

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0))

    @staticmethod
    def _read() -> float:
        text = STAT.read_text(encoding="ascii")
        return busy_seconds(text, os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK"))
