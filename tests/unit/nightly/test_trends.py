"""Series over the nights."""

import dataclasses

import numpy as np

from reports.history.dataset import History
from reports.history.findings import FindingKind, SeriesFinding
from reports.history.judgement import JudgedSeries, nightly_series
from reports.nightly.dashboard import LEAST_VALUES, LIMIT, trends
from tests.unit.history.nights import history_of, on
from tests.unit.nightly.samples import DAY_S, START, night
from tests.unit.nightly.test_compare import series, stepped


def quiet(values, **changes):
    return JudgedSeries(
        series(np.array(values, dtype=float), **changes), SeriesFinding(FindingKind.QUIET, 1, 1, 0, len(values)), False
    )


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
    monkeypatch.setattr("reports.nightly.dashboard.VALUES_LIMIT", 50 * 40)
    found = trends([quiet(range(1, 101), metric=f"m{number}") for number in range(50)], [])
    assert {len(drawing["values"]) for drawing in found.drawings} == {40}
    assert found.drawings[0]["values"][-1] == 100
    monkeypatch.setattr("reports.nightly.dashboard.VALUES_LIMIT", 50)
    found = trends([quiet(range(1, 101), metric=f"m{number}") for number in range(50)], [])
    assert {len(drawing["values"]) for drawing in found.drawings} == {LEAST_VALUES}
    assert len(found.shown[0].rows) == 60, "the table has what it always had"


def chosen(folder, nights):
    history = History(history_of(folder, nights))
    return sorted((one.partition, one.nodes, len(one.values)) for one in nightly_series(history, 500))


def test_a_set_of_nodes_that_was_measured_often_is_a_series(tmp_path):
    assert chosen(tmp_path, [[on(["node1"])]] * 8 + [[on(["node2"])]] * 4) == [("cpu", "node1", 8), ("cpu", "node2", 4)]


def test_sets_of_nodes_that_were_each_measured_too_rarely_are_one(tmp_path):
    nights = [[on([f"node{number % 3}"]), on(["node9"], "gpu")] for number in range(12)]
    assert chosen(tmp_path, nights) == [("cpu", "", 12), ("gpu", "node9", 12)]


def test_one_set_of_nodes_keeps_its_name(tmp_path):
    assert chosen(tmp_path, [[on(["node1"])]] * 3) == [("cpu", "node1", 3)]
