"""Benchmarks that write and read files: fio, IOzone, and NPB's BT with I/O.

- fio 3.x with ``--output-format=json``; its manual names the fields under "JSON output". Tried with 3.33 (recorded),
  3.16 and 3.1 (published). Completion latencies have to be among its percentiles.
- IOzone 3 with ``-i 0 -i 1``: write, rewrite, read and reread over file size and request size.
- NPB 3.4 BT-IO (``SUBTYPE=full``, ``simple`` …).
"""

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from reframe_checks.parsers.json_reader import Bytes, Count, Text, decode, require
from reframe_checks.parsers.text import INTEGER, Output, Unit

# Warnings of fio also begin with "fio:"; these are the ones after which the figures cannot be trusted.
_COMPLAINT = re.compile(r"fio: .*(?:err=|error|fail|unrecogni[sz]ed|not a directory|terminating).*", re.IGNORECASE)
_KNOWN_VERSION = re.compile(r"fio-3\.[0-9]{1,4}[\w.-]{0,40}")
_BLOCK_SIZE = re.compile(r"([1-9][0-9]{0,11})([kmg]?)b?", re.IGNORECASE)
# fio's kb_base is 1024 unless told otherwise.
_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
# The sides that each pattern has to move.
_MUST_MOVE = {
    "read": "read", "randread": "read", "write": "write", "randwrite": "write", "trimwrite": "write",
    "rw": "read write", "readwrite": "read write", "randrw": "read write",
}  # fmt: skip
# With these shares of reads or writes, a mixed job moves one side only.
_ONE_SIDED = {"0", "100"}
_LATENCY = Annotated[float, Meta(ge=0, le=Unit.OPERATION_NS.ceiling)]


@dataclass(frozen=True)
class FioSide:
    """The reads or the writes of a job. MB are 10^6 bytes; ``clat`` is the completion latency.

    fio rounds run times to milliseconds, so the rates of very short runs are coarse.
    """

    bandwidth_mb_s: float
    iops: float
    clat_p99_us: float
    io_bytes: int


@dataclass(frozen=True)
class FioJob:
    """A job; ``rw`` as in fio's output (``randread`` …). A side is ``None`` if it moved no data."""

    name: str
    rw: str
    block_size_bytes: int
    direct: bool
    read: FioSide | None
    write: FioSide | None


class _Completion(Struct, frozen=True):
    percentile: dict[str, _LATENCY] | None = None

    def __post_init__(self) -> None:
        found = self.percentile or {}
        require([*found.values()] == sorted(found.values()), "percentile: latencies that rise")
        require(not found or "99.000000" in found, "percentile: the percentile 99.000000")


class _Side(Struct, frozen=True):
    io_bytes: Bytes
    runtime_ms: Annotated[int, Meta(ge=0, le=int(Unit.RUN_MS.ceiling))] = field(name="runtime")
    kib_s: Annotated[float, Meta(ge=0, le=Unit.KIB_S.ceiling)] = field(name="bw")
    iops: Annotated[float, Meta(ge=0, le=Unit.IO_S.ceiling)]
    total_ios: Count
    clat_ns: _Completion
    # fio 3.1 lacks it.
    bw_bytes: Annotated[float, Meta(ge=0, le=Unit.BYTES_S.ceiling)] | None = None

    @property
    def bytes_s(self) -> float:
        return 1000 * self.io_bytes / self.runtime_ms

    def __post_init__(self) -> None:
        if not self.io_bytes:
            idle = not (self.total_ios or self.iops or self.kib_s or self.bw_bytes)
            require(idle, "io_bytes: above 0, as there were operations")
            return
        require(self.runtime_ms > 0, "runtime: above 0")
        # stat.c of fio: rates are totals over the run time in ms; both bandwidths are rounded down.
        require(abs(self.kib_s - self.bytes_s / 1024) <= 1, "bw: 1000 x io_bytes / runtime, in KiB/s")
        require(self.bw_bytes is None or abs(self.bw_bytes - self.bytes_s) <= 1, "bw_bytes: 1000 x io_bytes / runtime")
        off = abs(self.iops - 1000 * self.total_ios / self.runtime_ms)
        require(off <= 1e-5 * max(self.iops, 1), "iops: 1000 x total_ios / runtime")
        percentiles = "percentiles (`clat_percentiles=1`, which `lat_percentiles=1` turns off)"
        require(bool(self.clat_ns.percentile), f"clat_ns: {percentiles}")
        require(min((self.clat_ns.percentile or {}).values()) >= 1, "clat_ns.percentile: latencies of 1 ns or more")


class _JobOptions(Struct, frozen=True):
    rw: Text | None = None
    bs: Text | None = None
    direct: Literal["0", "1"] | None = None
    kb_base: Text | None = None
    rwmixread: Text | None = None
    rwmixwrite: Text | None = None


class _Job(Struct, frozen=True):
    jobname: Text
    error: Literal[0]
    read: _Side
    write: _Side
    options: _JobOptions = field(name="job options", default=_JobOptions())


class _FioDocument(Struct, frozen=True, kw_only=True):
    version: Text = field(name="fio version")
    options: _JobOptions = field(name="global options", default=_JobOptions())
    jobs: Annotated[tuple[_Job, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        known = _KNOWN_VERSION.fullmatch(self.version) is not None
        require(known, f"fio version: fio-3, the version that is known, found {self.version[:40]}")


def fio(text: str) -> tuple[FioJob, ...]:
    """Parse the jobs in fio's order, one for each group with ``--group_reporting``.

    Lines before the JSON are warnings, unless they report an error. The options come from fio's echo, so fio must be
    called with ``rw``, ``bs`` and ``direct``: a default looks like a lost line.

    :raises ParseError: no JSON or text behind it, an error that fio reports, a job that moved no bytes (in the
        direction that its ``rw`` asks for), or rates that contradict bytes and run time.
    """
    output = Output.read("fio output", text)
    first = output.lines.index("{") + 1 if "{" in output.lines else len(output.lines) + 1
    for number, line in enumerate(output.lines[: first - 1], start=1):
        if _COMPLAINT.fullmatch(line):
            raise output.error(number, "a run without errors")
    if first > len(output.lines):
        raise output.missing("fio's JSON, from a line `{` on")
    end = output.lines.index("}", first) + 1 if "}" in output.lines[first:] else len(output.lines)
    for number, line in enumerate(output.lines[end:], start=end + 1):
        if line.strip():
            raise output.error(number, "the end of the output behind fio's JSON: use `--output-format=json` alone")
    document = decode(output, range(first, end + 1), _FioDocument)
    try:
        return tuple(_job(job, document.options) for job in document.jobs)
    except ValueError as err:
        raise output.error(first, str(err)) from None


def _job(job: _Job, shared: _JobOptions) -> FioJob:
    """Convert a job.

    :raises ValueError: the options or sides are wrong; the text says what was expected.
    """
    given = {name: getattr(job.options, name) or getattr(shared, name) for name in _JobOptions.__struct_fields__}
    for key in ("rw", "bs", "direct"):
        require(given[key] is not None, f"{key}, given on fio's command line or in its job file")
    pattern = given["rw"].partition(":")[0]
    require(pattern in _MUST_MOVE, f"rw: one of {', '.join(_MUST_MOVE)}, found {given['rw'][:40]}")
    sides = {"read": _side(job.read), "write": _side(job.write)}
    for side in _MUST_MOVE[pattern].split():
        may_rest = _MUST_MOVE[pattern] != side and not _ONE_SIDED.isdisjoint((given["rwmixread"], given["rwmixwrite"]))
        require(bool(sides[side]) or may_rest, f"{side}.io_bytes: bytes moved by rw={given['rw'][:40]}")
    require(any(sides.values()), "read.io_bytes or write.io_bytes: above 0")
    block_sizes = {_BLOCK_SIZE.fullmatch(size) for size in given["bs"].split(",")}
    size = block_sizes.pop()
    if block_sizes or not size or given["kb_base"] not in (None, "1024"):
        raise ValueError(f"bs: one block size such as 4k or 1M, in powers of 1024; found {given['bs'][:40]}")
    block_size = int(size[1]) * _FACTORS[size[2].lower()]
    return FioJob(job.jobname, given["rw"], block_size, given["direct"] == "1", **sides)


def _side(side: _Side) -> FioSide | None:
    if not side.io_bytes:
        return None
    p99_us = (side.clat_ns.percentile or {})["99.000000"] / 1e3
    return FioSide(side.bytes_s / 1e6, side.iops, p99_us, side.io_bytes)


IOZONE_OPERATIONS = ("write", "rewrite", "read", "reread")
_IOZONE_TITLES = re.compile(r" +kB +reclen +write +rewrite +read +reread +.*")
_IOZONE_ROW = re.compile(rf" +({INTEGER})" * 6 + " *")
_IOZONE_COMMAND = re.compile(r"\tCommand line used: \S+ (.*)")
_IOZONE_UNIT = re.compile(r"\tOutput is in kBytes/sec")
_IOZONE_END = re.compile(r"iozone test complete\.")
# Options -> the words in IOzone's header if the option is in effect.
_IOZONE_SAYS = {
    "direct": ("-I", "O_DIRECT feature enabled"),
    "sync": ("-o", "SYNC Mode."),
    "fsync": ("-e", "Include fsync in write timing"),
    "close": ("-c", "Include close in write timing"),
}


@dataclass(frozen=True)
class IozoneResult:
    """A table; ``rates``: operation -> (file size in KiB, request size in KiB) -> MB/s (10^6 bytes)."""

    options: str
    direct: bool
    sync: bool
    fsync: bool
    close: bool
    rates: dict[str, dict[tuple[int, int], float]]


def iozone(text: str, *, expect_cells: Set[tuple[int, int]]) -> IozoneResult:
    """Parse IOzone's table.

    :param expect_cells: (file size, request size) in KiB of all cells that the table must have.
    :raises ParseError: the end, the titles, a cell or a rate is missing; a cell is unexpected or occurs twice; a rate
        is 0; the header does not confirm an option.
    """
    output = Output.read("iozone output", text)
    _, command = output.one(_IOZONE_COMMAND, "`Command line used: …`")
    output.one(_IOZONE_UNIT, "`Output is in kBytes/sec`")
    titles, _ = output.one(_IOZONE_TITLES, "the titles of the table")
    end, _ = output.one(_IOZONE_END, "`iozone test complete.`")
    rates: dict[str, dict[tuple[int, int], float]] = {operation: {} for operation in IOZONE_OPERATIONS}
    for number in range(titles + 1, end):
        line = output.lines[number - 1]
        if not line.strip():
            continue
        row = _IOZONE_ROW.fullmatch(line)
        if not row:
            raise output.error(number, "a row of file size, request size and four rates")
        cell = int(row[1]), int(row[2])
        if cell not in expect_cells or cell in rates["write"]:
            raise output.error(number, f"a cell that was asked for, once; found {cell[0]} KiB by {cell[1]} KiB")
        for operation, token in zip(IOZONE_OPERATIONS, row.groups()[2:], strict=True):
            rates[operation][cell] = output.positive_integer(number, operation, token, Unit.KIB_S) * 1.024e-3
    if missing := expect_cells - rates["write"].keys():
        file_kib, request_kib = min(missing)
        raise output.missing(f"a row for {file_kib} KiB by {request_kib} KiB")
    options = command[1].split()
    header = [line.strip() for line in output.lines[:titles]]
    for option, said in _IOZONE_SAYS.values():
        if (option in options) != (said in header):
            raise output.error(titles, f"`{said}` in the header if and only if {option} was given")
    effective = {name: option in options for name, (option, _) in _IOZONE_SAYS.items()}
    return IozoneResult(options=command[1], rates=rates, **effective)


_FIXED = r"([0-9]{1,12}\.[0-9]{2})"
_BTIO = re.compile(r" BTIO -- ([A-Z][A-Z0-9/ -]{1,40}) write interval: +([0-9]{1,6})")
_BTIO_FIGURES = {
    "io_s": (Unit.RUN_S, re.compile(rf"   I/O timing in seconds   : +{_FIXED}")),
    "io_percent": (Unit.PERCENT, re.compile(rf"   I/O timing percentage   : +{_FIXED}")),
    "written_mb": (Unit.MB, re.compile(rf"   Total data written \(MB\) : +{_FIXED}")),
    "mb_s": (Unit.MB_S, re.compile(rf"   I/O data rate  \(MB/sec\) : +{_FIXED}")),
    "total_s": (Unit.RUN_S, re.compile(rf" Time in seconds = +{_FIXED}")),
    "mop_s": (Unit.MOP_S, re.compile(rf" Mop/s total     = +{_FIXED}")),
}
_BTIO_EACH = re.compile(rf" Mop/s/process   = +{_FIXED}")
_BTIO_CLASS = re.compile(r" Class           = +([SWABCDEF])")
_BTIO_PROCESSES = {
    "started": re.compile(rf" Total number of processes: +({INTEGER})"),
    "total": re.compile(rf" Total processes = +({INTEGER})"),
    "active": re.compile(rf" Active proc(?:s    |esses)= +({INTEGER})"),
}
_BTIO_VERIFIED = re.compile(r" Verification    = +SUCCESSFUL")
# A printed digit of times, amounts and rates.
_BTIO_DIGIT = 0.01


@dataclass(frozen=True)
class BtioResult:
    """A run of BT-IO; ``mb_s``: written data per time of I/O (10^6 bytes/s); ``io_percent``: its share of the time."""

    problem_class: str
    processes: int
    method: str
    total_s: float
    io_s: float
    io_percent: float
    written_mb: float
    mb_s: float
    mop_s: float


def btio(text: str) -> BtioResult:
    """Parse the output of BT-IO.

    :raises ParseError: not verified; fewer active than started processes (their number is no square); a figure
        missing, twice, or 0.00 (the run is too short for NPB's two decimals); an I/O time or rate that contradicts the
        other figures.
    """
    output = Output.read("BT-IO output", text)
    _, method = output.one(_BTIO, "`BTIO -- METHOD write interval: N`")
    output.one(_BTIO_VERIFIED, "`Verification = SUCCESSFUL`")
    _, problem_class = output.one(_BTIO_CLASS, "the class")
    counts = set()
    for name, pattern in _BTIO_PROCESSES.items():
        number, match = output.one(pattern, f"the number of {name} processes")
        counts.add(output.positive_integer(number, f"{name} processes", match[1], Unit.RANKS))
    if len(counts) != 1:
        raise output.error(number, "all started processes active: BT needs a square number of ranks")
    figures = {}
    for name, (unit, pattern) in _BTIO_FIGURES.items():
        number, match = output.one(pattern, f"{name} in two decimals")
        figures[name] = output.positive(number, name, match[1], unit)
    io_s, total_s, written_mb = figures["io_s"], figures["total_s"], figures["written_mb"]
    for name, computed in (("io_percent", 100 * io_s / total_s), ("mb_s", written_mb / io_s)):
        digits = _BTIO_DIGIT * (1 + computed / io_s + computed / total_s)
        if abs(figures[name] - computed) > digits + _BTIO_DIGIT / io_s:
            raise output.missing(f"{name} of {computed:.2f}, from the other figures")
    processes = counts.pop()
    number, each = output.one(_BTIO_EACH, "Mop/s/process in two decimals")
    if abs(figures["mop_s"] - processes * float(each[1])) > _BTIO_DIGIT * (1 + processes):
        raise output.error(number, f"Mop/s/process of {figures['mop_s'] / processes:.2f}, from the total")
    return BtioResult(problem_class=problem_class[1], processes=processes, method=method[1].strip(), **figures)
