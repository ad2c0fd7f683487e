"""Waveforms: COMTRADE and HDF5 by independent readers, equal to the probes' CSV however ranks write it."""

from __future__ import annotations

import csv
import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import comtrade
import h5py
import jsonschema
import pytest

from reframe_checks.storage.emt_io import CHANNELS_OF_COPY
from tests.emt.conftest import APP, Emt
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.waiting import PATIENCE_S

STEPS, EVERY = 100, 3
CHANNELS = ("S3.a", "S3.b", "TR_S3T0.a.i1", "L6*.from.a.i")


def single(value: float) -> float:
    """Round to 24 bits, as COMTRADE's FLOAT32 keeps them."""
    packed: tuple[float] = struct.unpack("<f", struct.pack("<f", value))
    return packed[0]


def read_comtrade(path: Path) -> tuple[list[float], dict[str, list[float]]]:
    """Time, s, and each channel."""
    record = comtrade.load(str(path), use_double_precision=True)
    assert record.rev_year == "2013" and record.ft == "FLOAT32"
    assert record.total_samples == len(record.time)
    return list(record.time), dict(zip(record.analog_channel_ids, map(list, record.analog), strict=True))


def read_hdf5(path: Path) -> tuple[list[float], dict[str, list[float]]]:
    """Time, s, and each channel."""
    with h5py.File(path) as file:
        names = list(file["names"].asstr())
        columns = dict(zip(names, file["values"][()].T.tolist(), strict=True))
        assert dict(zip(names, file["units"].asstr(), strict=True))["time"] == "s"
    return columns.pop("time"), columns


READERS = {".cff": read_comtrade, ".h5": read_hdf5}


@pytest.fixture(scope="module")
def probed(emt: Emt, hq: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """Return the probes of one rank as CSV, and "time"."""
    table = tmp_path_factory.mktemp("probed") / "probes.csv"
    names = [line.split("\t")[0] for line in emt("channels", hq, *CHANNELS).stdout.splitlines()]
    assert len(names) > len(CHANNELS)
    probes = [word for name in names for word in ("--probe", name)]
    emt("run", hq, "--steps", STEPS, "--no-replay", "--csv", table, "--every", EVERY, *probes)
    with table.open(newline="") as file:
        header, *rows = csv.reader(file)
    return {name: [float(row[i]) for row in rows] for i, name in enumerate(header)}


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_waveforms_are_what_probes_show(
    emt: Emt, hq: Path, tmp_path: Path, probed: dict[str, list[float]], ranks: int
) -> None:
    schema = json.loads((APP / "schema/result.schema.json").read_text())
    wanted = [word for pattern in CHANNELS for word in ("--channels", pattern)]
    plain = emt.run(hq, tmp_path, "--steps", STEPS, "--no-replay", ranks=ranks)
    times = probed["time"]
    doubles = {name: values for name, values in probed.items() if name != "time"}
    contents: dict[str, list[bytes]] = {".cff": [], ".h5": []}
    for files, io, ending in (
        ("shared", "collective", ".cff"),
        ("shared", "independent", ".cff"),
        ("rank", "collective", ".cff"),
        ("shared", "collective", ".h5"),
        ("shared", "independent", ".h5"),
        ("rank", "collective", ".h5"),
    ):
        signals = doubles if ending == ".h5" else {name: [*map(single, values)] for name, values in doubles.items()}
        path = tmp_path / f"{files}-{io}{ending}"
        how = ["--waveforms", path, *wanted, "--decimate", EVERY, "--waveform-files", files, "--waveform-io", io]
        how += ["--verify-waveforms", "own" if io == "independent" else "other"]
        result = emt.run(hq, tmp_path, "--steps", STEPS, "--no-replay", *how, ranks=ranks)
        jsonschema.validate(result, schema)
        assert result["checksum"] == plain["checksum"]
        said = result["waveforms"]
        assert (said["records"], said["channels"], said["files"]) == (len(times), len(signals), files)
        assert said["bytes"] == sum(rank["bytes"] for rank in said["by_rank"]) and said["write_s"] > 0
        assert sum(rank["read_bytes"] for rank in said["by_rank"]) == said["bytes"] and said["read_s"] > 0
        paths = [path] if files == "shared" else sorted(tmp_path.glob(f"{path.stem}.rank*{ending}"))
        read: dict[str, list[float]] = {}
        for part in paths:
            time, channels = READERS[ending](part)
            assert time == pytest.approx(times, abs=1e-12)
            assert not read.keys() & channels.keys()
            read |= channels
        assert read == signals
        if files == "shared":
            contents[ending].append(path.read_bytes())
        else:
            assert len(paths) == sum(rank["channels"] > 0 for rank in said["by_rank"])
    assert [len(set(each)) for each in contents.values()] == [1, 1]


#: A disk that has other bytes than were written, or more of them, once it was asked to keep them.
BAD_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int fsync(int fd) {
    struct stat now;
    if (fstat(fd, &now) == 0 && now.st_size > 4096) {
        const int longer = strcmp(getenv("BAD_DISK"), "longer") == 0;
        if (pwrite(fd, "\252\125\252\125\252\125\252\125", 8, longer ? now.st_size : now.st_size / 2) != 8) abort();
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


@pytest.fixture(scope="module")
def bad_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad_disk")
    (folder / "bad_disk.c").write_text(BAD_DISK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "bad_disk.so", "bad_disk.c", "-ldl"], cwd=folder, check=True)
    return folder / "bad_disk.so"


@pytest.mark.parametrize("files", ["shared", "rank"])
@pytest.mark.parametrize(("bad", "told"), [("other", "differ from the data that rank"), ("longer", "were written")])
def test_what_a_disk_made_of_it_ends_the_run(
    emt: Emt, hq: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_disk: Path, files: str, bad: str, told: str
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(bad_disk))
    monkeypatch.setenv("BAD_DISK", bad)
    how = ["--waveforms", tmp_path / "w.cff", "--channels", "S*.a", "--waveform-files", files]
    run = ["run", hq, "--steps", 500, "--no-replay", *how]
    emt(*run, ranks=2)
    done = emt(*run, "--verify-waveforms", "other", ranks=2, ok=False)
    assert done.returncode != 0 and told in done.stderr, done.stderr


def test_records_wait_in_as_much_memory_as_is_said(emt: Emt, hq: Path, tmp_path: Path) -> None:
    run = ["--steps", 2000, "--no-replay", "--waveforms", tmp_path / "w.cff", "--channels", "S*.a"]
    said = emt.run(hq, tmp_path, *run, "--waveform-buffer", "1", ranks=2)["waveforms"]
    record_bytes = 8 + 4 * said["channels"]
    assert said["buffer_records"] == (1 << 20) // record_bytes < said["records"]


#: Runs what follows "small", "kept" and a size beside a disk of that size, which only it sees, and keeps what it left.
ON_A_SMALL_DISK = """
set -u; small=$1 kept=$2 size=$3; shift 3
mount -t tmpfs -o size="$size" tmpfs "$small" || exit 99
"$@"; status=$?
find "$small" -type f -exec cp -t "$kept" {} +
exit $status
"""
#: Bytes of the run without a full disk: more than any of these disks holds.
WHOLE = 8000


@pytest.fixture(scope="module")
def whole(emt: Emt, hq: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By ending: what a run with room writes."""
    folder = tmp_path_factory.mktemp("whole")
    for ending in READERS:
        path = folder / f"whole{ending}"
        emt("run", hq, "--steps", WHOLE, "--no-replay", "--channels", "S*.a", "--waveforms", path)
    return {ending: read(folder / f"whole{ending}") for ending, read in READERS.items()}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk of its own")
@pytest.mark.parametrize(
    ("ranks", "files", "io", "ending", "size"),
    [
        (1, "shared", "collective", ".cff", "1m"),
        (2, "shared", "collective", ".h5", "1m"),
        (2, "shared", "independent", ".cff", "1m"),
        (3, "rank", "independent", ".cff", "1m"),
        (3, "rank", "independent", ".h5", "1m"),
        # Room for a head and no record, or not for all heads.
        (1, "shared", "collective", ".cff", "8k"),
        (2, "shared", "collective", ".h5", "8k"),
        (3, "rank", "independent", ".cff", "12k"),
        (3, "rank", "independent", ".h5", "12k"),
    ],
)
def test_a_full_disk_ends_the_run_at_once_and_whole_records_are_read(
    emt: Emt, hq: Path, tmp_path: Path, whole: dict[str, Any], ranks: int, files: str, io: str, ending: str, size: str
) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    kept.mkdir()
    run = [emt.program, "run", hq, "--steps", "1000000000", "--no-replay", "--channels", "S*.a"]
    how = ["--waveforms", small / f"w{ending}", "--waveform-files", files, "--waveform-io", io]
    beside = ["unshare", "-m", "bash", "-c", ON_A_SMALL_DISK, "bash", small, kept, size]
    done = subprocess.run(
        [*beside, "mpirun", "-n", str(ranks), *run, *how],
        capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | MPI_ENVIRONMENT, check=False,
    )  # fmt: skip
    assert done.returncode not in (0, 99), done.stderr
    assert "the disk is full" in done.stderr and "Make room there" in done.stderr, done.stderr
    left = sorted(kept.iterdir())
    assert size != "1m" or len(left) == (1 if files == "shared" else ranks)
    times, columns = whole[ending]
    most = 0
    for path in left:
        time, channels = READERS[ending](path)
        assert len(time) < WHOLE and time == times[: len(time)]
        assert channels and channels == {name: columns[name][: len(time)] for name in channels}
        most = max(most, len(time))
    assert size != "1m" or most > 100


@pytest.mark.parametrize("copies", [1, 2])
def test_a_copy_of_the_network_has_the_channels_that_the_suite_counts_with(
    emt: Emt, tmp_path: Path, copies: int
) -> None:
    case = tmp_path / "hq.json"
    emt("generate", "hq", "--network-only", "--scale", copies, "--seed", 1, "-o", case)
    channels = len(emt("channels", case).stdout.splitlines())
    assert copies * CHANNELS_OF_COPY - 12 <= channels <= copies * CHANNELS_OF_COPY


@pytest.mark.parametrize("files", ["shared", "rank"])
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_waveforms_are_not_written_through_a_link(emt: Emt, hq: Path, tmp_path: Path, files: str, link: Any) -> None:
    victim = tmp_path / "victim"
    victim.write_text("of the user")
    link(tmp_path / ("w.cff" if files == "shared" else "w.rank0000.cff"), victim)
    words = ["--steps=10", "--no-replay", "--channels=S3.a", f"--waveform-files={files}"]
    done = emt("run", hq, *words, "--waveforms", tmp_path / "w.cff", ok=False)
    assert done.returncode == 1
    assert victim.read_text() == "of the user"


def test_waveforms_replace_those_of_an_earlier_run(emt: Emt, hq: Path, tmp_path: Path) -> None:
    waveforms = tmp_path / "w.cff"
    sizes = []
    for steps in (100, 10, 100):
        emt("run", hq, f"--steps={steps}", "--no-replay", "--channels=S3.a", "--waveforms", waveforms)
        sizes.append(waveforms.stat().st_size)
    assert sizes[1] < sizes[0] == sizes[2]
