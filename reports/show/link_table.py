"""What the busiest link of each simulated case carried: where traffic gets in its own way."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.figures import figure
from reports.verdict.case_verdict import CaseVerdict

#: Of each case.
MOST_LINKS = 3


@dataclass(frozen=True)
class Busy:
    """A row: the case, and its busiest links in words."""

    title: str
    share: float
    links: str


def busiest_links(cases: Sequence[CaseVerdict]) -> list[Busy]:
    """The cases that were simulated, the one with the busiest link first."""
    found = []
    for case in (verdict.case for verdict in cases):
        links = case.simulation.busiest[:MOST_LINKS] if case.simulation else ()
        if links:
            words = "; ".join(
                f"{one.name} {one.share:.0%} of {figure(one.bandwidth_gb_s)} GB/s, {figure(one.carried_bytes / 1e6)} MB"
                for one in links
            )
            found.append(Busy(case.title, links[0].share, words))
    return sorted(found, key=lambda row: -row.share)
