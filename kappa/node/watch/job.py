"""Watch a job from its first node, and find the node at fault if the job hangs or the measurement fails.

The watch looks at the job's files every ``POLL_S``. If they have not changed for ``QUIET_S``, it searches all nodes
(``kappa.node.watch.search``) with a step beside the measurement, and again after a quarter more of the time. If the
search names a node, the watch writes ``hang.json`` and ends the measurement. Otherwise the measurement goes on to its
end or its time limit. ``hold_nodes.sh`` sends SIGTERM when the measurement ended, and SIGUSR1 when it failed: then the
watch searches the nodes once and reads the measurement's output. ``watch.err`` lists what was tried.
"""

import contextlib
import hashlib
import json
import math
import os
import signal
import stat
import sys
import time

from kappa.node.facts.leftovers import ticks_of
from kappa.node.files import entries
from kappa.node.meeting import publish
from kappa.node.watch import steps
from kappa.node.watch.search import Search

#: Files of the watch in the job's folder. ``watch_nodes.sh`` writes the second one.
HANG_FILE, LOG_FILE = "hang.json", "watch.err"
POLL_S, QUIET_S, SHARE_LATER = 2, 15, 0.25
MOST_POLLS_ALONE = 3
MOST_FILES, MOST_BYTES = 64, 4 << 20
OWN = (LOG_FILE, "kappa_watch", "kappa_peers", "load_watch")


class MeasurementFailedError(Exception):
    """Raised when ``hold_nodes.sh`` says that the measurement failed."""


class Watch:
    def __init__(self, search, script):
        self.search, self.script, self.began_s = search, script, time.monotonic()

    @property
    def elapsed_s(self):
        return time.monotonic() - self.began_s

    def until_named(self):
        """Return the findings as soon as there is one."""
        files, changed_s, due_s, alone = written(), 0.0, 0.0, 0
        while True:
            time.sleep(POLL_S)
            # hold_nodes.sh sends a signal when the script ends. If the job got SIGKILL, no signal comes.
            alone = 0 if os.path.exists(f"/proc/{self.script}") else alone + 1
            if alone == MOST_POLLS_ALONE:
                sys.exit(0)
            now_s, seen = self.elapsed_s, written()
            if seen != files:
                files, changed_s = seen, now_s
            if now_s < max(changed_s + QUIET_S, due_s):
                continue
            named = self.search.named(now_s, failed=False)
            if named:
                return named
            due_s = self.elapsed_s + max(QUIET_S, SHARE_LATER * self.elapsed_s)

    def say(self, how, named):
        """Write the findings atomically, with the SHA-256 of their line."""
        told = {"format": "kappa-hang", "version": 1, "how": how, "after_s": round(self.elapsed_s, 1)}
        line = json.dumps({**told, "nodes": self.search.nodes, "named": named}, sort_keys=True)
        publish(HANG_FILE, f"{line}\nsha256={hashlib.sha256(line.encode()).hexdigest()}\n")


def written():
    """Return names, sizes and times of the job's files."""
    found = []
    with os.scandir(".") as entries:
        for entry in [entry for entry in entries if entry.name not in OWN][:MOST_FILES]:
            with contextlib.suppress(OSError):
                found.append((entry.name, entry.stat().st_size, entry.stat().st_mtime))
    return sorted(found)


def output_of(script, number):
    """Return the path of the script's standard output (1) or error (2); empty if that is no file."""
    try:
        name = f"/proc/{script}/fd/{number}"
        return open(name if stat.S_ISREG(os.stat(name).st_mode) else os.devnull, "rb")
    except OSError:
        return open(os.devnull, "rb")


def end_of(file):
    """Return the end of the file, where srun or mpirun says how the tasks ended."""
    file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_BYTES))
    return file.read(MOST_BYTES).decode("utf-8", "replace")


def end(script):
    """End the processes that the script started; the script then ends, and srun passes the signal on to its tasks."""
    for number, patience_s in ((signal.SIGTERM, 3), (signal.SIGKILL, 0)):
        for pid in descendants(script):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(patience_s)


def descendants(ancestor):
    """Return all descendants of the process, without this process."""
    # The second field is the parent.
    parents = {int(pid): ticks_of(pid)[1:2] for pid in entries("/proc") if pid.isdigit()}
    found, new = set(), {str(ancestor)}
    while new:
        pids = {pid for pid, parent in parents.items() if new.intersection(parent)} - found - {os.getpid()}
        found |= pids
        new = set(map(str, pids))
    return found


def measurement_failed(*_):
    raise MeasurementFailedError


def watch(script, expected_s, program, launcher):
    """Watch the job whose measuring script is the process ``script`` until that ends, or a node is named."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGUSR1, measurement_failed)
    watching = Watch(Search(steps.names(os.environ["SLURM_JOB_NODELIST"]), expected_s, program, launcher), script)
    # Now: the script has ended by the time the files are read.
    said = [output_of(script, number) for number in (1, 2)]
    # hold_nodes.sh finds this process by the file; watch_nodes.sh waits for the printed line.
    publish("kappa_watch", f"{os.getpid()}\n")
    print("ready", flush=True)
    try:
        named = watching.until_named()
    except MeasurementFailedError:
        named = watching.search.named(watching.elapsed_s, True, "\n".join(map(end_of, said)))
        if named:
            watching.say("crash", named)
        return
    # The measurement fails because the watch ends it: ignore the signal of that failure.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    watching.say("hang", named)
    end(script)


def print_search(program, launcher):
    """Search the job's nodes now, also network and MPI, and print the findings as a line of JSON."""
    if "SLURM_JOB_ID" not in os.environ:
        sys.exit("kappa-node search: expected SLURM_JOB_ID in the environment: run it in a job")
    # The job's folder has the program; the steps leave their own processes out.
    os.chdir(os.path.dirname(sys.argv[0]) or ".")
    os.environ["KAPPA_WATCH"] = "yes"
    search = Search(steps.names(os.environ["SLURM_JOB_NODELIST"]), 0.0, program, launcher or ["srun"])
    named = search.named(math.inf, failed=False)
    if not named and search.blocked:
        named = search.named(math.inf, failed=False)  # a process is blocked if it has not moved since the first look
    print(json.dumps({"nodes": search.nodes, "named": named}))
