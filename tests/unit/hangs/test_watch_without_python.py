"""A job whose first node has no Python that runs goes on without a watch, and records where Python works."""

import subprocess

from reframe_checks.base import job_files

SCRIPT = "set -euo pipefail; . ./watch_nodes.sh 5 kappa-measure srun; echo the job goes on"


def test_the_job_goes_on_and_records_where_python_works(tmp_path):
    # srun fails with the node on which the command fails.
    for name, line in (("kappa-node", "exit 1"), ("srun", "echo node2; exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "watch_nodes.sh").write_text((job_files.FOLDER / "watch_nodes.sh").read_text())
    slurm = {"SLURM_JOB_ID": "7", "KAPPA_MEASURES": "7", "SLURM_NNODES": "2"}
    done = subprocess.run(
        ["bash", "-c", SCRIPT], env={"PATH": f"{tmp_path}:/usr/bin:/bin", **slurm}, cwd=tmp_path,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the job goes on\n"), done.stderr
    assert "the watch of this job did not start" in done.stderr
    assert (tmp_path / "kappa_pythons").read_text() == "node2\n"
