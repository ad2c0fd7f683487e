"""Months of 720 h on four nodes, made by hand, each with the answer that pencil and paper give.

The reliability tests (c = 5) last 463.7 h of uptime and 1854.9 node-hours; three of the four nodes make the system.
"""

import pytest

from reports.acceptance.kinds.clause import ClauseOutcome
from tests.unit.acceptance.outages import CONTRACT_TEXT, verdicts, written

MET, NOT_MET, INCOMPLETE = ClauseOutcome.MET, ClauseOutcome.NOT_MET, ClauseOutcome.INCOMPLETE


def quiet(month):
    pass


def five_outages(month):
    for start in (100, 200, 300, 400, 500):
        month.system(start, start + 2.88)


def six_outages_early(month):
    for start in (40, 80, 120, 160, 200, 240):
        month.system(start, start + 1)


def power_cut(month):
    for name in ("n1", "n2", "n3", "n4"):
        month.node(name, 100, 102)


def power_cut_one_by_one(month):
    for number, name in enumerate(("n1", "n2", "n3", "n4")):
        month.node(name, 100 + number / 60, 102, cause="power")


def one_node(month):
    month.node("n2", 100, 110)


def two_nodes_overlap(month):
    month.node("n1", 100, 105)
    month.node("n2", 104, 109)


def maintenance(month):
    month.system(100, 124, scheduled=True, recorded=50)


def maintenance_without_notice(month):
    month.system(100, 124, scheduled=True, recorded=90)


def maintenance_that_lasts_longer(month):
    number = month.system(100, 124, scheduled=True, recorded=50)
    month.system(100, 130, scheduled=True, supersedes=number)


def excluded(month):
    month.system(100, 112, attribution="site", exclusion="power of the site")


def excluded_by_no_list(month):
    month.system(100, 112, exclusion="bad luck")


def of_the_site(month):
    month.system(100, 112, attribution="site")


def dispute_that_does_not_matter(month):
    month.system(100, 112, agreed=("vendor",))


def dispute_that_decides(month):
    month.system(100, 120, agreed=("vendor",))


def eight_hours_of_silence(month):
    month.add("not_observed", 100, 108, agreed=())


def seven_hours_of_silence(month):
    month.add("not_observed", 100, 107, agreed=())


def one_cause(month):
    for name, start in (("n1", 100), ("n2", 100.5), ("n3", 100.9)):
        month.node(name, start, start + 0.2, cause="cooling")


def unknown_causes(month):
    for name, start in (("n1", 100), ("n2", 100.5), ("n3", 100.9), ("n1", 100.4)):
        month.node(name, start, start + 0.05)


def reported_twice(month):
    month.node("n1", 100, 110)
    month.node("n1", 100.5, 101, cause="job ended")


def taken_back(month):
    number = month.system(100, 112)
    month.add("void", 100, 112, supersedes=number)


def taken_back_by_one(month):
    number = month.system(100, 120)
    month.add("void", 100, 120, supersedes=number, agreed=("vendor",))


def still_down(month):
    month.node("n1", 700, None)


def job_of_all_nodes(month):
    month.add("job_interrupt", 100, 100, attribution="vendor")


def too_short(month):
    month.system(100, 100.05)


def nobody_is_named(month):
    """For the vendor's failures it is judged both ways, six or none; for the availability it counts."""
    for start in (40, 80, 120, 160, 200, 240):
        month.system(start, start + 1, attribution=None)


def burst_of_one_cause(month):
    """Seven outages: the five within an hour of the first are one, the last has another cause."""
    for start in (100, 100.15, 100.3, 100.45, 100.6):
        month.system(start, start + 0.1, cause="file system")
    month.system(101.2, 101.3, cause="file system")
    month.system(101.5, 101.6, cause="network")


def during_maintenance(month):
    month.system(100, 124, scheduled=True, recorded=50)
    month.system(110, 112)
    month.node("n1", 110, 111)


# month -> interrupts of the system and of nodes within their tests, availability of system and nodes, outcomes S N A B.
MONTHS = {
    quiet: (0, 0, 100, 100, (MET, MET, MET, MET)),
    five_outages: (4, 0, 98, 98, (MET, MET, MET, NOT_MET)),
    six_outages_early: (6, 0, 100 * 714 / 720, 100 * 714 / 720, (NOT_MET, MET, MET, MET)),
    power_cut: (1, 0, 100 * 718 / 720, 100 * 718 / 720, (MET, MET, MET, MET)),
    # System: from the second node on; before it 1 node for a minute.
    power_cut_one_by_one: (1, 0, 100 * (720 - 119 / 60) / 720, 100 * (2880 - 4 * 119 / 60 - 1 / 60) / 2880,
                           (MET, MET, MET, MET)),
    one_node: (0, 1, 100, 100 * 2870 / 2880, (MET, MET, MET, MET)),
    # The hour in which both are down takes all four; four hours of each besides.
    two_nodes_overlap: (1, 1, 100 * 719 / 720, 100 * 2868 / 2880, (MET, MET, MET, MET)),
    maintenance: (0, 0, 100, 100, (MET, MET, MET, MET)),
    maintenance_without_notice: (1, 0, 100 * 696 / 720, 100 * 696 / 720, (MET, MET, NOT_MET, NOT_MET)),
    maintenance_that_lasts_longer: (1, 0, 100 * 690 / 696, 100 * 690 / 696, (MET, MET, MET, MET)),
    excluded: (0, 0, 100, 100, (MET, MET, MET, MET)),
    excluded_by_no_list: (1, 0, 100 * 708 / 720, 100 * 708 / 720, (MET, MET, MET, NOT_MET)),
    of_the_site: (0, 0, 100 * 708 / 720, 100 * 708 / 720, (MET, MET, MET, NOT_MET)),
    dispute_that_does_not_matter: (1, 0, 100 * 708 / 720, 100 * 708 / 720, (MET, MET, MET, INCOMPLETE)),
    dispute_that_decides: (1, 0, 100 * 700 / 720, 100 * 700 / 720, (MET, MET, INCOMPLETE, INCOMPLETE)),
    eight_hours_of_silence: (0, 0, 100, 100, (INCOMPLETE,) * 4),
    # For the shorter reliability tests, seven hours are more than one per cent.
    seven_hours_of_silence: (0, 0, 100, 100, (INCOMPLETE, INCOMPLETE, MET, MET)),
    one_cause: (0, 1, 100, 100 * 2879.4 / 2880, (MET, MET, MET, MET)),
    unknown_causes: (0, 3, 100, 100 * 2879.8 / 2880, (MET, MET, MET, MET)),
    reported_twice: (0, 1, 100, 100 * 2870 / 2880, (MET, MET, MET, MET)),
    taken_back: (0, 0, 100, 100, (MET, MET, MET, MET)),
    taken_back_by_one: (1, 0, 100 * 700 / 720, 100 * 700 / 720, (MET, MET, INCOMPLETE, INCOMPLETE)),
    still_down: (0, 0, 100, 100 * 2860 / 2880, (MET, MET, MET, MET)),
    job_of_all_nodes: (1, 0, 100, 100, (MET, MET, MET, MET)),
    too_short: (0, 0, 100, 100, (MET, MET, MET, MET)),
    nobody_is_named: (6, 0, 100 * 714 / 720, 100 * 714 / 720, (INCOMPLETE, MET, MET, MET)),
    burst_of_one_cause: (3, 0, 100 * (720 - 0.7) / 720, 100 * (720 - 0.7) / 720, (MET, MET, MET, MET)),
    during_maintenance: (0, 0, 100, 100, (MET, MET, MET, MET)),
}  # fmt: skip


@pytest.mark.parametrize("month", MONTHS, ids=lambda month: month.__name__)
def test_a_month_has_the_answer_of_pencil_and_paper(month, tmp_path):
    of_system, of_nodes, system, nodes, outcomes = MONTHS[month]
    found = verdicts(written(tmp_path / "campaign", month))
    assert len(found["S"].detail.figures.interrupts) == of_system
    assert len(found["N"].detail.figures.interrupts) == of_nodes
    assert found["A"].value == pytest.approx(system, rel=1e-12)
    assert found["B"].value == pytest.approx(nodes, rel=1e-12)
    assert tuple(verdict.outcome for verdict in found.values()) == outcomes


def test_every_second_is_in_one_class(tmp_path):
    def mixed(month):
        for one in (two_nodes_overlap, excluded, reported_twice):
            one(month)
        month.add("not_observed", 108, 115, agreed=())
        month.system(300, 310, scheduled=True, recorded=200)
        month.node("n3", 305, 330)

    for verdict in verdicts(written(tmp_path / "campaign", mixed)).values():
        account = verdict.detail.figures.account
        parts = (account.up, account.unscheduled, account.scheduled, account.removed, account.not_observed)
        assert sum(parts) == pytest.approx(account.period, rel=1e-12)
        assert min(parts) >= 0


def test_a_period_that_is_not_over_is_incomplete(tmp_path):
    found = verdicts(written(tmp_path / "campaign", quiet, observed_h=400))
    assert {verdict.outcome for verdict in found.values()} == {INCOMPLETE}
    assert "400 of 463.7 h" in found["S"].problems[0]


def test_excluded_time_extends_the_test(tmp_path):
    """Twelve hours do not count, so that the 463.7 h end twelve hours later; the sixth outage is before that."""

    def outages(month):
        excluded(month)
        for start in (200, 220, 240, 260, 280):
            month.system(start, start + 1)
        month.system(475, 476)

    assert verdicts(written(tmp_path / "campaign", outages))["S"].outcome is NOT_MET


def test_a_burn_in_counts_for_nothing(tmp_path):
    contract = CONTRACT_TEXT.replace("notice_h: 48", "notice_h: 48, burn_in_h: 250")
    found = verdicts(written(tmp_path / "campaign", six_outages_early, 1000, contract))
    assert found["S"].outcome is MET and not found["S"].detail.figures.interrupts


def test_a_period_that_one_party_began_alone_is_none(tmp_path):
    campaign = written(tmp_path / "campaign", lambda month: month.add("begin", 5, agreed=()))
    assert "begins the period 2 times" in verdicts(campaign)["S"].problems[0]
