#!/usr/bin/env python3
"""Watch a job from its first node, and find the node at fault if the job hangs or the measurement fails.

Usage: ``watch_nodes.py PID EXPECTED_S PROGRAM LAUNCHER…``: the process of the measuring script, its expected time in s,
a program whose MPI library is tried, and the command that starts its ranks. The watch looks at the job's files every
``POLL_S``. If they have not changed for ``QUIET_S``, it searches all nodes (``search.py``) with a step beside the
measurement, and again after a quarter more of the time. If the search names a node, the watch writes ``hang.json`` and
ends the measurement. Otherwise the measurement goes on to its end or its time limit. ``hold_nodes.sh`` sends SIGTERM
when the measurement ended, and SIGUSR1 when it failed: then the watch searches the nodes once and reads the
measurement's output. ``watch.err`` lists what was tried. Runs on Python 3.6, which old systems bring.
"""

import contextlib
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

import steps
from search import Search

POLL_S, QUIET_S, SHARE_LATER = 2, 15, 0.25
MOST_POLLS_ALONE = 3
MOST_FILES, MOST_BYTES = 64, 4 << 20
OWN = ("watch.err", "kappa_watch", "kappa_peers", "load_watch")


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
        whole("hang.json", f"{line}\nsha256={hashlib.sha256(line.encode()).hexdigest()}\n")


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


def whole(name, text):
    handle, part = tempfile.mkstemp(".part", dir=os.path.dirname(name) or ".")  # a new file: no link is in the way
    with open(handle, "w") as file:
        file.write(text)
    os.rename(part, name)


def end(script):
    """End the processes that the script started; the script then ends, and srun passes the signal on to its tasks."""
    for number, patience_s in ((signal.SIGTERM, 3), (signal.SIGKILL, 0)):
        for pid in descendants(script):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(patience_s)


def descendants(ancestor):
    """Return all descendants of the process, without this process."""
    listed = subprocess.run(["ps", "-e", "-o", "ppid=,pid="], stdout=subprocess.PIPE, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found, new = set(), {ancestor}
    while new:
        new = {pid for parent, pid in pairs if parent in new} - found - {os.getpid()}
        found |= new
    return found


def measurement_failed(*_):
    raise MeasurementFailedError


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGUSR1, measurement_failed)
    script, expected_s, program, *launcher = sys.argv[1:]
    watch = Watch(Search(steps.names(os.environ["SLURM_JOB_NODELIST"]), float(expected_s), program, launcher), script)
    # Now: the script has ended by the time the files are read.
    said = [output_of(script, number) for number in (1, 2)]
    # hold_nodes.sh finds this process by the file; watch_nodes.sh waits for the printed line.
    whole("kappa_watch", f"{os.getpid()}\n")
    print("ready", flush=True)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        named = watch.until_named()
    except MeasurementFailedError:
        named = watch.search.named(watch.elapsed_s, True, "\n".join(map(end_of, said)))
        if named:
            watch.say("crash", named)
        return
    # The measurement fails because the watch ends it: ignore the signal of that failure.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    watch.say("hang", named)
    end(int(script))


if __name__ == "__main__":
    main()
