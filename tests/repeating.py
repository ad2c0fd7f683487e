"""Tests whose figures a busy machine can spoil: run again when all others have ended, alone, and counted.

Only a comparison that fails in the test itself is repeated. An exception, a crash, and what its fixtures find are not.
"""

import os
import subprocess
import sys

import pytest

# More say that something is wrong with a test, or with the product.
REPEATS = 2
ALONE = "KAPPA_TEST_ALONE"
TAIL_LINES = 20


def timing(reason: str, tries: int = 3) -> pytest.MarkDecorator:
    """Marks a test that can fail on a busy machine for ``reason``; it is repeated up to ``tries`` times."""
    return pytest.mark.timing(reason, tries)


def defer(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Makes of a test that is to be repeated a skipped one, for the time being."""
    mark = item.get_closest_marker("timing")
    compared = call.when == "call" and call.excinfo is not None and call.excinfo.type is AssertionError
    if mark and compared and ALONE not in os.environ:
        reason, tries = mark.args
        seen = " ".join(call.excinfo.exconly().split())[:100]
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, (line or 0) + 1, f"to be repeated: {seen}")
        report.user_properties.append(("repeat", [reason, tries, seen]))


class Repeats:
    """State of the process that starts the workers, or that runs the tests itself."""

    def __init__(self) -> None:
        self.deferred: list[tuple[str, str, int, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.deferred += [(report.nodeid, *what) for name, what in report.user_properties if name == "repeat"]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """The workers have ended, so a repeated test has the machine alone."""
        repeats = 0
        for test, reason, tries, seen in self.deferred:
            for number in range(1, tries + 1):
                repeats += 1
                print(f"\nREPEATED {number} of {tries}: {test}: {reason}: {seen}", flush=True)
                command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", test]
                environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
                done = subprocess.run(
                    command, cwd=session.config.rootpath, env={**environment, ALONE: "1"},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                )  # fmt: skip
                # 1: a test failed. Whatever else happened is no matter of time.
                if done.returncode != pytest.ExitCode.TESTS_FAILED:
                    break
            if done.returncode:
                print(*done.stdout.splitlines()[-TAIL_LINES:], f"FAILED alone: {test}", sep="\n")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if repeats > REPEATS:
            print(f"FAILED: {repeats} repeats in one run, at most {REPEATS} pass")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
