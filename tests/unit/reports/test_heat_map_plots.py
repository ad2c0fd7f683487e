"""A quantity over two others becomes a plot and a table of the same figures."""

import pytest

from kappa.core.ground.errors import InputError
from reports.show.heat_map_plots import heat_map_plots
from tests.unit.reports.samples import complete, judged, latency

MAP = {
    "x": "File size", "x_unit": "KiB", "y": "Request size", "y_unit": "KiB", "z": "Rate", "z_unit": "MB/s",
    "points": [[4096, 64, 100.5], [4096, 1024, 900], [8192, 64, 110], [8192, 1024, 950]],
}  # fmt: skip


def test_plot_and_table(tmp_path):
    (plot,) = heat_map_plots(judged(complete(latency(heat_maps={"write": MAP})), tmp_path).cases)
    assert plot.title.endswith("write on cpu")
    assert plot.header == ("File size (KiB)", "Request size (KiB)", "Rate (MB/s)")
    assert [row[2] for row in plot.rows] == ["100.5", "900", "110", "950"]


@pytest.mark.parametrize("points", [[[1, 2]], [[1, 2, None]], "x"])
def test_a_map_of_another_form_is_refused(tmp_path, points):
    with pytest.raises(InputError, match="points"):
        judged(complete(latency(heat_maps={"write": {**MAP, "points": points}})), tmp_path)


def test_a_map_without_points_is_no_plot(tmp_path):
    assert heat_map_plots(judged(complete(latency(heat_maps={"write": {**MAP, "points": []}})), tmp_path).cases) == []
