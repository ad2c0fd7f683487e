import json
import math

import pytest

from reports.show.curve_plots import LEGEND_LIMIT, curve_plots
from reports.show.node_plots import node_plots
from reports.show.plot import Look, labels
from reports.show.scaling_plots import scaling_plots
from reports.verdict.state import State
from tests.unit.reports.samples import case, judged, latency, recorded, report


def curve(points, **changes):
    entry = {
        "x": "Message size",
        "x_unit": "B",
        "y": "Latency",
        "y_unit": "us",
        "points": points,
        "gated": {"8": "latency_8B"},
    }
    return {"latency": {**entry, **changes}}


def plots_of(document, tmp_path, plot=curve_plots):
    return plot(judged(document, tmp_path).cases)


def drawn(item):
    """The columns of every data source in a Bokeh document, and the markers that are the same for all points."""
    columns, markers = [], []

    def walk(value):
        if isinstance(value, dict):
            attributes = value.get("attributes", {})
            if value.get("name") == "ColumnDataSource":
                columns.append(dict(attributes["data"]["entries"]))
            if value.get("name") == "Scatter":
                markers.append(attributes.get("marker", {}).get("value"))
            value = list(value.values())
        if isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(item)
    return columns, markers


def test_curves_of_one_check_share_a_plot(tmp_path):
    cases = [case("OsuLatency %placement=two_nodes", where) for where in ("cpu", "gpu")]
    cases += [case("OsuBandwidth %placement=two_nodes")]
    first, second = plots_of(report(cases), tmp_path)
    assert first.title == "OsuLatency: latency over message size"
    assert first.header == ("Message size (B)", "cpu two_nodes (us)", "gpu two_nodes (us)")
    assert [label for label, _ in first.legend] == ["cpu two_nodes", "gpu two_nodes"]
    assert len(first.rows) == 21
    assert second.title == "OsuBandwidth: bandwidth over message size"


def test_bounds_are_drawn_where_a_metric_gates_and_failures_are_crossed(tmp_path):
    good = plots_of(report([latency(curves=curve([[1, 8], [8, 9]]))]), tmp_path)[0]
    columns, markers = drawn(good.item)
    bounds = next(source for source in columns if "bound" in source)
    assert (bounds["x"], bounds["value"], bounds["bound"], bounds["marker"]) == (
        [8],
        [9.0],
        [500.0],
        ["inverted_triangle"],
    )
    assert "x" not in markers
    assert "▼" in good.caption
    bad = plots_of(report([latency(value=900, curves=curve([[1, 8], [8, 900]]))]), tmp_path)[0]
    assert "x" in drawn(bad.item)[1]


@pytest.mark.parametrize(
    "changes",
    [{"gated": {"16": "latency_8B"}}, {"gated": {"8": "other"}}, {"gated": {"soon": "latency_8B"}}, {"y_unit": "ms"}],
)
def test_what_gates_nothing_here_is_no_bound(changes, tmp_path):
    plot = plots_of(report([latency(curves=curve([[1, 8], [8, 9]], **changes))]), tmp_path)[0]
    assert plot.caption == ""


def test_points_that_a_logarithmic_axis_cannot_show_are_in_the_table_only(tmp_path):
    points = [[0, 1], [1, -1], [2, math.nan], [4, math.inf], [8, 9], [16, 10]]
    plot = plots_of(report([latency(curves=curve(points))]), tmp_path)[0]
    assert len(plot.rows) == 6
    points = next(source for source in drawn(plot.item)[0] if "at" in source)
    assert points["x"] == [8, 16]
    assert plots_of(report([latency(curves=curve([[0, 1], [8, 9]]))]), tmp_path) == []


def test_many_curves_have_no_legend(tmp_path):
    cases = [latency(name=f"n{number}", curves=curve([[1, 2], [8, 9]])) for number in range(LEGEND_LIMIT + 1)]
    assert plots_of(report(cases), tmp_path)[0].legend == []


def test_curves_are_told_apart_without_colour():
    looks = [Look.of(number) for number in range(12)]
    assert len({(look.marker, look.dashes) for look in looks}) == 12


def test_labels_grow_until_they_differ(tmp_path):
    def found(*cases):
        return labels([verdict.case for verdict in judged(report(list(cases)), tmp_path).cases])

    assert found(latency("cpu"), latency("gpu")) == ["cpu two_nodes", "gpu two_nodes"]
    assert found(latency(), latency(environ="mpich")) == ["cpu two_nodes packaged", "cpu two_nodes mpich"]
    assert found(latency(name="a"), latency(name="b", job_nodelist=["n7"], provenance={}))[1].endswith("packaged n7")
    assert len(set(found(latency(name="a"), latency(name="b")))) == 2


def test_nodes_side_by_side(tmp_path):
    cases = [case("PartitionHealth", where) for where in ("cpu", "gpu", "scratch")]
    plots = plots_of(report(cases), tmp_path, node_plots)
    assert [plot.title for plot in plots] == [
        "PartitionHealth: clock_offset per node",
        "PartitionHealth: memory per node",
    ]
    memory = plots[1]
    assert memory.header[2] == "memory (GiB)"
    assert len(memory.rows) == 8
    assert memory.rows[0][2] == "23.54"


def test_suspects_are_marked(tmp_path):
    verdict = judged(report([case("NodeLinks", "scratch", suspects=["node2"])]), tmp_path)
    (plot,) = node_plots(verdict.cases)
    assert [row[3] for row in plot.rows] == ["", "suspect", "", ""]
    assert plot.caption == "▲ hatched: 1 suspect node"
    assert verdict.cases[0].state is State.PASS


def test_nodes_without_a_figure_are_left_out(tmp_path):
    figures = {"m": {"unit": "us", "values": {"node1": math.nan, "node2": 5}}, "empty": {"unit": "", "values": {}}}
    plots = plots_of(report([latency(per_node=figures)]), tmp_path, node_plots)
    assert [row[1] for row in plots[0].rows] == ["node2"]
    assert len(plots) == 1


def test_a_thousand_nodes(tmp_path):
    values = {f"node{number:04}": number for number in range(1000)}
    (plot,) = plots_of(report([latency(per_node={"m": {"unit": "us", "values": values}})]), tmp_path, node_plots)
    assert len(plot.rows) == 1000
    assert "0px" in json.dumps(plot.item), "no room for names"


def test_scaling_over_ranks(tmp_path):
    cases = [
        entry for entry in recorded("campaign")["runs"][0]["testcases"] if entry.get("check_class") == "EmtScaling"
    ]
    plots = plots_of(report(cases), tmp_path, scaling_plots)
    assert [plot.title.split(":")[0] for plot in plots] == ["EmtScaling"] * 4
    assert plots[0].header == ("Ranks", "cpu step", "cpu slack")
    assert [row[0] for row in plots[0].rows] == ["1", "2", "4"]
    assert plots_of(report([latency()]), tmp_path, scaling_plots) == []
