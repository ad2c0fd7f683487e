"""Results of IOR 4: JSON of ``-O summaryFormat=JSON``, or the usual text (:mod:`…parsers.ior_text`).

Tried with 4.0.0 (recorded).
"""

import statistics
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from reframe_checks.parsers import ior_text
from reframe_checks.parsers.json_reader import (
    Count,
    MibPerS,
    Number,
    Positive,
    Ranks,
    Seconds,
    Size,
    Text,
    decode,
    require,
)
from reframe_checks.parsers.text import Output, Unit

_MIB = 2**20
_MB_PER_MIB = _MIB / 1e6
# The JSON has four decimals.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class IorResult:
    """One test. ``write_mb_s`` and ``read_mb_s`` have a value for each repetition (MB are 10^6 bytes).

    With a stonewall (``stonewall_s``, 0 without), a repetition may move less than the whole file. ``written_bytes``:
    total of all repetitions, in whole MiB. ``wear_out``: every task continued up to the amount of the fastest task.
    ``options``: from IOR's echo of its command line. ``check_*``: IOR compared the data.
    """

    options: str
    api: str
    tasks: int
    fsync: bool
    check_write: bool
    check_read: bool
    transfer_bytes: int
    block_bytes: int
    segments: int
    repetitions: int
    stonewall_s: int
    wear_out: bool
    written_bytes: int
    write_mb_s: tuple[float, ...]
    read_mb_s: tuple[float, ...]


Flag = Literal[0, 1]


class _Parameters(Struct, frozen=True):
    api: Text
    fsync: Flag
    check_write: Flag = field(name="checkWrite")
    check_read: Flag = field(name="checkRead")
    transfer_bytes: Size = field(name="transferSize")
    block_bytes: Size = field(name="blockSize")
    segments: Positive = field(name="segmentCount")
    repetitions: Positive
    stonewall_s: Annotated[int, Meta(ge=0, le=int(Unit.RUN_S.ceiling))] = field(name="deadlineForStonewall")
    wear_out: Flag = field(name="stoneWallingWearOut")


class _ShownOptions(Struct, frozen=True):
    api: Text
    tasks: Ranks
    segments: Count
    repetitions: Count
    stonewall_s: Count = field(name="stonewallingTime", default=0)
    wear_out: Count = field(name="stoneWallingWearOut", default=0)


class _Repetition(Struct, frozen=True):
    access: Literal["write", "read"]
    mib_s: MibPerS = field(name="bwMiB")
    total_s: Seconds = field(name="totalTime")
    transfers_s: Number = field(name="iops")
    access_s: Seconds = field(name="wrRdTime")


class _Test(Struct, frozen=True):
    parameters: _Parameters = field(name="Parameters")
    shown: _ShownOptions = field(name="Options")
    results: tuple[_Repetition, ...] = field(name="Results")


class _Summary(Struct, frozen=True):
    operation: Literal["write", "read"]
    api: Text = field(name="API")
    tasks: Count = field(name="numTasks")
    block_bytes: Count = field(name="blockSize")
    transfer_bytes: Count = field(name="transferSize")
    segments: Count = field(name="segmentCount")
    repetitions: Count
    most_mib_s: MibPerS = field(name="bwMaxMIB")
    least_mib_s: MibPerS = field(name="bwMinMIB")
    mean_mib_s: MibPerS = field(name="bwMeanMIB")
    mean_s: Seconds = field(name="MeanTime")


class _IorDocument(Struct, frozen=True):
    version: Text = field(name="Version")
    command_line: Text = field(name="Command line")
    finished: Text = field(name="Finished")
    tests: tuple[_Test]
    summary: tuple[_Summary, ...]

    def __post_init__(self) -> None:
        given, shown, results = self.tests[0].parameters, self.tests[0].shown, self.tests[0].results
        names = ("api", "segments", "repetitions", *(("stonewall_s", "wear_out") if given.stonewall_s else ()))
        for name in names:
            require(getattr(shown, name) == getattr(given, name), f"Options: {name} as in the parameters")
        operations = [one.operation for one in self.summary]
        require(sorted(operations) == sorted({one.access for one in results}) != [], "summary: each operation once")
        whole_mib = shown.tasks * given.block_bytes * given.segments / _MIB
        for one in self.summary:
            require(one.tasks == shown.tasks, "numTasks: as among the options")
            for name in ("api", "block_bytes", "transfer_bytes", "segments", "repetitions"):
                require(getattr(one, name) == getattr(given, name), f"summary: {name} as in the parameters")
            phases = [phase for phase in results if phase.access == one.operation]
            require(len(phases) == given.repetitions, f"Results: {given.repetitions} repetitions of {one.operation}")
            rates = [phase.mib_s for phase in phases]
            off = max(
                abs(max(rates) - one.most_mib_s), abs(min(rates) - one.least_mib_s),
                abs(statistics.fmean(rates) - one.mean_mib_s),
                abs(statistics.fmean(phase.total_s for phase in phases) - one.mean_s),
            )  # fmt: skip
            require(off <= _ROUNDING, "bwMaxMIB, bwMinMIB, bwMeanMIB, MeanTime: as from the repetitions")
        for phase in results:
            slack = _ROUNDING * (phase.mib_s + phase.total_s)
            missing_mib = whole_mib - phase.mib_s * phase.total_s
            moved = -slack <= missing_mib and (given.stonewall_s > 0 or missing_mib <= slack)
            require(moved, f"Results: the file of {whole_mib:.4f} MiB each time, or less with a stonewall")
            transfer_mib = given.transfer_bytes / _MIB
            slack += _ROUNDING * transfer_mib * (phase.transfers_s + phase.access_s)
            off_mib = phase.mib_s * phase.total_s - transfer_mib * phase.transfers_s * phase.access_s
            require(abs(off_mib) <= slack, "iops, wrRdTime: of as many bytes as bwMiB and totalTime")


def parse(text: str) -> IorResult:
    """Parse IOR's JSON or text.

    :raises ParseError: the text is neither valid JSON nor IOR's text; it has several tests; a repetition is missing or
        has no positive rate; or rates, sizes or numbers of tasks contradict IOR's own summary.
    """
    output = Output.read("IOR summary", text)
    if any(map(ior_text.BEGIN.fullmatch, output.lines)):
        return _of_text(output)
    document = decode(output, range(1, len(output.lines) + 1), _IorDocument)
    given, results = document.tests[0].parameters, document.tests[0].results
    writes, reads = ([one for one in results if one.access == access] for access in ("write", "read"))
    return IorResult(
        options=document.command_line.partition(" ")[2],
        api=given.api,
        tasks=document.tests[0].shown.tasks,
        fsync=given.fsync == 1,
        check_write=given.check_write == 1,
        check_read=given.check_read == 1,
        transfer_bytes=given.transfer_bytes,
        block_bytes=given.block_bytes,
        segments=given.segments,
        repetitions=given.repetitions,
        stonewall_s=given.stonewall_s,
        wear_out=given.wear_out == 1,
        written_bytes=round(sum(one.mib_s * one.total_s for one in writes)) * _MIB,
        write_mb_s=tuple(one.mib_s * _MB_PER_MIB for one in writes),
        read_mb_s=tuple(one.mib_s * _MB_PER_MIB for one in reads),
    )


def _of_text(output: Output) -> IorResult:
    fields = ior_text.fields(output)
    for way in ("write", "read"):
        fields[f"{way}_mb_s"] = tuple(rate * _MB_PER_MIB for rate in fields.pop(f"{way}_mib_s"))
    return IorResult(**fields)
