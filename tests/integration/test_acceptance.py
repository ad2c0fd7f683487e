"""An acceptance for real: planned, stopped, killed, resumed, written, verified, and looked at in a browser."""

import contextlib
import json
import re
import shutil
import subprocess
import sys

import psutil
import pytest
import yaml

from tests.integration.conftest import REPOSITORY, SITE
from tests.tiers import long
from tests.unit.acceptance.test_signature import needs_minisign
from tests.waiting import PATIENCE_S, until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECRET = "token-that-nobody-may-see"
CONTRACT = """\
contract:
  title: Small acceptance
  system: embedded
  date: 2026-11-21
  mode: acceptance
  parties: {buyer: Validation team, vendor: Whoever lent the machine}
clauses:
  - id: A1
    text: Every node of the partition is in service.
    selector: {check: PartitionState, partition: scratch, environment: packaged, metric: usable}
    statistic: {every_node: 4}
    comparison: at_least
    threshold: {value: 1, unit: ""}
    repeats: 1
    mandatory: true
  - id: B1
    text: A message of 8 B between two nodes takes at most 0.1 s.
    selector:
      check: OsuLatency
      partition: cpu
      environment: packaged
      metric: latency_8B
      parameters: {placement: two_nodes}
    statistic: median
    comparison: at_most
    threshold: {value: 100000, unit: us}
    repeats: 2
    mandatory: true
    predicted: {value: 20, source: order of magnitude of TCP between network namespaces}
  - id: D1
    text: A check that the site cannot run.
    selector: {check: GpuInventory, metric: gpus_per_node_min}
    statistic: median
    comparison: at_least
    threshold: {value: 1, unit: GPUs}
    repeats: 1
    mandatory: false
"""


@pytest.fixture
def contract(suite):
    path = suite.results / "contract.yaml"
    path.write_text(CONTRACT)
    return path


def command(*arguments):
    return [sys.executable, "-m", "kappa.app.command.main", *map(str, arguments)]


@contextlib.contextmanager
def suspended(conductor):
    """Stop the process's children, so that they cannot end before the test looks."""
    session = psutil.Process(conductor).children()
    assert session, "a ReFrame session is at work"
    for process in session:
        process.suspend()
    try:
        yield
    finally:
        for process in session:
            process.resume()


@contextlib.contextmanager
def occupied(suite):
    """The nodes of ``cpu`` are taken, so that jobs there wait; yields the number of jobs without these."""
    block = ["--parsable", "--partition=cpu", "--nodes=2", "--exclusive", "--output=/dev/null", "--wrap=sleep infinity"]
    job = suite.cluster("exec", "login", "sbatch", *block).stdout.strip()
    until(lambda: any(" R " in line for line in suite.jobs()), "the nodes are taken")
    try:
        yield len(suite.jobs())
    finally:
        suite.cluster("exec", "login", "scancel", job)


def test_a_small_contract(suite, contract, tmp_path):
    environment = suite.environment(API_TOKEN=SECRET)
    folder = suite.results / "acceptance"
    started = command("acceptance", "run", SITE, folder, "--contract", contract)

    def call(*arguments):
        return subprocess.run(
            arguments,
            env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip

    def run_until_a_job_waits():
        """Start the run; returns it as soon as its second session has submitted its job, not the preflight its own."""
        process = subprocess.Popen(started, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert any("[2/3] OsuLatency" in line for line in process.stdout)
        until(lambda: any(" rfm_" in line for line in suite.jobs()), "the session has submitted its job")
        return process

    planned = call(*command("acceptance", "plan", SITE, "--contract", contract))
    assert planned.returncode == 2, "one clause selects nothing"
    assert "PartitionState on scratch+packaged" in planned.stdout
    assert re.search(r"clauses B1; 2 x .* on 2 nodes", planned.stdout)
    assert "D1 INCOMPLETE: the selector matches no case of the site" in planned.stdout

    with occupied(suite) as others:
        stopped = run_until_a_job_waits()
        stopped.terminate()
        assert "stopped by SIGTERM" in stopped.stdout.read()
        assert stopped.wait(PATIENCE_S) == 2
        assert len(suite.jobs()) == others, "no job is left behind"

        killed = run_until_a_job_waits()
        with suspended(killed.pid):
            killed.kill()
            killed.wait()
            refused = call(*started)
        assert (refused.returncode, "another run" in refused.stderr) == (2, True), "its ReFrame session is at work"

    def resume():
        done = call(*started)
        return None if "another run" in done.stderr else done

    resumed = until(resume, "the session that was left has ended")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "ACCEPTED. 2 mandatory clauses: 2 met." in resumed.stdout
    assert re.search("[12] of 3 repeats are done already", resumed.stdout), "the session that was left may have ended"

    dossier = tmp_path / "dossier"
    written = call(*command("acceptance", "report", folder, "-o", dossier))
    assert written.returncode == 0, written.stderr
    page = (dossier / "dossier.html").read_text()
    assert "interrupted attempt" in page
    assert call(*command("acceptance", "verify", dossier)).returncode == 2, "it is not signed"
    texts = [path.read_bytes() for path in dossier.rglob("*") if path.is_file()]
    assert len(texts) > 20
    assert not any(SECRET.encode() in text for text in texts)
    assert not [path for path in dossier.rglob("*") if path.stat().st_mode & 0o077]

    if CHROMIUM:
        look(dossier / "dossier.html", tmp_path)
    with (dossier / "contract.yaml").open("a") as altered:
        altered.write("\n")
    assert call(*command("acceptance", "verify", dossier)).returncode == 1


@long
@needs_minisign
def test_a_later_run_is_compared_with_the_signed_dossier(suite, tmp_path):
    def call(*arguments):
        done = subprocess.run(
            command("acceptance", *arguments),
            env=suite.environment(), cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    public, secret = tmp_path / "key.pub", tmp_path / "key"
    subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", secret], check=True, capture_output=True)
    document = yaml.safe_load(CONTRACT)
    document["clauses"] = [clause for clause in document["clauses"] if clause["id"] == "B1"]
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(yaml.safe_dump(document))
    call("run", SITE, suite.results / "first", "--contract", first)
    call("report", suite.results / "first", "-o", tmp_path / "accepted", "--no-pdf", "--sign", f"minisign:{secret}")

    # Any figure of a busy machine is above a thousandth of the accepted one.
    block = {"dossier": "accepted", "share": 0.001, "every_months": 24, "keys": [public.read_text().split()[-1]]}
    document["clauses"] = [{"id": "R1", "text": "It stays fast.", "retained": block, "mandatory": True}]
    second.write_text(yaml.safe_dump(document))
    call("plan", SITE, "--contract", second)
    call("run", SITE, suite.results / "second", "--contract", second)
    call("report", suite.results / "second", "-o", tmp_path / "dossier", "--no-pdf")
    [clause] = json.loads((tmp_path / "dossier/verdict.json").read_text())["clauses"]
    assert (clause["id"], clause["outcome"]) == ("R1", "met")
    checked = subprocess.run(
        command("acceptance", "verify", tmp_path / "dossier"),
        env=suite.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    # Only the copy of the accepted dossier is signed.
    assert (checked.returncode, "accepted/R1: manifest.json.minisig: " in checked.stdout) == (2, True), checked.stdout


def look(page, tmp_path):
    """The page loads without a complaint, and prints."""
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
            f"--print-to-pdf={tmp_path / 'page.pdf'}", page.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") >= 4
