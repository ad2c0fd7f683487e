"""Installs `mpi-io` and `app` with a real Spack and runs every check that they serve on the embedded cluster.

Run by `make test-spack` only.
"""

import json
import os
import subprocess

import pytest

from spack_envs.installer import table

pytestmark = pytest.mark.skipif(
    not os.environ.get("KAPPA_SPACK_ROOT"), reason="KAPPA_SPACK_ROOT names no Spack: `make test-spack` says more"
)
ENVIRONMENTS = ("mpi-io", "app")


def command(*words):
    return subprocess.run(words, cwd=table.REPOSITORY, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """ReFrame's report of one run of all checks in the environments that Spack built."""
    installed = command("spack_envs/install", "embedded", *ENVIRONMENTS)
    assert installed.returncode == 0, installed.stdout[-4000:] + installed.stderr
    cluster = "site_configs/embedded/cluster"
    running = command(cluster, "status").returncode == 0
    if not running:
        assert command(cluster, "up").returncode == 0
    file = tmp_path_factory.mktemp("report") / "report.json"
    try:
        command(
            ".venv/bin/reframe", "-C", "site_configs/embedded/settings.py", "-c", "reframe_checks", "-R", "-r",
            "--mode=nightly", "-p", "mpi-io|app", f"--report-file={file}",
        )  # fmt: skip
    finally:
        if not running:
            command(cluster, "down")
    print(command(".venv/bin/python", "-m", "reports", "verdict", str(file)).stdout)
    return json.loads(file.read_text())


def cases(report, **keys):
    found = report["runs"][-1]["testcases"]
    return [case for case in found if all(case.get(key) == value for key, value in keys.items())]


def test_a_second_call_has_nothing_to_do():
    again = command("spack_envs/install", "embedded", *ENVIRONMENTS)
    assert again.stdout.count("up to date") == len(ENVIRONMENTS), again.stdout


def test_every_case_passed(report):
    assert {case["environ"] for case in cases(report)} >= set(ENVIRONMENTS)
    assert [(case["name"], case["fail_reason"]) for case in cases(report) if case["result"] != "pass"] == []


def test_the_session_asked_the_installer_once(report):
    (fixture,) = [case for case in cases(report) if case["name"].startswith("SpackInstall")]
    for name in ENVIRONMENTS:
        assert os.path.isfile(os.path.join(fixture["outputdir"], name, "spack.lock"))


def test_the_checksum_of_the_lock_file_is_kept_with_a_result(report):
    for case in cases(report, environ="mpi-io", check_class="OsuLatency"):
        assert any(path.endswith("mpi-io/spack.lock") for path in case["provenance"]["files"])
