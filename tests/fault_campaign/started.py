"""Faults of tasks that Slurm starts on a node: attributes, environment, prologs, and files that they need."""

import contextlib
import os
import pathlib
import random
import shutil
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Fault, Kind, between, preloading, replaced
from tests.fault_campaign.node_state import lower_limit

_CONFIGURATION = "/etc/slurm/slurm.conf"
_SCRIPTS = "/run/scripts-$(uname -n)"
# Restarts slurmd with a setting of prctl(2), which its children inherit.
_RESTART_WITH = """
import ctypes, os, signal, sys, time
pid = int(sys.argv[1])
words, environ = (open(f"/proc/{pid}/{name}", "rb").read().split(b"\\0")[:-1] for name in ("cmdline", "environ"))
os.kill(pid, signal.SIGTERM)
while os.path.exists(f"/proc/{pid}"):
    time.sleep(0.05)
if ctypes.CDLL(None).prctl(int(sys.argv[2]), int(sys.argv[3]), 0, 0, 0) != 0:
    sys.exit("prctl failed")
os.execve(words[0], words, dict(pair.split(b"=", 1) for pair in environ if b"=" in pair))
"""
_TIMER_SLACK, _NO_HUGE_PAGES = 29, 41
# A FUSE file system (linux/fuse.h) whose server answers only the first request: the mount. A process that waits
# for the mount cannot be interrupted; a process that waits for another request sleeps.
_HUNG_MOUNT = """
import ctypes, os, struct, sys, time
server = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={server},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if ctypes.CDLL(None, use_errno=True).mount(b"hung", os.fsencode(sys.argv[1]), b"fuse", 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
unique = struct.unpack_from("=Q", os.read(server, 1 << 17), 8)[0]
os.write(server, struct.pack("=IiQ", 80, 0, unique) + struct.pack("=IIIIHHII36x", 7, 31, 65536, 0, 12, 9, 65536, 1))
print("mounted", flush=True)
time.sleep(3600)
"""


def of_slurmd(command: str, detail: str, *ranges: range) -> Fault:
    """Return a fault that changes an attribute of slurmd and all that it starts, by a command with ``$pid``."""
    # The node's end after the round removes it.
    return between(f'pid=$(pidof slurmd); {command}', "true", detail, *ranges)


def restarted(option: int, value: int, detail: str) -> Fault:
    """Return a fault that restarts slurmd with an option of prctl(2)."""

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
        script = 'setsid python3 -s -c "$1" "$(pidof slurmd)" "$2" "$3" > /dev/null 2>&1 < /dev/null; sleep 2'
        cluster.on(node, script, _RESTART_WITH, str(option), str(value))
        yield detail

    return fault


def slurm_runs(option: str, script: str, detail: str, *values: str) -> Fault:
    """Return a fault that names another script for ``option``, for instance Prolog, in the node's slurm.conf.

    ``script`` and ``detail`` show one of ``values``.
    """

    @contextlib.contextmanager
    def fault(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
        value, file = draw.choice(values or ("",)), f"{_SCRIPTS}/run"
        put = f'mkdir -p {_SCRIPTS}; printf "#!/bin/bash\\n%s\\n" "$1" > {file}; chmod 755 {file}'
        cluster.on(node, put, script.format(value))
        try:
            with replaced(cluster, node, _CONFIGURATION, f'cp "$path" "$fake"; echo "{option}={file}" >> "$fake"'):
                cluster.on(node, "kill -HUP $(pidof slurmd); sleep 1")
                yield detail.format(value)
        finally:
            cluster.on(node, f"rm -rf {_SCRIPTS}; kill -HUP $(pidof slurmd)")

    return fault


@contextlib.contextmanager
def other_python(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    found = pathlib.Path(shutil.which("python3") or "/usr/bin/python3")
    # The first existing folder of PATH. Jobs inherit PATH from the shell.
    first = next(folder for folder in os.environ["PATH"].split(":") if os.path.isdir(folder))
    put = f'mkdir -p {_SCRIPTS}; cp -a "$1/." {_SCRIPTS}; rm -f {_SCRIPTS}/python3; '
    put += f'printf \'#!/bin/sh\\nexec %s "$@"\\n\' "$2" > {_SCRIPTS}/python3; chmod 755 {_SCRIPTS}/python3; '
    put += f'mount --bind {_SCRIPTS} "$1"'
    other = "/usr/bin/python3" if str(found) == f"{first}/python3" else str(found)
    cluster.on(node, put, first, other)
    try:
        yield f"{first}/python3, which starts {other}"
    finally:
        cluster.on(node, f'umount --lazy "$1"; rm -rf {_SCRIPTS}', first)


@contextlib.contextmanager
def queue_setting(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    name, value = draw.choice([("read_ahead_kb", "0"), ("nr_requests", "8"), ("nomerges", "2")])
    file = 'file=/sys/dev/block/$(findmnt --noheadings --output MAJ:MIN --target /scratch | tr -d " ")/queue/$1'
    before = cluster.on(node, f'{file}; cat "$file"; echo "$2" > "$file"', name, value).strip()
    try:
        yield f"{name} of {value}, not {before}"
    finally:
        cluster.on(node, f'{file}; echo "$2" > "$file"', name, before)


@contextlib.contextmanager
def not_executable(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    folder = str(cluster.results)
    cluster.on(node, 'mount --bind "$1" "$1"; mount -o remount,bind,noexec "$1"', folder)
    try:
        yield "results mounted noexec"
    finally:
        cluster.on(node, 'umount --lazy "$1"', folder)


@contextlib.contextmanager
def hung_home(cluster: Cluster, node: str, _: random.Random) -> Iterator[str]:
    """Make the folder of Open MPI's settings in the user's home hang. `mpirun` reads it."""
    folder, said = pathlib.Path.home() / ".openmpi", "/run/hung-$(uname -n)"
    folder.mkdir(exist_ok=True)
    put = f'setsid python3 -s -c "$1" "$2" > {said} 2>&1 < /dev/null & '
    put += f"for ((i = 0; i < 100; i++)); do [[ -s {said} ]] && break; sleep 0.1; done; grep mounted {said}"
    cluster.on(node, put, _HUNG_MOUNT, str(folder))
    try:
        yield f"{folder} does not answer"
    finally:
        cluster.on(node, 'umount --lazy "$1"', str(folder))
        with contextlib.suppress(OSError):
            folder.rmdir()  # unless the user has settings there


OF_TASKS = (
    Kind("low priority", False, "processes that Slurm starts on the node have a nice value of 5–19",
         of_slurmd('renice --priority "$1" --pid "$pid" > /dev/null', "nice {}", range(5, 20))),
    Kind("other scheduling class", False, "processes that Slurm starts on the node have the class SCHED_BATCH",
         of_slurmd('chrt --all-tasks --batch --pid 0 "$pid"', "batch")),
    Kind("idle I/O class", False, "processes that Slurm starts on the node have the I/O class idle",
         of_slurmd('ionice --class 3 --pid "$pid"', "idle")),
    Kind("timer slack", False, "timers of processes that Slurm starts on the node may be 10 ms late",
         restarted(_TIMER_SLACK, 10_000_000, "10 ms")),
    Kind("no huge pages", False, "processes that Slurm starts on the node get no huge pages",
         restarted(_NO_HUGE_PAGES, 1, "prctl")),
    Kind("file size limited", False, "a task may write files of at most 256–512 MiB",
         lower_limit("fsize", range(256 << 20, (512 << 20) + 1, 64 << 20), "{} bytes")),
    Kind("processor time limited", False, "a task may use at most 1000–2000 s of processor time",
         lower_limit("cpu", range(1000, 2001, 100), "{} s")),
    Kind("setting of a disk's queue", False,
         "the queue of `/scratch`'s disk has another read-ahead, depth or merge setting", queue_setting),
    Kind("variable of tasks", False, "a prolog of tasks sets a variable on the node", slurm_runs(
        "TaskProlog", "echo export {}", "{}", "OMP_NUM_THREADS=1", "OMPI_MCA_btl_tcp_sndbuf=4096", "MALLOC_ARENA_MAX=1",
        "SITE_PROFILE=x")),
    Kind("other python3", False, "another `python3` comes first in PATH", other_python),
)  # fmt: skip
OF_JOBS = (
    Kind("results not executable", True, "the folder of results is mounted `noexec`", not_executable),
    Kind("failing prolog of tasks", True, "Slurm's prolog of tasks fails on the node", slurm_runs(
        "TaskProlog", "exit 1", "exit status 1")),
    Kind("hung home", True, "a folder in the user's home does not answer", hung_home),
    Kind("slow prolog", False, "Slurm's prolog takes 5–25 s on the node", slurm_runs(
        "Prolog", "sleep {}", "{} s", "5", "10", "25")),
    Kind("slow epilog", False, "Slurm's epilog takes 5–25 s on the node", slurm_runs(
        "Epilog", "sleep {}", "{} s", "5", "10", "25")),
)  # fmt: skip
OF_SHARED_FILES = (
    Kind("locks without effect", False, "locks of files succeed and exclude no other program", preloading(
        "no_locks.c", "flock and fcntl do nothing"), preloads=True),
    Kind("old copy of shared files", True, "`/shared` is an old copy", between(
        "mkdir -p /run/old-copy; cp -a /shared/. /run/old-copy; mount --bind /run/old-copy /shared",
        "umount --lazy /shared; rm -rf /run/old-copy", "a copy")),
)  # fmt: skip
OF_FILES = (
    Kind("slow fsync", False, "fsync takes 0.2 s longer", preloading(
        "slow_files.c", "0.2 s slower", "-DFSYNC_US=200000", "-DOPEN_US=0", "-DEVERY=0"), preloads=True),
    Kind("slow open and stat", False, "open and stat on `/scratch` take 5 ms longer", preloading(
        "slow_files.c", "5 ms slower", "-DFSYNC_US=0", "-DOPEN_US=5000", "-DEVERY=0"), preloads=True),
    Kind("failing reads", False, "one in 1000 reads of `/scratch` fails", preloading(
        "slow_files.c", "1 of 1000", "-DFSYNC_US=0", "-DOPEN_US=0", "-DEVERY=1000"), preloads=True),
)  # fmt: skip
