"""Cost of the suite on a light embedded cluster of many nodes: one check on each node; nodes with a fault found,
drained and given back; a night in which some have their turn."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kappa.core.record.load import load_session
from tests.benchmarks.pages import print_command
from tests.scale.processes import BIN, REPOSITORY, SITE, Took, reports_took, took

CHECKS = Path(__file__).parent / "checks"
RULE = """
quarantine:
  drain: [scontrol, update, "NodeName={node}", State=DRAIN, "Reason={reason}"]
  resume: [scontrol, update, "NodeName={node}", State=RESUME]
  evidence: [facts]
  most_a_night: 3
  mode: smoke
  nodes: 3
"""
# With fewer nodes, one is too many to drain; this many nodes have their turn in the night.
FROM_NODES, IN_TURN = 32, 16
SLURM = ("sbatch", "sacct", "squeue", "scontrol", "sinfo", "scancel")
# Jobs have the commands themselves.
TIMED = """\
#!/bin/bash
[ /run/kappa -ef {state} ] && exec {program} "$@"
began=$EPOCHREALTIME status=0
{program} "$@" || status=$?
echo "{name} $began $EPOCHREALTIME" >> {calls}
exit $status
"""


@dataclass(frozen=True)
class Real:
    """``calls``: commands of Slurm that the suite started during the session, and the seconds that each took."""

    nodes: int
    steps: dict[str, Took]
    calls: list[tuple[str, float]]


def measure(nodes: int, folder: Path) -> Real:
    """:raises RuntimeError: the cluster did not start, or a check did not pass; it names the log."""
    results, log = folder / "results", folder / "log.txt"
    results.mkdir(parents=True)
    environment = {**os.environ, "KAPPA_CLUSTER_STATE": str(folder / "cluster"), "KAPPA_RESULTS": str(results),
                   "KAPPA_SPACK_STATE": str(folder / "no-spack"), "PYTHONPATH": str(REPOSITORY)}  # fmt: skip
    report = results / "run-report.json"

    def step(*command: object, allowed: tuple[int, ...] = (0,), place: Path = results) -> Took:
        done = took(command, environment, place, log)
        if done.status not in allowed:
            raise RuntimeError(f"{command[0]} ended with {done.status}: {log.read_text()[-3000:]}")
        return done

    steps = {}
    try:
        steps["up"] = step(SITE / "cluster", "up", "--light", "--nodes", nodes)
        calls = _time_calls(folder / "cluster")
        steps["plan"] = step(BIN / "kappa", "validate", "embedded", "nightly", "--plan", "--nights", 7)
        calls.unlink(missing_ok=True)
        steps["session"] = step(
            BIN / "reframe", "-C", SITE / "settings.py", "-c", CHECKS, "-r", "--system=embedded:scratch",
            "--distribute=all", f"--report-file={report}",
        )  # fmt: skip
        timed = [line.split() for line in calls.read_text().splitlines()]
        steps |= _operated(nodes, folder, step)
    finally:
        down = took([SITE / "cluster", "down"], environment, results, log)
    steps["down"] = down
    page = folder / "page.html"
    steps |= reports_took(report, page, environment, results, log)
    if chromium := shutil.which("chromium"):
        steps["pdf"] = step(*print_command(chromium, page))
    return Real(nodes, steps, [(name, float(ended) - float(began)) for name, began, ended in timed])


def _operated(nodes: int, folder: Path, step: Callable[..., Took]) -> dict[str, Took]:
    """Find nodes with something wrong, drain them and give them back; then a night with its turn."""
    site = folder / "site_configs/embedded"
    shutil.copytree(SITE, site, ignore=shutil.ignore_patterns("cluster*"))
    (site / "site.yaml").write_text((SITE / "site.yaml").read_text() + RULE)
    slurm = folder / "cluster/bin"
    bad = [f"node{number}" for number in ((5, 17, nodes) if nodes >= FROM_NODES else (2,))]
    quick = ("--system=embedded:scratch", "-S", "hold_s=0", "-S", "watch_load=no")

    def on(node: str, *command: str) -> None:
        step(SITE / "cluster", "exec", node, *command)

    def states(*wanted: str) -> None:
        shown = subprocess.run([slurm / "sinfo", "-h", "-N", "-p", "scratch", "-o", "%N %T"], check=True,
                               capture_output=True, text=True)  # fmt: skip
        found = dict(line.split() for line in shown.stdout.splitlines())
        if any(not found[node].startswith(wanted) for node in bad):
            raise RuntimeError(f"{bad} should be {' or '.join(wanted)}: {found}")

    for node in bad:
        on(node, "fallocate", "--length", "2M", "/dev/shm/left")
    results = folder / "results"
    steps = {"localise": step(BIN / "kappa", "validate", "embedded", "smoke", "-n", "PartitionHealth", *quick,
                              allowed=(1,), place=folder)}  # fmt: skip
    [report] = results.glob("runs/*/run-report.json")
    found = load_session(report).runs[0][0]
    if sorted(found.suspects) != sorted(bad):
        raise RuntimeError(f"{found.suspects} named, {bad} are bad: {found.fail_reason}")
    for node in bad:
        on(node, "rm", "/dev/shm/left")
    if nodes >= FROM_NODES:
        steps["drain"] = step(BIN / "kappa", "node", "quarantine", "embedded", "--run", report.parent, place=folder)
        states("drain")
        steps["return"] = step(BIN / "kappa", "node", "return", "embedded", *bad, "--", *quick, place=folder)
        states("idle")
    # Some of hundreds of nodes on two shared cores do not answer Slurm in time, as PartitionState reports.
    steps["night"] = step(
        BIN / "kappa", "night", "run", "embedded", "--mode=smoke", f"--nights={max(1, nodes // IN_TURN)}",
        "--repeats=1", "--", "-c", CHECKS, "-n", "Alone", "-n", "PartitionState", *quick,
        allowed=(0, 1, 2), place=folder,
    )  # fmt: skip
    night = json.loads(next(results.glob("nights/*/summary.json")).read_text())
    if len(night["covered"]) != min(nodes, IN_TURN):
        raise RuntimeError(f"{night['covered']} covered by the night")
    return steps


def _time_calls(state: Path) -> Path:
    """Have the commands on the login node's PATH write down that they were called, from when to when."""
    calls = state / "calls.txt"
    for name in SLURM:
        path = state / "bin" / name
        program = path.rename(path.with_name(f"{name}.untimed"))
        path.write_text(TIMED.format(name=name, **{
            key: shlex.quote(str(place)) for key, place in (("state", state), ("program", program), ("calls", calls))
        }))  # fmt: skip
        path.chmod(0o755)
    return calls
