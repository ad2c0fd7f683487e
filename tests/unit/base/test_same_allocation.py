"""The part of a job script that holds the nodes, run by bash in place of Slurm."""

import os
import pathlib
import signal
import subprocess

import pytest

from reframe_checks.base.hangs import ENDED_FILE
from reframe_checks.base.job_files import KILLABLE, source
from reframe_checks.base.watch import ANSWER_FILE, FIRST_FOLDER, MEASURED_FILE
from tests.waiting import PATIENCE_S, until

MEASURE = """
trap 'echo cleaned >> log; exit 143' TERM
echo measured >> log
echo "figures $(wc -l < log)"
echo figure > figures.json
"""


@pytest.fixture
def job(tmp_path):
    """start(measure=…, hold_s=…, limit_s=…): the job as a process, in `tmp_path`."""
    started = []
    for name in (KILLABLE, "hold_nodes.sh"):
        (tmp_path / name).symlink_to(source(name))

    def start(measure=MEASURE, hold_s=30, limit_s=600):
        holding = f". ./hold_nodes.sh {hold_s} {limit_s} job.out job.err"
        (tmp_path / "job.sh").write_text(f"trap 'exit 9' ERR\n{holding}\n{measure}\n")
        with (tmp_path / "job.out").open("w") as out, (tmp_path / "job.err").open("w") as err:
            environment = {**os.environ, "SLURM_JOB_ID": "7"}
            process = subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=environment, stdout=out, stderr=err)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def appears(path: pathlib.Path) -> None:
    until(path.exists, f"there is {path.name}")


def answer(folder: pathlib.Path, text: str) -> None:
    appears(folder / MEASURED_FILE)
    (folder / ANSWER_FILE).write_text(text)


def lines(path: pathlib.Path) -> list[str]:
    return path.read_text().splitlines()


def test_figures_within_bounds_end_the_job(job, tmp_path):
    process = job()
    answer(tmp_path, "enough\n")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / "log") == ["measured"]
    assert not (tmp_path / FIRST_FOLDER).exists()


def test_figures_out_of_bounds_are_measured_again_and_both_are_kept(job, tmp_path):
    process = job()
    answer(tmp_path, "again\njob.out\njob.err\nfigures.json\n")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / "job.out") == ["figures 2"]
    assert lines(tmp_path / FIRST_FOLDER / "job.out") == ["figures 1"]
    assert (tmp_path / FIRST_FOLDER / "figures.json").exists()
    assert (tmp_path / "figures.json").exists()


def test_without_an_answer_the_nodes_are_given_back(job, tmp_path):
    assert job(hold_s=1).wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / ANSWER_FILE) == ["late"]
    assert lines(tmp_path / "log") == ["measured"]


@pytest.mark.parametrize(
    ("measure", "limit_s", "status"),
    [("exit 3", 600, 3), ("false", 600, 9), (MEASURE, 30, 0)],
    ids=["failed", "error trap", "no time left for a second time"],
)
def test_not_held(job, tmp_path, measure, limit_s, status):
    assert job(f"{measure}\n", limit_s=limit_s).wait(timeout=PATIENCE_S) == status
    assert not (tmp_path / MEASURED_FILE).exists()
    assert lines(tmp_path / ENDED_FILE) == [str(status)]


def test_output_that_cannot_be_moved_stays(job, tmp_path):
    process = job()
    answer(tmp_path, "again\njob.out\nmissing.json\n")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / "job.out") == ["figures 1"]
    assert lines(tmp_path / "log") == ["measured"]
    assert not (tmp_path / FIRST_FOLDER).exists()


WATCHED = """
bash -c 'trap "echo ended >> watch; exit" TERM; trap "echo asked >> watch; exit" USR1
         echo $$ > kappa_watch; while :; do sleep 0.05; done' &
until [[ -s kappa_watch ]]; do sleep 0.01; done
"""


@pytest.mark.parametrize(("measure", "told"), [("true", "ended"), ("exit 3", "asked")])
def test_the_watch_ends_with_the_measurement_or_is_asked_why_it_failed(job, tmp_path, measure, told):
    assert job(f"{WATCHED}{measure}\n", hold_s=0).wait(timeout=PATIENCE_S) in (0, 3)
    assert lines(tmp_path / "watch") == [told]
    assert not (tmp_path / "kappa_watch").exists()


def test_the_watch_is_ended_with_a_job_that_is_cancelled(job, tmp_path):
    process = job(f"{WATCHED}touch running\nwhile true; do sleep 0.05; done\n", hold_s=0)
    appears(tmp_path / "running")
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE_S)
    assert lines(tmp_path / "watch") == ["ended"]
    assert not (tmp_path / ENDED_FILE).exists()


def test_jobs_of_an_array_share_the_folder_and_are_not_held(job, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "1")
    assert job().wait(timeout=PATIENCE_S) == 0
    assert not (tmp_path / MEASURED_FILE).exists()


def test_what_an_earlier_job_left_is_no_answer(job, tmp_path):
    for name in (MEASURED_FILE, ANSWER_FILE, ENDED_FILE):
        (tmp_path / name).write_text("again\njob.out\n")
    (tmp_path / FIRST_FOLDER).mkdir()
    process = job("until [[ -e go ]]; do sleep 0.01; done\necho measured >> log\n")
    until(lambda: not (tmp_path / FIRST_FOLDER).exists(), "what was left is gone")
    assert not (tmp_path / ANSWER_FILE).exists() and not (tmp_path / ENDED_FILE).exists()
    (tmp_path / "go").touch()
    answer(tmp_path, "enough\n")
    assert process.wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / "log") == ["measured"]


def test_a_signal_to_the_script_alone_lets_the_measurement_clean_up(job, tmp_path):
    process = job(MEASURE + "touch running\nwhile true; do sleep 0.05; done\n")
    appears(tmp_path / "running")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 143
    assert lines(tmp_path / "log") == ["measured", "cleaned"]
    assert not (tmp_path / MEASURED_FILE).exists()


def test_a_signal_ends_the_holding(job, tmp_path):
    process = job()
    appears(tmp_path / MEASURED_FILE)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE_S) == 0
    assert lines(tmp_path / "log") == ["measured"]
