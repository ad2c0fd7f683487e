"""Leftovers of other jobs: shared memory and semaphores, processes, files in memory and in /tmp.

Checks run on exclusive nodes, where nothing may belong to another job.
"""

import collections
import os
import pwd
import re
import stat
import time

from kappa.node.files import entries, read

FOLDERS = {"/dev/shm": "shared_memory_files", "/tmp": "temporary_files"}
OLD_S = 24 * 3600
LARGE_KIB = 1 << 20
SHOWN = 8
# Share of a core over the life of a process some seconds old. Bursts of daemons take far less.
BUSY_SHARE, BUSY_AGE_S = 0.25, 4
# Time limit for a folder with millions of files.
PATIENCE_S = 5
# A process keeps its environment when its parent ends. Only its user and root may read it: the job's user does not see
# the job of another user's process.
JOB = re.compile(r"(?:^|\0)SLURM_JOB_ID=(\d+)")
# All users may read its control group: /slurm/uid_1000/job_7/step_0 in version 1, in version 2
# /system.slice/slurmstepd.scope/job_7/step_0. If a machine has several nodes, slurm's part has the node's name, too.
GROUP_OF_JOB = re.compile(r"^\d+:[^:]*:/(?:.*/)?[^/]*slurm[^/]*/(?:.*/)?job_(\d+)(?:/|$)", re.MULTILINE)
# First user number of people.
FIRST_USER = 1000
NO_SHELLS = ("nologin", "false", "sync")


def facts():
    processes = list(seen_processes())
    now, own = time.time(), os.environ.get("SLURM_JOB_ID")
    began = now - age_s(os.getpid())
    foreign = [one for one in processes if one["job"] is not None and one["job"] != own]
    large = collections.Counter()
    for one in processes:
        if one["job"] != own and one["kib"] >= LARGE_KIB:
            large[one["name"]] += one["kib"] >> 10
    found = {
        "left.processes": shown("{name} ({pid}) of job {job}".format(**one) for one in foreign),
        "left.zombies": sum(one["state"] == "Z" for one in processes),
        "left.shared_memory": shown(system_v("shm", began)),
        "left.semaphores": shown(system_v("sem", began)),
    }
    found.update({f"left.large_process.{name}_mib": mib for name, mib in large.items()})
    found.update({f"left.busy_process.{name}_cores": cores for name, cores in busy(processes, own).items()})
    found.update({f"left.outside_jobs.{name}": shown(texts) for name, texts in outside_jobs(processes).items()})
    for folder, name in FOLDERS.items():
        # Any file in memory from before the job is a leftover, a file in /tmp only after a day.
        before = began if folder == "/dev/shm" else now - OLD_S
        size, count = files_before(folder, before)
        found[f"left.{name}"] = count
        found[f"left.{name}_mib"] = None if size is None else size >> 20
    for folder, name in (("/dev/shm", "shared_memory"), ("/tmp", "temporary")):
        space = os.statvfs(folder)
        found[f"left.{name}_free_share"] = round(space.f_bavail / space.f_blocks, 3) if space.f_blocks else None
    return found


def busy(processes, own):
    """Return name -> cores that processes of this name, outside the job, have kept busy since they began."""
    found = collections.Counter()
    for one in processes:
        # Kernel threads, which have no memory, work for other processes.
        if (one["job"] is not None and one["job"] == own) or one["kib"] == 0:
            continue
        try:
            age, cores = age_s(one["pid"]), used_s(one["pid"])
        except (ValueError, IndexError):
            continue  # it has ended
        if age >= BUSY_AGE_S and cores >= BUSY_SHARE * age:
            found[one["name"]] += cores / age
    return {name: round(cores, 2) for name, cores in found.items()}


def shown(texts):
    """Return the first entries, and how many more there are."""
    listed = list(texts)
    rest = [f"and {len(listed) - SHOWN} more"] if len(listed) > SHOWN else []
    return listed[:SHOWN] + rest


def outside_jobs(processes):
    """Return user -> processes outside every job that are older than this job; nothing outside a job.

    Only people count: a number without an account is a container's, and a service's account has no shell.
    """
    found = collections.defaultdict(list)
    if "SLURM_JOB_ID" not in os.environ:
        return found
    since_s = age_s(os.getpid())
    for user in {one["user"] for one in processes if one["user"] >= FIRST_USER} - {os.getuid()}:
        try:
            entry = pwd.getpwuid(user)
        except KeyError:
            continue
        if os.path.basename(entry.pw_shell) in NO_SHELLS:
            continue
        for one in processes:
            if one["user"] == user and one["job"] is None and is_older(one["pid"], since_s):
                found[entry.pw_name].append("{name} ({pid})".format(**one))
    return found


def is_older(pid, than_s):
    try:
        return age_s(pid) > than_s
    except (ValueError, IndexError):
        return False  # it has ended


def seen_processes():
    own = os.environ.get("SLURM_JOB_ID")
    # On virtual nodes inside a job, this is the enclosing job, which is no evidence.
    around = {job_by_group("self")} - {own}
    for pid in of_this_node(filter(str.isdigit, entries("/proc"))):
        status = read("/proc", pid, "status")
        if status is None:
            continue
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        job = job_by_group(pid)
        if job is None or job in around:
            words = JOB.search(read("/proc", pid, "environ") or "")
            job = words.group(1) if words else None
        yield {
            "pid": int(pid),
            "name": fields.get("Name", "?"),
            "state": fields.get("State", "?")[:1],
            "kib": int(fields.get("VmRSS", "0 kB").split()[0]),
            "user": int(fields.get("Uid", "0").split()[0]),
            "job": job,
        }


def of_this_node(pids):
    """Keep the processes of this node, if several Slurm nodes with host names of their own share the machine."""
    pids = list(pids)
    hosts = {host_of(pid) for pid in pids if (read("/proc", pid, "comm") or "").strip() == "slurmd"}
    return [pid for pid in pids if host_of(pid) == host_of("self")] if len(hosts) > 1 else pids


def host_of(pid):
    """Return the name space in which the process has its host name."""
    try:
        return os.readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return None


def job_by_group(pid):
    found = GROUP_OF_JOB.search(read("/proc", pid, "cgroup") or "")
    return found.group(1) if found else None


def ticks_of(pid):
    """Return the fields of the process after its name, which may hold spaces and brackets. See proc(5), stat."""
    return (read("/proc", str(pid), "stat") or "").rpartition(")")[2].split()


def age_s(pid):
    """Return the time since the process began in s: the 20th field is its start in ticks after boot."""
    return float((read("/proc/uptime") or "").split()[0]) - int(ticks_of(pid)[19]) / os.sysconf("SC_CLK_TCK")


def used_s(pid):
    """Return the processor time in s, in user and kernel mode."""
    return sum(map(int, ticks_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def system_v(kind, began):
    """Return segments or sets of semaphores that are older than this job, with owner and size."""
    header, *lines = (read("/proc/sysvipc", kind) or "").splitlines() or [""]
    keys = header.split()
    for line in lines:
        row = dict(zip(keys, map(int, line.split())))
        if row.get("ctime", row.get("otime", 0)) < began and row.get("nattch", 0) == 0:
            size = "{:.1f} MiB".format(row["size"] / 2**20) if "size" in row else "{} semaphores".format(row["nsems"])
            yield "{} of {}".format(size, owner(row["uid"]))


def owner(number):
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def files_before(folder, before):
    """Return bytes and number of the files last written before that time; (None, None) if there are too many."""
    size = count = 0
    deadline = time.monotonic() + PATIENCE_S
    for parent, _, names in os.walk(folder):
        if time.monotonic() > deadline:
            return None, None
        for name in names:
            try:
                status = os.lstat(os.path.join(parent, name))
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_mtime < before:
                size, count = size + status.st_blocks * 512, count + 1
    return size, count
