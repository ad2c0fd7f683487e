import pytest

from tests.fault_campaign.table import BEGIN, END, between_markers, render
from tests.unit.fault_campaign.samples import outcome

FOUND = outcome(1, "slow link", "node2", detail="500 Mbit/s")
MISSED = outcome(2, "full disk", "node1", verdict="PASS", failed=(), suspects=())


def row(text, title):
    return next(line for line in text.splitlines() if line.startswith(f"| {title}"))


def test_rates_of_each_kind_and_class():
    text = render([outcome(0), FOUND, MISSED], 7, {})
    assert row(text, "slow link").split(" | ")[2:] == ["1/1 (3–100 %)"] * 3 + ["NodeLinks 1 |"]
    assert "| 0/1 (0–98 %) |" in row(text, "full disk (hard)")
    assert "| 0/1 (0–98 %) |" in row(text, "**all hard faults**")
    assert "| 1/2 (1–99 %) |" in row(text, "**all**")
    assert "| – |" in row(text, "slow disk")


def test_what_was_missed_is_listed():
    assert row(render([FOUND, MISSED], 7, {}), "2 ").split(" | ")[1:4] == ["full disk: ", "node1", "PASS"]
    assert "No fault was missed" in render([FOUND], 7, {})


def test_rates_of_each_check():
    elsewhere = outcome(3, "slow disk", "node3", failed=("NodeLinks", "PartitionHealth"))
    kept_from_running = outcome(4, "dead slurmd", "node1", checks=(), failed=())
    without_verdict = outcome(5, "slow link", "node1")
    blamed = {1: {"NodeLinks": {"node2"}}, 3: {"NodeLinks": {"node3", "node1"}, "PartitionHealth": {"node3"}}}
    text = render([outcome(0), FOUND, MISSED, elsewhere, kept_from_running, without_verdict], 7, blamed)
    assert row(text, "NodeLinks") == "| NodeLinks | 3/5 (15–95 %) | 1/2 (1–99 %) | 0/1 (0–98 %) | 0 |"
    assert row(text, "PartitionHealth") == "| PartitionHealth | 1/5 (1–72 %) | 1/1 (3–100 %) | 0/1 (0–98 %) | 0 |"
    assert row(text, "**whole run not PASS**").split(" | ")[1:3] == ["4/5 (28–99 %)", "4/4 (40–100 %)"]


def test_what_so_many_rounds_can_show():
    text = render([FOUND, *(outcome(number) for number in range(36))], 7, {})
    assert "0 false alarms in 36 leave room for a rate of up to 10 %, 1 faults of 1 for one down to 3 %" in text
    assert "368 healthy rounds without an alarm to show at most 1 %, and 72 faults" in text


def test_false_alarms_of_each_check():
    alarm = outcome(1, verdict="FAIL", failed=("NodeLinks",), suspects=("node4",))
    transient = outcome(2, unstable=("PartitionHealth",))
    text = render([outcome(0), alarm, transient], 7, {})
    assert row(text, "NodeLinks") == "| NodeLinks | – | – | 1/3 (1–91 %) | 0 |"
    assert row(text, "PartitionHealth") == "| PartitionHealth | – | – | 0/3 (0–71 %) | 1 |"
    assert row(text, "**whole run not PASS**").split(" | ")[3].startswith("1/3")
    assert "| 1 | none |  | FAIL | node4 | NodeLinks |" in text


def test_bars_do_not_break_the_table():
    text = render([outcome(1, "damaged output", "node1", detail="fio | tac", suspects=())], 7, {})
    assert r"damaged output: fio \| tac" in text


def test_between_markers():
    assert between_markers(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\nnew\n{END}\nb\n"
    with pytest.raises(ValueError, match="expected the lines"):
        between_markers("a\n", "new")
