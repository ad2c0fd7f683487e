"""Heat maps of two quantities and of pairs of nodes."""

import hashlib
import io
import json
import zipfile

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import Matrix, written
from kappa.core.record.matrices import INLINE_NODES, recorded, values_of
from reports.show.heat_maps import CELLS_LIMIT, ROWS_LIMIT, heat_map_plots, pair_plots
from reports.show.run_page import render
from tests.unit.reports.samples import case, complete, judged, latency, report

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


SIZE = INLINE_NODES + 1
NODES = [f"n{number:03d}" for number in range(SIZE)]


@pytest.fixture
def values():
    found = np.random.default_rng(1).lognormal(10, 0.1, (SIZE, SIZE))
    found[3, 7] = np.nan
    np.fill_diagonal(found, np.nan)
    return found


@pytest.fixture
def matrix(values, tmp_path):
    return recorded("MB/s", NODES, values, tmp_path / "matrices", "nodes")


def read(matrix, tmp_path):
    return values_of(matrix, [str(tmp_path / "elsewhere"), str(tmp_path / "matrices")])


def replaced(matrix, tmp_path, content):
    """The matrix with another file, whose SHA-256 the report tells."""
    (tmp_path / "matrices" / matrix.file.name).write_bytes(content)
    return replace(matrix, file=replace(matrix.file, sha256=hashlib.sha256(content).hexdigest()))


def test_a_large_matrix_is_read_as_it_was_written(matrix, values, tmp_path):
    again = msgspec.json.decode(msgspec.json.encode(written(matrix)), type=Matrix)
    assert again.values is None and again.file.missing == 1
    assert again.file.median == pytest.approx(np.nanmedian(values))
    np.testing.assert_allclose(read(again, tmp_path), values, rtol=1e-6)


def test_a_small_one_is_in_the_report(values, tmp_path):
    small = recorded("us", NODES[:9], values[:9, :9], tmp_path / "matrices", "nodes")
    assert small.file is None and not (tmp_path / "matrices").exists()
    np.testing.assert_array_equal(values_of(small, []), values[:9, :9])


def test_what_is_not_kept_or_damaged_is_said(matrix, tmp_path):
    path = tmp_path / "matrices" / matrix.file.name
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(InputError, match="damaged"):
        read(matrix, tmp_path)
    path.unlink()
    with pytest.raises(InputError, match=f"not kept: .*elsewhere/{matrix.file.name}"):
        read(matrix, tmp_path)


@pytest.mark.parametrize(
    ("name", "message"), [("x" * 300, "File name too long"), ("../../secret.npz", "not kept"), ("a\0b", "not kept")]
)
def test_a_name_from_anywhere_leads_nowhere_else(matrix, tmp_path, name, message):
    (tmp_path / "secret.npz").write_bytes((tmp_path / "matrices" / matrix.file.name).read_bytes())
    with pytest.raises(InputError, match=message):
        read(replace(matrix, file=replace(matrix.file, name=name)), tmp_path)


def archive(**arrays):
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def archive_of(values_file):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        # Of a fixed time: the workers of pytest need equal parameters.
        file.writestr(zipfile.ZipInfo("values.npy"), values_file, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def headed(header):
    """A file of NumPy's without figures."""
    return b"\x93NUMPY\x01\x00" + (len(header)).to_bytes(2, "little") + header.encode()


def damaged_stream():
    content = bytearray(archive(values=np.random.default_rng(1).random((SIZE, SIZE), dtype=np.float32)))
    content[60:80] = b"\xff" * 20
    return bytes(content)


def of_unknown_compression():
    content = bytearray(archive_of(b""))
    content[8] = content[content.find(b"PK\x01\x02") + 10] = 99
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "NumPy archive"), (b"PK\x03\x04", "NumPy archive"), (archive_of(bytes(2**22)), "larger than"),
        (archive_of(headed("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 10000000)}")), "NumPy archive"),
        (archive_of(headed("{'shape': (((")), "NumPy archive"), (damaged_stream(), "NumPy archive"),
        (of_unknown_compression(), "NumPy archive"), (archive_of(b"text"), "not 65 x 65"),
        (archive(other=np.zeros(1)), "NumPy archive"),
        (archive(values=np.zeros((2, 2), dtype=np.float32)), "not 65 x 65"),
        (archive(values=np.array([[{}]], dtype=object)), "NumPy archive"),
        (archive(values=np.zeros((SIZE, SIZE), dtype=np.int32)), "not 65 x 65"),
    ],
)  # fmt: skip
def test_a_file_from_anywhere_is_no_danger(matrix, tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read(replaced(matrix, tmp_path, content), tmp_path)


def test_the_page_draws_it_or_says_that_it_is_not_kept(matrix, tmp_path):
    def verdict():
        return judged(report([case("NodeLinks", "scratch", matrices={"bandwidth": written(matrix)})]), tmp_path)

    plots, notes = pair_plots(verdict().cases)
    assert [plot.title for plot in plots] == ["NodeLinks: bandwidth between nodes of scratch"] and notes == []
    (tmp_path / "matrices" / matrix.file.name).unlink()
    plots, [note] = pair_plots(verdict().cases)
    assert plots == [] and "not kept" in note and "Its median was 2" in note
    assert "not kept" in render(verdict())
