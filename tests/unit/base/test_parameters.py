"""All of a case's parameters are in the report, whatever their names and types."""

import os
import pathlib
import subprocess
import sys

from kappa.core.record.load import load_session
from tests.unit.reports.samples import REPOSITORY

CHECKS = """
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe_checks.base.check import SystemCheck

class Library(rfm.RunOnlyRegressionTest):
    compiler = rfmb.parameter(["gcc", "clang"])
    executable = "true"

    @rfmb.sanity_function
    def ran(self):
        return True

@rfm.simple_test
class AllReduce(SystemCheck):
    family, executable, local, informational = "network/all-reduce", "true", True, ["size_of_all"]
    algorithm = rfmb.parameter(["ring"])
    size = rfmb.parameter([(4, 8)], fmt=lambda sizes: "x".join(map(str, sizes)))
    library = rfmb.fixture(Library, scope="environment")

    @rfmb.sanity_function
    def ran(self):
        return True

    @rfmb.performance_function("B")
    def size_of_all(self):
        return 32
"""


def test_parameters_of_check_and_fixture_are_recorded_without_added_ones(tmp_path):
    (tmp_path / "settings.py").write_text("site_configuration = {}")
    (tmp_path / "checks.py").write_text(CHECKS)
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "checks.py",
            "--dry-run", "--repeat=1", "-P", "time_limit=1m", "--report-file=report.json",
        ],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cases = [case for case in load_session(tmp_path / "report.json").runs[0] if case.check_class]
    assert [case.parameters for case in cases] == [
        {"algorithm": "ring", "size": "4x8", "library.compiler": compiler} for compiler in ("gcc", "clang")
    ]
    # Changes by -P make another measurement; repetition does not.
    assert all(".repeat_no=0" in case.added and case.kind[-1] == {".time_limit=1m"} for case in cases)
    assert cases[0].kind != cases[1].kind
