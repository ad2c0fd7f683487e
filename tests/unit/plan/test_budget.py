"""The checks that a budget selects, and the past findings of each."""

import pathlib
import re
from collections import Counter

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.record.series import CaseSeries
from kappa.core.vocabulary.checks import catalogue
from reports.plan.budget import NIGHTS, of_campaign, select
from reports.plan.plan import Offered, plan


def planned(**node_hours):
    """A plan with a check of each name, ``family_check``, that takes so many node-hours on four nodes."""
    return plan(
        [
            Offered(
                CaseSeries(name, "cpu", "io"), name, name.partition("_")[0], 4 if hours else 0, hours * 900, 0,
            )
            for name, hours in node_hours.items()
        ],
        {},
    )  # fmt: skip


NIGHT = planned(state_free=0, health_all=0.1, links_pairs=0.2, links_ring=0.4, hpl_one=1.0, ior_easy=3.0, ior_node=0.5)
FOUND = {"health_all": 60, "links_pairs": 17}
RAN_LAST_NIGHT = {check: 0 for check in NIGHT.by_check}


def names(choices):
    return [choice.check for choice in choices]


def test_what_has_found_most_per_node_hour_comes_first():
    chosen = select(1.0, NIGHT, FOUND, RAN_LAST_NIGHT, 9)
    assert names(chosen.taken) == ["state_free", "health_all", "links_pairs", "ior_node"]
    assert chosen.taken[1].why == "600 findings per node-hour"
    assert chosen.node_hours == pytest.approx(0.8)
    assert set(names(chosen.left_out)) == {"hpl_one", "ior_easy", "links_ring"}
    assert chosen.overdue == ()


def test_a_family_that_waited_for_six_nights_comes_before_all_else():
    since = RAN_LAST_NIGHT | {"ior_easy": 6, "ior_node": 6}
    chosen = select(1.05, NIGHT, FOUND, since, 9)
    assert names(chosen.taken) == ["state_free", "ior_node", "health_all", "links_pairs"]
    assert chosen.taken[1].why == "family is due"
    # One of its checks ran five nights ago: the family is not due.
    assert names(select(1.05, NIGHT, FOUND, since | {"ior_easy": 5}, 9).taken)[1] == "health_all"


def test_of_families_what_waited_longest_then_what_takes_most_then_by_name():
    night = planned(a_x=1, b_x=1, c_x=0.5, d_x=1)
    assert names(select(3.6, night, {}, {"a_x": 1, "b_x": 1, "c_x": 1, "d_x": 4}, 9).taken) == [
        "d_x",
        "a_x",
        "b_x",
        "c_x",
    ]


def test_a_night_is_never_above_its_budget_and_always_the_same():
    for budget in (1.0, 1.3, 1.7, 2.5, 4.0):
        chosen = select(budget, NIGHT, FOUND, {}, 0)
        assert chosen.node_hours <= budget
        assert chosen == select(budget, NIGHT, dict(reversed(FOUND.items())), {}, 0)
        assert sorted(names(chosen.choices)) == sorted(NIGHT.by_check)
    assert select(5.2, NIGHT, FOUND, {}, 0).left_out == ()


@pytest.mark.parametrize("budget", [1.5, 1.6, 2.0, 3.0])
def test_in_any_seven_nights_every_family_runs(budget):
    families = {name: 0.2 + 0.05 * number for number, name in enumerate("abcdefghijklmnop")}
    night = planned(cheap_one=0.05, **{f"{name}_x": hours for name, hours in families.items()})
    since, nights = {}, []
    for runs in range(40):
        chosen = select(budget, night, {"cheap_one": 9, "p_x": 1}, since, runs)
        ran = set(names(chosen.taken))
        nights.append({choice.family for choice in chosen.taken})
        since = {check: 0 if check in ran else since[check] + 1 for check in {*since, *ran}}
    for first in range(len(nights) - NIGHTS):
        assert set().union(*nights[first : first + NIGHTS]) == {*families, "cheap"}


def test_a_budget_in_which_not_every_family_has_its_turn():
    with pytest.raises(InputError, match=r"--budget 0.3 is too small .* the most expensive of these 1"):
        select(0.3, NIGHT, FOUND, {}, 0)
    many = planned(**{f"f{number}_x": 1 for number in range(14)})
    with pytest.raises(InputError, match="of the 14 families take 14 node-hours") as refused:
        select(1.5, many, {}, {}, 0)
    enough = float(re.search(r"at least ([0-9.]+)", str(refused.value))[1])
    assert select(enough, many, {}, {}, 0).taken


def test_what_a_seventh_night_goes_by_without_is_told():
    night = planned(a_x=1, b_x=1)
    chosen = select(1, night, {}, {"a_x": 6, "b_x": 7}, 9)
    assert (names(chosen.taken), chosen.overdue) == (["b_x"], ("a",))


DOCS = pathlib.Path(__file__).parents[3] / "docs"
# | check | faults that it can see | failed in rounds with these faults | …
ROW = re.compile(r"\| (\w+) \| [^|]+ \| (\d+)/\d+ [^|]*\| [^|]+\| \d+/\d+ ")


def test_the_findings_are_those_of_the_tables_by_check():
    found = Counter()
    for name in ("fault-campaign.md", "fault-kinds.md", "fault-surroundings.md"):
        for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
            row = ROW.match(line)
            if row and row[1] in catalogue():
                found[row[1]] += int(row[2])
    assert of_campaign() == dict(found)
