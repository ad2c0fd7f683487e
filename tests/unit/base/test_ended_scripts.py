"""A terminated script removes its files and ends its program, even if the program ignores TERM."""

import os
import pathlib
import shutil
import signal
import subprocess
from dataclasses import dataclass

import pytest

from kappa.node import packed
from reframe_checks.base.job_files import FOLDER, KILLABLE, source
from tests.waiting import PATIENCE_S, until

REPOSITORY = pathlib.Path(__file__).parents[3]
# In the place of a benchmark: two processes that ignore TERM, one in a session of its own as of fio. It always writes.
STUBBORN = """#!/usr/bin/env bash
trap '' TERM INT
for word; do
    case $word in --filename=*) file=${word#*=} ;; /*) [[ ! -d $word ]] || file=$word/file ;; esac
done
setsid bash -c 'echo $$ >> "$PLAYED"; while :; do echo more >> "$1"; sleep 0.05; done' - "$file" &
until [[ -e $file ]]; do sleep 0.01; done
echo $$ >> "$PLAYED"
while :; do sleep 0.05; done
"""
OTHERS = {
    "lfs": "exit 0",
    # Starts the step here, of options that are one word each.
    "srun": 'while [[ $1 == -* ]]; do shift; done; exec "$@"',
}
HOLD = ". ./hold_nodes.sh 30 600 job.out job.err"
MEASURE = 'fio --filename="$folder/file"'


@dataclass(frozen=True)
class Ended:
    """A script by the file in the suite whose trap it is, and how it is run; ``{target}``: where its files are."""

    script: str
    command: tuple[str, ...]
    job: str = ""
    programs: int = 2


SCRIPTS = {
    "stress_on_node": Ended(
        "reframe_checks/compute/src/stress_on_node.sh", ("bash", "./stress_on_node.sh", "cpu,vm", "600", "32")
    ),
    "ost_on_node": Ended("reframe_checks/storage/src/ost_on_node.sh", ("./ost_on_node.sh", "1", "{target}")),
    "storage_folder": Ended(
        "reframe_checks/base/src/job/storage_folder.sh", ("bash", "job.sh"),
        f"{HOLD}\n. ./storage_folder.sh {{target}}\n{MEASURE}\n",
    ),
    "node_folder": Ended(
        "reframe_checks/base/src/job/node_folder.sh", ("bash", "job.sh"),
        f"{HOLD}\n. ./node_folder.sh {{target}}\nsrun {MEASURE}\n",
    ),
    "hold_nodes": Ended(
        "reframe_checks/base/src/job/hold_nodes.sh", ("bash", "job.sh"),
        f'{HOLD}\nfolder={{target}}\ntrap "rm $folder/*; exit 3" TERM\n{MEASURE}\n',
    ),
    "on_node": Ended(
        "reframe_checks/base/src/job/on_node.sh", ("bash", "./on_node.sh", "job.sh", "job.out", "job.err"),
        f". ./storage_folder.sh {{target}}\n{MEASURE}\n",
    ),
    "killable": Ended(
        "kappa/core/ground/src/killable.sh", ("bash", "job.sh"),
        f". ./killable.sh\nfolder={{target}}\ntrap 'rm \"$folder/file\"' EXIT\nkillable {MEASURE}\n",
    ),
}  # fmt: skip


@pytest.fixture
def started(tmp_path):
    """start(ended): its process, the folder of its files, and the processes of its program once they all run."""
    stage, target, programs, played = (tmp_path / name for name in ("stage", "target", "bin", "played"))
    for folder in (stage, target, programs):
        folder.mkdir()
    for name in ("fio", "stress-ng"):
        (programs / name).write_text(STUBBORN)
    for name, text in OTHERS.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    for script in (*FOLDER.glob("*.sh"), source(KILLABLE), *REPOSITORY.glob("reframe_checks/*/src/*_on_node.sh")):
        shutil.copy(script, stage)
    (stage / "rounds.txt").write_text("1 n1 5\n")
    scripts = []

    def running():
        found = [int(line) for line in played.read_text().splitlines()] if played.exists() else []
        return [process for process in found if runs(process)]

    def start(ended):
        (stage / "job.sh").write_text(ended.job.format(target=target))
        environment = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PLAYED": str(played), "TMPDIR": str(target),
            "SLURMD_NODENAME": "n1", "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1",
        }  # fmt: skip
        script = subprocess.Popen(
            [word.format(target=target) for word in ended.command],
            cwd=stage, env=environment, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        scripts.append(script)
        script.stdin.write("end\n")
        script.stdin.close()
        until(lambda: len(running()) == ended.programs, "the program runs")
        return script, target, running

    yield start
    for process in (*running(), *(script.pid for script in scripts if script.poll() is None)):
        os.kill(process, signal.SIGKILL)
    for script in scripts:
        script.wait()


def runs(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def files_in(folder):
    return [path for path in folder.rglob("*") if not path.is_dir() or path.name.startswith(("kappa", "tmp"))]


@pytest.mark.parametrize("to_all", [False, True], ids=["the script alone", "all processes, twice"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_is_told_to_end_leaves_no_process_and_no_file(started, name, to_all):
    script, target, running = started(SCRIPTS[name])
    assert files_in(target)
    if to_all:
        os.killpg(script.pid, signal.SIGTERM)
        os.killpg(script.pid, signal.SIGTERM)
    else:
        script.send_signal(signal.SIGTERM)
    assert script.wait(timeout=PATIENCE_S) > 0
    until(lambda: not running(), "its program has ended")
    until(lambda: not files_in(target), "its files are gone")


def test_a_watch_ends_itself_after_its_script_was_killed(tmp_path):
    (tmp_path / packed.PROGRAM).write_bytes(packed.program())
    environment = {**os.environ, "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1"}
    script = subprocess.Popen(["sleep", "600"])
    watch = subprocess.Popen(
        ["sh", f"./{packed.PROGRAM}", "watch", str(script.pid), "60", "true"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert watch.stdout.readline() == "ready\n"
        script.kill()
        script.wait()
        assert watch.wait(timeout=PATIENCE_S) == 0
    finally:
        watch.kill()


def test_every_script_of_the_suite_with_a_trap_is_here():
    listed = subprocess.run(
        ["git", "grep", "-lE", "^ *trap ", "--", "kappa", "reframe_checks", ":!*.py"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert {ended.script for ended in SCRIPTS.values()} == set(listed)
