import dataclasses

from tests.fault_campaign.outcomes import Settings
from tests.fault_campaign.table import render
from tests.unit.tools.fault_campaign.samples import outcome

SEED_7 = Settings(7, ())
FOUND = outcome(1, "slow link", "node2", detail="500 Mbit/s")
MISSED = outcome(2, "full disk", "node1", verdict="PASS", failed=(), suspects=())


def row(text, title):
    return next(line for line in text.splitlines() if line.startswith(f"| {title}"))


def test_rates_of_each_kind_and_class():
    text = render([outcome(0), FOUND, MISSED], [SEED_7])
    assert row(text, "slow link").split(" | ")[2:6] == ["1/1 (3–100 %)"] * 3 + ["–"]
    assert row(text, "slow link").split(" | ")[6:] == ["(NodeLinks 1)", "smoke 1", "20 (20–20) |"]
    assert "| 0/1 (0–98 %) |" in row(text, "full disk (hard)")
    assert "| 0/1 (0–98 %) |" in row(text, "**all hard faults**")
    assert "| 1/2 (1–99 %) |" in row(text, "**all**")
    assert "| slow disk" not in text
    untried = next(line for line in text.splitlines() if line.startswith("Kinds without a round: "))
    assert "slow disk" in untried and "full disk" not in untried


def test_found_by_names_what_can_see_the_fault_and_in_brackets_what_else_failed():
    seen = outcome(1, "wrong arithmetic", "node2", failed=("BitSweep", "PartitionHealth"))
    text = render([seen, outcome(2, "wrong arithmetic", "node2", failed=("BitSweep",))], [SEED_7])
    assert row(text, "wrong arithmetic").split(" | ")[6] == "BitSweep 2 (PartitionHealth 1)"


def test_the_smallest_mode_that_finds_a_fault_is_told():
    checks = (("PartitionHealth", "EmtIoEachNode"), ("EmtIoEachNode",), ())
    found = [outcome(number, "slow disk", "node2", failed=failed) for number, failed in enumerate(checks)]
    assert row(render(found, [SEED_7]), "slow disk").split(" | ")[7] == "smoke 1, nightly 1"


def test_how_soon_a_hang_is_named():
    found = [
        outcome(number, "stopped rank", "node2", named_after_s=after) for number, after in enumerate((18.7, 70, None))
    ]
    text = render(found, [SEED_7])
    title = text.splitlines().index(
        "| hang | seconds from the fault until the job named a node | within 60 s | not named by the job |"
    )
    assert text.splitlines()[title + 2] == "| stopped rank | 44 (19–70) | 1/2 (1–99 %) | 1 |"
    assert "seconds from the fault" not in render([FOUND], [SEED_7])


def test_what_was_missed_is_listed():
    assert row(render([FOUND, MISSED], [SEED_7]), "2 ").split(" | ")[1:4] == ["full disk: ", "node1", "PASS"]
    assert "Every fault was found" in render([FOUND], [SEED_7])
    with_another = dataclasses.replace(FOUND, suspects=(FOUND.node, "node4"))
    assert row(render([with_another], [SEED_7]), f"{FOUND.number} ").split(" | ")[4] == f"{FOUND.node}, node4"


def test_rates_of_each_check():
    """Over the rounds with a fault that it can see: what else it failed on counts neither way."""
    pair = outcome(
        1, "slow link", "node2", failed=("PairSweep",), checks=("PairSweep", "PartitionHealth"),
        blamed={"PairSweep": ["node2"]},
    )  # fmt: skip
    missed = outcome(2, "lossy link", "node1", verdict="PASS", failed=(), suspects=())
    not_its = outcome(3, "dead slurmd", "node3", failed=("PairSweep", "PartitionHealth"))
    health = outcome(
        4, "full disk", "node3", failed=("PartitionHealth",), blamed={"PartitionHealth": ["node1", "node3"]}
    )
    kept_from_running = outcome(5, "clock offset", "node1", checks=(), failed=())
    healthy = outcome(0, checks=("PairSweep",))
    text = render([healthy, pair, missed, not_its, health, kept_from_running], [SEED_7])
    assert row(text, "PairSweep").split(" | ")[1:] == [
        "slow link, bandwidth-limited link, lossy link, slow CPU, stopped rank, rank blocked in the kernel, "
        "node dies in a job, MPI does not start, wrong payload, small TCP buffers, no way to a node, address taken, "
        "long packets vanish, results not executable, failing prolog of tasks, hung home",
        *("1/2 (1–99 %)", "1/1 (3–100 %)", "0/1 (0–98 %)", "0 |"),
    ]
    assert row(text, "PartitionHealth").split(" | ")[2:4] == ["1/2 (1–99 %)", "0/1 (0–98 %)"]
    assert row(text, "**whole run not PASS**").split(" | ")[1:3] == ["all", "4/5 (28–99 %)"]


def test_a_run_without_a_verdict_has_found_nothing_and_cried_no_wolf():
    lost = {"verdict": "none", "checks": (), "failed": (), "suspects": ()}
    text = render([outcome(0), outcome(1, **lost), outcome(2, "slow link", "node2", **lost)], [SEED_7])
    assert "2 of them without a verdict" in text
    assert row(text, "slow link").split(" | ")[2] == "0/1 (0–98 %)"
    assert row(text, "**whole run not PASS**").split(" | ")[2:5:2] == ["0/1 (0–98 %)"] * 2
    assert row(text, "1 ").startswith("| 1 | none |  | none |")


def test_a_fault_of_one_node_that_was_called_system_wide_is_listed():
    confirmed = outcome(0, "dead slurmd", "node1", diagnoses=(("PartitionState", "confirmed"),))
    false = outcome(1, "dead slurmd", "node1", diagnoses=(("PartitionState", "system-wide"),))
    text = render([confirmed, false], [SEED_7])
    assert row(text, "dead slurmd").split(" | ")[5] == "1/2 (1–99 %)"
    assert row(text, "1 ").split(" | ")[5] == "PartitionState: system-wide"
    assert not [line for line in text.splitlines() if line.startswith("| 0 |")]


def test_what_so_many_rounds_can_show():
    text = render([FOUND, *(outcome(number) for number in range(36))], [SEED_7])
    assert "with 0 false positives in 36 healthy rounds, the true rate may be up to 10 %" in text
    assert "With 1 of 1 faults found, the true rate may be as low as 3 %" in text
    assert "takes 368 healthy rounds" in text and "takes 72 faults" in text


def test_false_alarms_of_each_check():
    alarm = outcome(1, verdict="FAIL", failed=("NodeLinks",), suspects=("node4",))
    transient = outcome(2, unstable=("PartitionHealth",))
    text = render([outcome(0), alarm, transient], [SEED_7])
    assert row(text, "NodeLinks") == "| NodeLinks |  | – | – | 1/3 (1–91 %) | 0 |"
    assert row(text, "PartitionHealth").split(" | ")[2:] == ["–", "–", "0/3 (0–71 %)", "1 |"]
    assert row(text, "**whole run not PASS**").split(" | ")[4].startswith("1/3")
    assert "| 1 | none |  | FAIL | node4 |  | NodeLinks |" in text


def test_bars_do_not_break_the_table():
    text = render([outcome(1, "damaged output", "node1", detail="fio | tac", suspects=())], [SEED_7])
    assert r"damaged output: fio \| tac" in text
