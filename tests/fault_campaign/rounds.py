"""One round: put the fault in, validate the cluster as people do, read the verdict, mend the fault."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import yaml

from kappa.core.ground.processes import end
from kappa.core.vocabulary.checks import catalogue, families
from tests.fault_campaign.cluster import REPOSITORY, SITE, Cluster
from tests.fault_campaign.kinds import KINDS
from tests.fault_campaign.outcome import Outcome, read_verdict
from tests.fault_campaign.plan import Round
from tests.fault_campaign.state import VERDICT
from tests.fault_campaign.time_to_name import forget_fault, seconds_to_name

KAPPA = pathlib.Path(sys.executable).with_name("kappa")
# It has all nodes.
PARTITION = "scratch"
# The smallest that has all of these checks.
MODE = "nightly"
CHECKS = (
    "PartitionState", "PartitionHealth", "SoftwareInventory", "Affinity", "TransportUsed", "PairSweep", "NodeSweep",
    "BitSweep", "NodeScratch", "EmtIoEachNode",
)  # fmt: skip
# Sees what kinds that preload a library are made of, not what they do.
SEES_LIBRARIES = "SoftwareInventory"
# Jobs that hang end by their own limits, one after the other.
ROUND_SECONDS = 1500
ENDING_SECONDS = 300


def run_round(cluster: Cluster, planned: Round) -> Outcome:
    """The outcome of a round on a healthy cluster; the fault is mended when it returns or raises.

    Its node has ended then, too: what no mend takes back, such as a counter of its interface, ends with its namespaces.
    """
    fault: AbstractContextManager[str] = nullcontext("")
    preloads = False
    if planned.kind is not None and planned.node is not None:
        fault = KINDS[planned.kind].put(cluster, planned.node, random.Random(planned.seed))
        preloads = KINDS[planned.kind].preloads
    forget_fault(cluster)
    since = time.time()
    with _node_ended_after(cluster, planned.node), fault as detail:
        started = time.monotonic()
        load_1min = os.getloadavg()[0]
        report = validate(cluster, [check for check in CHECKS if not (preloads and check == SEES_LIBRARIES)])
        seconds = time.monotonic() - started
    return Outcome(
        number=planned.number,
        kind=planned.kind,
        node=planned.node,
        detail=detail,
        seconds=round(seconds, 1),
        load_1min=round(load_1min, 2),
        named_after_s=seconds_to_name(cluster, since),
        report=str(report.relative_to(cluster.results)) if report else "",
        **read_verdict(judge(cluster, report, expectations(report, preloads)) if report else None),
    )


@contextlib.contextmanager
def _node_ended_after(cluster: Cluster, node: str | None) -> Iterator[None]:
    try:
        yield
    finally:
        if node is not None:
            cluster.end_node(node)


def validate(cluster: Cluster, checks: Sequence[str] = CHECKS) -> pathlib.Path | None:
    """ReFrame's report of a run of ``kappa validate``; ``None`` when there is none, or it reached the limit.

    What is ended then is judged, too, and INCOMPLETE: by the limit, whatever the fault.
    """
    select = [option for check in checks for option in ("-n", check)]
    command = [str(KAPPA), "validate", "embedded", MODE, f"--system=embedded:{PARTITION}", *select]
    with (cluster.results / "last-round.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, env=cluster.environment(), cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True
        )
        try:
            process.wait(ROUND_SECONDS)
        except BaseException as err:
            end(process, ENDING_SECONDS)
            if not isinstance(err, subprocess.TimeoutExpired):
                raise
            return None
        log.seek(0)
        said = re.search(r"^report: (.+)/report\.html$", log.read(), re.MULTILINE)
    report = pathlib.Path(said[1]) / "run-report.json" if said else None
    return report if report and report.exists() else None


def expectations(report: pathlib.Path, preloads: bool) -> pathlib.Path:
    """The site, beside the report, without what a round does not run; errors as of ``Path.mkdir``."""
    own = report.with_name("site")
    own.mkdir()
    shutil.copy(SITE / "site.yaml", own)
    expected = yaml.safe_load((SITE / "expected.yaml").read_text(encoding="utf-8"))
    ran = {catalogue()[check].family for check in CHECKS if not (preloads and check == SEES_LIBRARIES)}
    others = [name for name in expected["partitions"] if name != PARTITION]
    expected["left_out"] += [
        {"partitions": others, "why": "a round takes the partition of all nodes"},
        {"families": sorted(families().keys() - ran), "why": "a round takes the quick checks"},
    ]
    (own / "expected.yaml").write_text(yaml.safe_dump(expected), encoding="utf-8")
    return own


def judge(cluster: Cluster, report: pathlib.Path, site: pathlib.Path) -> dict[str, Any] | None:
    """The verdict by the round's own expectations: families that a round does not run are not missed."""
    said = report.with_name(VERDICT)
    options = ["--site", str(site), "--json", str(said)]
    command = [sys.executable, "-m", "kappa.app.command.main", "verdict", str(report), *options]
    subprocess.run(command, cwd=REPOSITORY, env=cluster.environment(), capture_output=True, timeout=300, check=False)
    verdict: dict[str, Any] | None = json.loads(said.read_text(encoding="utf-8")) if said.exists() else None
    return verdict
