"""Runs, bounds and records of the EMT application's series over layouts."""

import json
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.application.emt_layouts import BOUND, UNBOUND, EmtSeries
from reframe_checks.application.scaled_application import Layout
from tests.figures import figure
from tests.stand_in import StandIn

KAPPA_US = {"1x1": (0.1, 0.3, 0.2), "1x2": (0.7, 0.6, 0.5), "2x1": (5.0, 4.0, 40.0)}


def result(recorded, ranks, kappa_us, **values):
    """A recorded result with another overhead."""
    found = json.loads(recorded)
    step_us = found["sigma_us"] + found["phi_us"] / ranks + kappa_us
    speedup = (found["sigma_us"] + found["phi_us"]) / step_us
    figures = {
        "ranks": ranks, "kappa_us": kappa_us, "kappa_block_p50_us": kappa_us, "speedup": speedup,
        "efficiency": speedup / ranks, "karp_flatt": None if ranks == 1 else 0.5,
        "step_us": {**found["step_us"], "mean": step_us, "block_p50": step_us, "max": 1e6},
    }  # fmt: skip
    return json.dumps({**found, **figures, **values}) + "\n"


@pytest.fixture
def check(recorded):
    """Three rounds of one rank, and of two on one node and on two; one round of the latter was disturbed."""
    text = recorded("emt/two_ranks.json")
    base = json.loads(text)
    made = StandIn(
        EmtSeries, simulated=False, exchange=base["exchange"], steps=base["steps"], rounds=3, bindings=[BOUND, UNBOUND],
        laid_out=[Layout(1, 1), Layout(2, 2), Layout(2, 1)], boundary=(Layout(2, 2), Layout(2, 1)),
        num_tasks_per_node=2, changed={},
    )  # fmt: skip

    def output_text(name):
        _, ranks, _, layout, *_, number = name.removesuffix(".json").split("-")
        kappa_us = KAPPA_US[layout][int(number) - 1] + (1 if UNBOUND in name else 0)
        return result(text, int(ranks), kappa_us, **made.changed)

    made.output_text = output_text
    return made


def test_the_median_of_the_largest_layout_is_gated(check):
    assert check.read_results().evaluate()
    assert figure(EmtSeries, "kappa", check) == 5.0
    assert check.curves["kappa, 2 nodes"] == {2: 5.0}
    assert check.curves["kappa, nodes filled"] == {1: 0.2, 2: 0.6}
    assert check.curves["kappa over nodes, 2 ranks"] == {1: 0.6, 2: 5.0}
    assert check.curves["kappa, 2 nodes, unbound"] == {2: 6.0}
    assert check.gated["kappa, 2 nodes"] == check.gated["kappa, nodes filled"] == {2: "kappa"}
    assert check.gated["kappa over nodes, 2 ranks"] == check.gated["kappa, 2 nodes, unbound"] == {}


def test_the_boundary_of_a_node_costs_what_as_many_ranks_on_two_take_more(check):
    check.read_results().evaluate()
    assert figure(EmtSeries, "node_boundary_cost", check) == pytest.approx(4.4)


def test_every_round_is_recorded(check):
    check.read_results().evaluate()
    assert [(point["series"], point["ranks"], point["kappa_us"]) for point in check.scaling] == [
        ("step, 1 node, bound", 1, 0.2), ("step, 1 node, bound", 2, 0.6), ("step, 2 nodes, bound", 2, 5.0),
        ("step, 1 node, unbound", 1, 1.2), ("step, 1 node, unbound", 2, 1.6), ("step, 2 nodes, unbound", 2, 6.0),
    ]  # fmt: skip
    assert check.scaling[2]["kappa_repeats_us"] == list(KAPPA_US["2x1"])


@pytest.mark.parametrize(
    ("values", "message"), [({"exchange": "slack"}, "in mode slack, expected 2000 on 1 in mode step")]
)
def test_what_was_not_asked_for_is_refused(check, values, message):
    check.changed = values
    with pytest.raises(SanityError, match=message):
        check.read_results().evaluate()


def laid_out(nodes=2, cores=4, **extras):
    partition = SimpleNamespace(fullname="here:cpu", extras=extras, features=["binding"])
    return StandIn(
        EmtSeries, simulated=False, partition_nodes=nodes, cores_per_node=cores, current_partition=partition,
        layouts="", most_nodes=0, program="emt",
        job=SimpleNamespace(launcher=SimpleNamespace(registered_name="srun")),
        check_class="EmtSeries", perf_variables={"kappa": None, "node_boundary_cost": None},
    )  # fmt: skip


def test_a_series_goes_up_to_the_nodes_it_is_told():
    check = laid_out()
    check.most_nodes = 1
    check.lay_out_series()
    assert [(layout.nodes, layout.ranks) for layout in check.laid_out] == [(1, 1), (1, 2), (1, 4)]
    assert set(check.perf_variables) == {"kappa"}  # there is no boundary to cross


def test_both_bindings_where_the_partition_binds():
    check = laid_out()
    check.lay_out_series()
    assert check.bindings == [BOUND, UNBOUND]
    assert check.boundary == (Layout(4, 4), Layout(4, 2))
    assert "node_boundary_cost" in check.perf_variables
    assert (check.num_tasks, check.num_tasks_per_node) == (8, 4)
    check.current_partition.features = []
    check.lay_out_series()
    assert check.bindings == [UNBOUND]


def test_nodes_that_share_a_machine_have_its_cores_together(monkeypatch):
    monkeypatch.setattr("kappa.core.ground.processes.BusyCores.cores", 2)
    check = laid_out(shared_host={"cores_share": 0.1})
    check.lay_out_series()
    assert [(layout.nodes, layout.ranks) for layout in check.laid_out] == [(1, 1), (1, 2), (2, 2)]


def test_layouts_that_the_partition_has_not_name_it():
    check = laid_out()
    check.layouts = "4x4"
    with pytest.raises(ReframeError, match=r"here:cpu: EmtSeries.layouts: layout 4x4 needs more than the 2 nodes"):
        check.lay_out_series()
