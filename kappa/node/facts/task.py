"""Settings that a task inherits from Slurm's daemon: priority, memory policy, signals, rights.

No program of a job sets these, and each can make a program slow or fail on one node.
"""

import ctypes
import os

from kappa.node.files import read

# Numbers of sched(7).
POLICIES = {0: "other", 1: "fifo", 2: "round robin", 3: "batch", 5: "idle", 6: "deadline"}
# Classes of ioprio_set(2); the class is in the bits above the level.
IO_CLASSES = ("none", "real time", "best effort", "idle")
IO_LEVEL_BITS = 13
# Number of the system call ioprio_get, by machine.
IOPRIO_GET = {"x86_64": 252, "aarch64": 31, "riscv64": 31, "ppc64le": 274, "s390x": 283}
# Line of /proc/self/status -> fact. See proc_pid_status(5).
OF_STATUS = {
    "THP_enabled": "huge_pages_allowed",
    "NoNewPrivs": "no_new_privileges",
    "Seccomp": "system_call_filter",
    "Umask": "umask",
    "SigBlk": "blocked_signals",
    "SigIgn": "ignored_signals",
    "CapEff": "capabilities",
    "CapBnd": "capabilities_bound",
    "Mems_allowed_list": "memory_domains",
    "Speculation_Store_Bypass": "store_bypass",
    "SpeculationIndirectBranch": "indirect_branches",
}


def facts():
    lines = (line.partition(":") for line in (read("/proc/self/status") or "").splitlines())
    status = {name: text.strip() for name, _, text in lines}
    found = {"task." + fact: status.get(name) for name, fact in OF_STATUS.items()}
    found["task.nice"] = os.getpriority(os.PRIO_PROCESS, 0)
    found["task.scheduling"] = scheduling(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)
    found["task.io_priority"] = io_priority()
    found["task.out_of_memory_score"] = read("/proc/self/oom_score_adj")
    found["task.timer_slack_ns"] = read("/proc/self/timerslack_ns")
    found["task.personality"] = read("/proc/self/personality")
    found["task.core_dump_filter"] = read("/proc/self/coredump_filter")
    # "/autogroup-12 nice 0": the group is the session's own.
    found["task.group_nice"] = (read("/proc/self/autogroup") or "").rpartition(" ")[2] or None
    return found


def scheduling(policy, priority):
    # The flag resets children to the usual policy; it is no policy.
    name = POLICIES.get(policy & ~os.SCHED_RESET_ON_FORK, str(policy))
    return f"{name} {priority}" if priority else name


def io_priority():
    """Return class and level, as `ionice` prints them; None on machines that are not in the table."""
    number = IOPRIO_GET.get(os.uname().machine)
    value = -1 if number is None else ctypes.CDLL(None).syscall(number, 1, 0)
    if value < 0:
        return None
    kind, level = value >> IO_LEVEL_BITS, value & ((1 << IO_LEVEL_BITS) - 1)
    # A task without its own class gets one from its priority; some kernels report that class.
    return "none" if kind == 0 else f"{IO_CLASSES[kind & 3]} {level}"
