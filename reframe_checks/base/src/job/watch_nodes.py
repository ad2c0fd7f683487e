#!/usr/bin/env python3
"""Watches a job from its first node: which node is it when nothing goes on, or when the measurement has failed?

Usage: ``watch_nodes.py PID EXPECTED_S LIBRARY_OF LAUNCHER…``: the process of the measuring script, the seconds that it is
expected to take, a program whose MPI library is tried, and what starts its ranks. It sleeps but for a look at the job's
files every ``POLL_S``. Where these have stood still for ``QUIET_S`` it looks at every node by a step beside the
measurement (``look_at_node.py``), and again whenever a quarter more of the time has passed. What it finds, and nothing
less, names a node and ends the measurement:

- Slurm has taken the node out of the job or given it up, or a step does not start there, twice, but does elsewhere;
- a process of the job is stopped there; or waits in the kernel without having moved a byte between two looks, while
  most nodes have no such process;
- MPI does not start with it, twice, but does on all others together, tried by halves (``halves.py``). That is tried
  when a rank has stood in a phase for longer than its heartbeat says, when ranks have slept since their start, or when
  nothing went on for several times what the check takes.

All else is not the fault of a node that can be named, and the measurement goes on to its end or its time limit: a node that
is merely slow is never taken for one that hangs. ``hold_nodes.sh`` sends SIGTERM when the measurement has ended, and
SIGUSR1 when it has failed. ``hang.json`` says what was found, ``watch.err`` what was tried. Runs on the Python 3.6 that old
systems bring.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import steps
from halves import not_working

POLL_S, QUIET_S, TIMES_EXPECTED, SHARE_LATER = 2, 15, 5, 0.25
MOST_FILES = 64
OWN = ("watch.err", "kappa_watch", "load_watch")


class MeasurementFailed(Exception):
    pass


class Watch:
    """``hang`` is the way in which the measurement is in trouble, for ``hang.json``."""

    def __init__(self, script, expected_s, program, launcher):
        self.script, self.expected_s, self.program, self.launcher = script, expected_s, program, launcher
        self.nodes = steps.names(os.environ["SLURM_JOB_NODELIST"])
        self.began_s = time.monotonic()
        self.blocked, self.library, self.tried_s = set(), None, 0.0

    def until_named(self):
        """What is found, as soon as it names a node."""
        files, changed_s, due_s = self.files(), self.began_s, 0.0
        while True:
            time.sleep(POLL_S)
            now_s, seen = time.monotonic(), self.files()
            if seen != files:
                files, changed_s = seen, now_s
            if now_s - changed_s < QUIET_S or now_s < due_s:
                continue
            found = self.look(hangs=True)
            if found:
                return found
            due_s = now_s + max(QUIET_S, SHARE_LATER * (now_s - self.began_s))

    @staticmethod
    def files():
        """Names and sizes of what the job writes here."""
        with os.scandir(".") as entries:
            written = [entry for entry in entries if entry.name not in OWN][:MOST_FILES]
        sizes = []
        for entry in written:
            try:
                sizes.append((entry.name, entry.stat().st_size, entry.stat().st_mtime))
            except OSError:
                sizes.append((entry.name, 0, 0))
        return sorted(sizes)

    def look(self, hangs):
        """What speaks against which node; nothing where Slurm does not answer, or has suspended the job."""
        left = steps.nodes_left()
        if left is None:
            return []
        lost = sorted({*self.nodes} - {*left}) + steps.nodes_down(left)
        found = [{"node": node, "reason": "lost"} for node in dict.fromkeys(lost)]
        nodes = [node for node in left if node not in lost]
        if not nodes:
            return found
        [told] = steps.looks([nodes])
        silent = [node for node in nodes if node not in told]
        if told and silent:
            # The others have answered: only what is silent is tried again.
            beside = next(iter(told))
            tried = [beside, *silent]
            silent = not_working(tried, lambda groups: [{*group} <= {*here} for group, here in zip(groups, steps.looks(groups))])
            found += [{"node": node, "reason": "silent"} for node in silent if node != beside]
        found += self.stands_still(told)
        self.library = next((look["library"] for look in told.values() if look["library"]), self.library)
        if not found and len(nodes) > 1 and (self.mpi_in_doubt(told) if hangs else self.finds_library()):
            suspects = not_working(nodes, lambda groups: steps.starts_of_mpi(groups, self.library, self.launcher))
            self.tried_s = time.monotonic() - self.began_s
            found += [{"node": node, "reason": "mpi", **self.rank_on(told, node)} for node in suspects]
        return found

    def stands_still(self, told):
        """The stopped processes, unless all nodes have some: then it was no node that did it."""
        stopped = {node: look["stopped"][0] for node, look in told.items() if look["stopped"]}
        blocked = {(node, process["pid"], process["cpu_s"]): process for node, look in told.items() for process in look["blocked"]}
        again, self.blocked = self.blocked & {*blocked}, {*blocked}
        stuck = {node: process for (node, pid, cpu_s), process in blocked.items() if (node, pid, cpu_s) in again}
        if len(stopped) == len(told) > 1:
            stopped = {}
        if 2 * len({node for node, _, _ in blocked}) > len(told):
            stuck = {}
        found = [("stopped", *each) for each in stopped.items()] + [("blocked", *each) for each in stuck.items()]
        return [{"node": node, "reason": reason, **process} for reason, node, process in found]

    def mpi_in_doubt(self, told):
        """Whether it is worth trying whether MPI starts: not again before as much time has passed as until then."""
        elapsed_s = time.monotonic() - self.began_s
        if not self.library or elapsed_s < 2 * self.tried_s:
            return False
        late = any(look["late"] or look["asleep"] for look in told.values())
        return late or elapsed_s > TIMES_EXPECTED * self.expected_s

    @staticmethod
    def rank_on(told, node):
        """The rank there that stands in a phase for too long, if one does."""
        return next(iter(told.get(node, {}).get("late", [])), {})

    def finds_library(self):
        """Whether an MPI library is known: that of the processes that were seen, or else of the program."""
        if not self.library:
            linked = steps.asked("bash", "-c", 'ldd "$(command -v "$1")"', "bash", self.program) or []
            found = re.search(r"=> (/\S*/libmpi(?:_\w+|ch)?\.so[.\d]*) ", "\n".join(linked))
            self.library = found and found.group(1)
        return bool(self.library)

    def say(self, how, named):
        """Write down what was found, whole or not at all, with the SHA-256 of its line."""
        told = {"format": "kappa-hang", "version": 1, "how": how, "after_s": round(time.monotonic() - self.began_s, 1)}
        line = json.dumps({**told, "nodes": self.nodes, "named": named}, sort_keys=True)
        with open("hang.json.part", "w") as file:
            file.write("%s\nsha256=%s\n" % (line, hashlib.sha256(line.encode()).hexdigest()))
        os.rename("hang.json.part", "hang.json")

    def end_measurement(self):
        """End what the script has started, so that it ends itself; srun passes it on to its tasks."""
        for number, patience_s in ((signal.SIGTERM, 3), (signal.SIGKILL, 0)):
            for pid in descendants(self.script):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            time.sleep(patience_s)


def descendants(ancestor):
    """Processes that it has started, and they, but for this one."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], stdout=subprocess.PIPE, check=True).stdout.split()
    parents = {int(pid): int(parent) for pid, parent in zip(listed[::2], listed[1::2])}
    found, new = set(), {ancestor}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found - {os.getpid()}
        found |= new
    return found


def ready():
    """Say so, in a file by which hold_nodes.sh finds this process, and to watch_nodes.sh, which waits for it."""
    with open("kappa_watch.part", "w") as file:
        file.write("%d\n" % os.getpid())
    os.rename("kappa_watch.part", "kappa_watch")
    print("ready", flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


def measurement_failed(*_):
    raise MeasurementFailed


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGUSR1, measurement_failed)
    watch = Watch(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:])
    ready()
    try:
        named = watch.until_named()
    except MeasurementFailed:
        named = watch.look(hangs=False)
        if named:
            watch.say("crash", named)
        return
    # That it is ended makes it fail.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    watch.say("hang", named)
    watch.end_measurement()


if __name__ == "__main__":
    main()
