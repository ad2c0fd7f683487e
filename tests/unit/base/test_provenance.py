import subprocess

import pytest

from kappa.core.ground.folders import suite_revision
from reframe_checks.base.evidence import PROVENANCE_FILE
from reframe_checks.base.job_files import FOLDER
from reframe_checks.parsers.job_scripts import provenance
from reports.history.rows import FACTS
from tests.waiting import PATIENCE_S

TEXT = """hostname=node1
nodelist=node[1-2,7]
kernel=Linux 6.1.0
cpu_model=Some CPU = fast
memory_kib=16384
mpi=mpirun (Open MPI) 4.1.4
sha256=aaaa  /usr/bin/fio
sha256=bbbb  /opt/lib/helper one.py
"""


def test_the_first_hash_is_the_executable():
    assert provenance(TEXT) == {
        "hostname": "node1",
        "nodelist": ["node1", "node2", "node7"],
        "kernel": "Linux 6.1.0", "cpu_model": "Some CPU = fast", "memory_kib": "16384",
        "mpi": "mpirun (Open MPI) 4.1.4", "sha256": "aaaa", "executable": "/usr/bin/fio",
        "files": {"/opt/lib/helper one.py": "bbbb"},
    }  # fmt: skip


@pytest.mark.parametrize("nodes", ["node[1-999999999]", "node[1-[2-3]]", "@all", ""])
def test_a_list_of_nodes_that_is_none_is_refused(nodes):
    with pytest.raises(ValueError, match="a list of"):
        provenance(f"nodelist={nodes}\n")


def test_suite_revision_is_known():
    assert suite_revision()


NVRM = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version:  12.2.0\n"


def collected(folder, files):
    """The job script's record on a machine with these drivers' files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    script = (FOLDER / "record_provenance.sh").read_text(encoding="utf-8")
    script = script.replace("/proc/driver", f"{folder}/proc/driver").replace("/sys/module", f"{folder}/sys/module")
    command = ["bash", "-euo", "pipefail", "-c", script, "record_provenance.sh", "MPI 1", "/bin/true"]
    subprocess.run(command, cwd=folder, check=True, timeout=PATIENCE_S, capture_output=True)
    return provenance((folder / PROVENANCE_FILE).read_text(encoding="utf-8"))


def test_the_variables_of_the_job_script_stay_as_they_are(tmp_path):
    script = f'file=mine module=mine; . {FOLDER}/record_provenance.sh "MPI 1" /bin/true; echo "$file $module"'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, check=True, timeout=PATIENCE_S, capture_output=True
    )
    assert done.stdout == b"mine mine\n"


def test_jobs_of_others_on_the_same_nodes_are_recorded(tmp_path, monkeypatch):
    squeue = tmp_path / "squeue"
    squeue.write_text('#!/bin/sh\necho "$*" > asked\nprintf "%s\\n" 17 4 17 12\n')
    squeue.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    assert collected(tmp_path, {})["other_jobs"] == "4 17"
    assert "--nodelist=node[1-2]" in (tmp_path / "asked").read_text()
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    squeue.write_text("#!/bin/sh\necho 17\n")
    assert "other_jobs" not in collected(tmp_path, {})
    squeue.write_text("#!/bin/sh\nexit 1\n")
    assert "other_jobs" not in collected(tmp_path, {})


@pytest.mark.parametrize(
    ("files", "driver"),
    [
        ({"proc/driver/nvidia/version": NVRM}, "nvidia 550.54.14"),
        ({"proc/driver/nvidia/version": NVRM, "sys/module/nvidia/version": "1.2\n"}, "nvidia 550.54.14"),
        (
            {"sys/module/nvidia/version": "570.86.15\n", "sys/module/mlx5_core/version": "24.10-0.7.0\n"},
            "nvidia 570.86.15 mlx5_core 24.10-0.7.0",
        ),
        ({"sys/module/amdgpu/version": "6.8.5\n"}, "amdgpu 6.8.5"),
        ({"proc/driver/nvidia/version": "damaged\n"}, None),
        ({}, None),
    ],
)
def test_versions_of_the_drivers_that_are_there(tmp_path, files, driver):
    assert collected(tmp_path, files).get("driver") == driver


def test_the_job_records_every_fact_that_may_explain_a_change(tmp_path):
    found = collected(tmp_path, {"sys/module/mlx5_core/version": "24.10-0.7.0\n"})
    # The history's nodes are the job's list, and the revision is not the job's to tell.
    assert {"nodelist", *FACTS} - {"nodes", "suite_revision"} <= set(found)
