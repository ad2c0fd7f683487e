"""The conductor of a night with ReFrame replaced by a script."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from xml.etree import ElementTree as ET

import psutil
import pytest

from kappa.core.sites.load import Site, find_site
from reports.nightly.archive import open_archive
from reports.nightly.night import load_night, load_record, report_files
from tests.hardening.test_validate import REPORT, make_kappa, tree
from tests.tiers import few_or_many
from tests.unit.history.nights import rows
from tests.unit.nightly.samples import pinned
from tests.unit.reports import samples
from tests.waiting import PATIENCE_S

__all__ = ["tree"]


def on_one_node():
    entry = samples.latency()
    return {**entry, "name": "OsuLatency %placement=same_node", "placement": "same_node"}


MADE = {"mode": samples.complete(on_one_node()), "rotation": samples.report([pinned(on_one_node(), "node1")])}


@pytest.fixture
def site(tree):
    """A site where ReFrame finds no fault, each night and on each of the single nodes."""
    for name, document in MADE.items():
        (tree / f"{name}.json").write_text(json.dumps(document))
    reframe(tree, "true")
    # The output and plots of the mode's run take seconds and do not belong to the night.
    make_kappa(tree, "from kappa.app.conduct.validation import Validation\nValidation.judge = lambda self: 0")
    return tree


def reframe(tree, in_turn):
    """``in_turn``: what the stub does besides when it measures single nodes."""
    script = tree / ".venv/bin/reframe"
    script.write_text(
        f"#!/bin/bash\n{REPORT}cd {tree}\nmade=mode\n"
        f"case $* in *scale_one_node*) made=rotation; {in_turn} ;; esac\n"
        'sed "s:a93313ed[^:\\"]*:${report//[^[:alnum:]]/-}:" "$made.json" > "$report.made"\n'
        'split -n 40 --filter=cat "$report.made" > "$report"\n'
    )
    script.chmod(0o755)


def command(tree, *options):
    return [tree / ".venv/bin/kappa", "night", "run", "mycluster", *options]


def environment(tree):
    return {**os.environ, "KAPPA_RESULTS": str(tree / "results")}


def nightly(tree, *options):
    return subprocess.run(
        command(tree, *options), cwd=tree, env=environment(tree), capture_output=True, text=True,
        timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip


def test_single_nodes_are_measured_under_the_lock_of_validate(site):
    reframe(site, "flock --nonblock results/lock true || touch held")
    nightly(site)
    assert (site / "held").exists()
    assert json.loads(next(site.glob("results/nights/*/night.json")).read_text())["planned"] == ["node1"]


def test_a_next_night_that_cannot_be_submitted_is_said(site):
    for name, does in (("squeue", "true"), ("sbatch", "echo Slurm is down >&2; exit 1")):
        (site / ".venv/bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (site / ".venv/bin" / name).chmod(0o755)
    here = {**environment(site), "PATH": f"{site / '.venv/bin'}:{os.environ['PATH']}"}
    subprocess.run(command(site, "--nights=0", "--resubmit"), cwd=site, env=here, check=False)
    [summary] = site.glob("results/nights/*/summary.json")
    assert json.loads(summary.read_text())["gaps"][0] == "the next night is not submitted: sbatch: Slurm is down"
    assert "the next night is not submitted" in (site / "results/nightly/message.md").read_text()


def killed_after(tree, seconds, with_all):
    """Kill a night's conductor, as ``kill`` would, or with all that it has started, as a power cut would."""
    conductor = subprocess.Popen(
        command(tree), cwd=tree, env=environment(tree), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        conductor.wait(seconds)
        return False
    conductor.send_signal(signal.SIGSTOP)
    started = psutil.Process(conductor.pid).children(recursive=True) if conductor.poll() is None and with_all else []
    conductor.kill()
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return conductor.wait() == -signal.SIGKILL


def found(results):
    """The sessions of all reports, and of the history; none of the files is there in part."""
    sessions = set()
    for folder in (path.parent for path in results.glob("nights/*/night.json")):
        load_record(folder)
        if (folder / "summary.json").exists():
            load_night(folder)
        for report in report_files(folder):
            document = json.loads(report.read_text())
            assert document["runs"] == MADE["rotation" if "rotation" in report.parts else "mode"]["runs"]
            sessions.add(document["session_info"]["uuid"])
    outputs = results / "nightly"
    if (outputs / "index.html").exists():
        assert (outputs / "index.html").read_text().rstrip().endswith("</html>")
    if (outputs / "junit.xml").exists():
        ET.parse(outputs / "junit.xml")
    return sessions, {row["session"] for row in rows(results / "history")}


@few_or_many("least", 2, 10)
def test_killed_at_random_points(site, least):
    """Nothing of an earlier night is lost, no file is there in part, and the next night can start at once."""
    results = site / "results"
    began = time.monotonic()
    nightly(site)
    whole_s = time.monotonic() - began
    reports, history = found(results)
    assert len(reports) == 2 and history == reports
    chance, kills, wanted = random.Random(14), 0, int(os.environ.get("KAPPA_KILLS", least))
    for _ in range(20 * wanted):
        if kills == wanted:
            break
        killed = killed_after(site, chance.uniform(0, whole_s), with_all=chance.random() < 0.5)
        kills += killed
        if not killed:
            whole_s *= 0.9  # it was slower when it was timed
        # Processes that the conductor started go on without it; then the locks are free.
        for lock in (results / "nightly/.lock", results / "lock"):
            subprocess.run(["flock", "--timeout", str(PATIENCE_S), lock, "true"], check=True)
        now = found(results)
        assert now[0] >= reports and now[1] >= history, "a result was lost"
        assert now[1] <= now[0]
        reports, history = now
    assert kills == wanted
    time.sleep(1)  # a night's folder is named by the second
    nightly(site)
    after, history = found(results)
    assert after == history
    assert len(after - reports) >= 2, "the next night did not start"
    archive = open_archive(results, Site(find_site(("embedded",))))
    assert archive.nights[-1].ended is not None and not archive.damaged and not archive.running
    assert {session for night in archive.nights for session in night.sessions} == after
    print(f"night of {whole_s:.1f} s: {kills} kills, {len(archive.nights)} nights, {len(after)} reports")
