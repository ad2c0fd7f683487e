"""The conductor with ReFrame replaced by a script: names, locks, permissions, and reports cut off."""

import fcntl
import json
import os
import pathlib
import random
import re
import signal
import stat
import subprocess
import sys
import time

import pytest

from tests.tiers import long
from tests.unit.reports import samples
from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]
SAMPLE = REPOSITORY / "tests/data/reports/campaign.json"
REPORT = "for word; do case $word in --report-file=*) report=${word#*=} ;; esac; done\n"


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "site_configs/mycluster").mkdir(parents=True)
    (tmp_path / "site_configs/mycluster/settings.py").touch()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    make_kappa(tmp_path)
    return tmp_path


def make_kappa(tree, before=""):
    """The tree's ``kappa``, as of an environment that has the tree's ``reframe``; ``before`` is run first."""
    program = tree / ".venv/bin/kappa"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.executable = {str(program.with_name('python'))!r}\n"
        f"from kappa.app.command.main import main\n{before}\nsys.exit(main())\n"
    )
    program.chmod(0o755)


def validate(tree, reframe, *arguments, **environment):
    script = tree / ".venv/bin/reframe"
    script.write_text(f"#!/bin/bash\n{REPORT}{reframe}\n")
    script.chmod(0o755)
    return subprocess.run(
        [tree / ".venv/bin/kappa", "validate", *arguments], cwd=tree, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
        env={**os.environ, "KAPPA_RESULTS": str(tree / "results"), **environment},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["../mycluster", "$(touch pwned)", "a b", ".", "x;true"])
def test_a_name_is_no_path_and_no_command(tree, name):
    for arguments in ((name,), ("mycluster", name)):
        done = validate(tree, "touch ran", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert name in done.stderr
    assert not (tree / "results").exists() and not list(tree.rglob("ran")) and not list(tree.rglob("pwned"))


def test_a_report_cut_off_is_incomplete_and_kept_aside(tree):
    done = validate(tree, f'head -c 5000 "{SAMPLE}" > "$report"', "mycluster")
    assert done.returncode == 2
    assert "report is not complete" in done.stderr
    [run] = (tree / "results/runs").iterdir()
    assert [path.name for path in run.iterdir()] == ["run-report.json.part"]


def test_no_report_leaves_no_run(tree):
    done = validate(tree, "for word; do case $word in --stage=*) mkdir -p ${word#*=}/here ;; esac; done", "mycluster")
    assert done.returncode == 2
    assert "ReFrame wrote no report" in done.stderr
    assert list((tree / "results/runs").iterdir()) == []


def test_what_reframe_prints_is_in_a_file_that_is_named_and_its_end_in_the_error(tree):
    done = validate(tree, "echo listing; echo ERROR: no such option", "mycluster")
    [run] = (tree / "results/runs").iterdir()
    assert (run / "reframe.out").read_text() == "listing\nERROR: no such option\n"
    assert f"ReFrame's output: {run}/reframe.out" in done.stdout and "listing" not in done.stdout
    assert (done.returncode, "ReFrame wrote no report: ERROR: no such option" in done.stderr) == (2, True)


def test_results_are_private_and_whole(tree):
    done = validate(tree, f'cat "{SAMPLE}" > "$report"', "mycluster")
    assert "report: " in done.stdout, done.stderr
    [run] = (tree / "results/runs").iterdir()
    assert (run / "run-report.json").read_bytes() == SAMPLE.read_bytes()
    for path in [tree / "results", *(tree / "results").rglob("*")]:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_measured_again_in_the_same_environment_with_the_same_variables(tree):
    slow = samples.report([samples.latency(value=900, environ="gcc+ucx.1", hashcode="abc123")])
    (tree / "slow.json").write_text(json.dumps(slow))
    told = f'printf "%s\\n" "$@" end >> "{tree}/told"; cat "{tree}/slow.json" > "$report"'
    given = ("-S", "A.a=1 2", "--setvar", "B.b=1", "--setvar=C.c=1", "-SD.d=1", "-n", "Osu")
    validate(tree, told, "mycluster", "smoke", *given)
    first, again, *_ = (tree / "told").read_text().split("end\n")
    assert "confirms=" not in first
    assert f"{'/'.join(['-S', 'A.a=1 2', '-S', 'B.b=1', '-S', 'C.c=1', '-S', 'D.d=1'])}/" in again.replace("\n", "/")
    words = again.splitlines()
    pattern = words[words.index("-p") + 1]
    assert [name for name in ("gcc+ucx.1", "gccc+ucx.1", "gcc+ucx-1") if re.match(pattern, name)] == ["gcc+ucx.1"]


def test_measured_again_with_the_same_options_of_jobs_but_on_the_nodes_that_matter(tree):
    slow = samples.report([samples.latency(value=900, hashcode="abc123", partition_size=9, job_nodelist=["n1", "n2"])])
    (tree / "slow.json").write_text(json.dumps(slow))
    told = f'printf "%s\\n" "$@" end >> "{tree}/told"; cat "{tree}/slow.json" > "$report"'
    given = (
        "-J",
        "reservation=a b",
        "-J",
        "account=ops",
        "-Jnodelist=n1,n2",
        "--job-option=x=n8,n9",
        "--job-option",
        "w=n1",
    )
    validate(tree, told, "mycluster", "smoke", *given)
    _, same, other, *_ = (words.splitlines() for words in (tree / "told").read_text().split("end\n"))
    nodes = sorted({"n1", "n2", *slow["runs"][0]["testcases"][0]["provenance"]["nodelist"]})
    assert _after("-J", same) == ["reservation=a b", "account=ops", f"nodelist={','.join(nodes)}"]
    assert _after("-J", other) == ["reservation=a b", "account=ops", f"exclude={','.join(nodes)},n8,n9"]
    for words in (same, other):
        [extras] = [word for word in words if word.startswith("--session-extras=")]
        assert extras.endswith(f",nodes={':'.join(nodes)}")


def _after(option, words):
    return [words[number + 1] for number, word in enumerate(words) if word == option]


def test_two_runs_at_once(tree):
    (tree / "results").mkdir()
    with (tree / "results/lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = validate(tree, "touch ran", "mycluster")
    assert done.returncode == 2
    assert "another run uses" in done.stderr
    assert not list((tree / "results/runs").iterdir())


def test_results_that_cannot_be_written(tree):
    (tree / "results").write_text("a file, where root's permissions do not help either")
    done = validate(tree, "touch ran", "mycluster")
    assert done.returncode == 2
    assert "is not writable" in done.stderr and "set KAPPA_RESULTS to another folder" in done.stderr


@long
def test_killed_at_random_points(tree):
    """Nothing of an earlier run changes, no report is there in part, and the next run can start at once."""
    began = time.monotonic()
    writes = f'split -n 40 --filter=cat "{SAMPLE}" > "$report"'
    assert "report: " in validate(tree, writes, "mycluster").stdout
    whole_s = time.monotonic() - began
    chance, whole, kept, kills = random.Random(1), SAMPLE.read_bytes(), set(), 0
    results = tree / "results"
    wanted = int(os.environ.get("KAPPA_KILLS", "10"))
    for number in range(20 * wanted):
        if kills == wanted:
            break
        # Several runs a second.
        places = {"KAPPA_RESULTS": str(results), "KAPPA_RUN": str(results / f"runs/{number}")}
        conductor = subprocess.Popen(
            [tree / ".venv/bin/kappa", "validate", "mycluster"], cwd=tree, env={**os.environ, **places},
            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            conductor.wait(chance.uniform(0, whole_s))
            whole_s *= 0.9  # it was slower when it was timed
        except subprocess.TimeoutExpired:
            os.killpg(conductor.pid, signal.SIGKILL)
            kills += conductor.wait() == -signal.SIGKILL
        reports = set((tree / "results").glob("runs/*/run-report.json"))
        assert reports >= kept, "a finished report was lost"
        assert all(report.read_bytes() == whole for report in reports)
        kept = reports
        for page in (tree / "results").glob("runs/*/report.html"):
            assert page.read_text().rstrip().endswith("</html>")
    assert kills == wanted
    # A process that the last kill ended releases the lock a moment later.
    subprocess.run(["flock", "--timeout", str(PATIENCE_S), tree / "results/lock", "true"], check=True)
    done = validate(tree, f'cat "{SAMPLE}" > "$report"', "mycluster")
    assert "report: " in done.stdout, done.stderr
