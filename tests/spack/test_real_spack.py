"""Installs `mpi-io`, `app` and `rated` with a real Spack and runs the checks that they serve on an embedded cluster.

Run by `make test-spack` only. Whatever is already installed and up to date is taken as it is.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from kappa.core.vocabulary import spack_tables
from spack_envs.installer.spack import Spack, find
from spack_envs.installer.state import SpackSite, state_root

pytestmark = pytest.mark.skipif(
    not os.environ.get("KAPPA_SPACK_ROOT"), reason="KAPPA_SPACK_ROOT names no Spack: `make test-spack` says more"
)
ENVIRONMENTS = ("mpi-io", "app", "rated")
RESULTS = spack_tables.REPOSITORY / "results/spack"
CHECKS = {
    "OsuLatency": "mpi-io", "OsuBandwidth": "mpi-io", "OsuAllreduce": "mpi-io", "Hpl": "mpi-io", "Hpcc": "mpi-io",
    "Stream": "mpi-io", "IorEasy": "mpi-io", "IorHard": "mpi-io", "Mdtest": "mpi-io", "Iozone": "mpi-io",
    "BtIo": "mpi-io", "EmtScaling": "app", "EmtCorrectness": "app",
    "HpcgShort": "rated", "Io500Short": "rated",
}  # fmt: skip


def command(*words, **environment):
    started = time.monotonic()
    done = subprocess.run(
        words, cwd=spack_tables.REPOSITORY, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    print(f"\n{' '.join(words[:6])}: {time.monotonic() - started:.1f} s")
    return done


@pytest.fixture(scope="module")
def attempt():
    return command("spack_envs/install", "embedded", *ENVIRONMENTS)


def test_the_environments_are_installed(attempt):
    assert attempt.returncode == 0, attempt.stdout[-4000:] + attempt.stderr
    for line in attempt.stdout.splitlines():
        if line.startswith(ENVIRONMENTS):
            print(line)


@pytest.fixture(scope="module")
def installation(attempt):
    if attempt.returncode:
        pytest.skip("nothing is installed: the first test says why")


@pytest.fixture(scope="module")
def session(installation, tmp_path_factory):
    """ReFrame's report of one run of the checks in the environments that Spack built, and what the verdict says."""
    here = {"KAPPA_CLUSTER_STATE": str(tmp_path_factory.mktemp("cluster")), "KAPPA_RESULTS": str(RESULTS)}
    cluster = "site_configs/embedded/cluster"
    started = command(cluster, "up", **here)
    assert started.returncode == 0, started.stderr
    report = RESULTS / "report.json"
    report.unlink(missing_ok=True)
    chosen = [word for name in ("PartitionState", *CHECKS) for word in ("-n", f"^{name}(%|$)")]
    try:
        done = command(
            ".venv/bin/reframe", "-C", "site_configs/embedded/settings.py", "-c", "reframe_checks", "-R", "-r",
            # With --mode, which would be shorter, ReFrame 4.10 takes no notice of -p.
            "--session-extras=mode=nightly", "-p", f"^({'|'.join(ENVIRONMENTS)})$", *chosen, f"--report-file={report}",
            **here,
        )  # fmt: skip
    finally:
        command(cluster, "down", "--purge", **here)
    assert report.is_file(), done.stdout[-4000:] + done.stderr
    verdict = command(".venv/bin/kappa", "show", str(report), "-v", **here).stdout
    print(verdict)
    return json.loads(report.read_text()), verdict


@pytest.fixture(scope="module")
def cases(session):
    return session[0]["runs"][-1]["testcases"]


def test_a_second_call_has_nothing_to_do(installation):
    again = command("spack_envs/install", "embedded", *ENVIRONMENTS)
    assert again.stdout.count("up to date") == len(ENVIRONMENTS), again.stdout


@pytest.fixture(scope="module")
def build_cache(installation, tmp_path_factory):
    """Spack's configuration of a build cache that holds what was installed."""
    environment = SpackSite("embedded").environment(spack_tables.read("mpi-io"))
    cache = tmp_path_factory.mktemp("cache")
    Spack(find(environment), environment).run("buildcache", "push", "--unsigned", str(cache), log=cache / "log")
    return {"mirrors": {"cache": {"url": cache.as_uri(), "source": False, "signed": False}}}


@pytest.fixture(scope="module")
def upstream(installation):
    return {"upstreams": {"first": {"install_tree": str(state_root() / "embedded/store")}}}


@pytest.mark.parametrize("source", ["build_cache", "upstream"])
def test_nothing_is_built_that_the_site_has(source, request, tmp_path):
    (section, configuration), *_ = request.getfixturevalue(source).items()
    (tmp_path / f"{section}.yaml").write_text(json.dumps({section: configuration}))
    # The external's prefix is part of what Spack compares, and the site's `prepare` puts it beside the installation.
    packages = Path(state_root(), "embedded/facts/packages.yaml").read_text()
    (tmp_path / "packages.yaml").write_text(packages.replace("openmpi:", "openmpi::", 1))
    # Not longer than the first: Spack writes the new prefix over the old one.
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="k") as state:
        config = ":".join(filter(None, [os.environ.get("KAPPA_SPACK_CONFIG"), str(tmp_path)]))
        done = command("spack_envs/install", "embedded", "mpi-io", KAPPA_SPACK_STATE=state, KAPPA_SPACK_CONFIG=config)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr
        assert "Executing phase" not in Path(state, "embedded/mpi-io/install.log").read_text()
        assert "Synopsis" in command(f"{state}/embedded/mpi-io/view/bin/ior", "-h").stdout


def test_every_case_passed(cases):
    assert [(case["display_name"], case["fail_reason"]) for case in cases if case["result"] != "pass"] == []


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_ran_the_program_of_its_environment(cases, check):
    ran = [case for case in cases if case.get("check_class") == check]
    assert ran
    for case in ran:
        assert case["environ"] == CHECKS[check]
        assert f"/{CHECKS[check]}/view/" in case["provenance"]["executable"]
        assert any(path.endswith(f"/{CHECKS[check]}/spack.lock") for path in case["provenance"]["files"])
        assert len(case["provenance"]["spec"]["hash"]) == 32 and "gcc@" in case["provenance"]["spec"]["compiler"]


def test_one_call_of_the_installer_served_all_checks(cases):
    (fixture,) = [case for case in cases if case["name"].startswith("SpackInstall")]
    for name in ENVIRONMENTS:
        assert os.path.isfile(os.path.join(fixture["outputdir"], name, "spack.lock"))
    checks = [case for case in cases if case.get("check_class") in CHECKS]
    assert len(checks) >= 20
    own = [
        sum(case[f"time_{phase}"] or 0 for phase in ("setup", "compile", "sanity", "performance")) for case in checks
    ]
    installer = fixture["job_completion_time_unix"] - fixture["job_submit_time"]
    print(f"{len(checks)} cases after one call of the installer, which took {installer:.1f} s; ReFrame's own time for")
    print(f"each case without waiting and running: median {statistics.median(own):.2f} s, longest {max(own):.2f} s")


def test_what_is_not_provided_is_named_with_the_reason(session):
    said = " ".join(session[1].split())
    assert "OsuDeviceLatency" in said
    assert "no MPI here moves GPU memory" in said
