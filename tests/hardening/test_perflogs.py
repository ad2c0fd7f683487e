"""ReFrame's perflogs, tables of what jobs said, are written by no site: their fields could be formulas."""

import os
import pathlib
import subprocess
import sys

from tests.hardening.test_validate import REPOSITORY
from tests.sites.dry_run import settings

CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Echo(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs, executable, local = ["*"], ["*"], "echo", True
    sanity_patterns = sn.assert_true(True)
    perf_variables = {"figure": sn.make_performance_function(lambda: 1, "=cmd()|s")}
"""


def test_no_perflogs_are_written(tmp_path, monkeypatch):
    # Settings put a site's programs first on PATH.
    monkeypatch.setenv("PATH", os.environ["PATH"])
    sites = [path.parent.name for path in (REPOSITORY / "site_configs").glob("*/settings.py")]
    [logging] = {repr(settings(site)["logging"]) for site in sites}
    (tmp_path / "settings.py").write_text(f"site_configuration = {{'logging': {logging}}}")
    (tmp_path / "check.py").write_text(CHECK)
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "check.py", "-r",
            "--report-file=report.json",
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran 1/1 test case(s)" in done.stdout
    assert "=cmd()" in (tmp_path / "report.json").read_text()
    assert not (tmp_path / "perflogs").exists()
