"""The busiest link of a simulated case is shown; measured cases have none."""

from types import SimpleNamespace

from kappa.core.record.evidence import LinkUse, Simulation
from kappa.core.record.model import Case
from reports.show.run_page import busiest_links


def verdict(name, *shares):
    links = tuple(LinkUse(f"s{number}_UP", 2e6, 4.0, share) for number, share in enumerate(shares))
    simulation = Simulation("own", "sound", "spec-only", "0" * 64, links) if shares else None
    case = Case(name=name, system="simulated", partition="own", environ="smpi", result="pass", simulation=simulation)
    return SimpleNamespace(case=case)


def test_the_busiest_comes_first_with_at_most_three_links():
    rows = busiest_links([verdict("a", 0.1), verdict("measured"), verdict("b", 0.9, 0.5, 0.4, 0.3)])
    assert [row.title for row in rows] == ["b on own+smpi", "a on own+smpi"]
    assert rows[0].links == "s0_UP 90% of 4 GB/s, 2 MB; s1_UP 50% of 4 GB/s, 2 MB; s2_UP 40% of 4 GB/s, 2 MB"
