"""``emt-plot``: accepted files, reduction of long waveforms, and refused files."""

import resource

import h5py
import numpy as np
import pytest

from kappa.core.ground.errors import InputError
from reports.waveforms.main import main
from reports.waveforms.panels import between, panels, prefixed, thinned
from reports.waveforms.recording import read_run

CFF = "--- file type: CFG ---\n"
ONE_CHANNEL = f"{CFF}s,d,2013\n1,1A,0D\n1,x,a,,V,1,0,0,0,1,1,1,P\n50\n"
ROOM = 4 << 30
ROWS = "time,S30.a,S30.b\n0,1,\n0.5,2,-2\n1,3,-3\n"


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def room():
    """Limit the memory, so that a file that asks for too much fails the test and not the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_an_hdf5_file_of_more_values_than_it_can_have_is_refused(tmp_path, room):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("values", (10**9, 1000), dtype="f8", chunks=(1000, 1000), compression="gzip")
        file["names"], file["units"] = [b"time"], [b"s"]
    with pytest.raises(InputError, match="more values than"):
        read_run(str(path))


def test_csv_and_files_of_ranks(run, tmp_path):
    channels = read_run(str(run)).channels
    assert list(channels) == ["S30.a", "S30.b"]
    assert list(channels["S30.a"].values) == [1, 2, 3]
    assert np.isnan(channels["S30.b"].values[0])
    (tmp_path / "many.rank0000.csv").write_text(ROWS)
    (tmp_path / "many.rank0001.csv").write_text("time,S5.a\n0,7\n1,8\n")
    assert list(read_run(str(tmp_path / "many.csv")).channels) == ["S30.a", "S30.b", "S5.a"]
    (tmp_path / "many.rank0002.csv").write_text("time,S5.a\n0,7\n")
    with pytest.raises(InputError, match=r"rank0002.csv: channel 'S5.a' occurs twice"):
        read_run(str(tmp_path / "many.csv"))


def test_hdf5(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["values"] = [[0.0, 1.0, 2.0], [0.5, 3.0, 4.0]]
        file["names"] = np.array([b"time", b"S30.a", b"TR.i"])
        file["units"] = np.array([b"s", b"V", b""])
    found = read_run(str(path)).channels
    assert [(channel.unit, *channel.seconds, *channel.values) for channel in found.values()] == [
        ("V", 0, 0.5, 1, 3),
        ("", 0, 0.5, 2, 4),
    ]
    assert list(found) == ["S30.a", "TR.i"]
    with h5py.File(path, "a") as file:
        del file["units"]
        file["units"] = np.array([b"s"])
    with pytest.raises(InputError, match=r"a.h5: expected `values` with a column for each name and unit, found .*2, 3"):
        read_run(str(path))
    with h5py.File(path, "a") as file:
        del file["names"]
    with pytest.raises(InputError, match=r"a.h5: expected a data set `names`"):
        read_run(str(path))


def by_link(file, elsewhere):
    file["values"] = h5py.ExternalLink(elsewhere.name, "values")


def by_soft_link(file, elsewhere):
    file["beside"] = h5py.ExternalLink(elsewhere.name, "values")
    file["values"] = h5py.SoftLink("/beside")


def by_raw_data(file, elsewhere):
    file.create_dataset("values", (2, 2), "f8", external=[(elsewhere.name, 0, 32)])


def by_virtual_data_set(file, elsewhere):
    layout = h5py.VirtualLayout((2, 2), "f8")
    layout[:] = h5py.VirtualSource(elsewhere.name, "values", (2, 2))
    file.create_virtual_dataset("values", layout)


@pytest.mark.parametrize("values", [by_link, by_soft_link, by_raw_data, by_virtual_data_set])
def test_hdf5_that_names_another_file_is_refused(tmp_path, monkeypatch, values):
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "of_the_reader.h5"
    with h5py.File(elsewhere, "w") as file:
        file["values"] = [[0.0, 1.0], [0.5, 3.0]]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        values(file, elsewhere)
        file["names"] = np.array([b"time", b"S30.a"])
        file["units"] = np.array([b"s", b"V"])
    with pytest.raises(InputError, match="with its values in this file"):
        read_run("a.h5")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.h5", "no waveform", "not a readable HDF5 file"),
        ("a.csv", "x,y\n0,1\n", "line 1: expected `time`"),
        ("a.csv", "time,y\n0,1,2\n", "line 2: expected 2 values, found 3"),
        ("a.csv", "time,y\n0,one\n", "line 2: could not convert"),
        ("a.cff", "no waveform", "not a readable COMTRADE file"),
        ("a.txt", "", "expected a file that ends in"),
        ("a.csv", "time,y\n0," + "1" * 200_000 + "\n", "not a readable CSV file: field larger"),
        ("a.csv", b"time,y\n0,\xff\n", "not a readable CSV file: .*utf-8"),
        ("a.csv", b"time,\xe9\n0,1\n", "not a readable CSV file: .*utf-8"),
        ("a.csv", "time,y\r0,1\n0\x00,1", "a.csv"),
        ("a.cfg", "s,d,2013\n1000000000,1000000000A,0D\n", "more channels or values than"),
        ("a.cff", f"{CFF}s,d,2013\n1000000000,0A,1000000000D\n", "more channels or values than"),
        ("a.cff", f"{ONE_CHANNEL}1\n50,1000000000\n", "more channels or values than"),
        ("a.cff", f"{ONE_CHANNEL}0\n0,1000000000\n", "more channels or values than"),
    ],
)
def test_refused(tmp_path, room, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_run(str(tmp_path / name))


def test_extremes_stay():
    seconds = np.arange(100_000) * 1e-5
    values = np.sin(seconds)
    values[[777, 55_555]] = 9, -9
    kept_at, kept = thinned(seconds, values, 100)
    assert len(kept) <= 202
    assert (kept.min(), kept.max()) == (-9, 9)
    assert (kept_at[0], kept_at[-1]) == (seconds[0], seconds[-1])
    assert (np.diff(kept_at) > 0).all()


def test_difference_and_patterns(run, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("time,S30.a\n0,11\n1,13\n")
    runs = [read_run(str(run)), read_run(str(other))]
    above, below = between(panels(runs, ["*.a"], difference=True), 0.5, None)
    assert [curve.label for curve in above.curves] == ["S30.a, run.csv", "S30.a, other.csv"]
    assert below.title == "Signal: other.csv minus run.csv"
    assert list(below.curves[0].values) == [10, 10]
    with pytest.raises(InputError, match="no channel matches 'X'"):
        panels(runs, ["X"])
    with pytest.raises(InputError, match="only one of the two runs"):
        panels(runs, ["S30.b"], difference=True)


def test_pictures(run, tmp_path, capsys):
    png, page = tmp_path / "run.png", tmp_path / "run.html"
    assert main([str(run), "-o", str(png)]) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert main([str(run), "-o", str(page)]) == 0
    assert "S30.a" in page.read_text()
    assert "<script src" not in page.read_text()
    assert main([str(run), "-o", str(tmp_path / "run.gif")]) == 2
    assert "run.gif: expected a file that ends in .png or .html" in capsys.readouterr().err


def test_each_quantity_has_a_panel_and_units_that_are_read_at_a_glance(tmp_path):
    path = tmp_path / "a.h5"
    channels = {"S30.a": ("V", 6e5), "G.speed": ("", 1.0), "H.speed": ("", 1.1), "G.efd": ("", 2.0), "F.i": ("A", 9e3)}
    with h5py.File(path, "w") as file:
        file["values"] = [[0.0, *(value for _, value in channels.values())]]
        file["names"] = np.array([b"time", *(name.encode() for name in channels)])
        file["units"] = np.array([b"s", *(unit.encode() for unit, _ in channels.values())])
    drawn = [prefixed(panel) for panel in panels([read_run(str(path))], [])]
    assert [(panel.title, panel.unit, [(c.number, *c.values) for c in panel.curves]) for panel in drawn] == [
        ("Voltage", "kV", [(0, 600)]),
        ("Speed", "", [(0, 1), (1, 1.1)]),
        ("Field voltage", "", [(0, 2)]),
        ("Current", "A", [(0, 9000)]),
    ]
