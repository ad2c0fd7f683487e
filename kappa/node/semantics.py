"""Test what a shared file system promises to programs on several nodes.

A step has one task on each node. Task 0 leads: it asks the tasks for calls on files over TCP, one after the other or
all at once. So the order of calls on different nodes is known without clocks and without the file system under test.
"""

import contextlib
import errno
import fcntl
import json
import os
import socket
import sys
import threading
import time

from kappa.node.facts.names import own_addresses
from kappa.node.files import host
from kappa.node.meeting import line_of, meet, receive, step_name, task_and_tasks

NUMBER_BYTES = 4
LINES, EXCLUSIVE_FILES = 200, 50
RENAMES_S, MOST_RENAMES = 1.0, 2000
#: Failures of a test that find the node at fault: one that is in all of them.
MOST_FAILURES = 3
LOCKS = {"flock": fcntl.flock, "fcntl": fcntl.lockf}
#: How long a task waits for the answer of another one beside the limit of a call.
PATIENCE_S = 30
#: The longest message: the lines that tasks append.
MOST_BYTES = 1 << 24
#: How long a connection may take to show the token.
GREETING_S = 5


class FileCallsOfNode:
    """The calls on files of the folder that this node makes for the leader. Each returns what JSON can hold."""

    def __init__(self, folder):
        self.folder, self.held = folder, None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def append(self, name, lines):
        file = os.open(self.path(name), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            for line in lines:
                os.write(file, line.encode())
        finally:
            os.close(file)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def see(self, name, text, limit_s):
        """Return after how many seconds this node reads the text in the file; ``None`` if it does not."""
        return within(limit_s, lambda: self.read(name) == text)

    def miss(self, name, limit_s):
        """Return after how many seconds this node can open no file of this name; ``None`` if it still can.

        A network file system answers `open` from the server, but `stat` from its cache.
        """

        def gone():
            try:
                self.read(name)
            except FileNotFoundError:
                return True
            return False

        return within(limit_s, gone)

    def modified(self, names):
        """Return the time of the last change of each file that this node sees: name -> ns."""
        return {name: os.stat(self.path(name)).st_mtime_ns for name in names if os.path.exists(self.path(name))}

    def make(self, names):
        """Make the files exclusively, and return the names of those that this node made."""
        made = []
        for name in names:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                made.append(name)
        return made

    def remove(self, name):
        os.unlink(self.path(name))

    def lock(self, kind, name, limit_s):
        """Take an exclusive lock within the limit and return if this node got it, and then holds it."""
        file = open(self.path(name), "r+")  # noqa: SIM115 (held until `release`)

        def taken():
            try:
                LOCKS[kind](file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                return False
            return True

        got = within(limit_s, taken) is not None
        self.held = file if got else None
        if not got:
            file.close()
        return got

    def hold(self, name):
        self.held = open(self.path(name))  # noqa: SIM115 (held until `release`)

    def read_held(self):
        return self.held.read()

    def release(self):
        if self.held:
            self.held.close()
        self.held = None

    def replace(self, name, seconds):
        """Replace the file by rename again and again; every version has one repeated letter."""
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end and number < MOST_RENAMES:
            self.write(name + ".new", version(number))
            os.rename(self.path(name + ".new"), self.path(name))
            number += 1
        return number

    def watch(self, name, seconds):
        """Read the file again and again, and return what was wrong first; nothing if each read had a whole version."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.read(name)
            if text not in (version(0), version(1)):
                return f"read {len(text)} characters of {len(set(text))} versions"
        return ""


def version(number):
    return "ab"[number % 2] * 4096


def within(limit_s, holds):
    """Return after how many seconds the condition holds; ``None`` if it does not within the limit."""
    began = time.monotonic()
    while True:
        with contextlib.suppress(FileNotFoundError):
            if holds():
                return time.monotonic() - began
        if time.monotonic() - began >= limit_s:
            return None
        time.sleep(0.01)


def send(connection, document):
    data = json.dumps(document).encode()
    connection.sendall(len(data).to_bytes(NUMBER_BYTES, "big") + data)


def received(connection):
    count = int.from_bytes(receive(connection, NUMBER_BYTES), "big")
    if count > MOST_BYTES:
        raise ValueError(f"a message of {count} bytes")
    return json.loads(receive(connection, count).decode())


def reached(addresses, port):
    """Return a connection to the first of the names and addresses that answers."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), PATIENCE_S)
    return socket.create_connection((addresses[-1], port), PATIENCE_S)


def serve(addresses, leader, calls):
    """Make the calls that the leader asks for, until it closes the connection."""
    connection = reached(addresses, leader["port"])
    connection.settimeout(None)
    send(connection, [leader["token"], host()])
    with connection, contextlib.suppress(OSError):
        while True:
            name, arguments = received(connection)
            try:
                send(connection, {"value": getattr(calls, name)(*arguments)})
            except OSError as error:
                send(connection, {"error": f"{name}: {error.strerror or error}"})


def accepted(listener, token, seconds):
    """Return the node of a task that connects, and the connection; ``None`` for what does not know the token."""
    connection, _ = listener.accept()
    connection.settimeout(GREETING_S)
    with contextlib.suppress(OSError, ValueError, TypeError):
        shown, node = received(connection)
        if shown == token:
            connection.settimeout(seconds)
            return node, connection
    connection.close()
    return None


class FailedCallError(Exception):
    """A node's call failed. ``nodes``: node -> why."""

    def __init__(self, nodes):
        super().__init__(nodes)
        self.nodes = nodes


class NoAnswerError(Exception):
    """A node does not answer any more; ``node`` and ``why``."""

    def __init__(self, node, why):
        super().__init__(node, why)
        self.node, self.why = node, why


class Leader:
    """Run the tests. ``failures``: test -> list of node, other node (the same if no other is involved), and why."""

    def __init__(self, connections, limit_s):
        self.connections, self.nodes, self.limit_s = connections, sorted(connections), limit_s
        self.failures, self.slowest_s = {}, 0.0

    def ask_all(self, calls):
        """Make calls on several nodes at once: node -> name and arguments. Return node -> value.

        :raises FailedCallError: a call failed.
        :raises NoAnswerError: a node does not answer, for instance because the file system hangs there.
        """
        answers = {}
        for node, (name, *arguments) in calls.items():
            send(self.connections[node], [name, arguments])
        for node, (name, *_) in calls.items():
            try:
                answers[node] = received(self.connections[node])
            except OSError:
                raise NoAnswerError(node, f"{name}: no answer in {self.limit_s + PATIENCE_S:g} s") from None
        failed = {node: answer["error"] for node, answer in answers.items() if "error" in answer}
        if failed:
            raise FailedCallError(failed)
        return {node: answer["value"] for node, answer in answers.items()}

    def ask(self, node, *call):
        return self.ask_all({node: call})[node]

    def others(self, node):
        return [other for other in self.nodes if other != node]

    def all_see(self, test, writer, *call):
        """Let the other nodes make a call that returns its seconds. Tell whether all of them saw the change."""
        seen = self.ask_all({other: (*call, self.limit_s) for other in self.others(writer)})
        for other, seconds in seen.items():
            if seconds is None:
                self.fail(test, writer, other, f"not seen in {self.limit_s:g} s")
            else:
                self.slowest_s = max(self.slowest_s, seconds)
        return None not in seen.values()

    def written(self, test, writer, name, text):
        """Let a node write the file. Tell whether all others saw it."""
        self.ask(writer, "write", name, text)
        return self.all_see(test, writer, "see", name, text)

    def fail(self, test, node, other, why):
        self.failures[test].append([node, other, why])

    def run(self):
        """Run each test. If a call fails, try again with another node first: is it this node, or any?"""
        tests = (self.visible, self.flock, self.fcntl, self.append, self.rename, self.exclusive, self.unlink)
        self.failures = {test.__name__: [] for test in tests}
        for test in tests:
            for _ in range(min(MOST_FAILURES, len(self.nodes))):
                try:
                    test()
                    self.release()
                    break
                except FailedCallError as failed:
                    for node, why in failed.nodes.items():
                        self.fail(test.__name__, node, node, why)
                    self.nodes = self.nodes[1:] + self.nodes[:1]
                    self.release()
                except NoAnswerError as lost:
                    self.fail(test.__name__, lost.node, lost.node, lost.why)
                    return

    def release(self):
        self.ask_all({node: ("release",) for node in self.nodes})

    def failed_enough(self, test):
        """Tell whether the test found as many failures as it takes to find the node: waits are long."""
        return len(self.failures[test]) >= MOST_FAILURES

    def visible(self):
        """A change is visible on every node after close, and files that were written later are not older."""
        names = ["visible-" + node for node in self.nodes]
        for node, name in zip(self.nodes, names):
            if self.failed_enough("visible"):
                return
            for text in ("first", "second, and longer"):
                self.written("visible", node, name, text)
        times_of = self.ask_all({node: ("modified", names) for node in self.nodes})
        for earlier, node, before, after in zip(self.nodes, self.nodes[1:], names, names[1:]):
            wrong = [
                reader for reader, times in times_of.items()
                if {before, after} <= set(times) and times[after] < times[before]
            ]  # fmt: skip
            # For all readers: the clock of a writer. For one of them: its cache.
            for reader in [earlier] if len(wrong) == len(self.nodes) else wrong:
                self.fail("visible", reader, node, "the later file is older")

    def flock(self):
        self.locked("flock")

    def fcntl(self):
        self.locked("fcntl")

    def locked(self, kind):
        """A lock of a node keeps all others out, until it is released. The others try at once."""
        if not self.written(kind, self.nodes[0], kind, ""):
            return
        for node in self.nodes[:MOST_FAILURES]:
            if not self.ask(node, "lock", kind, kind, self.limit_s):
                self.fail(kind, node, node, "a free lock was refused")
                continue
            for other, got in self.ask_all({other: ("lock", kind, kind, 0) for other in self.others(node)}).items():
                if got:
                    self.fail(kind, node, other, "both hold an exclusive lock")
            self.release()

    def append(self):
        """Lines that all nodes append at the same time are all there."""
        lines = {node: [f"{node} {number}\n" for number in range(LINES)] for node in self.nodes}
        self.ask_all({node: ("append", "append", lines[node]) for node in self.nodes})
        reader = self.nodes[0]
        found = self.ask(reader, "read", "append").splitlines(True)
        for node in self.nodes:
            missing = len(set(lines[node]).difference(found))
            if missing:
                self.fail("append", node, reader, f"{missing} of {LINES} lines were lost")

    def rename(self):
        """Readers of a file that a rename replaces see the old or the new one, whole."""
        writer = self.nodes[0]
        if not self.written("rename", writer, "rename", version(0)):
            return
        calls = {node: ("watch", "rename", RENAMES_S) for node in self.others(writer)}
        answers = self.ask_all({**calls, writer: ("replace", "rename", 1.2 * RENAMES_S)})
        for node in calls:
            if answers[node]:
                self.fail("rename", writer, node, answers[node])

    def exclusive(self):
        """Of several nodes that make a file exclusively, one succeeds."""
        names = [f"exclusive-{number}" for number in range(EXCLUSIVE_FILES)]
        made = self.ask_all({node: ("make", names) for node in self.nodes})
        for name in names:
            if self.failed_enough("exclusive"):
                return
            makers = [node for node in self.nodes if name in made[node]]
            for node, other in zip(makers, makers[1:]):
                self.fail("exclusive", node, other, "both made " + name)
            if not makers:
                self.fail("exclusive", self.nodes[0], self.nodes[0], "no node made " + name)

    def unlink(self):
        """A node can read an open file that another node removes, and the name is gone for all."""
        for node, holder in zip(self.nodes, self.nodes[1:] + self.nodes[:1]):
            if self.failed_enough("unlink"):
                return
            name = "unlink-" + node
            if not self.written("unlink", node, name, "still here"):
                continue
            self.ask(holder, "hold", name)
            self.ask(node, "remove", name)
            text = self.ask(holder, "read_held")
            if text != "still here":
                self.fail("unlink", node, holder, f"the open file then has {len(text)} characters")
            self.ask(holder, "release")
            self.all_see("unlink", node, "miss", name)


def print_semantics(path, limit_s, folder, wait):
    """Test the folder ``path`` with the other tasks. Task 0 prints the failures of each test as a line of JSON.

    :param limit_s: time for a change to become visible. :param folder: the tasks meet in a folder of their step in it.
    :param wait: for the other tasks, in s.
    """
    (task, tasks), calls, own = task_and_tasks(), FileCallsOfNode(path), {"node": host(), "addresses": own_addresses()}
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if task == 0:
        listener.bind(("", 0))
        listener.listen(tasks)
        listener.settimeout(wait)
        own.update(port=listener.getsockname()[1], token=os.urandom(16).hex())
    published = meet(os.path.join(folder, step_name()), own, tasks, wait)
    leader = next((each for each in published.values() if "port" in each), None)
    if len(published) < tasks or not leader:
        sys.stderr.write(f"kappa-node semantics: {len(published)} of {tasks} tasks met\n")
        return 1
    if task:
        serve([leader["node"], *leader["addresses"]], leader, calls)
        return 0
    threading.Thread(target=serve, args=(["127.0.0.1"], own, calls), daemon=True).start()
    connections = {}
    while len(connections) < tasks:
        # Only a task of this user can read the token in the folder where the tasks meet.
        connections.update(filter(None, [accepted(listener, own["token"], limit_s + PATIENCE_S)]))
    run = Leader(connections, limit_s)
    run.run()
    record = {"nodes": sorted(run.nodes), "failures": run.failures, "slowest_s": run.slowest_s}
    os.write(sys.stdout.fileno(), line_of(record))
    return 0
