"""Results of ``emt run --waveforms FILE --verify-waveforms``: what each rank wrote and read back through MPI-IO
(``emt_app/schema/result.schema.json``)."""

import math
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

# Format -> bytes of a record's stamp, and of a value.
FORMATS = {"comtrade": (8, 4), "hdf5": (8, 8)}
_MB = 1.048576
# Seconds are told in whole nanoseconds, rates are their quotients in full.
_SAME = 1e-13


@dataclass(frozen=True)
class RankIo:
    """``write_s`` has the time that making the file durable and closing it took; ``read_of`` is the rank that wrote
    the ``read_bytes``. A rank without channels has no rates."""

    node: str
    channels: int
    bytes: int
    write_s: float
    write_mb_s: float | None
    read_of: int
    read_bytes: int
    read_s: float
    read_mb_s: float | None


@dataclass(frozen=True)
class EmtIo:
    """Rates are of all bytes over the time of the rank that took longest; ``step_us`` is that of a mean step, without
    the writing. ``verified`` says whose bytes each rank read and compared: its ``own`` or an ``other``'s."""

    checksum: str
    steps: int
    step_us: float
    files: str
    io: str
    verified: str
    channels: int
    bytes: int
    write_s: float
    write_mb_s: float
    read_s: float
    read_mb_s: float
    ranks: tuple[RankIo, ...]


def parse(text: str) -> EmtIo:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, a figure
        that contradicts another, files that were not read back, or fewer records than steps.
    """
    output = Output.read("emt result", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-emt-result" or record.integer("version") != 1:
        raise record.error("kappa-emt-result, version 1", "format")
    told = record.record("waveforms")
    if told.text("verified") not in ("own", "other"):
        raise told.error("own or other: what was written was not read back", "verified")
    steps, decimate, records = record.integer("steps", 1), told.integer("decimate", 1), told.integer("records", 1)
    if records != (record.integer("warm_up") + steps) // decimate + 1:
        raise told.error(f"one record for each {decimate} of {steps} steps, and the first", "records")
    ranks = _ranks(told, record.integer("ranks", 1, Quantity.RANKS), records)
    sums = (sum(rank.channels for rank in ranks), sum(rank.bytes for rank in ranks))
    if (told.integer("channels", 1), told.integer("bytes", 1, Quantity.BYTES)) != sums:
        raise told.error(f"channels and bytes of all ranks, {sums}", "bytes")
    for key in (*_WRITING, "read_s"):
        if told.number(key, Quantity.RUN_S, 0) != max(_seconds(entry, key) for entry in told.records("by_rank")):
            raise told.error("seconds of the rank that took longest", key)
    write_s, read_s = sum(_seconds(told, key) for key in _WRITING), _seconds(told, "read_s")
    write_mb_s = _rate(told, "throughput_mib_s", sums[1], write_s)
    read_mb_s = _rate(told, "read_throughput_mib_s", sums[1], read_s)
    if write_mb_s is None or read_mb_s is None:
        raise told.error("a rate of writing and of reading", "throughput_mib_s")
    return EmtIo(
        record.text("checksum"), steps, record.record("step_us").number("mean", Quantity.OPERATION_US, 0),
        told.text("files"), told.text("io"), told.text("verified"), sums[0], sums[1],
        write_s, write_mb_s, read_s, read_mb_s, ranks,
    )  # fmt: skip


_WRITING = ("write_s", "flush_s")


def _seconds(record: Record, key: str) -> float:
    return record.number(key, Quantity.RUN_S, 0)


def _ranks(told: Record, count: int, records: int) -> tuple[RankIo, ...]:
    """In their order, each with as many bytes as its channels make, and with those read that the other wrote."""
    entries = told.records("by_rank")
    ranks = tuple(_rank(entry, number) for number, entry in enumerate(entries))
    if len(ranks) != count:
        raise told.error("one entry of each rank", "by_rank")
    shared, (stamp, value) = told.text("files") == "shared", _format(told)
    away = max(count // 2, 1) if told.text("verified") == "other" else 0
    for number, (rank, entry) in enumerate(zip(ranks, entries, strict=True)):
        stamped = number == 0 if shared else rank.channels > 0
        if rank.bytes != records * (rank.channels * value + stamped * stamp):
            raise entry.error(f"{records} records of {rank.channels} channels", "bytes")
        written_by = (number + away) % count
        if (rank.read_of, rank.read_bytes) != (written_by, ranks[written_by].bytes):
            raise entry.error(f"what rank {written_by} wrote", "read_of")
    return ranks


def _format(told: Record) -> tuple[int, int]:
    if told.text("format") not in FORMATS:
        raise told.error(f"one of {', '.join(FORMATS)}", "format")
    return FORMATS[told.text("format")]


def _rank(entry: Record, number: int) -> RankIo:
    if entry.integer("rank") != number:
        raise entry.error(f"{number}: ranks in their order", "rank")
    written, read = (entry.integer(key, 0, Quantity.BYTES) for key in ("bytes", "read_bytes"))
    write_s, read_s = sum(_seconds(entry, key) for key in _WRITING), _seconds(entry, "read_s")
    return RankIo(
        entry.text("host"), entry.integer("channels"), written, write_s, _rate(entry, "write_mib_s", written, write_s),
        entry.integer("read_of", 0, Quantity.RANKS), read, read_s, _rate(entry, "read_mib_s", read, read_s),
    )  # fmt: skip


def _rate(record: Record, key: str, size: int, seconds: float) -> float | None:
    """MB/s, held against size and time; ``None`` where nothing was moved."""
    mib_s = record.optional(key, lambda key: record.number(key, Quantity.MIB_S, 0))
    if (mib_s is None) != (not size) or (size and not seconds):
        raise record.error("a rate where bytes were moved in some time, and only there", key)
    if mib_s is None:
        return None
    due = size / (1 << 20) / seconds
    if not math.isclose(mib_s, due, rel_tol=_SAME):
        raise record.error(f"{size} bytes in {seconds:g} s", key)
    return due * _MB
