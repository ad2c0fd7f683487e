"""The steps of ``docs/checks.md`` give a check: one file, references, and nothing else."""

import os
import pathlib
import subprocess
import sys

from tests.worked_check import CHECK, written_into


def test_the_check_of_the_page_is_found_and_has_its_reference(tmp_path):
    suite = tmp_path / "suite"
    environment = written_into(suite)
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor",
            "-C", suite / "site_configs/embedded/settings.py", "-c", suite / "reframe_checks", "-R", "--dry-run",
            "-n", CHECK, "--prefix", tmp_path,
        ],
        env={**os.environ, "KAPPA_SPACK_STATE": str(tmp_path / "no-spack"), **environment},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # One case on each partition of the site that takes jobs of all nodes.
    assert "Ran 3/3 test case(s)" in done.stdout
    assert "WARNING" not in done.stdout
    assert done.stdout.count("P: step_time: None ms (r:20000, l:None, u:0)") == 3, done.stdout
    for script in tmp_path.glob(f"stage/**/{CHECK}_*/rfm_job.sh"):
        before, step, after, look = script.read_text().splitlines()[-4:]
        assert "node_watch.sh ]] || srun " in look
        assert (before, step, after) == ("date +%s.%N > before.txt", "srun true", "date +%s.%N > after.txt")
