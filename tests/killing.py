"""Kill work after a time: in a fork of this process, so that it loads nothing first."""

import os
import signal
import time
import traceback

from tests.waiting import PATIENCE_S


def in_child(work, after_s):
    """Run ``work`` in a child that is killed after ``after_s``; true when it had ended before, without an error."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    deadline = time.monotonic() + after_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return True
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0
    return status == 0


def seconds(work):
    """Return the time of ``work`` in a child without a kill, s."""
    started = time.monotonic()
    assert in_child(work, PATIENCE_S)
    return time.monotonic() - started
