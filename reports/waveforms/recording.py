"""Read a run's waveforms from a file: COMTRADE, HDF5, or the CSV of the EMT application's probes."""

import contextlib
import csv
import glob
import io
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import comtrade
import numpy as np
from numpy.typing import NDArray

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import opened

Values = NDArray[np.float64]
# The file of rank 3, in a run with a file for each rank: NAME.rank0003.cff.
_OF_RANK = re.compile(r".+\.rank(\d+)", re.DOTALL)
# The EMT application's unit in COMTRADE for a per-unit value or a value without a unit.
_NO_UNIT = "NONE"
# A byte of HDF5's compression (deflate) stands for 1,032 bytes at most.
_MOST_COMPRESSED = 1032


@dataclass(frozen=True)
class Channel:
    """Hold a channel; ``unit`` is empty if the file has none; ``seconds`` are ascending."""

    name: str
    unit: str
    seconds: Values
    values: Values


@dataclass(frozen=True)
class Recording:
    """Hold the channels of a run by name."""

    name: str
    channels: dict[str, Channel]


def read_run(path: str) -> Recording:
    """Read the waveforms of a run.

    :param path: a file; for a run with a file for each rank, the name without the rank.
    :raises InputError: a file is missing or unreadable, or has a channel twice; the message names the file.
    """
    files = [Path(path)] if Path(path).is_file() else _of_ranks(Path(path))
    if not files:
        of_rank = f"{Path(path).stem}.rank0000{Path(path).suffix}"
        raise InputError(f"{path}: no such file, and no file of a rank, for instance {of_rank}")
    channels: dict[str, Channel] = {}
    for file in files:
        for channel in _read(file):
            if channel.name in channels:
                raise InputError(f"{file}: channel {channel.name!r} occurs twice")
            channels[channel.name] = channel
    return Recording(path, channels)


def _of_ranks(path: Path) -> list[Path]:
    names = f"{glob.escape(path.stem)}.rank*{glob.escape(path.suffix)}"
    numbered = {int(match[1]): file for file in path.parent.glob(names) if (match := _OF_RANK.fullmatch(file.stem))}
    return [numbered[rank] for rank in sorted(numbered)]


def _read(path: Path) -> list[Channel]:
    readers = {".cff": _comtrade, ".cfg": _comtrade, ".csv": _csv, ".h5": _hdf5, ".hdf5": _hdf5}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: expected a file that ends in {', '.join(readers)}")
    channels = reader(path)
    for channel in channels:
        if len(channel.seconds) != len(channel.values):
            raise InputError(f"{path}: {channel.name}: {len(channel.values)} values at {len(channel.seconds)} times")
    return channels


def _values_named(path: Path) -> int:
    """Return how many channels and values the configuration of a COMTRADE file names; 0 if it cannot be read."""
    with opened(path) as file, contextlib.suppress(ValueError, IndexError):  # The library names the mistake.
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
        lines = (line for line in text if not line.startswith("---"))  # without a .cff's names of sections
        _, analog, status = (field.strip() for field in next(itertools.islice(lines, 1, None), "").split(","))
        channels, binary = int(analog[:-1]), int(status[:-1])
        # The descriptions of channels and the frequency come before the number of sampling rates.
        rates = int(next(itertools.islice(lines, channels + binary + 1, None), "0"))
        samples = [int(line.split(",")[1]) for line in itertools.islice(lines, max(1, rates))]
        return channels + binary + max(samples, default=0) * max(1, channels + binary // 8)
    return 0


def _comtrade(path: Path) -> list[Channel]:
    try:
        data = [path.with_suffix(suffix) for suffix in (".dat", ".DAT")]
        size = sum(file.stat().st_size for file in {path, *data} if file.is_file())
        # The library makes room for all values before it reads the first.
        if _values_named(path) > size:
            raise ValueError(f"it names more channels or values than {size:,} bytes can have")
        # Double precision: in single precision the times of 10 s at 50 µs are not distinct.
        found = comtrade.load(str(path), use_numpy_arrays=True, use_double_precision=True)
    # A damaged file causes these errors in the library, which checks little.
    except (comtrade.ComtradeError, OSError, ValueError, IndexError, TypeError, UnicodeDecodeError) as err:
        raise InputError(f"{path}: not a readable COMTRADE file: {err}") from None
    seconds = np.asarray(found.time, dtype=np.float64)
    return [
        Channel(described.name, described.uu.replace(_NO_UNIT, ""), seconds, np.asarray(values, dtype=np.float64))
        for described, values in zip(found.cfg.analog_channels, found.analog, strict=True)
    ]


def _csv(path: Path) -> list[Channel]:
    """Read the CSV of probes; a missing value of a probe becomes NaN.

    :raises InputError: a line has the wrong form; the message has its number.
    """
    try:
        with opened(path) as file:
            return _of_table(path, io.TextIOWrapper(file, encoding="utf-8", newline=""))
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InputError(f"{path}: not a readable CSV file: {err}") from None


def _of_table(path: Path, file: Iterator[str]) -> list[Channel]:
    rows = csv.reader(file)
    names = next(rows, [])
    if len(names) < 2 or names[0] != "time" or len(set(names)) != len(names):
        raise InputError(f"{path}: line 1: expected `time` and the names of channels, each once")
    table: list[list[float]] = []
    for row in rows:
        if len(row) != len(names):
            raise InputError(f"{path}: line {rows.line_num}: expected {len(names)} values, found {len(row)}")
        try:
            table.append([float(cell) if cell else math.nan for cell in row])
        except ValueError as err:
            raise InputError(f"{path}: line {rows.line_num}: {err}") from None
    columns = np.array(table, dtype=np.float64).reshape(-1, len(names)).T
    return [Channel(name, "", columns[0], values) for name, values in zip(names[1:], columns[1:], strict=True)]


def _hdf5(path: Path) -> list[Channel]:
    """Read the EMT application's HDF5: ``values`` (records × columns, first the time in s), ``names``, ``units``.

    :raises InputError: h5py is missing, or the file has another layout.
    """
    try:
        import h5py  # noqa: PLC0415
    except ImportError:
        raise InputError(f"{path}: HDF5 needs h5py; install it: `pip install h5py`") from None
    try:
        with h5py.File(path, "r") as file:
            for wanted in ("values", "names", "units"):
                # A link, an external or a virtual data set may name any file of the reader, by a path.
                own = isinstance(file.get(wanted, getlink=True), h5py.HardLink)
                if not own or not isinstance(data := file[wanted], h5py.Dataset) or data.external or data.is_virtual:
                    raise InputError(f"{path}: expected a data set `{wanted}` with its values in this file")
            size = path.stat().st_size
            if sum(file[of].nbytes for of in ("values", "names", "units")) > _MOST_COMPRESSED * size:
                raise InputError(f"{path}: names more values than {size:,} bytes can have; is it complete?")
            values = np.asarray(file["values"], dtype=np.float64)
            names, units = (file[of].asstr()[()].ravel().tolist() for of in ("names", "units"))
    except (OSError, TypeError, ValueError) as err:
        raise InputError(f"{path}: not a readable HDF5 file: {err}") from None
    if values.ndim != 2 or not values.shape[1] == len(names) == len(units) > 0:
        raise InputError(f"{path}: expected `values` with a column for each name and unit, found {values.shape}")
    described = list(zip(names, units, strict=True))[1:]
    return [Channel(*each, values[:, 0], values[:, i]) for i, each in enumerate(described, start=1)]
