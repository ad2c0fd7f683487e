import itertools
import math

import pytest
from reframe.utility.sanity import reference_bounds

from kappa.core.record.evidence import Figure
from kappa.core.record.metric import absolute_bounds, metric_of
from kappa.core.record.model import Case
from reports.verdict.metric_verdict import (
    INVALID_BOUNDS,
    NO_REFERENCE,
    NO_VALUE,
    TOO_FEW_EQUALS,
    UNEXPECTED_PASS,
    judge_metric,
)
from reports.verdict.state import State


def verdict(value, reference=100.0, lower=None, upper=None, *, result="pass", nodes=(), purpose="", **facts):
    case = Case(name="Check", system="s", partition="cpu", result="pass", job_nodelist=nodes, purpose=purpose)
    number = None if value is None else float(value)
    return judge_metric(case, metric_of("speed", Figure(number, reference, lower, upper, "MB/s", result), **facts))


@pytest.mark.parametrize(
    ("recorded", "bounds", "state"),
    [
        ((95, 100, -0.1, 0.1), (90, 110), State.PASS),
        ((90, 100, -0.1, None), (90, math.inf), State.PASS),
        ((89.999, 100, -0.1, None), (90, math.inf), State.FAIL),
        ((111, 100, None, 0.1), (-math.inf, 110), State.FAIL),
        # The fractions of a negative reference turn round: ReFrame's manual, sanity functions, assert_reference.
        ((-52, -50, -0.1, 0.2), (-55, -40), State.PASS),
        ((-56, -50, -0.1, 0.2), (-55, -40), State.FAIL),
        ((-39, -50, -0.1, 0.2), (-55, -40), State.FAIL),
        # The bounds of a zero reference are absolute.
        ((4, 0, None, 5), (-math.inf, 5), State.PASS),
        ((6, 0, -1, 5), (-1, 5), State.FAIL),
        ((0, 0, 0, 0), (0, 0), State.PASS),
        ((1e-9, 0, 0, 0), (0, 0), State.FAIL),
    ],
)
def test_bounds_as_reframe_defines_them(recorded, bounds, state):
    found = verdict(*recorded)
    assert found.metric.bounds == pytest.approx(bounds)
    assert found.state is state


@pytest.mark.parametrize("reference", [-50.0, -1.0, -1e-300, 0.0, 1e-9, 3.0, 100.0, math.nan])
def test_bounds_are_those_of_reframe(reference):
    fractions = [None, -math.inf, -2.5, -1, -0.3, -1e-9, 0, 1e-9, 0.1, 1, 2.5, math.inf, math.nan]
    for lower, upper in itertools.product(fractions, repeat=2):
        found = []
        for bounds in (absolute_bounds, reference_bounds):
            try:
                found.append(repr(tuple(map(float, bounds(reference, lower, upper)))))
            except ValueError as err:
                found.append(str(err))
        assert found[0] == found[1], (reference, lower, upper)


def test_reframe_is_not_trusted():
    assert verdict(10, lower=-0.1, result="pass").state is State.FAIL
    assert verdict(100, lower=-0.1, result="fail").state is State.PASS


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_fails_even_unbounded(value):
    assert verdict(value, lower=-0.1).state is State.FAIL
    assert verdict(value).state is State.FAIL
    assert verdict(value, informational=True).state is State.FAIL


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"value": None, "lower": -0.1}, NO_VALUE),
        ({"value": 1.0, "reference": 0}, NO_REFERENCE),
        ({"value": 1.0, "reference": 100}, NO_REFERENCE),
        ({"value": 1.0, "lower": 0.1}, INVALID_BOUNDS),
        ({"value": 1.0, "upper": -0.1}, INVALID_BOUNDS),
        ({"value": 1.0, "reference": math.nan, "lower": -0.1}, INVALID_BOUNDS),
        ({"value": 1.0, "lower": math.nan}, INVALID_BOUNDS),
        ({"value": 1.0, "reference": math.inf, "lower": -0.1}, INVALID_BOUNDS),
        ({"value": 100.0, "lower": -0.1, "result": "xpass"}, UNEXPECTED_PASS),
        ({"value": 100.0, "lower": -0.1, "result": "xfail"}, UNEXPECTED_PASS),
    ],
)
def test_incomplete(options, reason):
    found = verdict(**options)
    assert (found.state, found.reason) == (State.INCOMPLETE, reason)


def test_informational_metrics_need_no_reference():
    assert verdict(1.0, reference=0, informational=True).state is State.INFO
    assert verdict(1.0, reference=5, lower=-0.1, informational=True).state is State.FAIL


def test_known_failure():
    assert verdict(10, lower=-0.1, result="xfail").state is State.KNOWN


def test_deviation():
    assert verdict(95, lower=-0.1).deviation_percent == pytest.approx(-5)
    assert verdict(-55, -50, -0.2, 0.2).deviation_percent == pytest.approx(-10)
    assert verdict(4, 0, None, 5).deviation_percent is None
    assert verdict(4, 100).deviation_percent is None
    assert verdict(math.nan, lower=-0.1).deviation_percent is None


def test_excess_ranks_failures():
    assert verdict(10, lower=-0.1).excess == pytest.approx(80 / 90)
    assert verdict(220, upper=0.1).excess == pytest.approx(1)
    assert verdict(math.nan, lower=-0.1).excess == math.inf


@pytest.mark.parametrize(
    ("nodes", "lower", "purpose", "state", "reason"),
    [
        (3, -0.1, "", State.PASS, ""),
        (2, -0.1, "", State.INCOMPLETE, TOO_FEW_EQUALS),
        # A node may be tested with one neighbour; and the site may do without the bound.
        (2, -0.1, "return", State.PASS, ""),
        (2, None, "", State.INFO, ""),
        (3, None, "", State.INCOMPLETE, NO_REFERENCE),
    ],
)
def test_a_relative_bound_needs_equals(nodes, lower, purpose, state, reason):
    names = tuple(f"n{number}" for number in range(nodes))
    found = verdict(100, lower=lower, nodes=names, purpose=purpose, relative=True)
    assert (found.state, found.reason, found.metric.relative) == (state, reason, True)
