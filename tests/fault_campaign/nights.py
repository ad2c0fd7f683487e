"""Simulate rounds of nights in which a node is slower, by too little for the bounds of one night, or healthy.

The node becomes 5 to 10 % slower and stays so. The simulation writes a report of single nodes for each night, with
values that spread by 3 %. ``kappa night report`` reads each, and its message names a node or none. Half of the rounds
are healthy. This needs no cluster: virtual nodes on one machine disturb each other more than such a fault.
"""

import contextlib
import io
import pathlib
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from kappa.core.ground.folders import site_folder
from kappa.core.record.evidence import Figure, PerNode, Provenance
from kappa.core.record.model import SessionInfo
from kappa.core.record.reframe_report import RecordedCase, Report, Run
from kappa.core.sites.load import Site
from reports.nightly.night import MAIN, RECORD, NightRecord
from reports.nightly.publish import publish
from tests.tables import Rate

SITE, PARTITION = "embedded", "cpu"
NODES = ("node1", "node2", "node3", "node4")
# Family and metrics of each check: a node's value on the embedded cluster, with reference and unit.
CHECKS = {
    "Stream": ("compute/stream", {"triad": (18_838.57, 5000.0, "MB/s")}),
    "Hpl": ("compute/hpl", {"gflops": (48.94, 2.0, "Gflop/s"), "fraction_of_peak": (0.29455, 0.08, "")}),
}
KINDS: dict[str, Sequence[str]] = {"slow node": ("Stream", "Hpl"), "slow memory": ("Stream",)}
"""Kind of fault -> checks that see it."""
REPEATS, BEFORE, NIGHTS, SPREAD = 3, 20, 5, 0.03
# A Saturday, two o'clock in the morning.
START, DAY_S = 1_795_226_400.0, 86_400.0
_NAMED = re.compile(r"^- .*, worse.*: .* on (node\d+), ", re.MULTILINE)


@dataclass(frozen=True)
class NightsRound:
    """A round with the fault ``kind`` on ``node``, slower by ``slow_down``. A healthy round has no kind."""

    kind: str | None
    node: str
    slow_down: float
    seed: int


@dataclass(frozen=True)
class Named:
    """The night after the fault in which its node was named first (0: never), and all named nodes."""

    night: int
    nodes: frozenset[str]


def plan(seed: int, rounds: int) -> list[NightsRound]:
    """Return ``rounds`` of each kind and as many healthy ones, in random order."""
    draw = random.Random(seed)
    kinds = [kind for kind in KINDS for _ in range(rounds)]
    chosen = [*kinds, *[None] * len(kinds)]
    draw.shuffle(chosen)
    return [NightsRound(kind, draw.choice(NODES), draw.uniform(0.05, 0.1), draw.randrange(2**32)) for kind in chosen]


def run_rounds(seed: int, rounds: int, tell: Callable[[str], None]) -> None:
    """Run a plan. Call ``tell`` with a line for each round, and with the rates at the end."""
    outcomes: list[tuple[NightsRound, Named]] = []
    for planned in plan(seed, rounds):
        with tempfile.TemporaryDirectory() as folder:
            said = run_round(planned, pathlib.Path(folder))
        outcomes.append((planned, said))
        fault = f"{planned.kind} on {planned.node}, {planned.slow_down:.1%} slower" if planned.kind else "healthy"
        tell(f"{fault}: named {', '.join(sorted(said.nodes)) or 'no node'}, in night {said.night or '–'}")
    for kind in KINDS:
        of_kind = [(planned, said) for planned, said in outcomes if planned.kind == kind]
        right = sum(said.night > 0 for _, said in of_kind)
        alone = sum(said.nodes == {planned.node} for planned, said in of_kind)
        tell(f"{kind}: named within {NIGHTS} nights {Rate(right, len(of_kind))}, no other {Rate(alone, len(of_kind))}")
    healthy = [said for planned, said in outcomes if not planned.kind]
    tell(f"healthy: a node named {Rate(sum(bool(said.nodes) for said in healthy), len(healthy))}")


def run_round(planned: NightsRound, results: pathlib.Path) -> Named:
    """Run the nights of a round, and publish each at its end. ``results`` is an empty folder."""
    rng = np.random.default_rng(planned.seed)
    named: list[set[str]] = []
    for night in range(BEFORE + NIGHTS):
        slow = KINDS[planned.kind] if planned.kind and night >= BEFORE else ()
        _leave(results, night, [
            _measured(check, node, planned.slow_down if check in slow and node == planned.node else 0.0, rng)
            for check in CHECKS for node in NODES for _ in range(REPEATS)
        ])  # fmt: skip
        if night >= BEFORE - 1:
            with contextlib.redirect_stdout(io.StringIO()):
                publish(Site(site_folder(SITE)), results)
            named.append(set(_NAMED.findall((results / "nightly/message.md").read_text(encoding="utf-8"))))
    since = named[1:]
    first = next((night for night, nodes in enumerate(since, start=1) if planned.node in nodes), 0)
    return Named(first if planned.kind else 0, frozenset().union(*since))


def _measured(check: str, node: str, slow_down: float, rng: np.random.Generator) -> RecordedCase:
    """Return the case of a check on one node, as with ``--distribute``."""
    family, usual = CHECKS[check]
    figures = {
        metric: Figure(value * (1 - slow_down) * (1 + SPREAD * rng.standard_normal()), reference, 0, None, unit, "pass")
        for metric, (value, reference, unit) in usual.items()
    }
    return _case(check, family, f"{check} %scale=one_node", f" %.part={SITE}:{PARTITION} %.nid={node}", node, figures)


def _state() -> RecordedCase:
    """Return the case of PartitionState with all nodes in service."""
    figures = {"fraction_usable": Figure(1.0, 1, 0, 0, "", "pass")}
    case = _case("PartitionState", "node/partition-state", "PartitionState", "", "login1", figures)
    return msgspec.structs.replace(case, per_node={"usable": PerNode("", dict.fromkeys(NODES, 1.0))})


def _case(check: str, family: str, name: str, added: str, node: str, figures: dict[str, Figure]) -> RecordedCase:
    return RecordedCase(
        name=name,
        display_name=name + added,
        system=SITE,
        partition=PARTITION,
        environ="packaged",
        result="pass",
        job_nodelist=(node,),
        check_class=check,
        family=family,
        declared_metrics=tuple(figures),
        provenance=Provenance(nodelist=(node,)),
        perfvalues={f"{SITE}:{PARTITION}:{metric}": figure for metric, figure in figures.items()},
    )


def _leave(results: pathlib.Path, night: int, cases: list[RecordedCase]) -> None:
    """Write the record and the report of a finished night."""
    started = START + night * DAY_S
    day = np.datetime64(int(started), "s").item()
    folder = results / "nights" / f"{day:%Y%m%dT%H%M%S}"
    folder.mkdir(parents=True)
    record = NightRecord(f"{day:%Y-%m-%d}", started, started + 3600, "nightly", len(NODES), ended=started + 600)
    info = SessionInfo(uuid=f"night-{night}", time_start=f"{day:%Y%m%dT%H%M%S}+0000", mode=record.mode,
                       command_line="reframe -r")  # fmt: skip
    (folder / RECORD).write_bytes(msgspec.json.encode(record))
    (folder / MAIN).write_bytes(msgspec.json.encode(Report(info, (Run((_state(), *cases)),))))
