"""What keeps every job from running is said before any is submitted: once, with what to do."""

import pathlib
import shutil

import pytest
import yaml

from kappa.conduct import preflight
from kappa.ground.errors import InputError
from kappa.sites.places import REPOSITORY


@pytest.fixture
def site(tmp_path):
    """Two partitions, of which one has another name in Slurm and options of its own."""
    document = yaml.safe_load((REPOSITORY / "site_configs/cpu-infiniband/site.yaml").read_text())
    document["partitions"]["large"] = {
        **document["partitions"]["cpu"], "slurm_partition": "big", "access": ["--account=p2 --exclusive"]
    }  # fmt: skip
    folder = tmp_path / "site_configs/two"
    folder.mkdir(parents=True)
    (folder / "site.yaml").write_text(yaml.safe_dump(document))
    return folder


@pytest.fixture
def sbatch(tmp_path, monkeypatch):
    """Gives what puts a script in the place of sbatch, and later the words that it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def put(script: str) -> pathlib.Path:
        called = tmp_path / "called"
        (folder / "sbatch").write_text(f'#!/bin/sh\necho "$*" >> {called}\n{script}\n')
        (folder / "sbatch").chmod(0o755)
        return called

    return put


def complaint(site, *options, mode="nightly"):
    with pytest.raises(InputError) as raised:
        preflight.require_ready(site, site / "results", mode, options)
    lines = str(raised.value).splitlines()
    assert len(lines) <= 5
    return lines


def test_every_partition_is_asked_as_its_jobs_will_be(sbatch, site):
    called = sbatch("echo 'sbatch: Job 1 to start at 2026-11-22T19:24:53' >&2")
    preflight.require_ready(site, site, "nightly", ["-J", "reservation=r1", "-Jq=long", "-J", "nodelist=n7"])
    cpu, large = sorted(called.read_text().splitlines(), key=lambda line: "=big" in line)
    assert "--partition=cpu --reservation=r1 -qlong" in cpu
    assert "--partition=big --account=p2 --exclusive --reservation=r1 -qlong" in large
    assert all("--test-only" in line and "nodelist" not in line for line in (cpu, large))


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("Invalid account or account/partition combination specified", "sacctmgr show associations"),
        ("Invalid qos specification", "-J qos="),
        ("Invalid partition name specified", "sinfo -s"),
        ("User's group not permitted to use this partition", "--system="),
        ("Requested reservation is invalid", "scontrol show reservation"),
        ("Invalid license specification", "scontrol show licenses"),
        ("Unable to contact slurm controller (connect failure)", "scontrol ping"),
    ],
)
def test_equal_reasons_are_one_line_with_the_remedy(sbatch, site, said, remedy):
    sbatch(f'echo "allocation failure: {said}" >&2; exit 1')
    [line] = complaint(site)
    assert f"Slurm takes no job in cpu, large: {said}; " in line and remedy in line


def test_what_one_partition_refuses_is_said_of_that_one(sbatch, site):
    said = "allocation failure: Invalid qos specification"
    sbatch(f'case "$*" in *--partition=big*) echo "{said}" >&2; exit 1; esac')
    [line] = complaint(site)
    assert "in large: Invalid qos" in line
    preflight.require_ready(site, site, "nightly", ["--system=two:cpu"])
    preflight.require_ready(site, site, "nightly", ["--system", "two:cpu"])


@pytest.mark.parametrize("said", ["Requested node configuration is not available", "Job has no GPUs"])
def test_what_is_said_of_nodes_or_of_the_job_tried_is_left_to_the_checks(sbatch, site, said):
    sbatch(f'echo "allocation failure: {said}" >&2; exit 1')
    preflight.require_ready(site, site, "nightly", [])


def test_a_controller_that_does_not_answer(sbatch, site, monkeypatch):
    sbatch("exec sleep 600")
    monkeypatch.setattr(preflight, "ANSWER_S", 0.2)
    [line] = complaint(site)
    assert "cpu, large: " in line and "did not end within 0.2 s" in line and "slurmctld" in line


def test_without_slurm(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    [line] = complaint(site)
    assert "no such program" in line and "`path` of site.yaml" in line


def test_an_unknown_mode_and_a_full_disk_are_said_together(site, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(100 << 30, 99 << 30, 12 << 20))
    mode, disk = complaint(site, mode="nightli")
    assert "did you mean 'nightly'?" in mode
    assert f"12 MiB are free in {site}" in disk


def test_a_simulated_site_needs_the_simulator_and_no_slurm(sbatch, tmp_path, monkeypatch):
    called = sbatch("exit 1")
    site = REPOSITORY / "site_configs/simulated"
    with pytest.raises(InputError, match=r"SimGrid is not installed.*libsimgrid-dev"):
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        preflight.require_ready(site, tmp_path, "nightly", [])
    (tmp_path / "bin/smpirun").write_text("#!/bin/sh\n")
    (tmp_path / "bin/smpirun").chmod(0o755)
    preflight.require_ready(site, tmp_path, "nightly", [])
    assert not called.exists()


def test_an_unknown_fabric_is_named_with_the_nearest(tmp_path):
    site = REPOSITORY / "site_configs/simulated"
    with pytest.raises(InputError, match="no partition 'hdr-9', did you mean 'hdr-8'"):
        preflight.require_sense(site, tmp_path, "nightly", ["--system=simulated:hdr-9"])
