"""Nodes taken out of service by a site's rule and given back, on a real cluster: node2 has an odd MTU."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import KAPPA, REPOSITORY, SITE

PASS, FAIL, UNDONE = 0, 1, 2
RULE = """
quarantine:
  drain: [scontrol, update, "NodeName={node}", State=DRAIN, "Reason={reason}"]
  resume: [scontrol, update, "NodeName={node}", State=RESUME]
  evidence: [facts]
  mode: smoke
  nodes: 3
"""
QUICK = ("--system=operated:scratch", "-S", "hold_s=0", "-S", "watch_load=no")


class Operator:
    """Somebody in a folder with a copy of the embedded site under its own name, which has a rule."""

    def __init__(self, suite, folder: pathlib.Path) -> None:
        self.suite, self.folder, self.results = suite, folder, folder / "results"
        site = folder / "site_configs/operated"
        site.mkdir(parents=True)
        for name in ("expected.yaml", "settings.py"):
            shutil.copy(SITE / name, site)
        shutil.copytree(SITE / "references", site / "references")
        for path in site.glob("references/*.yaml"):
            path.write_text(path.read_text().replace(SITE.name, site.name))
        (site / "site.yaml").write_text((SITE / "site.yaml").read_text() + RULE)

    def kappa(self, *words):
        """Exit status and what was said."""
        environment = self.suite.environment(KAPPA_RESULTS=str(self.results), PYTHONPATH=self.path)
        done = subprocess.run(
            [KAPPA, *words], env=environment, cwd=self.folder, capture_output=True, text=True,
            timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    @property
    def path(self):
        return os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))

    def state(self, node):
        """Slurm's state of the node, and the reason."""
        shown = self.slurm("sinfo", "--noheader", "--Node", f"--nodes={node}", "--partition=scratch", "--format=%T|%E")
        return shown.strip().partition("|")[::2]

    def slurm(self, *words):
        return self.suite.cluster("exec", "login", *words).stdout


@pytest.fixture
def operator(suite, tmp_path):
    yield Operator(suite, tmp_path)
    suite.cluster("exec", "login", "scontrol", "delete", "ReservationName=kappa-return-node2", check=False)
    suite.cluster("up")


@pytest.fixture(scope="module")
def run(suite, tmp_path_factory):
    """The folder of a run in which node2 was odd."""
    operator = Operator(suite, tmp_path_factory.mktemp("run"))
    with odd(suite, "node2"):
        status, said = operator.kappa("validate", "operated", "smoke", "-n", "PartitionHealth", *QUICK)
    assert status == FAIL, said
    return str(next((operator.results / "runs").iterdir()))


@contextlib.contextmanager
def odd(suite, *nodes):
    """Nodes with another MTU than the others."""
    for node in nodes:
        suite.cluster("exec", node, "ip", "link", "set", "dev", "eth0", "mtu", "1280")
    try:
        yield
    finally:
        for node in nodes:
            suite.cluster("exec", node, "ip", "link", "set", "dev", "eth0", "mtu", "1500")


@contextlib.contextmanager
def roomy(suite):
    """Partitions of more than two nodes: of two, one is half."""
    suite.cluster("exec", "login", "scontrol", "update", "partitionname=cpu", "nodes=node[1-4]")
    try:
        yield
    finally:
        suite.cluster("exec", "login", "scontrol", "update", "partitionname=cpu", "nodes=node[1-2]")


@pytest.fixture
def drained(suite, operator, run):
    """The operator, with node2 in quarantine."""
    with roomy(suite):
        status, said = operator.kappa("node", "quarantine", "operated", "--run", run)
        assert status == PASS and "node2: drained until" in said, said
        state, reason = operator.state("node2")
        assert state == "drained" and reason.startswith("kappa-quarantine 2") and "net.eth0.mtu is 1280" in reason
        yield operator


@long
def test_a_node_that_fails_its_test_is_drained_again(suite, drained):
    _, reason = drained.state("node2")
    with odd(suite, "node2"):
        status, said = drained.kappa("node", "return", "operated", "node2", "--", *QUICK)
    assert status == FAIL and "node2: not resumed: FAIL: PartitionHealth" in said, said
    state, now = drained.state("node2")
    assert state == "drained" and now.startswith("kappa-quarantine 2") and now != reason
    assert "No reservations" in drained.slurm("scontrol", "show", "reservation")


def test_a_node_that_is_mended_comes_back_and_nobodys_job_reaches_it_before(drained):
    job = drained.slurm("sbatch", "--parsable", "-pscratch", "-wnode2", "-o/dev/null", "--wrap=true").strip()
    status, said = drained.kappa("node", "return", "operated", "node2", "--", *QUICK)
    assert status == PASS and "node2: resumed after it passed its test" in said, said
    until(lambda: "JobState=COMPLETED" in drained.slurm("scontrol", "show", "job", job), "the job has run")
    assert "No reservations" in drained.slurm("scontrol", "show", "reservation")
    # A node without a reservation would have taken it at once, while ReFrame still loaded the checks.
    [(theirs, *_)] = until(lambda: ended(drained, lambda number, name: number == job), "the accounting has the job")
    *_, (_, end, nodes) = ended(drained, lambda number, name: name.startswith("rfm_PartitionHealth"))
    assert theirs >= end
    # The node and its neighbours, not all of the partition.
    assert nodes == "3"


def ended(operator, wanted):
    """Start, end and number of nodes of the wanted jobs that have ended, in order."""
    listed = operator.slurm("sacct", "-nXP", "--format=jobid,jobname,start,end,nnodes").splitlines()
    jobs = [line.split("|") for line in listed]
    return [tuple(facts) for number, name, *facts in jobs if wanted(number, name) and "Unknown" not in facts]


@long
def test_a_night_drains_it_and_the_next_gives_it_back(suite, operator):
    site = operator.folder / "site_configs/operated/site.yaml"
    site.write_text(site.read_text() + "  lasts_days: 1.0e-6\n")
    night = ("night", "run", "operated", "--mode=smoke", "--nights=0", "--limit=10m", "--", "-n", "PartitionHealth")
    with roomy(suite):
        with odd(suite, "node2"):
            status, said = operator.kappa(*night, *QUICK)
        assert status == FAIL and "node2: drained until" in said, said
        assert operator.state("node2")[0] == "drained"
        _, said = operator.kappa(*night, *QUICK)
        assert "node2: resumed after it passed its test" in said and "no longer suspect: node2" in said, said
    until(lambda: operator.state("node2") == ("idle", "none"), "the node is idle again")
    assert "resumed after it passed its test" in (operator.results / "nightly/index.html").read_text()


def test_half_of_a_partition_is_not_drained_and_somebody_elses_drain_is_left_alone(operator, run):
    # One of the two nodes of the partition cpu.
    status, said = operator.kappa("node", "quarantine", "operated", "--run", run)
    assert status == FAIL
    assert "node2: stays in service: 1 of 2 nodes of partition cpu would be out of service" in said
    assert operator.state("node2") == ("idle", "none")
    operator.slurm("scontrol", "update", "nodename=node2", "state=drain", "reason=fan broken")
    for words in (["node", "quarantine", "operated", "--run", run], ["node", "return", "operated", "node2"]):
        status, said = operator.kappa(*words)
        assert status != PASS and "node2 is drained, for the reason 'fan broken'" in said
    assert operator.state("node2") == ("drained", "fan broken")
    operator.slurm("scontrol", "update", "nodename=node2", "state=resume")


def test_who_may_not_drain_is_told_so(suite, operator, run):
    site = operator.folder / "site_configs/operated/site.yaml"
    nobody = '[setpriv, --reuid=65534, --regid=65534, --clear-groups, scontrol, update, "NodeName={node}"'
    site.write_text(site.read_text().replace('drain: [scontrol, update, "NodeName={node}"', f"drain: {nobody}"))
    with roomy(suite):
        status, said = operator.kappa("node", "quarantine", "operated", "--run", run)
    assert status == UNDONE and "node2: could not be drained" in said and "it needs an operator of Slurm" in said, said
    assert operator.state("node2") == ("idle", "none")
