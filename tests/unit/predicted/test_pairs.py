"""Predicted figures beside measured ones of the same case; only figures worse than the error are named."""

import pytest

from kappa.core.record.evidence import Curve, Simulation
from kappa.core.record.metric import Metric
from kappa.core.record.model import Case
from reports.predicted.pairs import pairs


def case(partition, values, *, system="site", parameters=None, curve=(), fabric=None):
    return Case(
        name="RandomRing", check_class="RandomRing", system=system, partition=partition, result="pass",
        parameters=parameters or {"way": "put"},
        metrics=tuple(Metric(name=name, value=float(value), unit=unit) for name, (value, unit) in values.items()),
        curves={"bandwidth": Curve("Ranks", "", "Bandwidth", "MB/s", tuple(curve))} if curve else {},
        simulation=Simulation(fabric, "sound", "calibrated", "0" * 64) if fabric else None,
    )  # fmt: skip


def both(measured, predicted, error, unit="us"):
    here = case("cpu", {"time": (measured, unit)})
    there = case("own", {"time": (predicted, unit)}, system="simulated", fabric="own")
    [pair] = pairs([here], {"cpu": [there]}, {"own": error})
    return pair


@pytest.mark.parametrize(
    ("measured", "predicted", "unit", "worse"),
    [
        (100, 90, "us", False), (100, 70, "us", True), (70, 100, "us", False), (70, 100, "MB/s", True),
        (100, 70, "MB/s", False),
    ],
)  # fmt: skip
def test_what_is_worse_by_more_than_the_error_is_named(measured, predicted, unit, worse):
    pair = both(measured, predicted, 1.2, unit)
    assert pair.is_worse is worse
    assert not pair.passes_limit


def test_a_specification_is_a_limit_that_names_nobody():
    assert not both(300, 100, None).is_worse
    assert not both(300, 100, None).passes_limit
    assert both(90, 100, None).passes_limit
    assert both(110, 100, None, "MB/s").passes_limit


def test_curves_meet_at_their_common_points():
    here = case("cpu", {}, curve=[(2, 10.0), (4, 8.0)])
    there = case("own", {}, system="simulated", curve=[(4, 16.0), (8, 7.0)], fabric="own")
    [pair] = pairs([here], {"cpu": [there]}, {"own": 1.5})
    assert (pair.at, pair.measured, pair.predicted, pair.worse_by) == ("at 4", 8, 16, 2)


@pytest.mark.parametrize(
    "other",
    [
        case("own", {"time": (1, "us")}, fabric="own", parameters={"way": "get"}),
        case("own", {"time": (1, "ms")}, fabric="own", system="simulated"),
        case("own", {"other": (1, "us")}, fabric="own", system="simulated"),
        case("own", {"time": (1, "us")}, system="simulated"),
        case("own", {"time": (0, "us")}, fabric="own", system="simulated"),
    ],
)
def test_what_is_not_the_same_figure_is_no_pair(other):
    assert not pairs([case("cpu", {"time": (1, "us")})], {"cpu": [other]}, {"own": 1.1})
