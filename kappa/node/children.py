"""Call what may hang in child processes: a file server, a driver, a program.

A child that does not answer in time is left behind: the kernel may not end it before its server answers. It has none of
this process's open files, so no program waits for it.
"""

import contextlib
import json
import os
import select
import signal
import time

MOST_BYTES = 16 << 20
#: Children at the same time.
MOST_CHILDREN = 32
ABSENT, FAILED = 127, 126
# A function may have to end a program.
PROGRAM_ENDS_S, FUNCTION_ENDS_S = 1, 3


class Child:
    """A process that writes its result into a pipe."""

    def __init__(self, work):
        self.pipe, end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = FAILED
            try:
                os.close(self.pipe)
                os.setsid()
                silence = os.open(os.devnull, os.O_RDWR)
                for number in (0, 1, 2):
                    os.dup2(silence, number)
                work(end)
                status = 0
            except FileNotFoundError:
                status = ABSENT
            finally:
                os._exit(status)
        os.close(end)

    def read(self, deadline):
        """Return what the child wrote until it closed the pipe; ``None`` if the deadline passes before."""
        parts, size = [], 0
        while select.select([self.pipe], [], [], max(deadline - time.monotonic(), 0))[0]:
            part = os.read(self.pipe, 1 << 16)
            if not part:
                return b"".join(parts)
            if size < MOST_BYTES:
                parts.append(part)
                size += len(part)
        return None

    def status(self, deadline):
        """Wait for the end; return the exit status, ``None`` if a signal ended the child or the deadline passes."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            if time.monotonic() > deadline:
                return None
            time.sleep(0.002)

    def signal(self, number):
        with contextlib.suppress(OSError):  # it has ended, or is not yet the leader of its group
            os.killpg(self.pid, number)

    def has_ended(self):
        if self.pid is not None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self.pid = None
        return self.pid is None


def leave(children, patience_s):
    """End the children, with some time for their last acts, and do not wait for those that cannot end."""
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 0)):
        deadline = time.monotonic() + wait_s
        left = [child for child in children if not child.has_ended()]
        for child in left:
            child.signal(number)
        while time.monotonic() < deadline and not all(child.has_ended() for child in left):
            time.sleep(0.005)
    for child in children:
        os.close(child.pipe)


def run(seconds, *command, **options):
    """Run a program; return its exit status and what it printed. The status is ``None`` if it is late.

    :param errors: also standard error. :param environment: instead of this process's.
    """
    environment = options.get("environment") or os.environ

    def work(end):
        os.dup2(end, 1)
        if options.get("errors"):
            os.dup2(end, 2)
        os.execvpe(command[0], command, environment)

    deadline, child = time.monotonic() + seconds, Child(work)
    try:
        text = child.read(deadline)
        status = None if text is None else child.status(deadline)
        return status, (text or b"").decode("utf-8", "replace")
    finally:
        leave([child], PROGRAM_ENDS_S)


def output(seconds, *command, **options):
    """Return what the program prints; ``None`` if there is no such program, it is late, or its exit status is not 0."""
    status, text = run(seconds, *command, **options)
    return text if status == 0 else None


def within(seconds, function, *arguments):
    """Return the function's result, as JSON keeps it; ``None`` if the function raises an error or is late."""
    [result] = all_within(seconds, function, [arguments])
    return result


def all_within(seconds, function, calls):
    """Return the results of the function for each tuple of arguments, called at the same time."""
    results = []
    for first in range(0, len(calls), MOST_CHILDREN):
        children = []
        deadline = time.monotonic() + seconds
        try:
            children += (Child(answer(function, arguments)) for arguments in calls[first : first + MOST_CHILDREN])
            for child in children:
                results.append(json.loads((child.read(deadline) or b"null").decode("ascii")))
        finally:
            leave(children, FUNCTION_ENDS_S)
    return results


def answer(function, arguments):
    def work(end):
        with os.fdopen(end, "w") as stream:
            json.dump(function(*arguments), stream)

    return work
