"""The tasks of a step meet at task 0, compare their clocks with its clock, and send it their lines.

srun mixes lines longer than 1024 bytes, so that task 0 prints them all.
"""

import contextlib
import json
import os
import secrets
import socket
import struct
import sys
import time

from kappa.node import table
from kappa.node.files import host, read
from kappa.node.meeting import line_of, publish, receive, step_name, task_and_tasks

ROUND_TRIPS = 20
ANSWER_SECONDS = 10
MAX_LINE_BYTES = 1 << 20

# Nanoseconds since 1970; Python 3.6 has only the float, exact to a quarter of a microsecond.
wall_clock_ns = getattr(time, "time_ns", lambda: int(time.time() * 1e9))


class MeetingError(Exception):
    """Raised if a task and task 0 did not meet."""


def prepare(connection, seconds):
    connection.settimeout(seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def own_names():
    """Return this node's names, best first, for other nodes to resolve: here they may resolve to 127.0.1.1.

    The last entry is the address, for a node that cannot resolve the names; its facts then report the failure.
    """
    names = [os.environ.get("SLURMD_NODENAME"), socket.gethostname(), socket.getfqdn()]
    known = [name for name in dict.fromkeys(names) if name and not name.startswith("localhost")]
    if known:
        with contextlib.suppress(OSError):
            known.append(socket.gethostbyname(known[0]))
    return known or ["127.0.0.1"]


def gather(path, tasks, deadline):
    """Return task -> line of tasks 1 to tasks - 1, served one by one; incomplete if the deadline passes."""
    token = secrets.token_bytes(16)
    lines = {}
    listener = socket.socket()
    try:
        listener.bind(("", 0))
        listener.listen(tasks)
        address = {"hosts": own_names(), "port": listener.getsockname()[1], "token": token.hex()}
        publish(path, json.dumps(address))
        while len(lines) < tasks - 1 and time.monotonic() < deadline:
            listener.settimeout(max(deadline - time.monotonic(), 0.001))
            # A broken or foreign connection is harmless: a task without a receipt connects again.
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
    """Send one task the time as often as it asks; return (its number, its line)."""
    prepare(connection, ANSWER_SECONDS)
    if not secrets.compare_digest(receive(connection, len(token)), token):
        raise OSError("not one of our tasks")
    (task,) = struct.unpack(">I", receive(connection, 4))
    while receive(connection, 1) == b"?":
        connection.sendall(struct.pack(">q", wall_clock_ns()))
    (length,) = struct.unpack(">I", receive(connection, 4))
    return task, receive(connection, min(length, MAX_LINE_BYTES))


def report(path, task, facts, deadline):
    """Compare the clock with task 0's and send it the line; retry until the deadline."""
    problem = f"no file {os.path.abspath(path)}: did task 0 start, and is this folder shared by the nodes?"
    while time.monotonic() < deadline:
        # Listing the folder makes an NFS client look for the file again.
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
        # Task 0 serves one task at a time: the wait for the first answer includes the tasks before.
        prepare(connection, max(deadline - time.monotonic(), 1))
        connection.sendall(bytes.fromhex(address["token"]) + struct.pack(">I", task))
        trips = [round_trip(connection) for _ in range(ROUND_TRIPS)]
        data = line(facts, *min(trips, key=lambda trip: trip[1]))
        connection.sendall(b"." + struct.pack(">I", len(data)) + data)
        receive(connection, 1)


def connect(address):
    problem = None
    for name in address["hosts"]:
        try:
            return socket.create_connection((name, address["port"]), timeout=ANSWER_SECONDS)
        except OSError as error:
            problem = OSError("{}:{}: {}".format(name, address["port"], error))
    raise problem


def round_trip(connection):
    """Return (offset of this clock in us, round trip in us)."""
    asked_ns, started = wall_clock_ns(), time.perf_counter()
    connection.sendall(b"?")
    (theirs_ns,) = struct.unpack(">q", receive(connection, 8))
    elapsed_us = (time.perf_counter() - started) * 1e6
    return (asked_ns - theirs_ns) / 1e3 + elapsed_us / 2, elapsed_us


def line(facts, clock_offset_us, clock_rtt_us):
    clock = {"clock_offset_us": round(clock_offset_us, 3), "clock_rtt_us": round(clock_rtt_us, 3)}
    return line_of(dict(facts, **clock))


def print_lines(facts, folder, seconds):
    """Print the line of every task if this is task 0, else send the line of this task to it.

    :param facts: host and facts of this node. :param folder: all nodes share it.
    :return: the exit status.
    """
    task, tasks = task_and_tasks()
    path = os.path.join(folder, f"kappa-node_{step_name()}.json")
    deadline = time.monotonic() + seconds
    try:
        if task > 0:
            report(path, task, facts, deadline)
            return 0
        lines = gather(path, tasks, deadline) if tasks > 1 else {}
    except (MeetingError, OSError) as error:
        print("kappa-node: {}: {}".format(facts["host"], error), file=sys.stderr)
        return 1
    lines[0] = line(facts, 0, 0)
    sys.stdout.buffer.write(b"".join(lines[number] for number in sorted(lines)))
    missing = sorted(set(range(tasks)) - set(lines))
    if missing:
        print("kappa-node: {}: no answer from tasks {}".format(facts["host"], missing), file=sys.stderr)
    return 1 if missing else 0


def print_limits(as_json):
    """Print the limits that a task here inherits; return the exit status."""
    return print_facts(["limit.*"], False, as_json, ".", 60)


def print_facts(patterns, list_table, as_json, folder, timeout, **questions):
    """Print the facts of this node, or the table of facts; return the exit status."""
    if list_table:
        for fact in table.FACTS:
            print("\t".join((fact.name, fact.unit, fact.meaning, fact.rule.value, fact.same_on)))
        return 0
    facts = table.collected(patterns or ["*"], questions)
    if as_json:
        return print_lines({"host": host(), "facts": facts}, folder, timeout)
    for name, value in facts.items():
        for item in value if isinstance(value, list) else [value]:
            print(name, json.dumps(item))
    print("end")
    return 0
