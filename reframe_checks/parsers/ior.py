"""Results of IOR 4 as ``-O summaryFormat=JSON`` writes them, or as it prints them without (:mod:`…parsers.ior_text`).

Tried with 4.0.0 (recorded).
"""

import math
from dataclasses import dataclass

from reframe_checks.parsers import ior_text
from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

_MIB = 2**20
_MB_PER_MIB = _MIB / 1e6
# IOR prints four decimals.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class IorResult:
    """One test. ``write_mb_s`` and ``read_mb_s`` hold a value for each repetition (MB are 10^6 bytes).

    With a stonewall (``stonewall_s``, 0 without) a repetition may have moved less than the whole file:
    ``written_bytes`` is what all of them together wrote, to a MiB. ``wear_out``: every task went on to what
    the fastest had reached.
    ``options`` are those of IOR's command line, which it repeats; ``check_*`` say that data were compared.
    """

    version: str
    options: str
    api: str
    tasks: int
    tasks_per_node: int
    file_per_process: bool
    collective: bool
    fsync: bool
    reorder_tasks: bool
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

    @property
    def aggregate_bytes(self) -> int:
        return self.tasks * self.block_bytes * self.segments


def parse(text: str) -> IorResult:
    """
    :raises ParseError: neither valid JSON nor IOR's text; several tests; a repetition missing or without a positive
        rate; rates, sizes or numbers of tasks that contradict IOR's own summary.
    """
    output = Output.read("IOR summary", text)
    if any(map(ior_text.BEGIN.fullmatch, output.lines)):
        return _of_text(output)
    document = Record.parse(output, 1, len(output.lines))
    document.text("Finished")
    tests = document.records("tests")
    if len(tests) != 1:
        raise document.error(f"one test, found {len(tests)}", "tests")
    given, shown = tests[0].record("Parameters"), tests[0].record("Options")
    summaries = {summary.text("operation"): summary for summary in document.records("summary")}
    phases = _phases(tests[0])
    rates = {operation: [phase.mib_s for phase in of] for operation, of in phases.items()}
    if sorted(summaries) != sorted(rates):
        raise document.error(f"{' and '.join(rates) or 'an operation'}, found {', '.join(summaries)}", "summary")
    result = IorResult(
        version=document.text("Version"),
        options=document.text("Command line").partition(" ")[2],
        api=given.text("api"),
        tasks=shown.integer("tasks", 1, Quantity.RANKS),
        tasks_per_node=given.integer("tasksPerNode", 1, Quantity.RANKS),
        **{name: given.integer(key, 0, Quantity.FLAG) == 1 for name, key in _FLAGS.items()},
        transfer_bytes=given.integer("transferSize", 1, Quantity.BYTES),
        block_bytes=given.integer("blockSize", 1, Quantity.BYTES),
        segments=given.integer("segmentCount", minimum=1),
        repetitions=given.integer("repetitions", minimum=1),
        stonewall_s=given.integer("deadlineForStonewall", 0, Quantity.RUN_S),
        wear_out=given.integer("stoneWallingWearOut", 0, Quantity.FLAG) == 1,
        written_bytes=round(sum(phase.moved_mib for phase in phases.get("write", ()))) * _MIB,
        write_mb_s=tuple(rate * _MB_PER_MIB for rate in rates.get("write", ())),
        read_mb_s=tuple(rate * _MB_PER_MIB for rate in rates.get("read", ())),
    )
    _agree(shown, {"api": result.api, "repetitions": result.repetitions, "segments": result.segments})
    if result.stonewall_s:
        _agree(shown, {"stonewallingTime": result.stonewall_s, "stoneWallingWearOut": int(result.wear_out)})
    for operation, summary in summaries.items():
        _hold_against(summary, operation, result, phases[operation])
    return result


def _of_text(output: Output) -> IorResult:
    fields = ior_text.fields(output)
    for way in ("write", "read"):
        fields[f"{way}_mb_s"] = tuple(rate * _MB_PER_MIB for rate in fields.pop(f"{way}_mib_s"))
    return IorResult(**fields)


_FLAGS = {
    "file_per_process": "filePerProc",
    "collective": "collective",
    "fsync": "fsync",
    "reorder_tasks": "reorderTasks",
    "check_write": "checkWrite",
    "check_read": "checkRead",
}


@dataclass(frozen=True)
class _Phase:
    """One repetition of writing or reading."""

    mib_s: float
    total_s: float

    @property
    def moved_mib(self) -> float:
        """What IOR made the rate of."""
        return self.mib_s * self.total_s

    @property
    def rounding_mib(self) -> float:
        return _ROUNDING * (self.mib_s + self.total_s)


def _phases(test: Record) -> dict[str, list[_Phase]]:
    """Operation -> its repetitions."""
    found: dict[str, list[_Phase]] = {}
    for entry in test.records("Results"):
        rate = entry.number("bwMiB", Quantity.MIB_S, 0)
        if not rate > 0:
            raise entry.error("a rate above 0", "bwMiB")
        phase = _Phase(rate, entry.number("totalTime", Quantity.RUN_S, 0))
        found.setdefault(entry.text("access"), []).append(phase)
    if not set(found) <= {"write", "read"}:
        raise test.error(f"write and read only, found {', '.join(found)}", "Results")
    return found


def _hold_against(summary: Record, operation: str, result: IorResult, phases: list[_Phase]) -> None:
    """What the summary says of one operation, held against the parameters and the repetitions."""
    rates = [phase.mib_s for phase in phases]
    if len(rates) != result.repetitions:
        raise summary.error(f"{result.repetitions} repetitions of {operation}, found {len(rates)}")
    _agree(
        summary,
        {
            "API": result.api,
            "numTasks": result.tasks,
            "tasksPerNode": result.tasks_per_node,
            "segmentCount": result.segments,
            "blockSize": result.block_bytes,
            "transferSize": result.transfer_bytes,
            "repetitions": result.repetitions,
            "filePerProc": int(result.file_per_process),
            "reorderTasks": int(result.reorder_tasks),
        },
    )
    whole_mib = result.aggregate_bytes / _MIB
    for phase in phases:
        if phase.moved_mib > whole_mib + phase.rounding_mib:
            raise summary.error(f"no repetition of {operation} that moved more than the file of {whole_mib:.4f} MiB")
        if not result.stonewall_s and phase.moved_mib < whole_mib - phase.rounding_mib:
            raise summary.error(f"that each repetition of {operation} moved the file of {whole_mib:.4f} MiB")
    mean = math.fsum(rates) / len(rates)
    spread = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / len(rates))
    expected = {
        "bwMaxMIB": max(rates), "bwMinMIB": min(rates), "bwMeanMIB": mean, "bwStdMIB": spread,
    }  # fmt: skip
    for key, value in expected.items():
        if abs(summary.number(key, Quantity.MIB_S) - value) > 2 * _ROUNDING:
            raise summary.error(f"{value:.4f} as from the repetitions", key)
    # With a stonewall IOR gives what the first repetition moved.
    moved_mib, rounding_mib = (phases[0].moved_mib, phases[0].rounding_mib) if result.stonewall_s else (whole_mib, 0)
    if abs(summary.number("xsizeMiB", Quantity.MIB) - moved_mib) > 2 * _ROUNDING + rounding_mib:
        raise summary.error(f"{moved_mib:.4f} as from the repetitions", "xsizeMiB")


def _agree(record: Record, expected: dict[str, str | int]) -> None:
    for key, value in expected.items():
        found = record.text(key) if isinstance(value, str) else record.integer(key, 0, Quantity.BYTES)
        if found != value:
            raise record.error(f"{value} as in the parameters, found {found}", key)
