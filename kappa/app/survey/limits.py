"""Find limits of jobs that are too small for benchmarks or MPI."""

from collections.abc import Iterator
from math import inf, isinf
from typing import NamedTuple

from kappa.app.survey.found import FoundPart

# An MPI library's segment in shared memory has 4 to 16 MiB for each rank.
_SHM_MIB_OF_CORE, _LEAST_SHM_MIB = 16, 256
_OPEN_FILES, _STACK_KIB = 4096, 8192
_PROCESSES_OF_CPU, _LEAST_PROCESSES = 8, 1024
# Share of a node's memory that a job needs. Slurm and the system reserve the rest.
_MEMORY_SHARE = 0.8


class Limit(NamedTuple):
    """A limit of jobs. ``key``: the probe's name of it. ``number`` and ``least`` are in ``unit``."""

    key: str
    words: str
    number: float
    least: float
    unit: str
    why: str
    remedy: str

    @property
    def has(self) -> str:
        return f"{self.number:.0f} {self.unit}".strip()

    @property
    def wants(self) -> str:
        return "unlimited" if isinf(self.least) else f"at least {self.least:.0f} {self.unit}".strip()

    def __str__(self) -> str:
        return f"{self.words} {self.has}, expected {self.wants}: {self.why}; {self.remedy}"


def too_small(part: FoundPart) -> list[Limit]:
    """Return the limits of the partition's nodes that are too small; none if no node was probed."""
    return [limit for limit in (*_resources(part), *_memory(part)) if limit.number < limit.least]


def _resources(part: FoundPart) -> Iterator[Limit]:
    """Yield limits of ``getrlimit``, each from its letter in ulimit and its name in slurm.conf and systemd."""
    node = part.node
    limits = {**node.limits, "memlock": node.memlock}
    locked = inf if node.adapters or node.unclear_adapters else 0
    processes = max(_LEAST_PROCESSES, _PROCESSES_OF_CPU * _cpus(part))
    addresses = inf if node.gpus else node.memory_gib * 2**20
    for key, letter, name, words, least, unit, why in (
        ("memlock", "l", "MEMLOCK", "locked memory", locked, "KiB",
         f"{node.link or 'RDMA'} locks the memory of messages"),
        ("nofile", "n", "NOFILE", "open files", _OPEN_FILES, "",
         "mpirun and ranks over TCP open one file for each other rank"),
        ("nproc", "u", "NPROC", "processes", processes, "", "the threads of all ranks count"),
        ("stack_kib", "s", "STACK", "stack", _STACK_KIB, "KiB", "Fortran and OpenMP programs keep arrays on the stack"),
        ("as_kib", "v", "AS", "virtual memory", addresses, "KiB", "GPUs and ranks map more than they use"),
    ):  # fmt: skip
        number = _number(limits.get(key))
        value = "unlimited" if isinf(least) else f"{least:.0f}"
        if _number(limits.get(f"{key}_hard"), number) >= least:
            remedy = f"`prepare_cmds: [ulimit -S{letter} {value}]` of the partition"
        else:
            of_systemd = "infinity" if isinf(least) else f"{value}{'K' * bool(unit)}"
            remedy = (
                f"`Limit{name}={of_systemd}` in slurmd's unit of systemd, `PropagateResourceLimitsExcept={name}` in"
                " slurm.conf"
            )
        yield Limit(key, words, number, least, unit, why, remedy)


def _memory(part: FoundPart) -> Iterator[Limit]:
    node = part.node
    shm_mib = max(_LEAST_SHM_MIB, _SHM_MIB_OF_CORE * node.cores)
    yield Limit(
        "shm_kib", "/dev/shm", _number(node.limits.get("shm_kib")), shm_mib * 1024, "KiB",
        "MPI libraries keep the shared memory of a node's ranks there", f"`size={shm_mib}m` of /dev/shm in /etc/fstab",
    )  # fmt: skip
    group, per_cpu = (_number(node.limits.get(name)) for name in ("group_memory_kib", "slurm_mib_per_cpu"))
    # The probe's job has one CPU, but checks use whole nodes.
    of_job = group if isinf(group) or isinf(per_cpu) or not per_cpu else per_cpu * 1024 * _cpus(part)
    yield Limit(
        "group_memory_kib", "memory of a job", of_job, _MEMORY_SHARE * node.memory_gib * 2**20, "KiB",
        f"the control group kills a job above that limit, and the node has {node.memory_gib:g} GiB",
        "`access: [--mem=0]` of the partition: `kappa site new --access=--mem=0`",
    )  # fmt: skip


def _cpus(part: FoundPart) -> int:
    return part.sockets * part.cores_per_socket * part.threads_per_core


def _number(limit: str | None, missing: float = inf) -> float:
    """Return a limit; infinity for ``unlimited``."""
    if limit == "unlimited":
        return inf
    return int(limit) if limit and limit.isdecimal() else missing
