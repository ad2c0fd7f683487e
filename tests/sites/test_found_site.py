"""A site that the survey made, as ReFrame reads it: each kind of node in one partition is requested alone."""

import os
import pathlib
import subprocess
import sys

from tests.sites.dry_run import REPOSITORY
from tests.unit.survey.clusters import Cluster, node, partition, probe, site_in, surveyed


def test_generations_in_one_partition_are_looked_at_and_asked_for_by_themselves(tmp_path):
    nodes = [node("m1", features="milan"), node("m2", features="milan"), node("g1", features="genoa")]
    kinds = {f"batch-{kind}": probe("NAME", programs=["fio"]) for kind in ("milan", "genoa")}
    found = surveyed(Cluster("\n".join(nodes), partition("batch", "m[1-2],g1"), kinds))
    folder = site_in(tmp_path / "site_configs", found).folder
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", folder / "settings.py",
            "-c", REPOSITORY / "reframe_checks/node", "-R", "--mode=smoke", "--dry-run", "--prefix", tmp_path,
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "SLURM_CONF": os.devnull},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    states = tmp_path.glob("stage/made/*/*/PartitionState*/rfm_job.sh")
    scripts = {path.parent.parent.parent.name: path for path in states}
    assert set(scripts) == {"batch-milan", "batch-genoa"}
    for name, names in (("batch-milan", "'m[1-2]'"), ("batch-genoa", "g1")):
        assert f"--partition=batch --format='%N|%T|%E' --nodes={names}" in scripts[name].read_text()
        health = next(tmp_path.glob(f"stage/made/{name}/*/PartitionHealth*/rfm_job.sh")).read_text()
        assert f"#SBATCH --constraint={name.removeprefix('batch-')}" in health
