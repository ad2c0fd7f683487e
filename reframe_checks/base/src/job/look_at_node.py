#!/usr/bin/env python3
"""What the processes of this job do on this node: looks twice, a second apart, and prints one line of JSON.

A task of the watch (``watch_nodes.py``) on each node, when nothing seems to go on. Of the user's own processes it takes
those with this job's number in their environment; what a rank is in, it reads from its heartbeat
(``src/common/heartbeat.hpp``). Runs on the Python 3.6 that old systems bring.
"""

import json
import os
import re
import struct
import time

from exchange import own_addresses

BETWEEN_S = 1.0
HEARTBEAT = struct.Struct("8sQqd96s")  # as in heartbeat.hpp
RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
MOST_ADDRESSES = 8
MOST = 1  # process told of each kind: srun mixes lines of several nodes that are longer than 1024 bytes
IDLE_SHARE, ASLEEP_CPU_S, ASLEEP_AGE_S = 0.02, 1.0, 10.0


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def processes_of_job(job):
    """Process id -> its environment, of this user's processes in the job but for those of the watch."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        pairs = (pair.split(b"=", 1) for pair in read(f"/proc/{name}/environ").split(b"\0") if b"=" in pair)
        environ = {key.decode("ascii", "replace"): value.decode("utf-8", "replace") for key, value in pairs}
        if environ.get("SLURM_JOB_ID") == job and "KAPPA_WATCH" not in environ:
            found[int(name)] = environ
    return found


def state_of(pid):
    """Name, state, processor time in s, start in s since boot, bytes read and written; ``None`` when it has ended."""
    stat = read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    name, _, rest = stat.partition(" (")[2].rpartition(") ")
    fields = rest.split()
    if not fields:
        return None
    moved = sum(map(int, re.findall(rb"^[rw]char: (\d+)", read(f"/proc/{pid}/io"), re.MULTILINE)))
    cpu_s = (int(fields[11]) + int(fields[12])) * TICK_S
    return {"program": name, "state": fields[0], "cpu_s": cpu_s, "start_s": int(fields[19]) * TICK_S, "moved": moved}


def heartbeat_of(pid):
    """Beats, phase, since when on the monotonic clock and limit in s; ``None`` where there is no heartbeat."""
    folder = f"/proc/{pid}/fd/"
    try:
        for name in os.listdir(folder):
            if os.readlink(folder + name).startswith("/memfd:kappa-heartbeat"):
                _, beats, since_ns, limit_s, phase = HEARTBEAT.unpack(read(folder + name)[: HEARTBEAT.size])
                return beats, phase.partition(b"\0")[0].decode("utf-8", "replace"), since_ns / 1e9, limit_s
    except (OSError, struct.error):
        pass
    return None


def rank_of(environ):
    return next((int(environ[name]) for name in RANKS if environ.get(name, "").isdigit()), None)


def library_of(pid):
    """The MPI library that the process has loaded; ``None`` when it has none."""
    found = re.search(rb"(/\S*/libmpi(?:_\w+|ch)?\.so[.\d]*)$", read(f"/proc/{pid}/maps"), re.MULTILINE)
    return found and found.group(1).decode("utf-8", "replace")


def look():
    environs = processes_of_job(os.environ["SLURM_JOB_ID"])
    before = {pid: (state_of(pid), heartbeat_of(pid)) for pid in environs}
    time.sleep(BETWEEN_S)
    with open("/proc/uptime") as file:
        up_s = float(file.read().split()[0])
    stopped, blocked, late, ranks, library = [], [], [], [], None
    for pid, (first, beat) in sorted(before.items()):
        now = state_of(pid)
        if not first or not now or first["start_s"] != now["start_s"]:
            continue
        used_s, states = now["cpu_s"] - first["cpu_s"], first["state"] + now["state"]
        told = {"pid": pid, "program": now["program"], "rank": rank_of(environs[pid]), "state": now["state"]}
        told.update(phase=None, stands_s=None, cpu_s=now["cpu_s"])
        if beat:
            stands_s = time.clock_gettime(time.CLOCK_MONOTONIC) - beat[2]
            told.update(phase=beat[1], stands_s=round(stands_s, 1))
            if 0 < beat[3] < stands_s and heartbeat_of(pid) == beat:
                late.append(told)
        if states in ("TT", "tt"):
            stopped.append(told)
        elif states == "DD" and used_s == 0 and first["moved"] == now["moved"]:
            blocked.append(told)
        mapped = library_of(pid)
        library = library or mapped
        if mapped and now["program"] not in ("srun", "mpirun", "orted", "prted", "hydra_pmi_proxy"):
            ranks.append((used_s, now["cpu_s"], up_s - now["start_s"]))
    return {
        "node": os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0],
        "stopped": stopped[:MOST],
        "blocked": blocked[:MOST],
        "late": late[:MOST],
        # An MPI that does not start: hardly any time since the rank's own start, and none now.
        "asleep": bool(ranks)
        and all(
            used_s <= IDLE_SHARE * BETWEEN_S and cpu_s < ASLEEP_CPU_S and age_s > ASLEEP_AGE_S
            for used_s, cpu_s, age_s in ranks
        ),
        "library": library,
        "addresses": own_addresses()[:MOST_ADDRESSES],
    }


if __name__ == "__main__":
    print("kappa-look " + json.dumps(look()), flush=True)
