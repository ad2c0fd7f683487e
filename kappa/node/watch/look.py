"""Report what this job's processes do on this node: look twice, a second apart, and print one line of JSON.

The watch starts it on each node if the job seems to hang. It takes the user's own processes that have this job's number
in their environment. A rank's heartbeat (``reframe_checks/src/common/heartbeat.hpp``) gives its phase.
"""

import json
import os
import re
import struct
import time

from kappa.node.facts.leftovers import ticks_of
from kappa.node.facts.names import own_addresses
from kappa.node.files import entries, first, host, read

BETWEEN_S = 1.0
HEARTBEAT = struct.Struct("8sQqd96s")  # as in heartbeat.hpp
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
MOST_ADDRESSES = 8
MOST = 1  # reported process of each kind: srun mixes lines of several nodes that are longer than 1024 bytes
# Slurm runs it before each task of the job (`reframe_checks/base/watch.py`).
PROLOG = "node_watch.sh"
# System calls on files; except on a FIFO, none waits for another program. Number -> name, and the argument that is a
# path (else a file descriptor). See syscalls(2) and the kernel's tables of system calls.
OF_PATHS = {
    "x86_64": {
        2: ("open", 0), 4: ("stat", 0), 6: ("lstat", 0), 21: ("access", 0), 59: ("execve", 0), 76: ("truncate", 0),
        80: ("chdir", 0), 82: ("rename", 0), 83: ("mkdir", 0), 84: ("rmdir", 0), 85: ("creat", 0), 86: ("link", 0),
        87: ("unlink", 0), 88: ("symlink", 1), 89: ("readlink", 0), 137: ("statfs", 0), 257: ("openat", 1),
        258: ("mkdirat", 1), 262: ("newfstatat", 1), 263: ("unlinkat", 1), 264: ("renameat", 1), 267: ("readlinkat", 1),
        269: ("faccessat", 1), 316: ("renameat2", 1), 322: ("execveat", 1), 332: ("statx", 1), 437: ("openat2", 1),
        439: ("faccessat2", 1),
    },
    "aarch64": {
        34: ("mkdirat", 1), 35: ("unlinkat", 1), 38: ("renameat", 1), 43: ("statfs", 0), 48: ("faccessat", 1),
        49: ("chdir", 0), 56: ("openat", 1), 78: ("readlinkat", 1), 79: ("newfstatat", 1), 221: ("execve", 0),
        276: ("renameat2", 1), 281: ("execveat", 1), 291: ("statx", 1), 437: ("openat2", 1), 439: ("faccessat2", 1),
    },
}  # fmt: skip
OF_FILES = {
    "x86_64": {5: "fstat", 74: "fsync", 75: "fdatasync", 77: "ftruncate", 78: "getdents", 138: "fstatfs",
               217: "getdents64", 285: "fallocate"},
    "aarch64": {44: "fstatfs", 46: "ftruncate", 47: "fallocate", 61: "getdents64", 80: "fstat", 82: "fsync",
                83: "fdatasync"},
}  # fmt: skip
# Kernel functions that wait for a file system or its server; for processes whose system call is hidden.
OF_FILE_SYSTEMS = re.compile(
    r"(?:_{0,2}(?:fuse|nfs[34]?|rpc|xprt|ll|ldlm|ptlrpc|osc|mdc|lov|cl_sync|obd|cifs|smb[23]?|ceph|p9|v9fs|afs|autofs\d?|"
    r"gpfs|cxi[A-Z]|beegfs|fhgfs|gfs2|ocfs2|jbd2|ext4|xfs|btrfs)_\w+|request_wait_answer|io_schedule\w*|"
    r"folio_wait\w*|wait_on_page\w*|wait_on_buffer|d_alloc_parallel|lookup_slow|cxiWait\w*|wait_for_partner)"
)
MOST_PATH = 200
IDLE_SHARE, ASLEEP_CPU_S, ASLEEP_AGE_S = 0.02, 1.0, 10.0


def processes_of_job(job):
    """Return process ID -> environment of this user's processes in the job, without those of the watch."""
    found = {}
    for pid in filter(str.isdigit, entries("/proc")):
        pairs = (pair.split("=", 1) for pair in (read("/proc", pid, "environ") or "").split("\0") if "=" in pair)
        environ = dict(pairs)
        if environ.get("SLURM_JOB_ID") == job and "KAPPA_WATCH" not in environ:
            found[int(pid)] = environ
    return found


def state_of(pid):
    """Return name, state, processor time in s, start in s since boot, bytes read and written; ``None`` if it ended."""
    fields = ticks_of(pid)
    if not fields:
        return None
    moved = re.findall(r"^[rw]char: (\d+)", read(f"/proc/{pid}/io") or "", re.MULTILINE)
    return {
        "program": read(f"/proc/{pid}/comm") or "?", "state": fields[0], "start_s": int(fields[19]) * TICK_S,
        "cpu_s": (int(fields[11]) + int(fields[12])) * TICK_S, "moved": sum(map(int, moved)),
    }  # fmt: skip


def waits_of(pid):
    """Return the call on a file or file system in which the process waits, as text; empty if it waits for another."""
    told = (read(f"/proc/{pid}/wchan") or "").strip("\0\n")
    where = f" ({told})" if told not in ("", "0") else ""
    words = (read(f"/proc/{pid}/syscall") or "").split()
    machine = os.uname().machine
    if len(words) > 3 and words[0].isdigit():
        number, arguments = int(words[0]), [int(word, 16) for word in words[1:]]
        name, place = OF_PATHS.get(machine, {}).get(number, ("", 0))
        if name:
            return f"{name} of {text_at(pid, arguments[place])}{where}"
        name = OF_FILES.get(machine, {}).get(number)
        if name:
            return f"{name} of {link_of(pid, arguments[0])}{where}"
    return told if OF_FILE_SYSTEMS.fullmatch(told) else ""


def text_at(pid, address):
    """Return the path at this address in the memory of the process, if it may be read."""
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            text = memory.read(MOST_PATH).partition(b"\0")[0]
    except (OSError, ValueError, OverflowError):
        return "a file"
    return printable(text.decode("utf-8", "replace"))


def link_of(pid, descriptor):
    try:
        return printable(os.readlink(f"/proc/{pid}/fd/{descriptor & 0xFFFFFFFF}")[:MOST_PATH])
    except OSError:
        return "a file"


def printable(text):
    return "".join(char if char.isascii() and char.isprintable() else "?" for char in text)


def heartbeat_of(pid):
    """Return beats, phase, its start on the monotonic clock and its limit in s; ``None`` without a heartbeat."""
    folder = f"/proc/{pid}/fd/"
    try:
        for name in os.listdir(folder):
            if os.readlink(folder + name).startswith("/memfd:kappa-heartbeat"):
                with open(folder + name, "rb") as file:
                    _, beats, since_ns, limit_s, phase = HEARTBEAT.unpack(file.read(HEARTBEAT.size))
                return beats, phase.partition(b"\0")[0].decode("utf-8", "replace"), since_ns / 1e9, limit_s
    except (OSError, struct.error):
        pass
    return None


def rank_of(environ):
    return next((int(environ[name]) for name in RANKS if environ.get(name, "").isdigit()), None)


def library_of(pid):
    """Return the MPI library that the process has loaded; ``None`` if it has none."""
    return first(r"(/\S*/libmpi(?:_\w+|ch)?\.so[.\d]*)$", read(f"/proc/{pid}/maps"))


def look():
    environs = processes_of_job(os.environ["SLURM_JOB_ID"])
    before = {pid: (state_of(pid), heartbeat_of(pid), waits_of(pid)) for pid in environs}
    time.sleep(BETWEEN_S)
    up_s = float((read("/proc/uptime") or "").split()[0])
    stopped, blocked, late, ranks, library = [], [], [], [], None
    for pid, (earlier, beat, waited) in sorted(before.items()):
        now = state_of(pid)
        if not earlier or not now or earlier["start_s"] != now["start_s"]:
            continue
        used_s, states = now["cpu_s"] - earlier["cpu_s"], earlier["state"] + now["state"]
        told = {"pid": pid, "program": now["program"], "rank": rank_of(environs[pid]), "state": now["state"]}
        told.update(phase=None, stands_s=None, cpu_s=now["cpu_s"])
        if beat:
            stands_s = time.clock_gettime(time.CLOCK_MONOTONIC) - beat[2]
            told.update(phase=beat[1], stands_s=round(stands_s, 1))
            if 0 < beat[3] < stands_s and heartbeat_of(pid) == beat:
                late.append(told)
        if states in ("TT", "tt"):
            stopped.append(told)
        elif states.strip("SD") == "" and used_s == 0 and earlier["moved"] == now["moved"]:
            waits = waits_of(pid)
            # Most processes sleep. Some also sleep, killable, in a wait for a file system that does not answer.
            if states == "DD" or (waits and waits == waited):
                blocked.append({**told, "waits": waits} if waits else told)
        mapped = library_of(pid)
        library = library or mapped
        if mapped and now["program"] not in ("srun", "mpirun", "orted", "prted", "hydra_pmi_proxy"):
            ranks.append((used_s, now["cpu_s"], up_s - now["start_s"]))
    return {
        "node": host(),
        "stopped": stopped[:MOST],
        "blocked": blocked[:MOST],
        "late": late[:MOST],
        # MPI does not start: hardly any processor time since the rank's start, and none now.
        "asleep": bool(ranks)
        and all(
            used_s <= IDLE_SHARE * BETWEEN_S and cpu_s < ASLEEP_CPU_S and age_s > ASLEEP_AGE_S
            for used_s, cpu_s, age_s in ranks
        ),
        "library": library,
        "addresses": own_addresses()[:MOST_ADDRESSES],
        "unexecutable": os.path.exists(PROLOG) and not os.access(PROLOG, os.X_OK),
    }


def print_look():
    print("kappa-look " + json.dumps(look()), flush=True)
