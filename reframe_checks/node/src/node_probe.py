#!/usr/bin/env python3
"""Print what this node is, as one line of JSON: hardware, memory, system, mounts, network, and its clock.

Start one task on each node (srun --ntasks-per-node=1), or a single one by hand. Needs nothing but Python 3.6.
The tasks send their lines to task 0, which prints all of them: srun mixes lines longer than 1024 bytes.
"""

import argparse
import contextlib
import glob
import hashlib
import json
import os
import re
import secrets
import socket
import struct
import subprocess
import sys
import threading
import time

FIELDS = """
fields (null where the node does not tell):
  host                    Slurm's name of the node, else its host name
  cpu_model, cpus_online, sockets, numa_nodes
  cpu_affinity_count      CPUs that this task may use
  memory_total_kib, memory_available_kib, swap_kib
  kernel, os_release, cpu_governor (all in use, sorted), transparent_hugepages
  uptime_s, load_1min
  mounts                  path, type, source, size_bytes, free_bytes, writable (not mounted read-only) of each
                          --mount; type is null where nothing is mounted at the path, sizes are null where the
                          file system does not answer
  interfaces              name, state, speed_mbit, mtu
  ib_devices              name, port, state, rate
  files                   SHA-256 of each --file; null where it cannot be read
  slurm                   cpus (CPUTot) and memory_mib (RealMemory) from `scontrol show node`
  clock_offset_us         this node's clock less that of task 0, from the round trip with the least delay
                          (Cristian, Distributed Computing 3, 1989); it is right to within clock_rtt_us / 2
  clock_rtt_us            that round trip

exit status: 0; 1 when a task and task 0 did not meet, whose line is then missing; 2 on wrong usage
"""

ROUND_TRIPS = 20
ANSWER_SECONDS = 10
MAX_LINE_BYTES = 1 << 20
NET = "/sys/class/net"
INFINIBAND = "/sys/class/infiniband"
CPUS = "/sys/devices/system/cpu"

# Nanoseconds since 1970; Python 3.6 has only the float, good to a quarter of a microsecond.
wall_clock_ns = getattr(time, "time_ns", lambda: int(time.time() * 1e9))


class MeetingError(Exception):
    """A task and task 0 did not meet."""


# ---- facts ----------------------------------------------------------------------------------------------------


def read(path):
    """Text of a small file without surrounding space, or None."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return None


def within(seconds, function, *arguments):
    """Result of the function, or None if it takes longer: a lost file server must not stop the probe."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)), daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else None


def first_match(pattern, text):
    found = re.search(pattern, text or "", re.MULTILINE)
    return found.group(1).strip() if found else None


def distinct(pattern):
    """Sorted contents of the files that match the pattern."""
    return sorted({text for text in map(read, glob.glob(pattern)) if text})


def memory_kib(key):
    return int(first_match(rf"^{key}:\s+(\d+) kB", read("/proc/meminfo")))


def mount_table():
    """Mount point -> (type, source); the last mount on a path hides the ones before."""
    table = {}
    for line in (read("/proc/self/mounts") or "").splitlines():
        source, path, kind = (
            re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field) for field in line.split()[:3]
        )
        table[path] = kind, source
    return table


def mount_facts(path):
    table = mount_table()
    point = os.path.normpath(path)
    if point not in table:
        point = within(ANSWER_SECONDS, os.path.realpath, path)
    kind, source = table.get(point, (None, None))
    facts = {"path": path, "type": kind, "source": source, "size_bytes": None, "free_bytes": None, "writable": None}
    if kind is None:
        return facts
    status = within(ANSWER_SECONDS, os.statvfs, point)
    if status is not None:
        facts["size_bytes"] = status.f_blocks * status.f_frsize
        facts["free_bytes"] = status.f_bavail * status.f_frsize
        facts["writable"] = not status.f_flag & os.ST_RDONLY
    return facts


def interface_facts(name):
    speed = first_match(r"^([1-9]\d*)$", read(os.path.join(NET, name, "speed")))
    return {
        "name": name,
        "state": read(os.path.join(NET, name, "operstate")) or "unknown",
        "speed_mbit": int(speed) if speed else None,
        "mtu": int(read(os.path.join(NET, name, "mtu"))),
    }


def ib_facts(port_path):
    device, _, port = port_path.rsplit("/", 2)
    # The kernel writes the state as "4: ACTIVE".
    return {
        "name": os.path.basename(device),
        "port": int(port),
        "state": (read(os.path.join(port_path, "state")) or "unknown").split(": ")[-1],
        "rate": read(os.path.join(port_path, "rate")) or "unknown",
    }


def sha256(path):
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def slurm_facts():
    node = os.environ.get("SLURMD_NODENAME")
    if not node:
        return None
    try:
        answer = subprocess.run(
            ["scontrol", "show", "node", node, "-o"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=ANSWER_SECONDS, check=False,
        ).stdout.decode("utf-8", "replace")  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    cpus, memory = first_match(r"\bCPUTot=(\d+)\b", answer), first_match(r"\bRealMemory=(\d+)\b", answer)
    return {"cpus": int(cpus), "memory_mib": int(memory)} if cpus and memory else None


def node_facts(mounts, files):
    return {
        "host": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),
        "cpu_model": first_match(r"^(?:model name|Model|cpu)\s*:\s*(.+)$", read("/proc/cpuinfo")),
        "cpus_online": os.sysconf("SC_NPROCESSORS_ONLN"),
        "sockets": len(distinct(CPUS + "/cpu[0-9]*/topology/physical_package_id")) or None,
        "numa_nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*")) or None,
        "cpu_affinity_count": len(os.sched_getaffinity(0)),
        "memory_total_kib": memory_kib("MemTotal"),
        "memory_available_kib": memory_kib("MemAvailable"),
        "swap_kib": memory_kib("SwapTotal"),
        "kernel": os.uname().release,
        "os_release": first_match(r'^PRETTY_NAME="?([^"\n]+)', read("/etc/os-release")),
        "cpu_governor": ",".join(distinct(CPUS + "/cpu[0-9]*/cpufreq/scaling_governor")) or None,
        "transparent_hugepages": first_match(r"\[(\w+)\]", read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "uptime_s": float(read("/proc/uptime").split()[0]),
        "load_1min": os.getloadavg()[0],
        "mounts": [mount_facts(path) for path in mounts],
        "interfaces": [interface_facts(name) for name in sorted(os.listdir(NET)) if read(NET + "/" + name + "/mtu")],
        "ib_devices": [ib_facts(path) for path in sorted(glob.glob(INFINIBAND + "/*/ports/[0-9]*"))],
        "files": [{"path": path, "sha256": sha256(path)} for path in files],
        "slurm": slurm_facts(),
    }


# ---- task 0 listens; the others connect, ask it for the time, and leave their lines with it ---------------------


def receive(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise OSError("connection closed")
        data += part
    return data


def prepare(connection, seconds):
    connection.settimeout(seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def own_names():
    """Names of this node, best first; the others resolve them, as this node may know itself as 127.0.1.1."""
    names = [os.environ.get("SLURMD_NODENAME"), socket.gethostname(), socket.getfqdn()]
    return [name for name in dict.fromkeys(names) if name and not name.startswith("localhost")] or ["127.0.0.1"]


def publish(path, address):
    """Write the address for the other tasks, whole or not at all, for this user's eyes only."""
    part = f"{path}.{os.getpid()}"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        json.dump(address, stream)
    os.rename(part, path)


def gather(path, tasks, deadline):
    """Task -> line, from the tasks 1 to tasks - 1, served one after the other; incomplete at the deadline."""
    token = secrets.token_bytes(16)
    lines = {}
    listener = socket.socket()
    try:
        listener.bind(("", 0))
        listener.listen(tasks)
        publish(path, {"hosts": own_names(), "port": listener.getsockname()[1], "token": token.hex()})
        while len(lines) < tasks - 1 and time.monotonic() < deadline:
            listener.settimeout(max(deadline - time.monotonic(), 0.001))
            # A broken or foreign connection is no harm: a task that got no receipt connects again.
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    task, line = serve(connection, token)
                    lines[task] = line
                    connection.sendall(b"!")
    finally:
        listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return lines


def serve(connection, token):
    """Tell one task the time as often as it asks; (its number, its line)."""
    prepare(connection, ANSWER_SECONDS)
    if not secrets.compare_digest(receive(connection, len(token)), token):
        raise OSError("not one of our tasks")
    (task,) = struct.unpack(">I", receive(connection, 4))
    while receive(connection, 1) == b"?":
        connection.sendall(struct.pack(">q", wall_clock_ns()))
    (length,) = struct.unpack(">I", receive(connection, 4))
    return task, receive(connection, min(length, MAX_LINE_BYTES))


def report(path, task, facts, deadline):
    """Compare the clock with task 0's and leave the line with it; try again until the deadline."""
    problem = f"no file {os.path.abspath(path)}: did task 0 start, and is this folder shared by the nodes?"
    while time.monotonic() < deadline:
        # Listing the folder makes an NFS client look for the file anew.
        os.listdir(os.path.dirname(path))
        address = read(path)
        if address:
            try:
                return meet(json.loads(address), task, facts, deadline)
            except (OSError, ValueError, KeyError) as error:
                problem = f"task 0 does not answer: {error}"
        time.sleep(0.1)
    raise MeetingError(problem)


def meet(address, task, facts, deadline):
    with connect(address) as connection:
        # Task 0 serves one task at a time: waiting for the first answer is waiting for one's turn.
        prepare(connection, max(deadline - time.monotonic(), 1))
        connection.sendall(bytes.fromhex(address["token"]) + struct.pack(">I", task))
        trips = [round_trip(connection) for _ in range(ROUND_TRIPS)]
        data = line(facts, *min(trips, key=lambda trip: trip[1]))
        connection.sendall(b"." + struct.pack(">I", len(data)) + data)
        receive(connection, 1)


def connect(address):
    problem = None
    for host in address["hosts"]:
        try:
            return socket.create_connection((host, address["port"]), timeout=ANSWER_SECONDS)
        except OSError as error:
            problem = OSError("{}:{}: {}".format(host, address["port"], error))
    raise problem


def round_trip(connection):
    """(offset of this clock in us, round trip in us)"""
    asked_ns, started = wall_clock_ns(), time.perf_counter()
    connection.sendall(b"?")
    (theirs_ns,) = struct.unpack(">q", receive(connection, 8))
    elapsed_us = (time.perf_counter() - started) * 1e6
    return (asked_ns - theirs_ns) / 1e3 + elapsed_us / 2, elapsed_us


# ---- command line -----------------------------------------------------------------------------------------------


def line(facts, clock_offset_us, clock_rtt_us):
    clock = {"clock_offset_us": round(clock_offset_us, 3), "clock_rtt_us": round(clock_rtt_us, 3)}
    return (json.dumps(dict(facts, **clock)) + "\n").encode("ascii")


def task_and_tasks():
    """Number of this task and of all tasks. Outside of a step (batch script, shell) Slurm's are those of the job."""
    variable = os.environ.get
    if "SLURM_STEP_ID" not in os.environ:
        return 0, 1
    return int(variable("SLURM_PROCID", "0")), int(variable("SLURM_STEP_NUM_TASKS") or variable("SLURM_NTASKS") or 1)


def meeting_file(folder):
    names = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_STEP_ID")
    return os.path.join(folder, "node_probe_{}.json".format(".".join(os.environ.get(name, "0") for name in names)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=FIELDS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mount", action="append", default=[], metavar="PATH", help="report on the mount at PATH")
    parser.add_argument("--file", action="append", default=[], metavar="PATH", help="print the SHA-256 of the file")
    parser.add_argument(
        "--folder", default=".", metavar="DIR", help="where the tasks meet, a folder shared by the nodes (%(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="S", help="wait S seconds for the other tasks (%(default)s)"
    )
    arguments = parser.parse_args()

    facts = node_facts(arguments.mount, arguments.file)
    task, tasks = task_and_tasks()
    path = meeting_file(arguments.folder)
    deadline = time.monotonic() + arguments.timeout
    try:
        if task > 0:
            report(path, task, facts, deadline)
            return 0
        lines = gather(path, tasks, deadline) if tasks > 1 else {}
    except (MeetingError, OSError) as error:
        print("node_probe: {}: {}".format(facts["host"], error), file=sys.stderr)
        return 1
    lines[0] = line(facts, 0, 0)
    sys.stdout.buffer.write(b"".join(lines[number] for number in sorted(lines)))
    missing = sorted(set(range(tasks)) - set(lines))
    if missing:
        print("node_probe: {}: no word from tasks {}".format(facts["host"], missing), file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
