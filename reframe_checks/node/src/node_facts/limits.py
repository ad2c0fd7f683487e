"""What a task of a job may use: resource limits, and the memory of its control group against what Slurm promised."""

import os
import resource

from node_facts.files import read

LIMITS = {
    "limit.locked_memory_bytes": resource.RLIMIT_MEMLOCK,
    "limit.stack_bytes": resource.RLIMIT_STACK,
    "limit.open_files": resource.RLIMIT_NOFILE,
    "limit.processes": resource.RLIMIT_NPROC,
    "limit.address_space_bytes": resource.RLIMIT_AS,
    "limit.core_bytes": resource.RLIMIT_CORE,
}
GROUPS = "/sys/fs/cgroup"


def facts():
    found = {name: limit(resource.getrlimit(number)[0]) for name, number in LIMITS.items()}
    found["limit.promised_memory_mib"] = promised_memory_mib()
    found["limit.group_memory_mib"] = group_memory_mib()
    return found


def for_survey():
    """Return hard limits, the size of /dev/shm and the memory that Slurm promises for each CPU."""
    found = {name + "_hard": limit(resource.getrlimit(number)[1]) for name, number in LIMITS.items()}
    space = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    found["limit.shared_memory_kib"] = space and space.f_blocks * space.f_frsize >> 10
    found["limit.promised_memory_mib_per_cpu"] = os.environ.get("SLURM_MEM_PER_CPU")
    return found


def limit(value):
    return "unlimited" if value == resource.RLIM_INFINITY else value


def promised_memory_mib():
    """By node, or by each of the CPUs that the job has here, as it was asked for; None where Slurm promises none."""
    names = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
    of_node, of_cpu, cpus = (int(text) if text.isdigit() else None for text in (os.environ.get(n, "") for n in names))
    if of_node is not None or of_cpu is None or cpus is None:
        return of_node
    return of_cpu * cpus


def group_memory_mib():
    """The lowest limit of the control groups that the task is in, of version 1 or 2; None without any."""
    limits = []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = GROUPS + path, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = GROUPS + "/memory" + path, "memory.limit_in_bytes"
        else:
            continue
        while folder.startswith(GROUPS):
            value = read(folder, name)
            # Version 1 writes a number near 2^63 for no limit.
            if value and value.isdigit() and int(value) < 1 << 60:
                limits.append(int(value) >> 20)
            folder = os.path.dirname(folder)
    return min(limits) if limits else None
