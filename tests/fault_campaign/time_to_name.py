"""How soon the node that a job hangs on is named: from the fault to the ``hang.json`` of the job's watch."""

import json
import pathlib

from reframe_checks.base.hang_watch import HANG_FILE
from tests.fault_campaign.cluster import Cluster

# Its time is that of the fault.
_NOTE = "fault-put"


def note_fault(cluster: Cluster) -> None:
    """Called at the instant of a fault that comes while a job runs."""
    (cluster.results / _NOTE).touch()


def forget_fault(cluster: Cluster) -> None:
    (cluster.results / _NOTE).unlink(missing_ok=True)


def seconds_to_name(cluster: Cluster, since: float) -> float | None:
    """Of the first ``hang.json`` of the round that began at ``since``, in seconds since 1970; ``None`` without one, as
    when Slurm was asked.

    Of a fault that was there before the job, from the beginning of the job's watch, which the file tells.
    """
    note = cluster.results / _NOTE
    found = [path for path in cluster.results.rglob(HANG_FILE) if path.stat().st_mtime >= since]
    if not found:
        return None
    first = min(found, key=lambda path: path.stat().st_mtime)
    if note.exists():
        return round(first.stat().st_mtime - note.stat().st_mtime, 1)
    return _after_s(first)


def _after_s(path: pathlib.Path) -> float:
    line, _, _ = path.read_text(encoding="utf-8").partition("\n")
    return float(json.loads(line)["after_s"])
