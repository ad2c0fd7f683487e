"""Results of IOR 4 as ``-O summaryFormat=JSON`` writes them."""

import math
from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

_MIB = 2**20
_MB_PER_MIB = _MIB / 1e6
# IOR prints four decimals.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class IorResult:
    """One test. ``write_mb_s`` and ``read_mb_s`` hold a value for each repetition (MB are 10^6 bytes).

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
    write_mb_s: tuple[float, ...]
    read_mb_s: tuple[float, ...]

    @property
    def aggregate_bytes(self) -> int:
        return self.tasks * self.block_bytes * self.segments


def parse(text: str) -> IorResult:
    """
    :raises ParseError: no valid JSON; several tests; a repetition missing or without a positive rate; rates,
        sizes or numbers of tasks that contradict IOR's own summary.
    """
    output = Output.read("IOR summary", text)
    document = Record.parse(output, 1, len(output.lines))
    document.text("Finished")
    tests = document.records("tests")
    if len(tests) != 1:
        raise document.error(f"one test, found {len(tests)}", "tests")
    given, shown = tests[0].record("Parameters"), tests[0].record("Options")
    summaries = {summary.text("operation"): summary for summary in document.records("summary")}
    rates = _rates(tests[0])
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
        write_mb_s=tuple(rate * _MB_PER_MIB for rate in rates.get("write", ())),
        read_mb_s=tuple(rate * _MB_PER_MIB for rate in rates.get("read", ())),
    )
    _agree(shown, {"api": result.api, "repetitions": result.repetitions, "segments": result.segments})
    for operation, summary in summaries.items():
        _hold_against(summary, operation, result, rates[operation])
    return result


_FLAGS = {
    "file_per_process": "filePerProc",
    "collective": "collective",
    "fsync": "fsync",
    "reorder_tasks": "reorderTasks",
    "check_write": "checkWrite",
    "check_read": "checkRead",
}


def _rates(test: Record) -> dict[str, list[float]]:
    """Operation -> rate in MiB/s of each repetition."""
    found: dict[str, list[float]] = {}
    for entry in test.records("Results"):
        rate = entry.number("bwMiB", Quantity.MIB_S, 0)
        if not rate > 0:
            raise entry.error("a rate above 0", "bwMiB")
        found.setdefault(entry.text("access"), []).append(rate)
    if not set(found) <= {"write", "read"}:
        raise test.error(f"write and read only, found {', '.join(found)}", "Results")
    return found


def _hold_against(summary: Record, operation: str, result: IorResult, rates: list[float]) -> None:
    """What the summary says of one operation, held against the parameters and the repetitions."""
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
    mean = math.fsum(rates) / len(rates)
    spread = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / len(rates))
    expected = {
        "bwMaxMIB": max(rates), "bwMinMIB": min(rates), "bwMeanMIB": mean, "bwStdMIB": spread,
        "xsizeMiB": result.aggregate_bytes / _MIB,
    }  # fmt: skip
    for key, value in expected.items():
        quantity = Quantity.MIB if key == "xsizeMiB" else Quantity.MIB_S
        if abs(summary.number(key, quantity) - value) > 2 * _ROUNDING:
            raise summary.error(f"{value:.4f} as from the repetitions", key)


def _agree(record: Record, expected: dict[str, str | int]) -> None:
    for key, value in expected.items():
        found = record.text(key) if isinstance(value, str) else record.integer(key, 0, Quantity.BYTES)
        if found != value:
            raise record.error(f"{value} as in the parameters, found {found}", key)
