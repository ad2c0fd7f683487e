"""Processes of a validation are killed at random moments: nothing that had ended is lost, and no job is left.

``KAPPA_KILLS=20`` kills each of them at so many moments; ``KAPPA_KILL_SEED`` draws others.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from kappa.core.record.journal import unsettled
from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import KAPPA

KILLS, SEED = int(os.environ.get("KAPPA_KILLS", "2")), os.environ.get("KAPPA_KILL_SEED", "1")
#: Killed part -> names of its processes.
VICTIMS = {
    "kappa": ("kappa",),
    "reframe": ("reframe",),
    "client of Slurm": ("sbatch", "sacct", "squeue", "scontrol"),
    "step": ("srun", "mpirun"),
    "job script": ("slurm_script",),
}
OPTIONS = ["--system=embedded:scratch", *(f"--name={name}" for name in ("Affinity", "PartitionHealth", "NodeSweep"))]
#: The moment lies within so many seconds, or when the process is there next.
WITHIN_S = 30


def processes_of(results, names):
    """Process ids of this test's validation: its results stand in their environment."""
    mark = f"KAPPA_RESULTS={results}\0".encode()
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            named = {os.path.basename(word.decode("utf-8", "replace")) for word in words[:2]}
            if named.intersection(names) and mark in (folder / "environ").read_bytes() + b"\0":
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended
    return found


def validate(suite, *options):
    return subprocess.run(
        [KAPPA, "validate", "embedded", "smoke", *options],
        env=suite.environment(), capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip


@long
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("moment", range(KILLS))
def test_killed_at_a_random_moment(suite, victim, moment):
    draw = random.Random(f"{SEED} {victim} {moment}")
    after_s = draw.uniform(0, WITHIN_S)
    validation = subprocess.Popen(
        [KAPPA, "validate", "embedded", "smoke", *OPTIONS],
        env=suite.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    time.sleep(after_s)
    until(lambda: kill_one(suite, victim, draw) or validation.poll() is not None, f"there is a {victim}")
    said, _ = validation.communicate(timeout=2 * PATIENCE_S)
    journals = [report.with_name(f"{report.name}.journal") for report in unsettled(suite.results)]
    ended = {path.parent: path.read_text().count('"case": ') for path in journals if path.exists()}
    after = validate(suite, "--system=embedded:scratch", "-n", "PartitionState")
    told = f"{victim} after {after_s:.1f} s\n{said}\n{after.stdout}{after.stderr}"
    assert after.stdout.count("report: ") >= 1, told
    until(lambda: suite.jobs() == [], f"no job is left: {told}")
    assert unsettled(suite.results) == [], told
    for folder, cases in ended.items():
        # A whole run whose last question to Slurm was killed has told its own verdict.
        assert str(folder) in after.stdout or f"report: {folder}/report.html" in said, told
        if cases:
            document = json.loads((folder / "run-report.json").read_text())
            assert sum(len(run["testcases"]) for run in document["runs"]) >= 1, told
            assert (folder / "report.html").exists(), told


def kill_one(suite, victim, draw):
    """Whether one was there to be killed."""
    found = processes_of(suite.results, VICTIMS[victim])
    if not found:
        return False
    try:
        os.kill(draw.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
