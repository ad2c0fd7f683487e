"""Where a core has two hardware threads, a task for all cores gets one thread of each: a composed site's job script."""

import pathlib
import re
import subprocess
import sys

from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]


def test_slurm_is_asked_for_cores_and_not_for_threads(tmp_path):
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "-C", REPOSITORY / "tests/data/sites/smt.py",
            "-c", REPOSITORY / "reframe_checks/compute/stress_ng.py", "--dry-run", "--prefix", tmp_path,
            "--keep-stage-files",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (script,) = tmp_path.rglob("rfm_job.sh")
    options = set(re.findall(r"^#SBATCH (.*)$", script.read_text(), re.MULTILINE))
    assert {"--nodes=4", "--ntasks-per-node=1", "--cpus-per-task=8", "--hint=nomultithread"} <= options
