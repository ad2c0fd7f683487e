"""Runs, comparisons, bounds and records of weak scaling of the EMT application."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.application.emt_layouts import CHECKED_STEPS, EmtWeakScaling
from reframe_checks.application.scaled_application import Layout
from tests.figures import figure
from tests.stand_in import StandIn

LAYOUTS = [Layout(1, 1), Layout(2, 2), Layout(4, 2)]
STEP_US = {1: (10.0, 11.0, 10.0), 2: (12.5, 12.5, 90.0), 4: (20.0, 20.0, 20.0)}


@pytest.fixture
def check():
    """A network of p copies on p ranks, whose bits follow from the copies alone."""
    made = StandIn(
        EmtWeakScaling, exchange="step", steps=500, rounds=3, laid_out=LAYOUTS, network_scale=1, wrong=""
    )

    def result(name, layout, steps):
        _, copies, _, *_, number = name.removesuffix(".json").split("-")
        step_us = 1.0 if steps == CHECKED_STEPS else STEP_US[int(copies)][int(number) - 1]
        return SimpleNamespace(
            ranks=layout.ranks, case_hash=copies, checksum="other" if name == made.wrong else copies,
            step_block_p50_us=step_us, kappa_block_p50_us=step_us - 10, phi_us=10.0 * layout.ranks,
        )  # fmt: skip

    made.result = result
    return made


def test_a_step_on_all_ranks_is_held_against_one_on_one(check):
    assert check.read_results().evaluate()
    assert figure(EmtWeakScaling, "efficiency", check) == pytest.approx(0.5)
    assert figure(EmtWeakScaling, "speedup", check) == pytest.approx(2)
    assert figure(EmtWeakScaling, "step_time", check) == pytest.approx(20)
    assert figure(EmtWeakScaling, "kappa", check) == 10
    assert check.curves["efficiency, within a node"] == {1: 1, 2: pytest.approx(0.8)}
    assert check.curves["kappa, over nodes"] == {2: 2.5, 4: 10}
    assert (check.gated["efficiency, within a node"], check.gated["kappa, over nodes"]) == ({}, {4: "kappa"})
    # Gustafson: (p - s) / (p - 1).
    assert check.scaling[-1]["karp_flatt"] == pytest.approx(2 / 3)
    assert [(point["series"], point["ranks"]) for point in check.scaling] == [
        ("step, weak, within a node", 1), ("step, weak, within a node", 2),
        ("step, weak, over nodes", 2), ("step, weak, over nodes", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("checked-4-ranks-2x2-on-1x1.json", "4 ranks as 2x2 and one rank gave different solutions"),
        ("result-2-ranks-1x2-3.json", "layouts or rounds of 2 ranks gave different solutions"),
    ],
)
def test_other_bits_fail(check, name, message):
    check.wrong = name
    with pytest.raises(SanityError, match=message):
        check.read_results().evaluate()


def test_a_series_ends_where_ranks_could_not_hold_the_network():
    layouts = [Layout(1, 1), Layout(8, 8), Layout(64, 8), Layout(256, 8)]
    check = StandIn(
        EmtWeakScaling, layouts="", partition_layouts=lambda: layouts, most_ranks=128, network_scale=2
    )
    assert check.networks() == {
        "network-1-ranks.json": 2, "network-8-ranks.json": 16, "network-64-ranks.json": 128,
    }  # fmt: skip
