"""Parse IOR's text output (3.2 to 4, no ``summaryFormat=JSON``): its options, a row for each repetition, a summary.

Tried with 4.0.0 (recorded); support of 3.2 and 3.3 follows the formats in their source (``ior-output.c``).
"""

import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reframe_checks.parsers.text import INTEGER, Output, Unit

BEGIN = re.compile(r"IOR-(\S{1,40}): MPI Coordinated Test of Parallel I/O")
_KNOWN_VERSION = re.compile(r"(?:3\.[2-9]|4\.).*")
_PAIR = re.compile(r"([A-Za-z][A-Za-z ]{0,30}?) *: ?(.{0,4000})")
_COMPLAINT = re.compile(r".*(?:ERROR|Incorrect data on|data error|FAILED).*")
_ROWS = re.compile(r"access {4}bw\(MiB/s\) .{1,120} iter *")
_SUMMARY = re.compile(r"Operation +Max\(MiB\) .{1,400} RefNum *")
_OPERATION = re.compile(r"(?:write|read) .{1,400}")
_WHOLE = re.compile(INTEGER)
_TWO_DECIMALS = re.compile(r"[0-9]{1,12}\.[0-9]{2}")
_FIVE_DECIMALS = re.compile(r"[0-9]{1,8}\.[0-9]{5}")
# PPDouble: six decimals below 1, two below 3600, else none.
_FIGURE = re.compile(r"0\.[0-9]{6}|[1-9][0-9]{0,3}\.[0-9]{2}|[1-9][0-9]{3,14}")
_MIB = 2**20
_NO_OFFSET = "no tasks offsets"
_DEFAULT_FILE = "testFile"
_PROGRAM = re.compile(r"(?!-)\S{0,4000}ior\S{0,100}", re.IGNORECASE)
_FLAGS = re.compile(r"-([A-Za-z]{1,20})")
# Option -> the directive of `-O` that does the same (`DecodeDirective` of parse_options.c).
_DIRECTIVES = {"o": "testfile", "D": "deadlineforstonewalling", "e": "fsync", "W": "checkwrite", "R": "checkread"}
# An option is letters, a letter with its value, or a long option; a value may be a negative number.
_OPTION = re.compile(
    r"-[A-Za-z]{1,20}|-[A-Za-z]=?[0-9][\w.]{0,40}|-[a-zO]=.{1,4000}|-o/.{1,4000}"
    r"|-O\w{1,40}=.{1,4000}|--[\w.-]{1,100}(?:=.{0,4000})?|-[0-9.]{1,20}"
)
_NAMED = ("Began", "Command line", "Machine", "api", "test filename", "access", "type", "segments", "tasks",
          "clients per node", "repetitions", "Finished")  # fmt: skip
# Options that are no fields of a result.
_NOT_TOLD = ("tasks_per_node", "file_per_process", "collective", "reorder_tasks")
_COLUMNS = {"access", "bw(MiB/s)", "block(KiB)", "xfer(KiB)", "total(s)", "iter"}


@dataclass(frozen=True)
class _Row:
    """A repetition; ``slack_mib``: error of the product of rate and time, by the printed digits."""

    number: int
    mib_s: float
    total_s: float
    slack_mib: float
    shown: dict[str, str]


def fields(output: Output) -> dict[str, Any]:
    """Return the fields of ``IorResult``, but rates in MiB/s.

    :raises ParseError: IOR reports an error, the version is unknown, there are several tests, a repetition is missing,
        figures contradict each other, or several repetitions have a stonewall: the text lacks their bytes.
    """
    for number, line in enumerate(output.lines, start=1):
        if _COMPLAINT.fullmatch(line):
            raise output.error(number, "a run without errors")
    number, begin = output.one(BEGIN, "`IOR-4…: MPI Coordinated Test of Parallel I/O`")
    if not _KNOWN_VERSION.fullmatch(begin[1]):
        raise output.error(number, "IOR 3.2 to 4, the versions that are known")
    told = _options(output)
    summary = _summary(output)
    rows = _rows(output, summary.keys())
    result = _of_options(output, told)
    for operation, (number, shown) in summary.items():
        _agree(output, number, shown, result)
        sizes = {"transfer_bytes": _integer(output, number, shown, "xsize", Unit.BYTES)}
        sizes["block_bytes"] = _integer(output, number, shown, "blksiz", Unit.BYTES)
        if result.setdefault("sizes", sizes) != sizes:
            raise output.error(number, "the sizes of the other operation")
        _compare(output, number, shown, rows[operation], result)
    sizes = result.pop("sizes")
    written = rows.get("write", ())
    moved_mib = float(summary["write"][1]["aggs(MiB)"]) if written else 0.0
    rates = {f"{way}_mib_s": tuple(row.mib_s for row in rows.get(way, ())) for way in ("write", "read")}
    chosen = {name: value for name, value in result.items() if name not in _NOT_TOLD}
    return {**chosen, **sizes, **rates, "written_bytes": round(moved_mib * len(written)) * _MIB}


def _options(output: Output) -> dict[str, tuple[int, str]]:
    """Return IOR's description of the test: name -> (line number, value)."""
    told: dict[str, tuple[int, str]] = {}
    for number, pair in output.find(_PAIR):
        if pair[1] in told and pair[1] in _NAMED:
            raise output.error(number, f"one test, and `{pair[1]}` once")
        told.setdefault(pair[1], (number, pair[2].strip()))
    for name in _NAMED:
        if name not in told:
            raise output.missing(f"`{name} : …`")
    return told


def _command(output: Output, told: dict[str, tuple[int, str]]) -> tuple[str, dict[str, str]]:
    """Return the options of the command line, and the values that they give to ``_DIRECTIVES``.

    File and stonewall must agree with IOR's description, otherwise the line is incomplete.
    """
    number, command = told["Command line"]
    program, _, options = command.partition(" ")
    if not _PROGRAM.fullmatch(program):
        raise output.error(number, "the program, a name with `ior`, before its options")
    words = options.split()
    for word in words:
        if word.startswith("-") and not _OPTION.fullmatch(word):
            raise output.error(number, f"options as IOR takes them, found {word[:40]!r}")
    given = _directives(words)
    stonewall = given.get("deadlineforstonewalling")
    if told["test filename"][1] != given.get("testfile", _DEFAULT_FILE):
        raise output.error(number, f"the file {told['test filename'][1]}, as among the options")
    if stonewall and told.get("stonewallingTime", (0, "0"))[1] != stonewall:
        raise output.error(number, f"a stonewall of {stonewall[:40]} s among the options")
    return options, given


def _directives(words: list[str]) -> dict[str, str]:
    """Return the value of each directive that an option or `-O NAME=VALUE,…` gives; the last one counts."""
    given: dict[str, str] = {}
    for word, after in itertools.pairwise([*words, ""]):
        value = word[2:].removeprefix("=") or after
        if word.startswith("-O"):
            pairs = (directive.partition("=") for directive in value.split(","))
            given |= {name.strip().lower(): said.strip() for name, _, said in pairs}
        elif word.startswith(("-o", "-D")):
            given[_DIRECTIVES[word[1]]] = value
        elif flags := _FLAGS.fullmatch(word):
            given |= {_DIRECTIVES[letter]: "1" for letter in flags[1] if letter in _DIRECTIVES}
    return given


def _of_options(output: Output, told: dict[str, tuple[int, str]]) -> dict[str, Any]:
    def count(name: str, unit: Unit) -> int:
        number, token = told[name]
        if not _WHOLE.fullmatch(token):
            raise output.error(number, f"{name}, a whole number")
        return output.positive_integer(number, name, token, unit)

    def choice(name: str, yes: str, no: str) -> bool:
        number, found = told.get(name, (len(output.lines) + 1, ""))
        if found not in (yes, no):
            raise output.error(number, f"{name}: {yes} or {no}")
        return found == yes

    options, given = _command(output, told)
    stonewall = told.get("stonewallingTime", (0, "0"))[1] != "0"
    return {
        "options": options,
        "api": told["api"][1],
        "tasks": count("tasks", Unit.RANKS),
        "tasks_per_node": count("clients per node", Unit.RANKS),
        "file_per_process": choice("access", "file-per-process", "single-shared-file"),
        "collective": choice("type", "collective", "independent"),
        "fsync": given.get("fsync", "0") != "0",
        "reorder_tasks": told.get("ordering inter file", (0, _NO_OFFSET))[1] == "constant task offset",
        "check_write": given.get("checkwrite", "0") != "0",
        "check_read": given.get("checkread", "0") != "0",
        "segments": count("segments", Unit.COUNT),
        "repetitions": count("repetitions", Unit.COUNT),
        "stonewall_s": count("stonewallingTime", Unit.RUN_S) if stonewall else 0,
        "wear_out": stonewall and choice("stoneWallingWearOut", "1", "0"),
    }


def _summary(output: Output) -> dict[str, tuple[int, dict[str, str]]]:
    """Return the row of each operation below `Summary of all tests:`: operation -> (line number, column -> value)."""
    heading, _ = output.one(_SUMMARY, "the heading of the summary, `Operation   Max(MiB) …`")
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for number in range(heading + 1, len(output.lines) + 1):
        line = output.lines[number - 1]
        if not _OPERATION.fullmatch(line):
            continue
        row = _by_column(output, number, output.lines[heading - 1].split(), line.split())
        if row["Operation"] in found:
            raise output.error(number, f"{row['Operation']} once")
        found[row["Operation"]] = (number, row)
    if not found:
        raise output.error(heading, "a summary of writes or reads")
    return found


def _by_column(output: Output, number: int, names: list[str], tokens: list[str]) -> dict[str, str]:
    if len(names) != len(tokens):
        raise output.error(number, f"{len(names)} columns, found {len(tokens)}")
    # The standard deviations of bandwidths and of operations have the same title; keep the first, the bandwidths'.
    return dict(zip(reversed(names), reversed(tokens), strict=True))


def _rows(output: Output, operations: Iterable[str]) -> dict[str, list[_Row]]:
    """Return the repetitions of each operation, in order."""
    heading, _ = output.one(_ROWS, "the heading of the results, `access    bw(MiB/s) …`")
    end, _ = output.one(_SUMMARY, "the heading of the summary")
    names = output.lines[heading - 1].split()
    if _COLUMNS - set(names):
        raise output.error(heading, f"the columns {', '.join(sorted(_COLUMNS))}")
    found: dict[str, list[_Row]] = {operation: [] for operation in operations}
    for number in range(heading + 1, end):
        line = output.lines[number - 1]
        if not _OPERATION.fullmatch(line):
            continue
        row = _by_column(output, number, names, line.split())
        if row["access"] not in found:
            raise output.error(number, "an operation of the summary")
        if row["iter"] != str(len(found[row["access"]])):
            raise output.error(number, f"repetition {len(found[row['access']])} of {row['access']}")
        rate, time = (
            _figure(output, number, row, name, unit)
            for name, unit in (("bw(MiB/s)", Unit.MIB_S), ("total(s)", Unit.RUN_S))
        )
        slack = _half_digit(row["bw(MiB/s)"]) * time + _half_digit(row["total(s)"]) * rate
        found[row["access"]].append(_Row(number, rate, time, slack, row))
    return found


def _figure(output: Output, number: int, row: dict[str, str], name: str, unit: Unit) -> float:
    if not _FIGURE.fullmatch(row[name]) or ("." in row[name]) == (float(row[name]) > 3600):
        raise output.error(number, f"{name} as IOR prints it, found {row[name][:40]!r}")
    return output.positive(number, name, row[name], unit)


def _half_digit(token: str) -> float:
    """Return half of the last printed digit."""
    return 0.505 * 10.0 ** -len(token.partition(".")[2])


def _integer(output: Output, number: int, row: dict[str, str], name: str, unit: Unit) -> int:
    if not _WHOLE.fullmatch(row.get(name, "")):
        raise output.error(number, f"{name}, a whole number")
    return output.positive_integer(number, name, row[name], unit)


def _agree(output: Output, number: int, row: dict[str, str], result: dict[str, Any]) -> None:
    """Check the columns of the summary that repeat the options."""
    expected = {
        "#Tasks": result["tasks"], "tPN": result["tasks_per_node"], "reps": result["repetitions"],
        "fPP": int(result["file_per_process"]), "reord": int(result["reorder_tasks"]), "segcnt": result["segments"],
        "API": result["api"],
    }  # fmt: skip
    for name, value in expected.items():
        if row.get(name) != str(value):
            raise output.error(number, f"{name} {value} as among the options, found {row.get(name, '')[:40]!r}")


def _compare_bytes(output: Output, number: int, row: dict[str, str], rows: list[_Row], moved_mib: float) -> None:
    """Compare the data of a single repetition with its time in the summary, which has more digits than its row."""
    mean_s = row.get("Mean(s)", "")
    if not _FIVE_DECIMALS.fullmatch(mean_s):
        raise output.error(number, "Mean(s) with five decimals")
    mib = rows[0].mib_s * float(mean_s)
    slack_mib = _half_digit(mean_s) * rows[0].mib_s + _half_digit(rows[0].shown["bw(MiB/s)"]) * float(mean_s)
    if len(rows) == 1 and abs(mib - moved_mib) > slack_mib + 0.051:
        raise output.error(number, f"{mib:.1f} MiB by rate and mean time")


def _compare(output: Output, number: int, row: dict[str, str], rows: list[_Row], result: dict[str, Any]) -> None:
    """Compare the rates and sizes of the summary with the repetitions."""
    if len(rows) != result["repetitions"]:
        raise output.error(number, f"{result['repetitions']} repetitions, found {len(rows)}")
    if result["stonewall_s"] and len(rows) > 1:
        raise output.error(number, "one repetition with a stonewall (several with `-O summaryFormat=JSON`)")
    for name in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev"):
        if not _TWO_DECIMALS.fullmatch(row.get(name, "")):
            raise output.error(number, f"{name} with two decimals")
    rates = [one.mib_s for one in rows]
    mean = math.fsum(rates) / len(rates)
    spread = math.sqrt(math.fsum((rate - mean) ** 2 for rate in rates) / len(rates))
    # Rates above 3600 have no decimals.
    slack = 0.0051 + (0.505 if max(rates) >= 3600 else 0.005)
    for name, value in {"Max(MiB)": max(rates), "Min(MiB)": min(rates), "Mean(MiB)": mean, "StdDev": spread}.items():
        if abs(float(row[name]) - value) > slack * (2 if name == "StdDev" else 1):
            raise output.error(number, f"{name} {value:.2f} as from the repetitions")
    block, segments = _integer(output, number, row, "blksiz", Unit.BYTES), result["segments"]
    whole_mib = result["tasks"] * block * segments / _MIB
    if not re.fullmatch(r"[0-9]{1,12}\.[0-9]", row.get("aggs(MiB)", "")):
        raise output.error(number, "aggs(MiB) with a decimal")
    moved_mib = float(row["aggs(MiB)"])
    if moved_mib > whole_mib + 0.051 or (not result["stonewall_s"] and moved_mib < whole_mib - 0.051):
        raise output.error(number, f"{whole_mib:.1f} MiB by tasks, segments and size of a block")
    _compare_bytes(output, number, row, rows, moved_mib)
    sizes = {"block(KiB)": block, "xfer(KiB)": _integer(output, number, row, "xsize", Unit.BYTES)}
    for one in rows:
        for name, size in sizes.items():
            shown_kib = _figure(output, one.number, one.shown, name, Unit.BYTES)
            if abs(shown_kib - size / 1024) > _half_digit(one.shown[name]):
                raise output.error(one.number, f"{name} {size / 1024:g} as in the summary")
        if abs(one.mib_s * one.total_s - moved_mib) > one.slack_mib + 0.051:
            raise output.error(one.number, f"{moved_mib:.1f} MiB in the total time")
