import json

import pytest

from reports.show.pair_plots import CELLS_LIMIT, ROWS_LIMIT, pair_plots
from tests.unit.reports.samples import case, judged, report


def plots_of(tmp_path, nodes, values, unit="MB/s"):
    matrices = {"bandwidth": {"unit": unit, "nodes": nodes, "values": values}}
    plots, notes = pair_plots(judged(report([case("NodeLinks", "scratch", matrices=matrices)]), tmp_path).cases)
    assert notes == []
    return plots


def test_less_bandwidth_is_slower(tmp_path):
    (plot,) = plots_of(tmp_path, ["a", "b", "c"], [[None, 100, 100], [25, None, 100], [100, None, None]])
    assert plot.title == "NodeLinks: bandwidth between nodes of scratch"
    assert plot.rows[:2] == [("c", "b", "not measured", ""), ("b", "a", "25", "4")]
    assert "Hatched: 1 cell not measured." in plot.caption


def test_more_time_is_slower(tmp_path):
    (plot,) = plots_of(tmp_path, ["a", "b", "c"], [[None, 2, 2], [8, None, 2], [2, 2, None]], unit="us")
    assert plot.rows[0] == ("b", "a", "8", "4")


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), None])
def test_what_is_no_speed_has_no_colour(tmp_path, value):
    assert plots_of(tmp_path, ["a", "b"], [[None, value], [value, None]]) == []
    (plot,) = plots_of(tmp_path, ["a", "b"], [[None, 1], [value, None]])
    assert [row[3] for row in plot.rows] == ["", "1"]


def test_many_nodes_are_an_image(tmp_path):
    size = CELLS_LIMIT + 1
    values = [[None if i == j else 100 + i for j in range(size)] for i in range(size)]
    (plot,) = plots_of(tmp_path, [f"n{number}" for number in range(size)], values)
    assert len(plot.rows) == ROWS_LIMIT
    assert f"worst {ROWS_LIMIT} of {size * (size - 1)}" in plot.caption
    drawn = json.dumps(plot.item)
    assert '"name": "Image"' in drawn and '"name": "Rect"' not in drawn
