"""One embedded cluster for the integration tests of the suite, and the commands that people use on it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]
SITE = REPOSITORY / "site_configs/embedded"
KAPPA = pathlib.Path(sys.executable).with_name("kappa")


@dataclass(frozen=True)
class Suite:
    """Runs ReFrame and the reports against a cluster whose state is under ``state``."""

    state: pathlib.Path
    results: pathlib.Path

    def cluster(self, *arguments, check=True):
        return subprocess.run(
            [SITE / "cluster", *arguments],
            env=self.environment(),
            check=check,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_S,  # the command gives up before, and says why
        )

    def jobs(self):
        """Jobs that wait or run. A cancelled one is not among them from the moment on when ``scancel`` returns, but
        for some seconds more, while Slurm cleans up after it, `squeue` lists it as completing."""
        states = "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"
        return self.cluster("exec", "login", "squeue", "--noheader", states).stdout.splitlines()

    def environment(self, **extra):
        """Remove all Spack environments: the site's offer must not depend on local installations."""
        folders = {
            "KAPPA_CLUSTER_STATE": self.state,
            "KAPPA_RESULTS": self.results,
            "KAPPA_SPACK_STATE": self.state / "no-spack",
        }
        return {**os.environ, **{name: str(folder) for name, folder in folders.items()}, **extra}

    def reframe(self, *arguments, checks=REPOSITORY / "reframe_checks", site=SITE, **environment):
        """Run ReFrame; returns its completed process. ``environment`` is added to the environment."""
        command = [
            pathlib.Path(sys.executable).with_name("reframe"),
            "-C", site / "settings.py", "-c", checks, "-R", *arguments,
        ]  # fmt: skip
        return subprocess.run(
            command,
            env=self.environment(**environment),
            cwd=self.results,
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE_S,
            check=False,
        )

    def judge(self, report):
        """Exit status of ``reports verdict`` and what it says as JSON (``None`` when it could not judge).

        Why cases failed is printed, for who looks at a test that fails.
        """
        with contextlib.suppress(OSError, ValueError):
            cases = [case for run in json.loads(report.read_text())["runs"] for case in run["testcases"]]
            print(*(f"{case['name']}: {case['fail_reason']}" for case in cases if case.get("fail_reason")), sep="\n")
        said = report.with_suffix(".verdict.json")
        done = subprocess.run(
            [KAPPA, "show", report, "--json", said],
            env=self.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return done.returncode, json.loads(said.read_text()) if said.exists() else None

    def run(self, *arguments, **kwargs):
        """Run checks and judge them: exit status and verdict."""
        report = self.results / "run-report.json"
        report.unlink(missing_ok=True)
        # Faults last here: none is measured again in its job (`test_confirm.py` does that), which takes twice as long.
        # They are found beside whatever load the tests run, which else would be an excuse.
        options = ("--setvar=hold_s=0", "--setvar=watch_load=no")
        self.reframe("-r", f"--report-file={report}", *options, *arguments, **kwargs)
        return self.judge(report)


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    root = tmp_path_factory.mktemp("suite")
    suite = Suite(root / "cluster", root / "results")
    suite.results.mkdir()
    started = suite.cluster("up", check=False)
    assert started.returncode == 0, started.stderr
    yield suite
    suite.cluster("down")
