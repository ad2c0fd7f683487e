"""Kappa writes into and removes only folders that it made itself, whatever other users put in their place."""

import os
import shutil
import subprocess
import time

import pytest

from reframe_checks.base.job_files import FOLDER
from tests.waiting import PATIENCE_S

OTHER_USER = 65534
DAY_S = 86400
USER_JOBS = "7 8"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make files of another user")
SRUN = 'while [[ $1 == -* ]]; do shift; done; exec "$@"'
WORK = 'echo data >"$folder/file"; ls -A "$folder" >written; stat -c %a "$folder" >>written; cp "$folder/$MARK" mark\n'


class Job:
    """A job's scripts in a stage folder, with a scratch folder that every user can write to."""

    def __init__(self, tmp_path):
        self.stage, self.scratch, self.programs = (tmp_path / name for name in ("stage", "scratch", "bin"))
        for folder in (self.stage, self.scratch, self.programs):
            folder.mkdir()
        self.scratch.chmod(0o1777)
        for script in FOLDER.glob("*_folder.sh"):
            shutil.copy(script, self.stage)
        self.program("srun", SRUN)
        self.program("squeue", f"printf '%s\\n' {USER_JOBS}")

    def program(self, name, text):
        (self.programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (self.programs / name).chmod(0o755)

    def run(self, script, work=WORK):
        (self.stage / "job.sh").write_text(f". ./{script} {self.scratch}\n{work}")
        environment = {
            **os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "SLURMD_NODENAME": "n1",
            "SLURM_JOB_ID": "7", "SLURM_CLUSTER_NAME": "here", "SLURM_JOB_NUM_NODES": "1",
        }  # fmt: skip
        return subprocess.run(
            ["bash", "job.sh"], cwd=self.stage, env=environment, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S,
        )  # fmt: skip

    def folder(self, name, job="here/3", days=2.0, mark="suite kappa"):
        """Make an old folder in scratch with a file; ``job``: of its mark, ``None`` for no mark."""
        folder = self.scratch / name
        folder.mkdir(mode=0o700)
        (folder / "file").write_text("data\n")
        if job is not None:
            (folder / ".kappa-folder").write_text(f"{mark}\nuser 0\nhost n1\njob {job}\n")
        old = time.time() - days * DAY_S
        os.utime(folder, (old, old))
        return folder

    def left(self):
        return sorted(path.name for path in self.scratch.iterdir())


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


SCRIPTS = pytest.mark.parametrize("script", ["storage_folder.sh", "node_folder.sh"])


@SCRIPTS
def test_folder_is_private_and_marked_and_goes_with_the_job(job, script):
    done = job.run(script)
    assert done.returncode == 0, done.stderr
    assert (job.stage / "written").read_text().split() == [".kappa-folder", "file", "700"]
    mark = dict(line.split(" ", 1) for line in (job.stage / "mark").read_text().splitlines())
    assert (mark["suite"], mark["user"], mark["job"]) == ("kappa", str(os.geteuid()), "here/7")
    assert job.left() == []


@SCRIPTS
def test_old_folder_goes_only_with_a_mark_and_without_a_job(job, script):
    job.folder("kappa.3.AbCdEf12")
    job.folder("kappa.8.AbCdEf12", "here/8")
    job.folder("kappa.4.AbCdEf12", "elsewhere/4")
    job.folder("kappa.5.AbCdEf12", "here/5", days=0.5)
    job.folder("kappa.6.AbCdEf12", mark="suite other")
    job.folder("kappa.git.AbCdEf12", None)
    job.folder("kappa.2", None)
    for name in ("kappa.git", "kappa.results", "thesis"):
        job.folder(name, None)
    named_by_hand = job.folder("marked")
    assert job.run(script).returncode == 0
    assert job.left() == sorted([
        "kappa.8.AbCdEf12", "kappa.4.AbCdEf12", "kappa.5.AbCdEf12", "kappa.6.AbCdEf12", "kappa.git.AbCdEf12", "kappa.2",
        "kappa.git", "kappa.results", "thesis", named_by_hand.name,
    ])  # fmt: skip
    assert all((job.scratch / name / "file").exists() for name in job.left())


@SCRIPTS
@pytest.mark.parametrize("squeue", ["exit 1", "", "echo 8"], ids=["fails", "empty", "without this job"])
def test_old_folder_stays_when_slurm_does_not_list_this_job(job, script, squeue):
    job.program("squeue", squeue)
    job.folder("kappa.3.AbCdEf12")
    assert job.run(script).returncode == 0
    assert job.left() == ["kappa.3.AbCdEf12"]


@AS_ROOT
@SCRIPTS
@pytest.mark.parametrize("owned", ["folder", "mark"])
def test_folder_that_another_user_made_or_marked_stays(job, script, owned):
    folder = job.folder("kappa.3.AbCdEf12")
    os.chown(folder if owned == "folder" else folder / ".kappa-folder", OTHER_USER, OTHER_USER)
    assert job.run(script).returncode == 0
    assert (folder / "file").exists()


@SCRIPTS
@pytest.mark.parametrize("linked", ["folder", "mark"])
def test_removal_follows_no_link(job, script, linked, tmp_path):
    folder = job.folder("kappa.3.AbCdEf12")
    original = folder if linked == "folder" else folder / ".kappa-folder"
    elsewhere = shutil.move(original, tmp_path / "elsewhere")
    original.symlink_to(elsewhere)
    os.utime(original, (0, 0), follow_symlinks=False)
    assert job.run(script).returncode == 0
    assert elsewhere.exists()
    assert (folder / "file").exists()


@SCRIPTS
def test_link_inside_a_folder_is_removed_and_its_target_stays(job, script, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter").write_text("text\n")
    folder = job.folder("kappa.3.AbCdEf12")
    (folder / "link").symlink_to(tmp_path / "thesis")
    old = time.time() - 2 * DAY_S
    os.utime(folder, (old, old))
    assert job.run(script).returncode == 0
    assert job.left() == []
    assert (tmp_path / "thesis/chapter").exists()


@AS_ROOT
@SCRIPTS
def test_folder_with_the_job_id_that_another_user_made_first_is_not_used(job, script, tmp_path):
    victim, planted = tmp_path / "victim", job.scratch / "kappa.7"
    victim.write_text("thesis\n")
    planted.mkdir()
    (planted / "file").symlink_to(victim)
    os.chown(planted, OTHER_USER, OTHER_USER)
    assert job.run(script).returncode == 0
    assert victim.read_text() == "thesis\n"
    assert (planted / "file").is_symlink()


@pytest.mark.parametrize("planted", ["folder", "link", "file", pytest.param("folder of another user", marks=AS_ROOT)])
def test_node_where_the_name_exists_ends_the_job_and_is_named(job, planted, tmp_path):
    """The attacker reads the name in the list of processes, and is faster on one node."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("thesis\n")
    plant = {
        "folder": 'mkdir "$path"', "link": f'ln -s {victim} "$path"', "file": '>"$path"',
        "folder of another user": f'mkdir "$path"; ln -s {victim}/file "$path/file"; '
        f'chown {OTHER_USER}:{OTHER_USER} "$path"',
    }[planted]  # fmt: skip
    job.program("mkdir", f'PATH=/usr/bin:/bin path=${{!#}}\n{plant}\nexec mkdir "$@"')
    done = job.run("node_folder.sh")
    assert done.returncode == 1
    assert (job.stage / "node_folder.txt").read_text().startswith("n1: mkdir: ")
    assert "node_folder.sh: error: " in done.stderr
    assert not (job.stage / "written").exists()
    assert (victim / "file").read_text() == "thesis\n"
    assert len(job.left()) == 1


@AS_ROOT
def test_storage_that_gives_folders_to_another_user_ends_the_job(job):
    """For instance NFS with root_squash, where other users are the same user."""
    job.program("mktemp", f'PATH=/usr/bin:/bin\nmade=$(mktemp "$@"); chown {OTHER_USER} "$made"; echo "$made"')
    done = job.run("storage_folder.sh")
    assert done.returncode == 1
    assert "storage_folder.sh: error: " in done.stderr
    assert not (job.stage / "written").exists()


@SCRIPTS
def test_target_without_room_or_permission_ends_the_job(job, script):
    job.scratch.rmdir()
    done = job.run(script)
    assert done.returncode == 1
    assert " error: " in done.stderr
    assert not (job.stage / "written").exists()


def test_interrupted_removal_leaves_the_mark(job):
    job.program("rm", '[[ $* != *file* ]] || exit 1\nexec /bin/rm "$@"')
    job.program("sleep", "exit 0")
    job.run("storage_folder.sh")
    [left] = job.left()
    assert (job.scratch / left / ".kappa-folder").exists()
