import json
import math

import pytest

from reports.show.curve_plots import LEGEND_LIMIT, curve_plots, scaling_plots
from reports.show.plot import Look, labels
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
    good = plots_of(report([latency(curves=curve([[1, 8], [4, 8], [8, 9]]))]), tmp_path)[0]
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
    bad = plots_of(report([latency(value=900, curves=curve([[1, 8], [4, 8], [8, 900]]))]), tmp_path)[0]
    assert "x" in drawn(bad.item)[1]


@pytest.mark.parametrize(
    "changes",
    [{"gated": {"16": "latency_8B"}}, {"gated": {"8": "other"}}, {"gated": {"soon": "latency_8B"}}, {"y_unit": "ms"}],
)
def test_what_gates_nothing_here_is_no_bound(changes, tmp_path):
    plot = plots_of(report([latency(curves=curve([[1, 8], [4, 8], [8, 9]], **changes))]), tmp_path)[0]
    assert plot.caption == ""


def test_points_that_a_logarithmic_axis_cannot_show_are_in_the_table_only(tmp_path):
    points = [[0, 1], [1, -1], [2, math.nan], [4, math.inf], [8, 9], [16, 10], [32, 11]]
    plot = plots_of(report([latency(curves=curve(points))]), tmp_path)[0]
    assert len(plot.rows) == 7
    points = next(source for source in drawn(plot.item)[0] if "at" in source)
    assert points["x"] == [8, 16, 32]
    assert plots_of(report([latency(curves=curve([[0, 1], [4, 8], [8, 9]]))]), tmp_path) == []


def test_many_curves_have_no_legend(tmp_path):
    cases = [latency(name=f"n{number}", curves=curve([[1, 2], [4, 8], [8, 9]])) for number in range(LEGEND_LIMIT + 1)]
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


def test_scaling_over_ranks(tmp_path):
    cases = [
        entry for entry in recorded("campaign")["runs"][0]["testcases"] if entry.get("check_class") == "EmtScaling"
    ]
    plots = plots_of(report(cases), tmp_path, scaling_plots)
    assert [plot.title.split(":")[0] for plot in plots] == ["EmtScaling"] * 4
    assert plots[0].header == ("Ranks", "cpu step", "cpu slack")
    assert [row[0] for row in plots[0].rows] == ["1", "2", "4"]
    assert plots_of(report([latency()]), tmp_path, scaling_plots) == []
    ideal = next(source for source in drawn(plots[0].item)[0] if len(source["x"]) > 3)
    assert all(math.isclose(x, y) for x, y in zip(ideal["x"], ideal["y"], strict=True))
    assert plots[0].caption == "Grey line: ideal speed-up."


def test_series_of_one_case_and_of_two_mpi_libraries(tmp_path):
    points = [
        {"series": series, "ranks": ranks, "speedup": 1.5, "efficiency": 0.75, "karp_flatt": None, "kappa_us": ranks,
         "kappa_repeats_us": [ranks], "phi_us": 100.0, "heaviest_task_us": 2.0}
        for series in ("step, 1 node", "step, 2 nodes")
        for ranks in (2, 8, 64)
    ]  # fmt: skip
    cases = [latency(environ=environ, check_class="EmtSeries", scaling=points) for environ in ("packaged", "mpich")]
    speedup, _, _, kappa = plots_of(report(cases), tmp_path, scaling_plots)
    assert speedup.header[1:] == tuple(
        f"cpu {environ} {series}" for environ in ("packaged", "mpich") for series in ("step, 1 node", "step, 2 nodes")
    )
    assert [row[1:3] for row in kappa.rows] == [("2", "2"), ("8", "8"), ("64", "64")]
    # At two ranks the heaviest task is no limit, at 64 it is 2 - 100 / 64 us.
    limit = [source for source in drawn(kappa.item)[0] if list(source["x"]) == [64]]
    assert any(math.isclose(source["y"][0], 2 - 100 / 64) for source in limit)
    assert kappa.caption.endswith("no step is shorter than the heaviest task.")
    assert "IPST 2023" in kappa.caption
    of_another = [latency(check_class="Lammps", scaling=points)]
    assert "IPST 2023" not in plots_of(report(of_another), tmp_path, scaling_plots)[3].caption


def test_ticks_are_whole_counts(tmp_path):
    points = curve([[1, 1.0], [2, 1.9], [3, 2.7]], x="Nodes", x_unit="", y="Speed-up", y_unit="", gated={})
    (plot,) = plots_of(report([latency(curves=points)]), tmp_path)
    text = json.dumps(plot.item)
    assert '"ticks": [3.0, 2.0, 1.0]' in text
    assert plot.caption == "Grey line: ideal speed-up."
    (plot,) = plots_of(report([latency(curves=curve([[1, 8], [4, 8], [8, 9]]))]), tmp_path)
    assert "ideal" not in plot.caption
