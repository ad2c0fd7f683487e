"""Causes that keep every job from running are reported before any is submitted: once, with the remedy."""

import pathlib
import shutil

import pytest
import yaml

from kappa.app.conduct import preflight
from kappa.app.conduct.node_commands import NodeCommands
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE as REPOSITORY
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import describe


@pytest.fixture
def site(tmp_path):
    """Two partitions; one has another name in Slurm and its own options."""
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

    for name in ("sacct", "squeue", "scontrol"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return put


def complaint(site, *options, mode="nightly"):
    with pytest.raises(InputError) as raised:
        preflight.require_ready(Site(site), site / "results", mode, options)
    lines = str(raised.value).splitlines()
    assert len(lines) <= 5
    return lines


def test_every_partition_is_asked_as_its_jobs_will_be(sbatch, site):
    called = sbatch("echo 'sbatch: Job 1 to start at 2026-11-22T19:24:53' >&2")
    preflight.require_ready(Site(site), site, "nightly", ["-J", "reservation=r1", "-Jq=long", "-J", "nodelist=n7"])
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
    assert f"Slurm accepts no job in cpu, large: {said}; " in line and remedy in line


@pytest.mark.parametrize("limit", ["AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit", "QOSGrpSubmitJobsLimit"])
def test_at_the_limit_of_ones_jobs_the_run_waits_for_those_that_end(sbatch, site, tmp_path, limit):
    """As Slurm 22.05 says it, of an association or of a QOS."""
    said = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    sbatch(f'echo "sbatch: error: {limit}\nallocation failure: {said}" >&2; exit 1')
    [line] = complaint(site)
    assert f"in cpu, large: {limit}: {said}; " in line and "`max_jobs`" in line
    (tmp_path / "bin/squeue").write_text("#!/bin/sh\necho 12\n")
    preflight.require_ready(Site(site), site, "nightly", [])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1", "Connection refused"),
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", "accounting storage is disabled"),
        ("echo 'sacct: error: Access/permission denied' >&2; exit 1", "sacct: error: Access/permission denied;"),
        ("exec sleep 600", "did not end within 3 s"),
    ],
)
def test_without_accounting_nothing_is_submitted_that_sacct_would_tell_of(
    sbatch, site, tmp_path, monkeypatch, answer, said
):
    sbatch("sleep 0")
    (tmp_path / "bin/sacct").write_text(f"#!/bin/sh\n{answer}\n")
    if "sleep" in answer:
        monkeypatch.setattr(preflight, "ANSWER_S", 3)  # the other commands have to answer within it
    [line] = complaint(site)
    assert "accounting does not report jobs: " in line and said in line and "`scheduler: squeue`" in line
    assert "scontrol ping" not in line
    path = site / "site.yaml"
    document = yaml.safe_load(path.read_text())
    for partition in document["partitions"].values():
        partition["scheduler"] = "squeue"
    path.write_text(yaml.safe_dump(document))
    preflight.require_ready(Site(site), site, "nightly", [])


@pytest.mark.parametrize("option", ["-M far", "-Mfar", "--clusters=far", "--cluster far"])
def test_another_cluster_is_not_for_access_alone(sbatch, site, option):
    called = sbatch('echo "$SLURM_CLUSTERS"')
    text = (site / "site.yaml").read_text()
    (site / "site.yaml").write_text(text.replace("--account=p2 --exclusive", option))
    [line] = complaint(site)
    assert "`access` of large names a cluster" in line and "`cluster: NAME`" in line
    assert not called.exists()


def test_every_command_is_told_the_cluster(sbatch, site, tmp_path):
    sbatch("[ $SLURM_CLUSTERS = far ]")
    (tmp_path / "bin/sacct").write_text('#!/bin/sh\n[ "$1" = --clusters=far ] || { echo "no: $*"; exit 1; }\n')
    path = site / "site.yaml"
    path.write_text(f"cluster: far\n{path.read_text()}")
    preflight.require_ready(Site(site), site, "nightly", [])


def test_what_one_partition_refuses_is_said_of_that_one(sbatch, site):
    said = "allocation failure: Invalid qos specification"
    sbatch(f'case "$*" in *--partition=big*) echo "{said}" >&2; exit 1; esac')
    [line] = complaint(site)
    assert "in large: Invalid qos" in line
    preflight.require_ready(Site(site), site, "nightly", ["--system=two:cpu"])
    preflight.require_ready(Site(site), site, "nightly", ["--system", "two:cpu"])


@pytest.mark.parametrize("said", ["Requested node configuration is not available", "Job has no GPUs"])
def test_what_is_said_of_nodes_or_of_the_job_tried_is_left_to_the_checks(sbatch, site, said):
    sbatch(f'echo "allocation failure: {said}" >&2; exit 1')
    preflight.require_ready(Site(site), site, "nightly", [])


@pytest.mark.parametrize(("offset_s", "said"), [(86_400, "behind"), (-300, "ahead of"), (2, ""), (-2, "")])
def test_a_clock_that_is_not_slurms_is_said_before_any_job(sbatch, site, offset_s, said):
    sbatch("exit 0")
    scontrol = shutil.which("scontrol")
    told = f'echo "Configuration data as of $(date --date="{offset_s} sec" +%s)"'
    pathlib.Path(scontrol).write_text(f"#!/bin/sh\n{told}\n")
    if not said:
        return preflight.require_ready(Site(site), site, "nightly", [])
    [line] = complaint(site)
    assert "clock of this machine" in line and said in line


@pytest.mark.parametrize("said", ["", "slurmctld is down", "Configuration data as of 2026-11-26T13:27:37\n"])
def test_a_clock_that_is_not_told_is_no_problem(said):
    assert preflight.apart(said, 0, 1) == ""


def test_a_controller_that_does_not_answer(sbatch, site, monkeypatch):
    sbatch("exec sleep 600")
    monkeypatch.setattr(preflight, "ANSWER_S", 0.2)
    [line] = complaint(site)
    assert "cpu, large: " in line and "did not end within 0.2 s" in line and "slurmctld" in line


def test_without_slurm(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    [line] = complaint(site)
    assert "no such program" in line and "`path` in site.yaml" in line and "module" in line


@pytest.fixture
def srun(sbatch, tmp_path):
    """Gives what has nodes answer: of each partition ``sees``, ``lacks`` or nothing; srun runs the look itself."""
    sbatch("exit 0")

    def answer(**nodes: str) -> None:
        branches = "".join(f'*--partition={partition}" "*) nodes="{said}" ;;' for partition, said in nodes.items())
        script = f"""#!/bin/bash
case "$* " in {branches} esac
[[ $nodes ]] || {{ echo "srun: error: Unable to allocate resources: Requested nodes are busy" >&2; exit 1; }}
while [[ $1 != sh ]]; do shift; done
echo "a site's profile says hello"
for node in $nodes; do
    look=("$@")
    case $node in lacks*) look[4]=/nowhere/file ;; esac
    SLURMD_NODENAME=$node "${{look[@]}}"
done
"""
        (tmp_path / "bin/srun").write_text(script)
        (tmp_path / "bin/srun").chmod(0o755)

    return answer


def test_results_that_no_node_sees_are_said_before_any_job(srun, site):
    srun(cpu="lacks1 lacks2", big="lacks3")
    [line] = complaint(site)
    assert f"do not see {site}, where jobs run (asked: lacks1, lacks2, lacks3)" in line and "KAPPA_RESULTS" in line


@pytest.mark.parametrize(
    "nodes", [{"cpu": "lacks1 sees1"}, {"cpu": "lacks1", "big": "sees1"}, {"cpu": "lacks1"}, {}],
)  # fmt: skip
def test_a_node_that_lacks_them_is_the_checks_to_name(srun, site, nodes):
    srun(**nodes)
    preflight.require_ready(Site(site), site / "results", "nightly", [])
    assert not list(site.glob(".seen-by-nodes-*"))


def test_an_unknown_mode_and_a_full_disk_are_said_together(site, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(100 << 30, 99 << 30, 12 << 20))
    mode, disk = complaint(site, mode="nightli")
    assert "did you mean 'nightly'?" in mode
    assert f"{site} has 12 MiB free" in disk


def test_a_simulated_site_needs_the_simulator_and_no_slurm(sbatch, tmp_path, monkeypatch):
    called = sbatch("exit 1")
    site = REPOSITORY / "site_configs/simulated"
    with pytest.raises(InputError, match=r"SimGrid is not installed.*libsimgrid-dev"):
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        preflight.require_ready(Site(site), tmp_path, "nightly", [])
    (tmp_path / "bin/smpirun").write_text("#!/bin/sh\n")
    (tmp_path / "bin/smpirun").chmod(0o755)
    preflight.require_ready(Site(site), tmp_path, "nightly", [])
    assert not called.exists()


def test_an_unknown_fabric_is_named_with_the_nearest(tmp_path):
    site = REPOSITORY / "site_configs/simulated"
    with pytest.raises(InputError, match="no partition 'hdr-9', did you mean 'hdr-8'"):
        preflight.require_sense(describe(site), tmp_path, "nightly", ["--system=simulated:hdr-9"])


def test_nodes_are_asked_by_a_job_of_their_own_in_a_job_too(site, monkeypatch):
    """A night that Slurm starts is a job on another node."""
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_CPUS_PER_TASK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    commands = NodeCommands(describe(site))
    assert commands.run(["sh", "-c", "env | grep ^SLURM_"]) == "SLURM_CONF=/etc/slurm/slurm.conf\n"
