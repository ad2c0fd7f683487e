"""Records and bounds of an application's series, and required physics of LAMMPS's results."""

import dataclasses
import math
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.application.lammps import Lammps, drift_of
from reframe_checks.application.openfoam import OpenFoam
from reframe_checks.application.scaled_application import (
    STRONG,
    WEAK,
    Base,
    Layout,
    ScaledApplication,
    every_layout,
    on_cores,
    on_full_nodes,
    process_box,
)
from reframe_checks.application.sparse_direct import SparseDirect
from reframe_checks.parsers import applications
from tests.figures import figure
from tests.stand_in import StandIn


def test_a_perfect_series_has_no_serial_part():
    strong = Base(1, 8.0).point(STRONG, "s", 4, [2.0])
    assert (strong.speedup, strong.efficiency, strong.karp_flatt, strong.kappa_us) == (4, 1, 0, 0)
    weak = Base(1, 8.0).point(WEAK, "w", 4, [8.0])
    assert (weak.speedup, weak.efficiency, weak.karp_flatt, weak.kappa_us) == (4, 1, 0, 0)


def test_the_serial_part_is_that_of_the_law():
    # Amdahl: a quarter of 8 s is serial; Gustafson: a quarter of the time on 4 ranks is.
    assert Base(1, 8.0).point(STRONG, "s", 4, [2.0 + 6.0 / 4]).karp_flatt == pytest.approx(0.25)
    speedup = 0.25 + 0.75 * 4
    assert Base(1, 8.0).point(WEAK, "w", 4, [8.0 * 4 / speedup]).karp_flatt == pytest.approx(0.25)


def test_ranks_count_in_multiples_of_the_fewest():
    point = Base(16, 4.0).point(STRONG, "s", 32, [2.5, 2.4, 9.0])
    assert (point.speedup, point.efficiency) == (pytest.approx(25.6), pytest.approx(0.8))
    assert point.kappa_us == pytest.approx(0.5e6)
    assert point.kappa_repeats_us == pytest.approx((0.5e6, 0.4e6, 7e6))
    assert Base(16, 4.0).point(STRONG, "s", 16, [4.0]).karp_flatt is None


def test_the_usual_series_fills_one_node_and_then_more():
    layouts = on_full_nodes(on_cores(every_layout(4, 4), 16))
    assert [str(one) for one in layouts] == ["1x1", "1x2", "1x4", "2x4", "4x4"]
    # Nodes that share a machine of two cores.
    assert [str(one) for one in on_full_nodes(on_cores(every_layout(2, 2), 2))] == ["1x1", "1x2", "2x1"]


@pytest.mark.parametrize("ranks", [1, 2, 6, 8, 13, 24, 27, 96, 1000, 1001])
def test_a_box_of_ranks_holds_them_all(ranks):
    box = process_box(ranks)
    assert math.prod(box) == ranks
    assert list(box) == sorted(box, reverse=True)


def test_a_box_of_ranks_is_nearly_a_cube():
    assert [process_box(ranks) for ranks in (8, 12, 64, 96)] == [(2, 2, 2), (3, 2, 2), (4, 4, 4), (6, 4, 4)]


def made(times, series=STRONG):
    laid_out = [Layout(nodes * ranks, ranks) for nodes, ranks in (map(int, name.split("x")) for name in times)]

    def measured(layout, name):
        return SimpleNamespace(step_s=times[str(layout)][int(name[-1]) - 1])

    return StandIn(ScaledApplication, series=series, laid_out=laid_out, rounds=3, measured=measured)


def test_the_median_of_the_largest_layout_is_gated():
    check = made({"1x1": (0.9, 1.0, 9.0), "1x2": (0.5, 0.6, 0.7), "2x2": (0.3, 0.4, 0.35)})
    assert check.read_results().evaluate()
    assert figure(ScaledApplication, "step_time", check) == pytest.approx(350)
    assert figure(ScaledApplication, "efficiency", check) == pytest.approx(1 / 4 / 0.35)
    assert check.curves["time per step, within a node"] == {1: 1000, 2: pytest.approx(600)}
    assert check.curves["time per step, over nodes"] == {2: pytest.approx(600), 4: pytest.approx(350)}
    assert check.gated["time per step, within a node"] == {}
    assert check.gated["time per step, over nodes"] == {4: "step_time"}
    assert check.gated["efficiency, over nodes"] == {4: "efficiency"}
    assert [(point["series"], point["ranks"]) for point in check.scaling] == [
        ("strong, within a node", 1), ("strong, within a node", 2),
        ("strong, over nodes", 2), ("strong, over nodes", 4),
    ]  # fmt: skip


def test_nodes_that_share_cores_are_compared_with_as_many_ranks_on_one():
    check = made({"1x1": (1, 1, 1), "1x2": (1, 1, 1), "2x1": (2, 2, 2)}, series=WEAK)
    check.read_results().evaluate()
    assert check.curves["efficiency, over nodes"] == {1: 1, 2: 0.5}
    assert check.gated["efficiency, over nodes"] == {2: "efficiency"}


def lammps_check(recorded, file, layout, **values):
    asked = {"series": STRONG, "cells": 10, "cells_per_rank": 10, "steps": 60, **values}
    return StandIn(Lammps, **asked, output_text=lambda name: recorded(file)).measured(layout, "here")


@pytest.fixture
def melted(monkeypatch):
    """As many steps of melting as were recorded."""
    monkeypatch.setattr("reframe_checks.application.lammps.MELTING_STEPS", 60)


@pytest.mark.usefixtures("melted")
def test_the_recorded_liquid_keeps_its_energy(recorded):
    run = lammps_check(recorded, "lammps/two_ranks.log", Layout(2, 2), series=WEAK)
    assert run.step_s == pytest.approx(run.loop_s / 60)
    assert drift_of(run) < 5e-7


@pytest.mark.usefixtures("melted")
def test_neighbours_that_were_missed_fail(recorded):
    with pytest.raises(SanityError, match="neighbour lists came too late"):
        lammps_check(recorded, "lammps/dangerous_builds.log", Layout(1, 1))


def test_an_energy_that_drifts_fails(recorded):
    *_, run = applications.lammps(recorded("lammps/dangerous_builds.log"))
    quiet = dataclasses.replace(run, dangerous_builds=0)
    with pytest.raises(SanityError, match=r"drifts by 0\.00\d+ per step, expected at most 2e-06"):
        StandIn(Lammps).require_physics(quiet, "here")


@pytest.mark.parametrize("temperature", [0.5, 1.44, math.nan])
def test_a_temperature_that_is_not_that_of_the_liquid_fails(temperature):
    rows = tuple(applications.ThermoRow(step, temperature, -4.17) for step in (0, 10, 20))
    run = applications.LammpsRun(ranks=1, atoms=4000, steps=20, loop_s=1.0, dangerous_builds=0, rows=rows)
    with pytest.raises(SanityError, match=r"expected 0\.68 to 0\.82"):
        StandIn(Lammps).require_physics(run, "here")


@pytest.mark.usefixtures("melted")
@pytest.mark.parametrize("values", [{"cells": 11}, {"steps": 50}])
def test_what_was_not_asked_for_is_refused(recorded, values):
    with pytest.raises(SanityError, match="expected"):
        lammps_check(recorded, "lammps/two_ranks.log", Layout(2, 2), **values)


@pytest.mark.parametrize("steps", [0, 10, 25])
def test_steps_without_rows_are_refused(steps):
    partition = SimpleNamespace(fullname="here:cpu")
    with pytest.raises(
        ReframeError, match=f"here:cpu: Lammps.steps: expected a multiple of 10 above 10, found {steps}"
    ):
        StandIn(Lammps, steps=steps, current_partition=partition).require_rows()


def cavity(recorded, ranks=2, **values):
    asked = {"series": STRONG, "cells": 64, "cells_per_rank": 32, "steps": 4, **values}

    def output_text(name):
        return recorded(f"openfoam/two_ranks.{name.rpartition('.')[2]}")

    return StandIn(OpenFoam, **asked, output_text=output_text).measured(Layout(ranks, ranks), "here")


def test_the_recorded_cavity_conserves_mass(recorded):
    assert cavity(recorded).step_s == pytest.approx(4.21861 / 4)


@pytest.mark.parametrize("values", [{"ranks": 4}, {"steps": 5}])
def test_another_cavity_is_refused(recorded, values):
    with pytest.raises(SanityError, match="expected"):
        cavity(recorded, **values)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (applications.FoamStep(0.2, (0.01,), 1e-11, (10,)), "step 1: .*: residual 0.01, expected at most 1e-05"),
        (applications.FoamStep(0.2, (1e-6,), 1e-4, (10,)), "step 1: mass is lost: continuity error 0.0001, "),
        (applications.FoamStep(40.0, (1e-6,), 1e-11, (10,)), "step 1: .*: Courant number 40, expected at most 1"),
        (applications.FoamStep(0.2, (math.nan,), 1e-11, (10,)), "residual nan"),
    ],
)
def test_a_flow_that_is_wrong_fails(step, message):
    with pytest.raises(SanityError, match=message):
        StandIn(OpenFoam).require_physics(applications.FoamLog(1, (step,)), "here")


def test_weak_scaling_extends_the_cavity():
    check = StandIn(OpenFoam, series=WEAK, cells=64, cells_per_rank=32, steps=4)
    size = check.size_of(Layout(6, 3))
    assert size.splitlines() == [
        "columns 96;", "rows 64;", "width 3;", "height 2;", "steps 4;", "deltaT 0.00625;", "endTime 0.025;", "ranks 6;",
        "grid (3 2 1);",
    ]  # fmt: skip
    check.series = STRONG
    assert check.size_of(Layout(6, 3)).splitlines()[:4] == [
        "columns 64;",
        "rows 64;",
        "width 1;",
        "height 1;",
    ]


def test_one_rank_runs_the_case_undivided():
    command_of = StandIn(OpenFoam).command_of
    assert " ".join(command_of(Layout(1, 1), "a")).startswith("icoFoam -case 1x1 > a.log;")
    assert "cp 2x1/processor0/*/uniform/profiling b.profiling" in " ".join(command_of(Layout(2, 1), "b"))


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({}, None),
        ({"backward_error": 1e-9}, "backward error 1e-09, expected at most 1e-13"),
        ({"backward_error": math.nan}, "backward error nan"),
        ({"error": 1e-6}, "wrong solution: error 1e-06, expected at most 1.4e-11"),
    ],
)
def test_a_sparse_system_is_solved_to_the_last_digits(recorded, changed, complaint):
    run = replace(applications.SparseDirectResult.read(recorded("sparse_direct/two_ranks.json")), **changed)
    if complaint is None:
        assert StandIn(SparseDirect).require_physics(run, "here") is None
        assert run.step_s == pytest.approx(1e-9 * (sum(run.factor_ns) + sum(run.solve_ns)) / 3)
        return
    with pytest.raises(SanityError, match=complaint):
        StandIn(SparseDirect).require_physics(run, "here")
