"""Results of ``fio --output-format=json`` (3.x); its manual names the fields under "JSON output".

Tried with 3.33 (recorded) and 3.16 (published). Completion latencies have to be among its percentiles.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class FioSide:
    """The reads or the writes of a job. MB are 10^6 bytes; ``clat`` is the completion latency.

    fio rounds ``runtime_s`` to milliseconds, so rates of a run of a few milliseconds are coarse.
    """

    bandwidth_mb_s: float
    iops: float
    clat_p50_us: float
    clat_p99_us: float
    io_bytes: int
    runtime_s: float


@dataclass(frozen=True)
class FioJob:
    """``rw`` as fio writes it (``randread`` …). A side is ``None`` when it moved nothing."""

    name: str
    rw: str
    block_size_bytes: int
    direct: bool
    error: int
    read: FioSide | None
    write: FioSide | None


@dataclass(frozen=True)
class FioResult:
    version: str
    jobs: tuple[FioJob, ...]


_VERSION = re.compile(r"fio-3\.[0-9]{1,4}[\w.-]{0,40}")
# Warnings of fio also begin with "fio:"; these are the ones after which the figures cannot be trusted.
_COMPLAINT = re.compile(r"fio: .*(?:err=|error|fail|unrecogni[sz]ed|not a directory|terminating).*", re.IGNORECASE)
_BLOCK_SIZE = re.compile(r"([1-9][0-9]{0,11})([kmg]?)b?", re.IGNORECASE)
# fio's kb_base is 1024 unless told otherwise.
_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
# The side that each pattern has to move; a mixed one may happen to move a single side.
_MUST_MOVE = {
    "read": "read", "randread": "read", "write": "write", "randwrite": "write", "trimwrite": "write",
    "rw": None, "readwrite": None, "randrw": None,
}  # fmt: skip


def parse(text: str) -> FioResult:
    """Jobs in fio's order, one for each group with ``--group_reporting``.

    Lines before the JSON are taken as warnings unless they report an error. Options are those that fio echoes, so
    ``rw``, ``bs`` and ``direct`` have to be given to fio: a default cannot be told from a lost line.

    :raises ParseError: no JSON or text behind it, an error that fio reports, a job that moved no bytes (in the
        direction that its ``rw`` asks for), or rates that contradict bytes and run time.
    """
    output = Output.read("fio output", text)
    try:
        first = output.lines.index("{") + 1
    except ValueError:
        first = len(output.lines) + 1
    for number, line in enumerate(output.lines[: first - 1], start=1):
        if _COMPLAINT.fullmatch(line):
            raise output.error(number, "a run without errors")
    if first > len(output.lines):
        raise output.missing("fio's JSON, from a line `{` on")
    document = Record.parse(output, first, len(output.lines))
    version = document.text("fio version")
    if not _VERSION.fullmatch(version):
        raise document.error("fio-3.x, the versions that are known", "fio version")
    shared = _options(document, "global options")
    jobs = tuple(_job(job, shared) for job in document.records("jobs"))
    if not jobs:
        raise document.error("at least one job", "jobs")
    return FioResult(version, jobs)


def _options(record: Record, key: str) -> dict[str, str]:
    """The options that matter, as fio echoes them; it leaves the object out when it is empty."""
    if key not in record:
        return {}
    options = record.record(key)
    return {name: options.text(name) for name in options if name in ("rw", "bs", "direct", "kb_base")}


def _job(job: Record, shared: dict[str, str]) -> FioJob:
    error = job.integer("error")
    if error:
        raise job.error(f"0, found error {error} (errno)", "error")
    options = shared | _options(job, "job options")
    for key in ("rw", "bs", "direct"):
        if key not in options:
            raise job.error(f"{key}, given on fio's command line or in its job file", "job options")
    rw = options["rw"]
    if options["direct"] not in ("0", "1"):
        raise job.error("0 or 1", "job options.direct")
    sides = {name: _side(job.record(name)) for name in ("read", "write")}
    pattern = rw.partition(":")[0]
    if pattern not in _MUST_MOVE:
        raise job.error(f"one of {', '.join(_MUST_MOVE)}, found {rw}", "rw")
    required = _MUST_MOVE[pattern]
    if not any(sides.values()) or (required and sides[required] is None):
        raise job.error(f"bytes moved by rw={rw}", f"{required or 'read and write'}.io_bytes")
    return FioJob(
        name=job.text("jobname"),
        rw=rw,
        block_size_bytes=_block_size(job, options),
        direct=options["direct"] == "1",
        error=error,
        **sides,
    )


def _block_size(job: Record, options: dict[str, str]) -> int:
    sizes = {_BLOCK_SIZE.fullmatch(size) for size in options["bs"].split(",")}
    found = sizes.pop()
    if sizes or not found or options.get("kb_base", "1024") != "1024":
        raise job.error(f"one block size such as 4k or 1M, in powers of 1024; found {options['bs']}", "job options.bs")
    return int(found[1]) * _FACTORS[found[2].lower()]


def _side(side: Record) -> FioSide | None:
    io_bytes = side.integer("io_bytes", 0, Quantity.BYTES)
    if io_bytes == 0:
        return None
    runtime_ms = side.integer("runtime", 1, Quantity.RUN_MS)
    bytes_per_s = side.number("bw_bytes", Quantity.BYTES_S, 1)
    # stat.c of fio: rates are totals over the run time in ms; bytes per second are rounded down.
    if not -1 <= bytes_per_s - 1000 * io_bytes / runtime_ms <= 1:
        raise side.error("1000 x io_bytes / runtime", "bw_bytes")
    if side.integer("io_kbytes") != io_bytes // 1024:
        raise side.error("io_bytes / 1024", "io_kbytes")
    iops = side.number("iops", Quantity.IO_S, 0)
    operations = side.integer("total_ios", 1)
    if abs(iops - 1000 * operations / runtime_ms) > 1e-5 * max(iops, 1):
        raise side.error("1000 x total_ios / runtime", "iops")
    completion = side.record("clat_ns")
    if "percentile" not in completion:
        raise side.error("percentiles (`clat_percentiles=1`, which `lat_percentiles=1` turns off)", "clat_ns")
    percentiles = completion.record("percentile")
    latency_ns = {key: percentiles.number(key, Quantity.OPERATION_NS, 1) for key in percentiles}
    in_order = list(latency_ns.values())
    if in_order != sorted(in_order):
        raise percentiles.error("latencies that rise from percentile to percentile")
    if not {"50.000000", "99.000000"} <= set(latency_ns):
        raise percentiles.error("the percentiles 50.000000 and 99.000000, once each")
    p50_ns, p99_ns = latency_ns["50.000000"], latency_ns["99.000000"]
    return FioSide(bytes_per_s / 1e6, iops, p50_ns / 1e3, p99_ns / 1e3, io_bytes, runtime_ms / 1e3)
