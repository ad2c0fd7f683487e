"""The output behind a check's figures is kept with the result, with a note of other programs' lines in it."""

import json
import os
import pathlib
import subprocess
import sys

from tests.unit.reports.samples import REPOSITORY

CHECKS = """
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError
from reframe_checks.base.check import SystemCheck
from reframe_checks.parsers.text import Output

class Reads(SystemCheck):
    family, executable, informational, local = "node/files", "true", ["size"], True

    @rfmb.run_before("run")
    def write(self):
        self.postrun_cmds = ["echo one > one.txt", "echo two > two.txt", "echo unread > unread.txt"]

    @rfmb.performance_function("B")
    def size(self):
        return len(self.text)

@rfm.simple_test
class Whole(Reads):
    @rfmb.sanity_function
    def read(self):
        self.text = self.output_text("one.txt") + self.output_text("two.txt") + self.output_text()
        return True

@rfm.simple_test
class Tolerant(Reads):
    @rfmb.sanity_function
    def read(self):
        self.text = self.output_text("one.txt")
        try:
            return self.output_text("never-written.txt")
        except SanityError:
            return True

@rfm.simple_test
class Talked(Reads):
    @rfmb.run_before("run")
    def talk(self):
        self.executable, self.executable_opts = "printf", [r"'srun: one\\nsrun: two\\n1\\n'"]

    @rfmb.sanity_function
    def read(self):
        self.text = self.parsed(lambda text: Output.read("output", text).lines[0], self.output_text())
        return self.text == "1"
"""


def test_files_that_are_read_are_kept_and_missing_ones_do_no_harm(tmp_path):
    (tmp_path / "settings.py").write_text("site_configuration = {}")
    (tmp_path / "checks.py").write_text(CHECKS)
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "checks.py",
            "-r", "--report-file=report.json", "--output=output", "--stage=stage",
        ],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((tmp_path / "report.json").read_text())["runs"][0]["testcases"]
    kept = {case["name"]: {path.name for path in pathlib.Path(case["outputdir"]).glob("*.txt")} for case in cases}
    assert kept == {
        "Whole": {"provenance.txt", "one.txt", "two.txt"}, "Tolerant": {"provenance.txt", "one.txt"},
        "Talked": {"provenance.txt"},
    }  # fmt: skip
    assert {case["name"]: case["notes"] for case in cases} == {
        "Whole": [], "Tolerant": [], "Talked": ["2 lines of Slurm in the output set aside, the first: srun: one"],
    }  # fmt: skip
