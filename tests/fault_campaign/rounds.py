"""Run the rounds of a campaign one after the other. They are random, and the same for the same seed.

A round plants a fault, validates the cluster with ``kappa validate``, reads the verdict, and mends the fault.
"""

import contextlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import yaml

from kappa.core.ground.documents import YamlFile
from kappa.core.ground.figures import duration
from kappa.core.ground.folders import site_folder
from kappa.core.ground.processes import end
from kappa.core.vocabulary.checks import catalogue, families
from tests.fault_campaign.cluster import SITE, CampaignError, Cluster
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.jobs import forget_fault, seconds_to_name
from tests.fault_campaign.outcomes import CampaignFolder, Outcome, read_verdict
from tests.fault_campaign.own import MendError, kinds_of

KAPPA = pathlib.Path(sys.executable).with_name("kappa")
# The partition with all nodes.
PARTITION = "scratch"
# The smallest mode with all of these checks.
MODE = "nightly"
CHECKS = (
    "PartitionState", "PartitionHealth", "JobTurnaround", "SoftwareInventory", "Affinity", "TransportUsed",
    "PeerExchange", "PairSweep",
    "NodeSweep", "BitSweep", "NodeScratch", "EmtIoEachNode", "SharedSemantics",
)  # fmt: skip
# This check sees a preloaded library itself, not its effect.
SEES_LIBRARIES = "SoftwareInventory"
# Jobs that hang end by their own limits, one after the other.
ROUND_SECONDS = 2400
ENDING_SECONDS = 300
# Number of the first healthy round after the blocks. It does not depend on the number of blocks.
FIRST_EXTRA = 1_000_000
# Fewer healthy rounds, so that a block of fifty kinds does not take a night.
KINDS_PER_HEALTHY = 4


@dataclass(frozen=True)
class Round:
    """A round with the fault ``kind`` on ``node``; ``seed`` draws its details. A healthy round has neither."""

    number: int
    kind: str | None
    node: str | None
    seed: int


def make_plan(
    seed: int, rounds_per_kind: int, kinds: Sequence[str], nodes: Sequence[str], more_healthy: int = 0
) -> list[Round]:
    """Plan ``rounds_per_kind`` rounds of every kind, one healthy round for four of these, then ``more_healthy``.

    Each block has one round of each kind and its healthy rounds, in random order. So a campaign that ends early is
    balanced, and a longer campaign begins with the rounds of a shorter one.
    """
    plan: list[Round] = []
    for block in range(rounds_per_kind):
        draw = random.Random(f"{seed}/{block}")
        choices = [*kinds, *[None] * math.ceil(len(kinds) / KINDS_PER_HEALTHY)]
        draw.shuffle(choices)
        for kind in choices:
            node = draw.choice(nodes)
            plan.append(Round(len(plan), kind, node if kind else None, draw.randrange(2**32)))
    return plan + [Round(FIRST_EXTRA + number, None, None, 0) for number in range(more_healthy)]


def run_rounds(cluster: Cluster, state: CampaignFolder, plan: list[Round], minutes: float | None) -> None:
    """Run the rounds of ``plan`` that ``state`` does not have yet. Start none after ``minutes``.

    :raises CampaignError: the cluster cannot be repaired, or a command of the operator's own fault fails.
    """
    done = {outcome.number for outcome in state.outcomes()}
    left = [planned for planned in plan if planned.number not in done]
    kinds = kinds_of(state.settings())
    started = time.monotonic()
    cluster.end()  # an interrupted round may have left its fault
    try:
        for count, planned in enumerate(left):
            elapsed = time.monotonic() - started
            if minutes is not None and elapsed > 60 * minutes:
                print(f"fault campaign: stopped after {minutes:g} min; {len(left) - count} rounds are left")
                return
            _make_healthy(cluster)
            try:
                outcome = run_round(cluster, planned, kinds)
            except MendError as err:
                if err.outcome:
                    state.add(err.outcome)
                raise
            state.add(outcome)
            remaining_s = (time.monotonic() - started) / (count + 1) * (len(left) - count - 1)
            print(f"[{len(done) + count + 1}/{len(plan)}, {duration(remaining_s)} left] {_said(outcome)}", flush=True)
    finally:
        cluster.end()


def _make_healthy(cluster: Cluster) -> None:
    """Repair the cluster, or start a new one if that fails."""
    with contextlib.suppress(CampaignError):
        cluster.make_healthy()
        return
    cluster.end()
    cluster.make_healthy()


def _said(outcome: Outcome) -> str:
    fault = f"{outcome.kind} on {outcome.node} ({outcome.detail})" if outcome.kind else "healthy"
    named = f", named {', '.join((*outcome.suspects, *outcome.observed))}" if outcome.names_a_node else ""
    failed = f" ({', '.join(outcome.failed or outcome.incomplete)})" if outcome.detected else ""
    return f"{fault}: {outcome.verdict}{failed}{named}, {outcome.seconds:.0f} s"


def run_round(cluster: Cluster, planned: Round, kinds: Mapping[str, Kind]) -> Outcome:
    """Run a round on a healthy cluster, mend the fault, and return the outcome.

    The round also ends its node, because no command can undo some changes, for instance of an interface's counter. They
    end with the node's namespaces.

    :raises MendError: the operator's own fault is not mended.
    """
    fault: AbstractContextManager[str] = nullcontext("")
    preloads = False
    if planned.kind is not None and planned.node is not None:
        kind = kinds[planned.kind]
        fault, preloads = kind.put(cluster, planned.node, random.Random(planned.seed)), kind.preloads
    forget_fault(cluster)
    since = time.time()
    unmended: MendError | None = None
    detail = ""
    try:
        with _node_ended_after(cluster, planned.node), fault as detail:
            started = time.monotonic()
            load_1min = os.getloadavg()[0]
            report = validate(cluster, [check for check in CHECKS if not (preloads and check == SEES_LIBRARIES)])
            seconds = time.monotonic() - started
    except MendError as err:
        unmended = err
    outcome = Outcome(
        number=planned.number,
        kind=planned.kind,
        node=planned.node,
        detail=detail,
        seconds=round(seconds, 1),
        load_1min=round(load_1min, 2),
        named_after_s=seconds_to_name(cluster, since),
        report=str(report.relative_to(cluster.results)) if report else "",
        **read_verdict(judge(cluster, report, "--site", str(expectations(report, preloads))) if report else None),
    )
    if unmended:
        unmended.outcome = outcome
        raise unmended
    return outcome


@contextlib.contextmanager
def _node_ended_after(cluster: Cluster, node: str | None) -> Iterator[None]:
    try:
        yield
    finally:
        if node is not None:
            cluster.end_node(node)


def validate(cluster: Cluster, checks: Sequence[str] = CHECKS) -> pathlib.Path | None:
    """Run ``kappa validate``, and return its report; ``None`` if there is none, or the run reached the time limit.

    The report of a run at the limit does not count: the limit makes it INCOMPLETE, whatever the fault.
    """
    select = [option for check in checks for option in ("-n", check)]
    command = [str(KAPPA), "validate", SITE, MODE, f"--system={SITE}:{PARTITION}", *select]
    with (cluster.results / "last-round.log").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=cluster.environment(), stdout=log, stderr=log, start_new_session=True)
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
    """Write a site beside the report that expects only the checks of a round. Errors as in ``Path.mkdir``."""
    own = report.with_name("site")
    own.mkdir()
    shutil.copy(site_folder(SITE) / "site.yaml", own)
    expected = YamlFile(site_folder(SITE) / "expected.yaml").value
    ran = {catalogue()[check].family for check in CHECKS if not (preloads and check == SEES_LIBRARIES)}
    others = [name for name in expected["partitions"] if name != PARTITION]
    expected["left_out"] += [
        {"partitions": others, "why": "a round uses the partition with all nodes"},
        {"families": sorted(families().keys() - ran), "why": "a round runs only quick checks"},
    ]
    (own / "expected.yaml").write_text(yaml.safe_dump(expected), encoding="utf-8")
    return own


def judge(cluster: Cluster, report: pathlib.Path, *options: str) -> dict[str, Any] | None:
    """Return the verdict on a report; ``None`` if there is none."""
    command = [str(KAPPA), "show", str(report), *options, "--json", "-"]
    done = subprocess.run(command, env=cluster.environment(), capture_output=True, timeout=300, check=False)
    return dict(json.loads(done.stdout)) if done.stdout else None
