"""Real outages of a cluster in the outage log: a killed slurmd, an ended node, a drain by hand, a stopped slurmctld."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime

from tests.integration.conftest import REPOSITORY
from tests.integration.test_slurm_settings import started
from tests.tiers import long
from tests.waiting import PATIENCE_S, until

CONTRACT = """\
contract:
  title: Outages
  system: embedded
  date: 2026-11-26
  parties: {buyer: B, vendor: V}
  observation: {nodes: "node[1-4]", least_nodes: 1}
clauses:
  - id: A1
    text: The nodes are available.
    availability: {of: nodes, least: 98, period_h: 720}
    mandatory: true
"""
# Slurm's accounting has whole seconds.
ROUNDED = 1


class Log:
    """The outage log of ``suite``, by the commands of a user."""

    def __init__(self, suite, folder):
        self.suite, self.folder = suite, folder
        folder.mkdir()
        (folder / "contract.yaml").write_text(CONTRACT)

    def __call__(self, *words):
        command = [sys.executable, "-m", "kappa.app.command.main", "acceptance", "log", str(self.folder), *words]
        done = subprocess.run(
            command, env=self.suite.environment(), cwd=REPOSITORY, capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def outages(self):
        """Return the entries of outages by place: a node, or ``system``."""
        entries = json.loads(self("show", "--json", "-"))["entries"]
        found = [one for one in entries if one["what"] in ("node_interrupt", "system_interrupt", "job_interrupt")]
        assert len(found) == len({tuple(one["nodes"]) for one in found})
        return {",".join(one["nodes"]) or "system": one for one in found}


def now():
    return datetime.now(UTC).timestamp()


def times(entry):
    return [entry[key] and datetime.fromisoformat(entry[key]).timestamp() for key in ("start", "end")]


@long
def test_real_outages_are_in_the_log_with_their_times(tmp_path):
    with started(tmp_path, "--nodes=4") as suite:
        log = Log(suite, tmp_path / "acceptance")

        def slurm(*words):
            return suite.cluster("exec", "login", *words).stdout.strip()

        def state(node):
            return slurm("sinfo", "--noheader", f"--nodes={node}", "--format=%t")

        log("add", "begin", "--start", datetime.now(UTC).isoformat(), "--party", "buyer")
        log("agree", "1", "--party", "buyer", "--party", "vendor")
        log("collect")
        assert log.outages() == {}

        silent = now()
        suite.cluster("exec", "node2", "pkill", "-KILL", "slurmd")
        wrapped = ["--partition=scratch", "--nodelist=node3", "--output=/dev/null", "--wrap=sleep infinity"]
        died = slurm("sbatch", "--parsable", *wrapped)
        until(lambda: slurm("squeue", "--noheader", f"--jobs={died}", "--format=%T") == "RUNNING", "the job runs")
        ended = now()
        os.kill(int((suite.state / "run/node3.pid").read_text().split()[0]), signal.SIGKILL)
        drained = now()
        slurm("scontrol", "update", "nodename=node4", "state=drain", "reason=disk|swap, rack 3")
        until(lambda: all("down" in state(node) for node in ("node2", "node3")), "Slurm has noticed", poll_s=1)
        noticed = now()
        log("collect")
        open_ = log.outages()
        assert {place: one["end"] for place, one in open_.items()} == dict.fromkeys(("node2", "node3", "node4"))

        stopped = now()
        suite.cluster("exec", "login", "pkill", "slurmctld")
        until(lambda: suite.cluster("exec", "login", "scontrol", "ping", check=False).returncode, "slurmctld is gone")
        log("collect")
        seen = now()
        started_again = now()
        suite.cluster("up")  # resumes node4, too
        until(lambda: {state(node) for node in ("node2", "node3", "node4")} == {"idle"}, "all nodes are back", poll_s=1)
        back = now()
        log("collect")

        found = log.outages()
        assert {place: (one["what"], one["source"]) for place, one in found.items()} == {
            "node2": ("node_interrupt", "sacctmgr"),
            "node3": ("node_interrupt", "sacctmgr"),
            "node4": ("node_interrupt", "sacctmgr"),
            "system": ("system_interrupt", "slurmctld"),
        }
        assert all(one["attribution"] is None and not one["agreed"] for one in found.values())
        assert "disk|swap, rack 3" in found["node4"]["note"]
        begun = {
            "node2": (silent, noticed),
            "node3": (ended, noticed),
            "node4": (drained, drained + 5),
            "system": (stopped, seen),
        }
        for place, (first, last) in begun.items():
            start, end = times(found[place])
            assert first - ROUNDED <= start <= last + ROUNDED, place
            assert started_again - ROUNDED <= end <= back + ROUNDED, place
