"""How often a planted fault is found by a sample of the pairs: ``python -m tests.pair_sampling PROGRAM``.

Prints the table of docs/scaling.md. The rounds are those of the program (``kappa-measure pairs --schedule-only``), the
figures are made up on the fabric that ``fabric.py`` describes, and what finds the fault is what judges a real sweep.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from reframe_checks.network.pair_sweep import rounds_of_sample
from tests.pair_sampling.fabric import Fabric, Fault, Routing, hit
from tests.pair_sampling.schedule import schedule_of
from tests.tables import Rate

CASES: tuple[tuple[Fault, Routing], ...] = (
    ("none", "static"), ("none", "adaptive"), ("node", "static"), ("node", "adaptive"), ("leaf uplinks", "static"),
    ("leaf uplinks", "adaptive"), ("spine path", "static"), ("spine path", "adaptive"),
)  # fmt: skip


@dataclass
class Trials:
    """``found`` and ``wrong`` of so many sweeps: the planted was named, and anything else was."""

    number: int = 0
    found: int = 0
    wrong: int = 0
    judged_s: list[float] = field(default_factory=list)


def tried(
    program: Path, nodes: int, leaf_size: int, rounds: int, fault: Fault, routing: Routing, seeds: range, folder: Path
) -> Trials:
    """Each with noise, rounds and a place of the fault of its own."""
    trials = Trials()
    for seed in seeds:
        fabric = Fabric(nodes, leaf_size, routing, np.random.default_rng(seed))
        planted = fabric.plant(fault)
        figures = fabric.sweep(schedule_of(program, fabric.leaf, rounds, seed, folder))
        started = time.perf_counter()
        findings = fabric.judged(figures).findings
        trials.judged_s.append(time.perf_counter() - started)
        trials.number += 1
        trials.found += hit(findings, planted)
        trials.wrong += any(finding.name != planted for finding in findings)
    return trials


def rate(count: int, of: int) -> str:
    low, high = Rate(count, of).interval()
    return f"{count} of {of} ({100 * low:.1f}–{100 * high:.1f} %)"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=Path, help="kappa-measure, as CMake built it")
    options.add_argument("--nodes", type=int, nargs="*", default=[1000, 3300, 10000], metavar="N")
    options.add_argument("--leaf-size", type=int, default=20, metavar="N")
    options.add_argument("--trials", type=int, default=200, metavar="N")
    options.add_argument("--rounds", type=int, default=0, metavar="N", help="0: as many as PairSweep has of itself")
    chosen = options.parse_args()
    print("| nodes | rounds | planted | routing | found | wrong finding | judged in |")
    print("| ---: | ---: | --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for nodes in chosen.nodes:
            rounds = chosen.rounds or rounds_of_sample(nodes)
            for fault, routing in CASES:
                seeds = range(chosen.trials)
                done = tried(chosen.program, nodes, chosen.leaf_size, rounds, fault, routing, seeds, Path(folder))
                found = "–" if fault == "none" else rate(done.found, done.number)
                print(
                    f"| {nodes} | {rounds} | {fault} | {routing} | {found} | {rate(done.wrong, done.number)} | "
                    f"{np.median(done.judged_s):.2f} s |", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
