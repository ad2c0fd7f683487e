"""The installer is asked once for all checks, and an environment that fails stops only the checks in it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kappa.core.vocabulary import spack_tables
from spack_envs.installer import state
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
    return installed()


@pytest.fixture
def chosen(complete, monkeypatch):
    """The same with a spec that a person chose, beside the suite's own."""
    monkeypatch.setenv("KAPPA_SPACK_SPEC", "emt-app ^mpich")
    return installed()


def installed():
    environment = state.SpackSite("embedded").environment(spack_tables.read("app"))
    folder = environment.view / "bin"
    folder.mkdir(parents=True)
    for program in environment.table.programs:
        (folder / program).touch(mode=0o755)
    for artefact in state.ARTEFACTS:
        (environment.folder / artefact).touch()
    environment.write_record(digest=environment.digest())
    return environment


def run_probes(environment, folder):
    """The cases of ReFrame's report, with ``environment`` in the place of `app`."""
    (folder / "settings.py").write_text(SETTINGS.replace('"app"', f'"{environment.name}"'))
    (folder / "probe.py").write_text(CHECK)
    report = folder / "report.json"
    subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", folder / "settings.py", "-c", folder / "probe.py",
            "-r", "--prefix", folder, f"--report-file={report}",
        ],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "PYTHONPATH": str(spack_tables.REPOSITORY)},
    )  # fmt: skip
    return json.loads(report.read_text())["runs"][-1]["testcases"]


def test_only_the_checks_of_a_failed_environment_fail(complete, tmp_path):
    cases = run_probes(complete, tmp_path)
    (fixture,) = [case for case in cases if case["name"].startswith("SpackInstall")]
    probes = {case["environ"]: case for case in cases if case["name"] == "Probe"}
    assert {name: case["result"] for name, case in probes.items()} == {
        "app": "pass", "mpi-io": "fail", "packaged": "pass",
    }  # fmt: skip
    said = Path(fixture["stagedir"], "rfm_job.err")
    assert f"could not install the environment mpi-io: see the end of {said}" in probes["mpi-io"]["fail_reason"]
    assert "install: mpi-io: no bin/spack in" in said.read_text()
    assert Path(fixture["outputdir"], "app/spack.lock").is_file()


def test_an_environment_with_a_chosen_spec_is_asked_for_and_kept_by_its_own_name(chosen, tmp_path):
    cases = run_probes(chosen, tmp_path)
    (fixture,) = [case for case in cases if case["name"].startswith("SpackInstall")]
    assert {case["environ"]: case["result"] for case in cases if case["name"] == "Probe"}[chosen.name] == "pass"
    assert chosen.name.startswith("app-")
    assert Path(fixture["outputdir"], chosen.name, "spack.lock").is_file()
