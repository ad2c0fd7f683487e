"""The installer is asked once for all checks, and an environment that fails stops only the checks in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spack_envs.installer import state, table
from tests.waiting import PATIENCE_S

SETTINGS = """
site_configuration = {
    "systems": [{"name": "embedded", "hostnames": [".*"], "partitions": [{
        "name": "here", "scheduler": "local", "launcher": "local", "environs": ["app", "mpi-io", "packaged"],
    }]}],
    "environments": [{"name": "app"}, {"name": "mpi-io"}, {"name": "packaged"}],
    "general": [{"trap_job_errors": True}],
}
"""
CHECK = """
import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.spack import SpackPrograms


@rfm.simple_test
class Probe(rfm.RunOnlyRegressionTest, SpackPrograms):
    valid_systems, valid_prog_environs = ["*"], ["*"]
    executable = "true"

    @rfmb.sanity_function
    def ran(self):
        return True
"""


@pytest.fixture
def complete(tmp_path, monkeypatch):
    """`app` is installed and up to date; `mpi-io` is not, and there is no Spack to install it."""
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("KAPPA_SPACK_ROOT", str(tmp_path / "none"))
    monkeypatch.delenv("KAPPA_SPACK_CONFIG", raising=False)
    environment = state.Site("embedded").environment(table.read("app"))
    folder = environment.view / "bin"
    folder.mkdir(parents=True)
    for program in environment.table.programs:
        (folder / program).touch(mode=0o755)
    for artefact in state.ARTEFACTS:
        (environment.folder / artefact).touch()
    environment.write_record(digest=environment.digest())
    return environment


def test_only_the_checks_of_a_failed_environment_fail(complete, tmp_path):
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "probe.py").write_text(CHECK)
    report = tmp_path / "report.json"
    subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", tmp_path / "settings.py", "-c", tmp_path / "probe.py",
            "-r", "--prefix", tmp_path, f"--report-file={report}",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "PYTHONPATH": str(table.REPOSITORY)},
    )  # fmt: skip
    cases = json.loads(report.read_text())["runs"][-1]["testcases"]
    (fixture,) = [case for case in cases if case["name"].startswith("SpackInstall")]
    probes = {case["environ"]: case for case in cases if case["name"] == "Probe"}
    assert {name: case["result"] for name, case in probes.items()} == {
        "app": "pass", "mpi-io": "fail", "packaged": "pass",
    }  # fmt: skip
    said = Path(fixture["stagedir"], "rfm_job.err")
    assert f"could not install the environment mpi-io: see the end of {said}" in probes["mpi-io"]["fail_reason"]
    assert "install: mpi-io: no bin/spack in" in said.read_text()
    assert Path(fixture["outputdir"], "app/spack.lock").is_file()
