import pytest

from tests.fault_campaign.table import BEGIN, END, between_markers, render
from tests.unit.fault_campaign.samples import outcome

FOUND = outcome(1, "slow link", "node2", detail="500 Mbit/s")
MISSED = outcome(2, "full disk", "node1", verdict="PASS", failed=(), suspects=())


def row(text, title):
    return next(line for line in text.splitlines() if line.startswith(f"| {title}"))


def test_rates_of_each_kind_and_class():
    text = render([outcome(0), FOUND, MISSED], 7)
    assert row(text, "slow link").split(" | ")[2:] == ["1/1 (3–100 %)"] * 3 + ["NodeLinks 1 |"]
    assert "| 0/1 (0–98 %) |" in row(text, "full disk (hard)")
    assert "| 0/1 (0–98 %) |" in row(text, "**all hard faults**")
    assert "| 1/2 (1–99 %) |" in row(text, "**all**")
    assert "| – |" in row(text, "slow disk")


def test_what_was_missed_is_listed():
    assert row(render([FOUND, MISSED], 7), "2 ").split(" | ")[1:4] == ["full disk: ", "node1", "PASS"]
    assert "No fault was missed" in render([FOUND], 7)


def test_false_alarms_of_each_check():
    alarm = outcome(1, verdict="FAIL", failed=("NodeLinks",), suspects=("node4",))
    transient = outcome(2, unstable=("PartitionHealth",))
    text = render([outcome(0), alarm, transient], 7)
    assert row(text, "NodeLinks") == "| NodeLinks | 1/3 (1–91 %) | 0 |"
    assert row(text, "PartitionHealth") == "| PartitionHealth | 0/3 (0–71 %) | 1 |"
    assert row(text, "**whole run not PASS**").startswith("| **whole run not PASS** | 1/3")
    assert "| 1 | none |  | FAIL | node4 | NodeLinks |" in text


def test_bars_do_not_break_the_table():
    text = render([outcome(1, "damaged output", "node1", detail="fio | tac", suspects=())], 7)
    assert r"damaged output: fio \| tac" in text


def test_between_markers():
    assert between_markers(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\nnew\n{END}\nb\n"
    with pytest.raises(ValueError, match="expected the lines"):
        between_markers("a\n", "new")
