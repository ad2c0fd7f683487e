"""ReFrame's internals that the suite uses behave as expected, in every permitted version."""

import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import types

import pytest
import reframe
from reframe.core import fields, variables
from reframe.core.exceptions import ReframeFatalError
from reframe.core.schedulers import slurm
from reframe.core.warnings import ReframeDeprecationWarning, suppress_deprecations

from kappa.core.record.journal import VARIABLE, report_of
from reframe_checks.base.case import keep_out_nodes_of
from reframe_checks.base.reframe_internals import (
    TESTED_BELOW,
    TESTED_FROM,
    ask_slurm_less,
    look_for_who_is_warned_only_to_warn,
    require_tested,
)

REPOSITORY = pathlib.Path(__file__).parents[3]
OLDEST, BELOW = (".".join(map(str, bound)) for bound in (TESTED_FROM, TESTED_BELOW))
RANGE = f"ReFrame-HPC>={OLDEST},<{BELOW}"

SETTINGS = """
site_configuration = {
    "systems": [{"name": "here", "hostnames": [".*"], "partitions": [{
        "name": "local", "scheduler": "local", "launcher": "local", "environs": ["plain"],
        "prepare_cmds": ["echo prepared"], "max_jobs": 2,
    }]}],
    "environments": [{"name": "plain"}],
    "general": [{"trap_job_errors": True, "report_file": "report.json"}],
}
"""
CHECK = """
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.model import hash_without_added
from reframe_checks.base.case_journal import keep_journal
from reframe_checks.base.case import keep_out_nodes_of
from reframe_checks.base.reframe_internals import (
    begin_job_script, copy_of_ended, free_places_of_failed_cases, registered_checks,
)

keep_journal()
free_places_of_failed_cases()


class JudgedWhileItRuns(rfm.RunOnlyRegressionTest, special=True):
    def run_complete(self):
        stage = pathlib.Path(self.stagedir)
        if (stage / "first.txt").exists() and not (stage / "judged").exists():
            twin = copy_of_ended(self)
            twin.run_wait()
            twin.sanity()
            twin.performance()
            assert twin.job.exitcode == 0 and self.job.exitcode is None
            assert [value[0] for value in twin.perfvalues.values()] == [7] and not self.perfvalues
            assert twin.current_partition is self.current_partition
            (stage / "judged").touch()
        return super().run_complete()


@rfm.simple_test
class Running(JudgedWhileItRuns):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    word = rfmb.parameter(["one"], loggable=True)
    number = rfmb.parameter([1], loggable=True)
    prerun_cmds = ["echo figure 7 > first.txt"]
    executable = "for i in {1..600}; do if [[ -e judged ]]; then break; fi; sleep 0.1; done; [[ -e judged ]]"

    @rfmb.run_before("run")
    def begin(self):
        begin_job_script(self.job, ["echo begun > begun.txt"])

    @rfmb.sanity_function
    def read(self):
        if registered_checks().get("Running") is not type(self):
            raise SanityError(f"registered: {registered_checks()}")
        for name in (self.display_name, f"{self.display_name} %.repeat_no=1"):
            if hash_without_added(name) != self.hashcode:
                raise SanityError(f"hash of {self.display_name} is {self.hashcode}")
        return True

    @rfmb.performance_function("s")
    def seven(self):
        return 7


@rfm.simple_test
class Failing(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable = "false"
    postrun_cmds = ["echo not reached"]

    @rfmb.run_before("run")
    def begin(self):
        begin_job_script(self.job, [])

    @rfmb.sanity_function
    def read(self):
        return True


@rfm.simple_test
class FailsAfterItsJob(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    number = rfmb.parameter([1, 2, 3])
    executable = "true"

    @rfmb.run_after("run")
    def fail(self):
        raise SanityError("after the job")

    @rfmb.sanity_function
    def read(self):
        return True
"""


def passes_with(version_path: str, folder: pathlib.Path) -> None:
    """Run the checks above, including four cases that fail, with the ReFrame on ``version_path``."""
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "internals.py").write_text(CHECK)
    (folder / "journal").touch()
    done = subprocess.run(
        [
            sys.executable, "-c", "from reframe.frontend.cli import main; main()", "--nocolor", "-C", "settings.py",
            "-c", "internals.py", "-r", "--keep-stage-files", "--prefix", folder,
            "--session-extras=mode=smoke,purpose=p", "--session-extras=budget=1",
        ],
        env={
            **os.environ, "PYTHONPATH": os.pathsep.join([version_path, str(REPOSITORY)]),
            VARIABLE: str(folder / "journal"),
        },
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert re.search(r"^\[  FAILED  \] Ran 5/5 test case\(s\) .*\(4 failure", done.stdout, re.MULTILINE), done.stdout
    assert "job exited with exit code 1" in done.stdout
    cases_are_noted(json.loads((folder / "report.json").read_text()), (folder / "journal").read_text())
    running, failing = (next(folder.glob(f"stage/**/{name}*/rfm_job.sh")) for name in ("Running", "Failing"))
    trap, begun, prepared = running.read_text().splitlines()[1:4]
    assert trap.startswith("trap 'exitcode=$?; ")
    assert (begun, prepared) == ("echo begun > begun.txt", "echo prepared")
    assert (failing.parent / "rfm_job.out").read_text().splitlines() == ["prepared", "failed (exit code: 1): false"]


def cases_are_noted(report, journal):
    """The journal holds what the report does, but for what ReFrame knows at its end only."""
    noted = report_of(journal, "")
    late = ("time_", "num_", "cut")
    both = [one["session_info"].items() for one in (noted, report)]
    info = [{key: value for key, value in one if not key.startswith(late)} for one in both]
    assert info[0] == info[1] and info[0]["mode"] == "smoke" and info[0]["budget"] == "1"
    cases = [
        {case["name"]: (case["result"], case["perfvalues"], case["fail_reason"], case["jobid"]) for case in cases}
        for cases in (noted["runs"][0]["testcases"], report["runs"][0]["testcases"])
    ]
    assert cases[0] == cases[1] and len(cases[0]) == 5


def test_with_the_installed_version(tmp_path):
    passes_with("", tmp_path)


@pytest.mark.skipif(not os.environ.get("KAPPA_TEST_REFRAMES"), reason="installs ReFrames: KAPPA_TEST_REFRAMES=1")
@pytest.mark.parametrize("version", [f"=={OLDEST}", f"<{BELOW}"], ids=["oldest", "newest"])
def test_with_the_ends_of_the_tested_range(version, tmp_path):
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", installed]
    subprocess.run([*pip, f"ReFrame-HPC{version}"], check=True, timeout=300)
    (tmp_path / "run").mkdir()
    passes_with(str(installed), tmp_path / "run")


def test_the_tested_range_is_the_one_that_is_installed():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert RANGE in project["dependencies"]
    require_tested(reframe.VERSION)


@pytest.mark.parametrize("version", ["4.9.3", "4.10.1", "4.11.0", "5.0.0-dev.1", "4.11"])
def test_another_version_is_refused_with_the_one_to_install(version):
    with pytest.raises(ReframeFatalError, match=rf"ReFrame {version}.*pip install '{RANGE}'"):
        require_tested(version)


@pytest.mark.parametrize("version", ["4.10.2", "4.10.4", "4.10.5-dev.0"])
def test_a_version_of_the_range_is_taken(version):
    require_tested(version)


@pytest.mark.parametrize("module", [fields, variables])
def test_a_deprecation_is_said_and_a_suppressed_one_costs_nothing(module, monkeypatch):
    look_for_who_is_warned_only_to_warn()
    walks = []
    walk = inspect.stack
    monkeypatch.setattr(inspect, "stack", lambda: walks.append(1) or walk())
    with suppress_deprecations():
        module.user_deprecation_warning("old")
    assert not walks
    with pytest.warns(ReframeDeprecationWarning, match="old"):
        module.user_deprecation_warning("old")
    assert walks


def test_where_a_job_ran_is_told_without_asking_slurm(monkeypatch):
    ask_slurm_less()
    monkeypatch.setattr(slurm.osext, "run_command", lambda *_, **__: pytest.fail("a program was started"))
    job = slurm._SlurmJob("name")
    job._nodespec = "node[9-11],login1"
    assert job.nodelist == []
    job._state = "COMPLETED"
    assert job.nodelist == ["node9", "node10", "node11", "login1"]
    job._nodelist, job._state, job._nodespec = [], "CANCELLED", "None assigned"
    assert job.nodelist == []


@pytest.mark.parametrize(
    ("access", "given", "last"),
    [
        (["--partition=a", "--exclude=n[1-4]"], ["--exclude=n7"], "--exclude=n7,n[1-4]"),
        (["--exclude=n[1-4]"], ["-x n7", "--exclude=n8"], "--exclude=n8,n7,n[1-4]"),
        (["--exclude=n[1-4]"], ["--nodelist=n7"], "--nodelist=n7"),
        (["--partition=a"], ["--exclude=n7"], "--exclude=n7"),
    ],
)
def test_nodes_that_a_partition_keeps_out_stay_out_beside_those_that_are_avoided(access, given, last):
    job = types.SimpleNamespace(cli_options=[*given])
    keep_out_nodes_of(access, job)
    assert job.cli_options[-1] == last and job.cli_options[: len(given)] == given


def test_options_that_are_given_come_last_in_a_job_script_and_can_be_added_to():
    """Slurm heeds the last of two: so `keep_out_nodes_of` may add to them."""
    job = slurm._SlurmJob("job", sched_access=["--exclude=n1"], sched_options=["--exclude=n2"])
    job.options = ["--comment=x"]
    keep_out_nodes_of(job.sched_access, job)
    assert [*job.sched_access, *job.options, *job.cli_options][-1] == "--exclude=n2,n1"
    assert "job.options + job.cli_options" in inspect.getsource(slurm.SlurmJobScheduler.emit_preamble)
