"""Results on a full or read-only file system, in a mount namespace of its own: a message, and nothing is lost."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.hardening.test_validate import REPORT, REPOSITORY, SAMPLE, make_kappa, tree
from tests.unit.nightly.samples import START, keep_record, keep_report, record
from tests.unit.reports.samples import complete, latency
from tests.waiting import PATIENCE_S

__all__ = ["tree"]
ALONE = ("unshare", "--mount", "--propagation", "private")
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"'
# The files that were there, and hardly space for more.
FULL = (
    'mkdir "$1.full" && mount -t tmpfs -o size=64k none "$1.full" && cp -a "$1/." "$1.full"'
    ' && mount --move "$1.full" "$1"'
)
# Room for a run to begin.
ROOM = FULL.replace("size=64k", "size=80m")
FILLED = FULL + ' && { cat /dev/zero > "$1/filler" || true; } 2>/dev/null'

pytestmark = pytest.mark.skipif(
    subprocess.run([*ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode != 0,
    reason="no mount namespace can be made here: needs root or CAP_SYS_ADMIN",
)


def run_on(state, folder, where, *command, **environment):
    """Run ``command`` with ``folder`` full or read-only, then list the folder on standard output."""
    script = f'{state} && {{ shift; "$@"; status=$?; find "{folder}" -type f -printf "left %P %s\\n"; exit $status; }}'
    return subprocess.run(
        [*ALONE, "bash", "-c", script, "bash", folder, *command], cwd=where, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def reports(state, folder, *command):
    return run_on(state, folder, REPOSITORY, sys.executable, "-m", "kappa.app.command.main", *map(str, command))


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "run-report.json").write_text(json.dumps(complete(latency(value=900))))
    for name in ("report.html", "run.json"):
        (folder / name).write_text("old")
    return folder


STATES = pytest.mark.parametrize(
    ("state", "why"), [(READ_ONLY, "Read-only file system"), (FILLED, "No space left on device")], ids=["ro", "full"]
)


def clear(done, why):
    assert done.returncode == 2, done.stdout + done.stderr
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert ".part" not in done.stdout


def test_a_page(results):
    done = reports(FILLED, results, "show", "--format=page", results / "run-report.json", "-o", results / "report.html")
    clear(done, "No space left on device")
    assert "left report.html 3\n" in done.stdout


@STATES
def test_a_verdict_for_machines(results, state, why):
    done = reports(state, results, "show", results / "run-report.json", "--json", results / "run.json")
    clear(done, why)
    assert "left run.json 3\n" in done.stdout


@STATES
def test_nights_and_their_history(tmp_path, state, why):
    results = tmp_path / "results"
    folder = results / "nights/20261115T020000"
    keep_record(folder, record(night="2026-11-15", started=START))
    keep_report(folder, complete())
    done = reports(state, results, "night", "report", "embedded", f"--results={results}")
    clear(done, why)
    assert (folder / "run-report.json").exists()


def test_the_history(results):
    command = (sys.executable, "-m", "kappa.app.command.main", "history", "embedded", "--add")
    done = run_on(FILLED, results, REPOSITORY, *command, KAPPA_RESULTS=str(results))
    clear(done, "No space left on device")


def validate(state, tree, reframe):
    script = tree / ".venv/bin/reframe"
    script.write_text(f"#!/bin/bash\n{REPORT}{reframe}\n")
    script.chmod(0o755)
    results = tree / "results"
    earlier = results / "runs/20200101T000000-nightly"
    earlier.mkdir(parents=True)
    (earlier / "run-report.json").write_text("earlier")
    command = (str(tree / ".venv/bin/kappa"), "validate", "mycluster")
    return run_on(state, results, tree, *command, KAPPA_RESULTS=str(results))


def test_validation_on_read_only_results(tree):
    done = validate(READ_ONLY, tree, f'touch "{tree}/ran"')
    clear(done, "is not writable")
    assert not (tree / "ran").exists()


def test_validation_on_a_full_disk(tree):
    done = validate(FULL, tree, f'touch "{tree}/ran"')
    clear(done, f"nothing was submitted: {tree}/results has 0 MiB free")
    assert not (tree / "ran").exists()


def test_validation_on_a_disk_that_fills(tree):
    fill = f'{{ cat /dev/zero > "{tree}/results/filler" || true; }} 2>/dev/null'
    done = validate(ROOM, tree, f'{fill}; cat "{SAMPLE}" > "$report"')
    assert done.returncode == 2
    assert "report is not complete: it is in" in done.stderr
    assert "Traceback" not in done.stderr
    assert "left runs/20200101T000000-nightly/run-report.json 7\n" in done.stdout
    assert done.stdout.count("/run-report.json ") == 1


NO_LOCKS = """
import errno, fcntl
def no_locks(lock, kind):
    raise OSError(errno.ENOLCK, "No locks available")
fcntl.flock = no_locks
"""


def test_storage_without_file_locks(tree):
    make_kappa(tree, NO_LOCKS)
    shutil.copy("/bin/false", tree / ".venv/bin/reframe")
    done = subprocess.run(
        [tree / ".venv/bin/kappa", "validate", "mycluster"], cwd=tree, capture_output=True, text=True, check=False,
        env={**os.environ, "KAPPA_RESULTS": str(tree / "results")},
    )  # fmt: skip
    assert done.returncode == 2
    assert "its storage may lack file locks; set KAPPA_RESULTS to another folder" in done.stderr
    assert not list(pathlib.Path(tree / "results/runs").iterdir())
