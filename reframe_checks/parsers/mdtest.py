"""Parse the rates in the summary table of mdtest 3 and 4 (IOR's metadata benchmark).

Tried with 4.0.0 (recorded), 3.4.0+dev and 4.1.0+dev (published); support of 3.2 and 3.3 follows the formats in their
source. mdtest prints rates of 0 for phases that its options leave out; the parser skips them.
"""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Unit

_NUMBER = r"[0-9]{1,15}\.[0-9]{3}"
# mdtest 3 prints a colon after the name.
# With --showRankStatistics, the rates of single ranks come before those of an iteration.
_ROW = re.compile(
    rf"   ([A-Z][a-z]+ [a-z]+)(?: *:)?( +{_NUMBER} +{_NUMBER} +{_NUMBER})?"
    rf" +({_NUMBER}) +({_NUMBER}) +({_NUMBER}) +({_NUMBER})"
)
# mdtest 3.3 adds a rate up to the stonewall; it is no mean of iterations.
_OF_STONEWALL = re.compile(rf"   File create \(stonewall\) *: +NA +NA +{_NUMBER} +NA")
_LAUNCHED = re.compile(r"mdtest-(\S{1,40}) was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node\(s\)")
_KNOWN_VERSION = re.compile(r"[34]\..*")
_SUMMARY = re.compile(r"SUMMARY rate(?: \(in ops/sec\))?: \(of ([0-9]{1,6}) iterations\)")
# mdtest 4.1 adds a table with the times of the same phases, after a blank line.
_TIMES = re.compile(r"SUMMARY time(?: \(in [a-z]{1,4}/[a-z]{1,4}\))?: \(of ([0-9]{1,6}) iterations\)")
_AMOUNT = re.compile(r"([0-9]{1,9}) tasks, ([0-9]{1,12}) (files?|files/directories|directories)")
# mdtest quotes the options, but not the program.
_COMMAND = re.compile(r"Command line used: [^'\"\s]\S*((?: '[^']*')*|(?: \"[^\"]*\")*)")
# After the stonewall, every rank continues up to the item count of the fastest rank.
_STONEWALL = re.compile(rf"Continue stonewall hit min: ({INTEGER}) max: ({INTEGER}) avg: ([0-9]{{1,15}}\.[0-9]) ?")
_TITLES = re.compile(r"   Operation +(per Rank: +Max +Min +Mean +per Iteration: +)?Max +Min +Mean +Std Dev")
_FINISHED = re.compile(r"-- finished at \S+ \S+ --")
# Accept a failed realpath(): storage without kernel paths, such as DAOS, has no real path.
_COMPLAINT = re.compile(r".*(?:ERROR|FAILED|WARNING: unable (?!to use realpath\(\))).*")
# Every table has these two, whatever the options.
_TREE = ("Tree creation", "Tree removal")
_OF_FILES = ("File creation", "File stat", "File read", "File removal")
_OF_FOLDERS = ("Directory creation", "Directory stat", "Directory rename", "Directory removal")
# Only the last revisions of mdtest 3 have this row.
_SINCE_4 = "Directory rename"
# Option that selects a phase -> verb in the phase's name.
_PHASES = {"C": "creation", "T": "stat", "E": "read", "r": "removal", "U": "rename"}
_FLAGS = re.compile(r"['\"]-([A-Za-z]{1,20})['\"]")


@dataclass(frozen=True)
class PhaseRate:
    """Operations per second of all tasks together, over the iterations."""

    maximum: float
    minimum: float
    mean: float


@dataclass(frozen=True)
class MdtestResult:
    """A run.

    ``options``: mdtest's echo, each option in quotes. ``rates``: mdtest's name of each phase that ran
    (``File creation`` …) -> rate. ``reached``: number of files or folders per task in each iteration that a stonewall
    ended.
    """

    version: str
    options: str
    tasks: int
    nodes: int
    iterations: int
    items: int
    reached: tuple[int, ...]
    rates: dict[str, PhaseRate]

    @property
    def made(self) -> int:
        """Return the number of files or folders of all iterations and tasks together."""
        return self.tasks * sum(self.reached) + self.items * (self.iterations - len(self.reached))


def parse(text: str) -> MdtestResult:
    """Parse mdtest's output.

    :raises ParseError: mdtest reports an error; the version is unknown; a part of the output is missing, repeated or
        cut off; a row is missing; a rate is not above 0, or not maximum >= mean >= minimum.
    """
    output = Output.read("mdtest output", text)
    for number, line in enumerate(output.lines, start=1):
        if _COMPLAINT.fullmatch(line):
            raise output.error(number, "a run without errors")
    at, launched = output.one(_LAUNCHED, "`mdtest-4… was launched with N total task(s) on M node(s)`")
    if not _KNOWN_VERSION.fullmatch(launched[1]):
        raise output.error(at, "mdtest 3 or 4, the versions that are known")
    _, command = output.one(_COMMAND, "`Command line used: …`")
    number, amount = output.one(_AMOUNT, "`N tasks, M files/directories`")
    if amount[1] != launched[2]:
        raise output.error(number, f"{launched[2]} tasks, as were launched")
    first, summary = output.one(_SUMMARY, "`SUMMARY rate: (of N iterations)`")
    last, _ = output.one(_FINISHED, "`-- finished at …`")
    behind = [at for at, _ in output.find(_TIMES) if at > first]
    if bool(behind) != ("P" in _flags(command[1])):
        raise output.error(first, "a table of times after the table of rates with the option -P, and only then")
    behind = behind or [last]
    titles, heading = output.one(_TITLES, "the titles of the table", range(first, behind[0]))
    found = _rows(output, range(titles + 2, behind[0]), of_ranks=bool(heading[1]))
    wanted = [
        *(_OF_FOLDERS if "directories" in amount[3] else ()),
        *(_OF_FILES if "file" in amount[3] else ()),
        *_TREE,
    ]
    if launched[1].startswith("3.") and _SINCE_4 not in found:
        wanted = [name for name in wanted if name != _SINCE_4]
    if sorted(found) != sorted(wanted):
        raise output.error(titles, f"the rows {', '.join(wanted)}, found {', '.join(found) or 'none'}")
    rates = _of_phases(output, found, command[1])
    tasks = output.positive_integer(number, "tasks", launched[2], Unit.RANKS)
    items = output.positive_integer(number, "items", amount[2], Unit.COUNT)
    iterations = output.positive_integer(number, "iterations", summary[1], Unit.COUNT)
    reached = _reached(output, items // tasks)
    if len(reached) > iterations:
        raise output.error(number, f"a stonewall in {iterations} iterations at most, found {len(reached)}")
    return MdtestResult(
        version=launched[1],
        options=command[1].strip(),
        tasks=tasks,
        nodes=output.positive_integer(number, "nodes", launched[3], Unit.RANKS),
        iterations=iterations,
        items=items,
        reached=tuple(reached),
        rates=rates,
    )


def _reached(output: Output, most: int) -> list[int]:
    """Return the number of items per task in the iterations that a stonewall ended."""
    found = []
    for number, line in enumerate(output.lines, start=1):
        match = _STONEWALL.fullmatch(line)
        if match:
            least, reached = int(match[1]), int(match[2])
            if not least <= float(match[3]) <= reached <= most:
                raise output.error(number, f"minimum <= average <= maximum <= {most}")
            found.append(reached)
        elif "stonewall hit" in line:
            raise output.error(number, "`Continue stonewall hit min: N max: N avg: N.N`")
    return found


def _rows(output: Output, lines: range, *, of_ranks: bool) -> dict[str, tuple[int, re.Match[str]]]:
    """Return the rows of the table: operation -> (line number, match)."""
    rows: dict[str, tuple[int, re.Match[str]]] = {}
    for number in lines:
        line = output.lines[number - 1]
        row = _ROW.fullmatch(line)
        if row and bool(row[2]) == of_ranks:
            if row[1] in rows:
                raise output.error(number, f"{row[1]} once")
            rows[row[1]] = (number, row)
        elif line.strip() and not _OF_STONEWALL.fullmatch(line):
            raise output.error(number, "a row `OPERATION MAX MIN MEAN STD-DEV`")
    return rows


def _of_phases(output: Output, rows: dict[str, tuple[int, re.Match[str]]], options: str) -> dict[str, PhaseRate]:
    """Return the rates of the phases that ran: phases that ``options`` select, or all phases."""
    asked = {verb for flag, verb in _PHASES.items() if flag in _flags(options)} or {*_PHASES.values()}
    rates: dict[str, PhaseRate] = {}
    for name, (number, row) in rows.items():
        if name.split()[1] not in asked and not any(float(row[column]) for column in (3, 4, 5)):
            continue
        maximum, minimum, mean = (output.positive(number, name, row[column], Unit.IO_S) for column in (3, 4, 5))
        # Tree operations are few: their figures are rounded apart from each other.
        if not maximum >= mean >= minimum:
            raise output.error(number, "maximum >= mean >= minimum")
        rates[name] = PhaseRate(maximum, minimum, mean)
    return rates


def _flags(options: str) -> set[str]:
    """Return the letters of the short options in ``options``, also of combined ones."""
    return {flag for flags in _FLAGS.findall(options) for flag in flags}
