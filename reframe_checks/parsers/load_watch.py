"""What ``base/src/node_watch.sh`` writes for a node: a line before and after the tasks of each step of a job."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kappa.core.record.evidence import LoadByOthers
from reframe_checks.parsers.text import Output

_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,3})?"
_FIELDS = ("at_s", "cores", "busy_s", "steal_s", "own_s", "disk_bytes", "own_bytes")
_LINE = re.compile(
    "(look=([0-9]{1,9}) " + " ".join(f"{name}=({_NUMBER})" for name in _FIELDS) + ") sha256=([0-9a-f]{16})"
)


@dataclass(frozen=True)
class Snapshot:
    """Times in seconds and bytes read and written, all since the node started; ``own`` is the job's on this node."""

    at_s: float
    cores: float
    busy_s: float
    steal_s: float
    own_s: float
    disk_bytes: float
    own_bytes: float


def parse(text: str) -> tuple[Snapshot, ...]:
    """The snapshots of a node in order of time.

    :raises ParseError: a line that is no snapshot or was changed, one that is missing, or a node that had no core.
    """
    output = Output.read("load watch", text)
    snapshots = []
    for number, line in enumerate(output.lines, start=1):
        found = _LINE.fullmatch(line)
        if not found:
            raise output.error(number, f"look=…, {'=…, '.join(_FIELDS)}=… and sha256=…")
        whole, look, *figures, digest = found.groups()
        if hashlib.sha256(f"{whole}\n".encode()).hexdigest()[:16] != digest:
            raise output.error(number, "a line as it was written, but its SHA-256 is another")
        if int(look) != number:
            raise output.error(number, f"look {number} of the node")
        snapshot = Snapshot(*map(float, figures))
        if snapshot.cores < 1:
            raise output.error(number, "at least one core")
        snapshots.append(snapshot)
    return tuple(sorted(snapshots, key=lambda snapshot: snapshot.at_s))


def taken_of_node(snapshots: tuple[Snapshot, ...]) -> LoadByOthers | None:
    """What others took of a node between its first and last snapshot; ``None`` when no time lies between them."""
    return taken_of_machine({"": snapshots})


def taken_of_machine(nodes: Mapping[str, tuple[Snapshot, ...]]) -> LoadByOthers | None:
    """What others than the job took of the one machine that all the ``nodes`` share; ``None`` when no time passed.

    Busy times are the machine's, whichever node tells them; what the job used is the sum over its nodes.
    """
    everything = sorted((each for snapshots in nodes.values() for each in snapshots), key=lambda each: each.at_s)
    if not everything or everything[-1].at_s <= everything[0].at_s:
        return None
    first, last = everything[0], everything[-1]
    seconds = last.at_s - first.at_s
    own_s = sum(snapshots[-1].own_s - snapshots[0].own_s for snapshots in nodes.values() if snapshots)
    own_bytes = sum(snapshots[-1].own_bytes - snapshots[0].own_bytes for snapshots in nodes.values() if snapshots)
    steal_cores = (last.steal_s - first.steal_s) / seconds
    used = (last.busy_s - first.busy_s - own_s) / seconds
    return LoadByOthers(
        cores=max(0.0, used) + max(0.0, steal_cores),
        of_cores=int(last.cores),
        steal_cores=max(0.0, steal_cores),
        disk_mb_per_s=max(0.0, last.disk_bytes - first.disk_bytes - own_bytes) / seconds / 1e6,
    )
