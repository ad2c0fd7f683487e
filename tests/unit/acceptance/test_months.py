"""Months of 720 h on four nodes, made by hand, each with the answer that pencil and paper give.

The reliability tests (c = 5) last 463.7 h of uptime and 1854.9 node-hours; three of the four nodes make the system.
"""

import pytest

from reports.acceptance.kinds.clause import ClauseOutcome
from tests.unit.acceptance.outages import CONTRACT_TEXT, verdicts, written

MET, NOT_MET, INCOMPLETE = ClauseOutcome.MET, ClauseOutcome.NOT_MET, ClauseOutcome.INCOMPLETE
ALL_MET = (MET,) * 4
NODES = ("n1", "n2", "n3", "n4")


def systems(month, starts, hours, **fields):
    for start in starts:
        month.system(start, start + hours, **fields)


def nodes(month, *outages, **fields):
    for name, start, end in outages:
        month.node(name, start, end, **fields)


def maintenance(month):
    month.system(100, 124, scheduled=True, recorded=50)


def two_nodes_overlap(month):
    nodes(month, ("n1", 100, 105), ("n2", 104, 109))


def maintenance_that_lasts_longer(month):
    number = month.system(100, 124, scheduled=True, recorded=50)
    month.system(100, 130, scheduled=True, supersedes=number)


def taken_back(month, hours=12, agreed=("buyer", "vendor")):
    number = month.system(100, 100 + hours)
    month.add("void", 100, 100 + hours, supersedes=number, agreed=agreed)


def burst_of_one_cause(month):
    """Seven outages: the five within an hour of the first are one, the last has another cause."""
    systems(month, (100, 100.15, 100.3, 100.45, 100.6, 101.2), 0.1, cause="file system")
    month.system(101.5, 101.6, cause="network")


def still_down_by_the_first_cause(month):
    """The first cause comes again within the hour and outlasts the second; the third begins before its end."""
    month.system(100, 100.1, cause="power")
    month.system(100.2, 100.3, cause="network")
    month.system(100.4, 120, cause="power")
    month.system(110, 111, cause="file system")


def during_maintenance(month):
    maintenance(month)
    month.system(110, 112)
    month.node("n1", 110, 111)


def reported_twice(month):
    month.node("n1", 100, 110)
    month.node("n1", 100.5, 101, cause="job ended")


# month -> fill, interrupts of system and nodes within their tests, availability of both in per cent, outcomes S N A B.
MONTHS = {
    "quiet": (lambda m: None, 0, 0, 100, 100, ALL_MET),
    "five outages": (lambda m: systems(m, (100, 200, 300, 400, 500), 2.88), 4, 0, 98, 98, (MET, MET, MET, NOT_MET)),
    "six outages early": (lambda m: systems(m, range(40, 241, 40), 1), 6, 0, 71400 / 720, 71400 / 720,
                          (NOT_MET, MET, MET, MET)),
    "power cut": (lambda m: nodes(m, *((name, 100, 102) for name in NODES)), 1, 0, 71800 / 720, 71800 / 720, ALL_MET),
    # System: from the second node on; before it 1 node for a minute.
    "power cut one by one": (
        lambda m: nodes(m, *((name, 100 + number / 60, 102) for number, name in enumerate(NODES)), cause="power"),
        1, 0, 100 * (720 - 119 / 60) / 720, 100 * (2880 - 4 * 119 / 60 - 1 / 60) / 2880, ALL_MET,
    ),
    "one node": (lambda m: m.node("n2", 100, 110), 0, 1, 100, 287000 / 2880, ALL_MET),
    # The hour in which both are down takes all four; four hours of each besides.
    "two nodes overlap": (two_nodes_overlap, 1, 1, 71900 / 720, 286800 / 2880, ALL_MET),
    "maintenance": (maintenance, 0, 0, 100, 100, ALL_MET),
    "maintenance without notice": (lambda m: m.system(100, 124, scheduled=True, recorded=90),
                                   1, 0, 69600 / 720, 69600 / 720, (MET, MET, NOT_MET, NOT_MET)),
    "maintenance that lasts longer": (maintenance_that_lasts_longer, 1, 0, 69000 / 696, 69000 / 696, ALL_MET),
    "excluded": (lambda m: m.system(100, 112, "site", exclusion="power of the site"), 0, 0, 100, 100, ALL_MET),
    "excluded by no list": (lambda m: m.system(100, 112, exclusion="bad luck"), 1, 0, 70800 / 720, 70800 / 720,
                            (MET, MET, MET, NOT_MET)),
    "of the site": (lambda m: m.system(100, 112, "site"), 0, 0, 70800 / 720, 70800 / 720, (MET, MET, MET, NOT_MET)),
    "dispute that does not matter": (lambda m: m.system(100, 112, agreed=("vendor",)), 1, 0, 70800 / 720, 70800 / 720,
                                     (MET, MET, MET, INCOMPLETE)),
    "dispute that decides": (lambda m: m.system(100, 120, agreed=("vendor",)), 1, 0, 70000 / 720, 70000 / 720,
                             (MET, MET, INCOMPLETE, INCOMPLETE)),
    "eight hours of silence": (lambda m: m.add("not_observed", 100, 108, agreed=()), 0, 0, 100, 100, (INCOMPLETE,) * 4),
    # For the shorter reliability tests, seven hours are more than one per cent.
    "seven hours of silence": (lambda m: m.add("not_observed", 100, 107, agreed=()), 0, 0, 100, 100,
                               (INCOMPLETE, INCOMPLETE, MET, MET)),
    "one cause": (lambda m: nodes(m, ("n1", 100, 100.2), ("n2", 100.5, 100.7), ("n3", 100.9, 101.1), cause="cooling"),
                  0, 1, 100, 287940 / 2880, ALL_MET),
    "unknown causes": (
        lambda m: nodes(m, ("n1", 100, 100.05), ("n2", 100.5, 100.55), ("n3", 100.9, 100.95), ("n1", 100.4, 100.45)),
        0, 3, 100, 287980 / 2880, ALL_MET,
    ),
    "reported twice": (reported_twice, 0, 1, 100, 287000 / 2880, ALL_MET),
    "taken back": (taken_back, 0, 0, 100, 100, ALL_MET),
    "taken back by one": (lambda m: taken_back(m, 20, ("vendor",)), 1, 0, 70000 / 720, 70000 / 720,
                          (MET, MET, INCOMPLETE, INCOMPLETE)),
    "still down": (lambda m: m.node("n1", 700, None), 0, 0, 100, 286000 / 2880, ALL_MET),
    "job of all nodes": (lambda m: m.add("job_interrupt", 100, 100, attribution="vendor"), 1, 0, 100, 100, ALL_MET),
    "too short": (lambda m: m.system(100, 100.05), 0, 0, 100, 100, ALL_MET),
    # For the vendor's failures it is judged both ways, six or none; for the availability it counts.
    "not attributed": (lambda m: systems(m, range(40, 241, 40), 1, attribution=None), 6, 0, 71400 / 720, 71400 / 720,
                       (INCOMPLETE, MET, MET, MET)),
    "burst of one cause": (burst_of_one_cause, 3, 0, 71930 / 720, 71930 / 720, ALL_MET),
    "during maintenance": (during_maintenance, 0, 0, 100, 100, ALL_MET),
    "still down by the first cause": (still_down_by_the_first_cause, 2, 0, 70020 / 720, 70020 / 720,
                                      (MET, MET, NOT_MET, NOT_MET)),
}  # fmt: skip


@pytest.mark.parametrize("month", MONTHS)
def test_month_has_the_answer_of_pencil_and_paper(month, tmp_path):
    fill, of_system, of_nodes, system, of_all_nodes, outcomes = MONTHS[month]
    judged = verdicts(written(tmp_path / "campaign", fill))
    assert len(judged["S"].detail.figures.interrupts) == of_system
    assert len(judged["N"].detail.figures.interrupts) == of_nodes
    assert judged["A"].value == pytest.approx(system, rel=1e-12)
    assert judged["B"].value == pytest.approx(of_all_nodes, rel=1e-12)
    assert tuple(verdict.outcome for verdict in judged.values()) == outcomes


def test_every_second_is_in_one_class(tmp_path):
    def mixed(month):
        two_nodes_overlap(month)
        month.system(100, 112, "site", exclusion="power of the site")
        reported_twice(month)
        month.add("not_observed", 108, 115, agreed=())
        month.system(300, 310, scheduled=True, recorded=200)
        month.node("n3", 305, 330)

    for verdict in verdicts(written(tmp_path / "campaign", mixed)).values():
        account = verdict.detail.figures.account
        parts = (account.up, account.unscheduled, account.scheduled, account.removed, account.not_observed)
        assert sum(parts) == pytest.approx(account.period, rel=1e-12)
        assert min(parts) >= 0


def test_short_period_is_incomplete(tmp_path):
    judged = verdicts(written(tmp_path / "campaign", lambda month: None, observed_h=400))
    assert {verdict.outcome for verdict in judged.values()} == {INCOMPLETE}
    assert "400 of 463.7 h" in judged["S"].problems[0]


def test_excluded_time_extends_the_test(tmp_path):
    """Twelve hours do not count, so that the 463.7 h end twelve hours later; the sixth outage is before that."""

    def outages(month):
        month.system(100, 112, "site", exclusion="power of the site")
        systems(month, (200, 220, 240, 260, 280, 475), 1)

    assert verdicts(written(tmp_path / "campaign", outages))["S"].outcome is NOT_MET


def test_burn_in_does_not_count(tmp_path):
    contract = CONTRACT_TEXT.replace("notice_h: 48", "notice_h: 48, burn_in_h: 250")
    six_early = MONTHS["six outages early"][0]
    judged = verdicts(written(tmp_path / "campaign", six_early, 1000, contract))
    assert judged["S"].outcome is MET and not judged["S"].detail.figures.interrupts


def test_second_beginning_leaves_the_clause_incomplete(tmp_path):
    campaign = written(tmp_path / "campaign", lambda month: month.add("begin", 5, agreed=()))
    assert "begins the period 2 times" in verdicts(campaign)["S"].problems[0]
