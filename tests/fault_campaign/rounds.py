"""One round: put the fault in, validate the cluster as people do, read the verdict, mend the fault."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from kappa.ground.processes import end
from tests.fault_campaign.cluster import REPOSITORY, Cluster
from tests.fault_campaign.kinds import KINDS
from tests.fault_campaign.outcome import Outcome, read_verdict
from tests.fault_campaign.plan import Round
from tests.fault_campaign.state import VERDICT

KAPPA = pathlib.Path(sys.executable).with_name("kappa")
EXPECTATIONS = pathlib.Path(__file__).parent / "site"
MODE = "smoke"
CHECKS = (
    "PartitionState", "PartitionHealth", "SoftwareInventory", "Affinity", "TransportUsed", "PairSweep", "NodeSweep",
    "BitSweep", "NodeScratch",
)  # fmt: skip
ROUND_SECONDS = 900
ENDING_SECONDS = 300


def run_round(cluster: Cluster, planned: Round) -> Outcome:
    """The outcome of a round on a healthy cluster; the fault is mended when it returns or raises."""
    fault: AbstractContextManager[str] = nullcontext("")
    if planned.kind is not None and planned.node is not None:
        fault = KINDS[planned.kind].put(cluster, planned.node, random.Random(planned.seed))
    with fault as detail:
        started = time.monotonic()
        load_1min = os.getloadavg()[0]
        report = validate(cluster)
        seconds = time.monotonic() - started
    return Outcome(
        number=planned.number,
        kind=planned.kind,
        node=planned.node,
        detail=detail,
        seconds=round(seconds, 1),
        load_1min=round(load_1min, 2),
        report=str(report.relative_to(cluster.results)) if report else "",
        **read_verdict(judge(cluster, report) if report else None),
    )


def validate(cluster: Cluster) -> pathlib.Path | None:
    """ReFrame's report of a run of ``kappa validate``; ``None`` when there is none, or it reached the limit.

    What is ended then is judged, too, and INCOMPLETE: by the limit, whatever the fault.
    """
    select = [option for check in CHECKS for option in ("-n", check)]
    command = [str(KAPPA), "validate", "embedded", MODE, "--system=embedded:scratch", *select]
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


def judge(cluster: Cluster, report: pathlib.Path) -> dict[str, Any] | None:
    """The verdict by the campaign's own expectations: families that a round does not run are not missed."""
    said = report.with_name(VERDICT)
    options = ["--site", str(EXPECTATIONS), "--json", str(said)]
    command = [sys.executable, "-m", "kappa.command.main", "verdict", str(report), *options]
    subprocess.run(command, cwd=REPOSITORY, env=cluster.environment(), capture_output=True, timeout=300, check=False)
    verdict: dict[str, Any] | None = json.loads(said.read_text(encoding="utf-8")) if said.exists() else None
    return verdict
