"""Rounds of nights: ``python -m tests.fault_campaign.nights``.

A node becomes 5 to 10 % slower and stays so, by less than any bound sees in a night. Recorded cases of single nodes,
with figures that spread by 3 %, are left as the reports of nights; ``kappa nightly report`` takes each in as it comes,
and its message names a node or none. Half of the rounds are healthy. It needs no cluster: on virtual nodes that share
a machine such a fault is smaller than what they take from each other.
"""

import argparse
import contextlib
import functools
import io
import pathlib
import random
import re
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from tests.fault_campaign.rates import Rate

from kappa.core.sites.load import Site, find_site
from reports.nightly.publish import publish
from tests.unit.nightly.samples import DAY_S, START, keep_record, keep_report, pinned, record
from tests.unit.reports.samples import Document, case, report

NODES = ("node1", "node2", "node3", "node4")
CHECKS = ("Stream %scale=one_node", "Hpl %scale=one_node")
KINDS = {"slow node": CHECKS, "slow memory": CHECKS[:1]}
"""The checks that see it."""
REPEATS, BEFORE, NIGHTS, SPREAD = 3, 20, 5, 0.03
_NAMED = re.compile(r"^- .*, worse.*: .* on (node\d+), ", re.MULTILINE)


@dataclass(frozen=True)
class Round:
    """``kind`` of fault on ``node``, slower by ``slow_down``; a healthy round has no kind."""

    kind: str | None
    node: str
    slow_down: float
    seed: int


@dataclass(frozen=True)
class Named:
    """In which night after the fault its node was named first, 0 when never; all nodes that were named."""

    night: int
    nodes: frozenset[str]


def plan(seed: int, rounds: int) -> list[Round]:
    """``rounds`` of each kind and as many healthy ones, in random order."""
    draw = random.Random(seed)
    kinds = [kind for kind in KINDS for _ in range(rounds)]
    chosen = [*kinds, *[None] * len(kinds)]
    draw.shuffle(chosen)
    return [Round(kind, draw.choice(NODES), draw.uniform(0.05, 0.1), draw.randrange(2**32)) for kind in chosen]


def run_round(planned: Round, results: pathlib.Path) -> Named:
    """The nights of a round, each published as it ends; ``results`` is an empty folder."""
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
                publish(Site(find_site(("embedded",))), results)
            named.append(set(_NAMED.findall((results / "nightly/message.md").read_text(encoding="utf-8"))))
    since = named[1:]
    first = next((night for night, nodes in enumerate(since, start=1) if planned.node in nodes), 0)
    return Named(first if planned.kind else 0, frozenset().union(*since))


_recorded = functools.cache(case)


def _measured(check: str, node: str, slow_down: float, rng: np.random.Generator) -> Document:
    entry = pinned(_recorded(check), node)
    figures = {
        key: [figure[0] * (1 - slow_down) * (1 + SPREAD * rng.standard_normal()), *figure[1:]]
        for key, figure in entry["perfvalues"].items()
    }
    return {**entry, "perfvalues": figures}


def _leave(results: pathlib.Path, night: int, cases: list[Document]) -> None:
    """The record and the report of a night that has ended."""
    started = START + night * DAY_S
    day = np.datetime64(int(started), "s").item()
    folder = results / "nights" / f"{day:%Y%m%dT%H%M%S}"
    keep_record(folder, record(night=f"{day:%Y-%m-%d}", started=started, ended=started + 600, deadline=started + 3600))
    state = [_recorded("PartitionState")]
    keep_report(folder, report([*state, *cases], uuid=f"night-{night}", time_start=f"{day:%Y%m%dT%H%M%S}+0000"))


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.fault_campaign.nights", description=__doc__.partition("\n\n")[2])
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each kind of fault (%(default)s)")
    options = parser.parse_args()
    outcomes: list[tuple[Round, Named]] = []
    for planned in plan(options.seed, options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append((planned, run_round(planned, pathlib.Path(folder))))
        fault = f"{planned.kind} on {planned.node}, {planned.slow_down:.1%} slower" if planned.kind else "healthy"
        said = outcomes[-1][1]
        print(f"{fault}: named {', '.join(sorted(said.nodes)) or 'nobody'}, in night {said.night or '–'}", flush=True)
    for kind in KINDS:
        of_kind = [(planned, said) for planned, said in outcomes if planned.kind == kind]
        right = sum(said.night > 0 for _, said in of_kind)
        alone = sum(said.nodes == {planned.node} for planned, said in of_kind)
        print(f"{kind}: named within {NIGHTS} nights {Rate(right, len(of_kind))}, no other {Rate(alone, len(of_kind))}")
    healthy = [said for planned, said in outcomes if not planned.kind]
    print(f"healthy: a node named {Rate(sum(bool(said.nodes) for said in healthy), len(healthy))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
