"""Name the slow node of a made-up report by its figures of nodes: ``python -m tests.scale.localised REPORT``."""

import sys
from pathlib import Path

from kappa.core.record.load import load_session
from reframe_checks.localise.finding import suspects_of_nodes
from tests.benchmarks.pages import COMPUTES, SWEEPS, slow_node

# As NodeSweep's.
LEAST_SLOWDOWN = 1.1


def main() -> None:
    cases = load_session(Path(sys.argv[1])).runs[0]
    for case in cases:
        for metric, figures in case.per_node.items() if case.check_class in SWEEPS else ():
            found = suspects_of_nodes(metric, figures.values, least_slowdown=LEAST_SLOWDOWN)
            expected = [slow_node(list(figures.values))] if case.check_class in COMPUTES else []
            if [one.name for one in found] != expected:
                raise SystemExit(f"{case.check_class}, {metric}: {[one.name for one in found]} named, not {expected}")


if __name__ == "__main__":
    main()
