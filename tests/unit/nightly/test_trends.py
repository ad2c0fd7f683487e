"""What the dashboard draws: in order of time, with bounds and changes, of all series."""

import dataclasses

import numpy as np

from reports.history.findings import Finding, Kind
from reports.history.gate import Judged
from reports.nightly.trends import LEAST_VALUES, LIMIT, trends
from tests.unit.nightly.samples import DAY_S, START, night
from tests.unit.nightly.test_compare import series, stepped


def quiet(values, **changes):
    return Judged(series(np.array(values, dtype=float), **changes), Finding(Kind.QUIET, 1, 1, 0, len(values)), False)


def test_what_was_measured_by_hand_before_a_night_ended_stands_before_it():
    # The night of the 15th ends after midnight; between its values somebody measured at noon of the 15th and the 16th.
    one = quiet([1, 2, 3])
    rows = ("by-hand:0", "session-0:0", "session-1:0")
    times = np.array([START + 0.4 * DAY_S, START + 0.5 * DAY_S, START + DAY_S])
    one = dataclasses.replace(one, series=dataclasses.replace(one.series, rows=rows, times=times))
    found = trends([one], [night(0), night(1)])
    (drawing,) = found.drawings
    assert drawing["days"] == sorted(drawing["days"])
    assert sorted(drawing["values"]) == [1, 2, 3]
    assert [row[0] for row in found.shown[0].rows] == sorted(row[0] for row in found.shown[0].rows)
    assert found.days == sorted(set(found.days))


def test_every_series_can_be_drawn_and_the_worst_are():
    found = trends([*(quiet([1, 2], metric=f"m{number}") for number in range(LIMIT + 5)), stepped(5)], [])
    assert len(found.drawings) == LIMIT + 6
    assert len(found.shown) == LIMIT
    assert found.drawings[0]["worse"]
    assert found.shown[0].drawing is found.drawings[0]


def test_bounds_and_changes_are_drawn():
    drawing = trends([stepped(5, nights=10)], []).drawings[0]
    assert (drawing["lower"], drawing["upper"]) == (100, None)
    assert len(drawing["changes"]) == 1
    (first, middle, before), (again, last, after) = drawing["levels"]
    assert first < middle == again < last
    assert before > after


def test_of_very_many_series_the_newest_values_are_drawn(monkeypatch):
    monkeypatch.setattr("reports.nightly.trends.VALUES_LIMIT", 50 * 40)
    found = trends([quiet(range(1, 101), metric=f"m{number}") for number in range(50)], [])
    assert {len(drawing["values"]) for drawing in found.drawings} == {40}
    assert found.drawings[0]["values"][-1] == 100
    monkeypatch.setattr("reports.nightly.trends.VALUES_LIMIT", 50)
    found = trends([quiet(range(1, 101), metric=f"m{number}") for number in range(50)], [])
    assert {len(drawing["values"]) for drawing in found.drawings} == {LEAST_VALUES}
    assert len(found.shown[0].rows) == 60, "the table has what it always had"
