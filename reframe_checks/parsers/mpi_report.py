"""What an MPI library says of the transports that it uses, between all else that a job writes.

- Open MPI with ``bml_base_verbose``: ``[HOST:PID] mca: bml: Using tcp btl for send to … on node N``
- UCX with ``UCX_LOG_LEVEL=info``: ``[TIME] [HOST:PID:TID] FILE:LINE UCX INFO ep_cfg[1]: tag(rc_mlx5/mlx5_0:1);``, of
  newer versions ``… UCX INFO NAME inter-node cfg#1 tag(…)``
- Intel MPI with ``I_MPI_DEBUG=5``: ``[0] MPI startup(): libfabric provider: mlx``
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import MAX_LINE_CHARS

_HOST = r"([\w.-]{1,255})"
_BML = re.compile(rf"\[{_HOST}:\d+\] mca: bml: Using (\w{{1,40}}) btl for send to \S{{1,60}} on node \S{{1,255}}")
_UCX = re.compile(
    rf"\[\d+\.\d+\] \[{_HOST}:\d+\s*:\d+\]\s+\S{{1,80}}\s+UCX +INFO +(?:\S{{1,80}} )?"
    r"(?:ep_cfg\[\d+\]:|inter-node cfg#\d+) ?(.+)"
)
_LANES = re.compile(r"(?:tag|am)\(([^()]{1,2000})\)")
_INTEL = re.compile(r"\[\d{1,9}\] MPI startup\(\): libfabric provider: ([\w;]{1,80})")
#: Within a node: shared memory, and copies to and from GPUs.
_WITHIN = re.compile(r"self|vader|sm|smcuda|sysv|posix|cma|knem|xpmem|mm|cuda_\w+|gdr_copy|rocm_\w+|ze_\w+")


@dataclass(frozen=True)
class Lane:
    """``adapter`` is empty where the library does not say."""

    protocol: str
    adapter: str = ""

    def __str__(self) -> str:
        return f"{self.protocol} on {self.adapter}" if self.adapter else self.protocol


def parse(text: str) -> dict[str, frozenset[Lane]]:
    """The lanes between nodes by the host that says so, ``""`` where it does not name itself; none if nobody does."""
    found: dict[str, set[Lane]] = {}
    for line in text.splitlines():
        if len(line) > MAX_LINE_CHARS:
            continue
        if bml := _BML.fullmatch(line):
            found.setdefault(bml[1], set()).add(Lane(bml[2]))
        elif ucx := _UCX.fullmatch(line.rstrip("; ")):
            lanes = (lane for listed in _LANES.findall(ucx[2]) for lane in listed.split())
            found.setdefault(ucx[1], set()).update(Lane(*lane.split("/", 1)) for lane in lanes)
        elif intel := _INTEL.fullmatch(line):
            found.setdefault("", set()).add(Lane(intel[1]))
    between = {host: {lane for lane in lanes if not _WITHIN.fullmatch(lane.protocol)} for host, lanes in found.items()}
    return {host: frozenset(lanes) for host, lanes in between.items() if lanes}
