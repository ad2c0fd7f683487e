"""Find limits of jobs that are too small for benchmarks or MPI."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from kappa.app.survey.found import FoundPart, NodeKind

# An MPI library's segment in shared memory has 4 to 16 MiB for each rank.
_SHM_MIB_OF_CORE, _LEAST_SHM_MIB = 16, 256
_OPEN_FILES, _STACK_KIB = 4096, 8192
_PROCESSES_OF_CPU, _LEAST_PROCESSES = 8, 1024
# Share of a node's memory that a job needs. Slurm and the system reserve the rest.
_MEMORY_SHARE = 0.8


class Limit(NamedTuple):
    """A limit of ``getrlimit``, with its ``letter`` in ulimit and its ``name`` in slurm.conf and systemd."""

    key: str
    letter: str
    name: str
    words: str


class TooSmall(NamedTuple):
    """A limit that is too small. ``key``: the probe's name of it. ``has`` and ``wants`` include the unit."""

    key: str
    words: str
    has: str
    wants: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.words} {self.has}, expected {self.wants}: {self.why}; {self.remedy}"


_LOCKED = Limit("memlock", "l", "MEMLOCK", "locked memory")
_FILES = Limit("nofile", "n", "NOFILE", "open files")
_PROCESSES = Limit("nproc", "u", "NPROC", "processes")
_STACK = Limit("stack_kib", "s", "STACK", "stack")
_ADDRESSES = Limit("as_kib", "v", "AS", "virtual memory")


def too_small(part: FoundPart) -> list[TooSmall]:
    """Return the limits of the partition's nodes that are too small; none if no node was probed."""
    return [*_resources(part, part.told), *_memory(part, part.told)] if part.told else []


def _resources(part: FoundPart, told: NodeKind) -> Iterator[TooSmall]:
    processes = max(_LEAST_PROCESSES, _PROCESSES_OF_CPU * _cpus(part))
    wanted = [
        (_FILES, _OPEN_FILES, "mpirun and ranks over TCP open one file for each other rank"),
        (_PROCESSES, processes, "the threads of all ranks count"),
        (_STACK, _STACK_KIB, "Fortran and OpenMP programs keep arrays on the stack"),
        (_ADDRESSES, math.inf if told.gpus else told.memory_gib * 2**20, "GPUs and ranks map more than they use"),
    ]
    if told.adapters or told.unclear_adapters:
        wanted.insert(0, (_LOCKED, math.inf, f"{told.link or 'RDMA'} locks the memory of messages"))
    said = {**told.limits, "memlock": told.memlock}
    for limit, least, why in wanted:
        has, most = _number(said.get(limit.key)), _number(said.get(f"{limit.key}_hard"))
        if has is None or has >= least:
            continue
        unit = "" if limit in (_FILES, _PROCESSES) else "KiB"
        yield TooSmall(
            limit.key, limit.words, f"{has:.0f} {unit}".strip(), _amount(least, unit), why, _remedy(limit, least, most)
        )


def _remedy(limit: Limit, least: float, most: float | None) -> str:
    value = "unlimited" if math.isinf(least) else f"{least:.0f}"
    if most is not None and most >= least:
        return f"`prepare_cmds: [ulimit -S{limit.letter} {value}]` of the partition"
    unit = "infinity" if math.isinf(least) else value if limit in (_FILES, _PROCESSES) else f"{value}K"
    return (
        f"`Limit{limit.name}={unit}` in slurmd's unit of systemd, `PropagateResourceLimitsExcept={limit.name}` in"
        " slurm.conf"
    )


def _memory(part: FoundPart, told: NodeKind) -> Iterator[TooSmall]:
    shm, wanted = _number(told.limits.get("shm_kib")), max(_LEAST_SHM_MIB, _SHM_MIB_OF_CORE * told.cores) * 1024
    if shm is not None and shm < wanted:
        why = "MPI libraries keep the shared memory of a node's ranks there"
        remedy = f"`size={wanted // 1024}m` of /dev/shm in /etc/fstab"
        yield TooSmall("shm_kib", "/dev/shm", f"{shm:.0f} KiB", _amount(wanted, "KiB"), why, remedy)
    group, per_cpu = (_number(told.limits.get(name)) for name in ("group_memory_kib", "slurm_mib_per_cpu"))
    if group is None:
        return
    # The probe's job has one CPU, but checks use whole nodes.
    of_job = per_cpu * 1024 * _cpus(part) if per_cpu else group
    least = _MEMORY_SHARE * told.memory_gib * 2**20
    if of_job < least:
        yield TooSmall(
            "group_memory_kib",
            "memory of a job",
            f"{of_job:.0f} KiB",
            _amount(least, "KiB"),
            f"the control group kills a job above that limit, and the node has {told.memory_gib:g} GiB",
            "`access: [--mem=0]` of the partition: `kappa site new --access=--mem=0`",
        )


def _cpus(part: FoundPart) -> int:
    return part.sockets * part.cores_per_socket * part.threads_per_core


def _number(said: str | None) -> float | None:
    if said == "unlimited":
        return math.inf
    return int(said) if said and said.isdecimal() else None


def _amount(number: float, unit: str) -> str:
    return "unlimited" if math.isinf(number) else f"at least {number:.0f} {unit}".strip()
