"""Limits of a job's task: resource limits, and the memory of its control group beside Slurm's promise."""

import os
import resource

from kappa.node.files import read

LIMITS = {
    "limit.locked_memory_bytes": resource.RLIMIT_MEMLOCK,
    "limit.stack_bytes": resource.RLIMIT_STACK,
    "limit.open_files": resource.RLIMIT_NOFILE,
    "limit.processes": resource.RLIMIT_NPROC,
    "limit.address_space_bytes": resource.RLIMIT_AS,
    "limit.core_bytes": resource.RLIMIT_CORE,
    "limit.cpu_time_s": resource.RLIMIT_CPU,
    "limit.file_bytes": resource.RLIMIT_FSIZE,
    "limit.data_bytes": resource.RLIMIT_DATA,
    "limit.resident_bytes": resource.RLIMIT_RSS,
    "limit.message_queue_bytes": resource.RLIMIT_MSGQUEUE,
    "limit.nice": resource.RLIMIT_NICE,
    "limit.realtime_priority": resource.RLIMIT_RTPRIO,
    "limit.realtime_us": resource.RLIMIT_RTTIME,
    "limit.pending_signals": resource.RLIMIT_SIGPENDING,
    # The C library's <sys/resource.h> has a name for it, Python has none.
    "limit.file_locks": 10,
}
GROUPS = "/sys/fs/cgroup"


def facts():
    found = {}
    for name, number in LIMITS.items():
        soft, hard = resource.getrlimit(number)
        found[name] = limit(soft)
        # Programs can raise their limit up to the hard one.
        found[name + "_hard"] = limit(hard)
    space = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    found["limit.shared_memory_kib"] = space and space.f_blocks * space.f_frsize >> 10
    found["limit.promised_memory_mib"] = promised_memory_mib()
    found["limit.group_memory_mib"] = group_memory_mib()
    found["limit.group_processes"] = lowest_of_groups("pids", "pids.max", "pids.max")
    return found


def limit(value):
    return "unlimited" if value == resource.RLIM_INFINITY else value


def promised_memory_mib():
    """Return the memory by node, or by CPU of the job here, as the job requested it; None if Slurm promises none."""
    names = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
    of_node, of_cpu, cpus = (int(text) if text.isdigit() else None for text in (os.environ.get(n, "") for n in names))
    if of_node is not None or of_cpu is None or cpus is None:
        return of_node
    return of_cpu * cpus


def group_memory_mib():
    """Return the memory that its control groups leave to the task; None without a limit."""
    lowest = lowest_of_groups("memory", "memory.limit_in_bytes", "memory.max")
    # Version 1 writes a number near 2^63 if there is no limit.
    return lowest >> 20 if lowest is not None and lowest < 1 << 60 else None


def lowest_of_groups(controller, name_1, name_2):
    """Return the lowest limit of the task's control groups, by the file's name in version 1 and 2; or None."""
    limits = []
    for line in (read("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = GROUPS + path, name_2
        elif controller in controllers.split(","):
            folder, name = os.path.join(GROUPS, controller) + path, name_1
        else:
            continue
        while folder.startswith(GROUPS):
            value = read(folder, name)
            if value and value.isdigit():
                limits.append(int(value))
            folder = os.path.dirname(folder)
    return min(limits, default=None)
