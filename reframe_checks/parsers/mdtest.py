"""Rates of mdtest 4 (IOR's metadata benchmark) as its summary table prints them."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output, Quantity

_NUMBER = r"[0-9]{1,15}\.[0-9]{3}"
_ROW = re.compile(rf"   ([A-Z][a-z]+ [a-z]+) +({_NUMBER}) +({_NUMBER}) +({_NUMBER}) +({_NUMBER})")
_LAUNCHED = re.compile(r"mdtest-(4\.\S{1,40}) was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node\(s\)")
_SUMMARY = re.compile(r"SUMMARY rate: \(of ([0-9]{1,6}) iterations\)")
_AMOUNT = re.compile(r"([0-9]{1,9}) tasks, ([0-9]{1,12}) (files|files/directories|directories)")
# The program is not quoted, its options are.
_COMMAND = re.compile(r"Command line used: [^'\s]\S*((?: '[^']*')*)")
# After it every rank goes on to what the fastest one had reached.
_STONEWALL = re.compile(rf"Continue stonewall hit min: ({INTEGER}) max: ({INTEGER}) avg: ([0-9]{{1,15}}\.[0-9]) ?")
_TITLES = re.compile(r"   Operation +Max +Min +Mean +Std Dev")
_FINISHED = re.compile(r"-- finished at \S+ \S+ --")
_COMPLAINT = re.compile(r".*(?:ERROR|FAILED|WARNING: unable).*")
# Every table has these two, whatever was asked for.
_TREE = ("Tree creation", "Tree removal")
_OF_FILES = ("File creation", "File stat", "File read", "File removal")
_OF_FOLDERS = ("Directory creation", "Directory stat", "Directory rename", "Directory removal")


@dataclass(frozen=True)
class Rate:
    """Operations per second of all tasks together, over the iterations."""

    maximum: float
    minimum: float
    mean: float


@dataclass(frozen=True)
class MdtestResult:
    """``options`` as mdtest repeats them, each in quotes; ``rates`` by mdtest's names (``File creation`` …).

    ``reached``: what each task made in each of the iterations that a stonewall ended.
    """

    version: str
    options: str
    tasks: int
    nodes: int
    iterations: int
    items: int
    reached: tuple[int, ...]
    rates: dict[str, Rate]

    @property
    def made(self) -> int:
        """Files or folders of all iterations and tasks together."""
        return self.tasks * sum(self.reached) + self.items * (self.iterations - len(self.reached))


def parse(text: str) -> MdtestResult:
    """
    :raises ParseError: an error that mdtest reports; a part of the output missing, twice or cut off; a row
        missing; a rate that is not above 0, or not maximum >= mean >= minimum.
    """
    output = Output.read("mdtest output", text)
    for number, line in enumerate(output.lines, start=1):
        if _COMPLAINT.fullmatch(line):
            raise output.error(number, "a run without errors")
    _, launched = output.one(_LAUNCHED, "`mdtest-4… was launched with N total task(s) on M node(s)`")
    _, command = output.one(_COMMAND, "`Command line used: …`")
    number, amount = output.one(_AMOUNT, "`N tasks, M files/directories`")
    if amount[1] != launched[2]:
        raise output.error(number, f"{launched[2]} tasks, as were launched")
    _, summary = output.one(_SUMMARY, "`SUMMARY rate: (of N iterations)`")
    titles, _ = output.one(_TITLES, "the titles of the table")
    last, _ = output.one(_FINISHED, "`-- finished at …`")
    rates = _rows(output, range(titles + 2, last))
    wanted = [
        *(_OF_FOLDERS if "directories" in amount[3] else ()),
        *(_OF_FILES if "files" in amount[3] else ()),
        *_TREE,
    ]
    if sorted(rates) != sorted(wanted):
        raise output.error(titles, f"the rows {', '.join(wanted)}, found {', '.join(rates) or 'none'}")
    tasks = output.positive_integer(number, "tasks", launched[2], Quantity.RANKS)
    items = output.positive_integer(number, "items", amount[2], Quantity.COUNT)
    iterations = output.positive_integer(number, "iterations", summary[1], Quantity.COUNT)
    reached = _reached(output, items // tasks)
    if len(reached) > iterations:
        raise output.error(number, f"a stonewall in {iterations} iterations at most, found {len(reached)}")
    return MdtestResult(
        version=launched[1],
        options=command[1].strip(),
        tasks=tasks,
        nodes=output.positive_integer(number, "nodes", launched[3], Quantity.RANKS),
        iterations=iterations,
        items=items,
        reached=tuple(reached),
        rates=rates,
    )


def _reached(output: Output, most: int) -> list[int]:
    """What each task made in the iterations that a stonewall ended."""
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


def _rows(output: Output, lines: range) -> dict[str, Rate]:
    rates: dict[str, Rate] = {}
    for number in lines:
        row = _ROW.fullmatch(output.lines[number - 1])
        if not row:
            raise output.error(number, "a row `OPERATION MAX MIN MEAN STD-DEV`")
        maximum, minimum, mean = (output.positive(number, row[1], row[column], Quantity.IO_S) for column in (2, 3, 4))
        # Tree operations are few: their figures are rounded apart from each other.
        if not maximum >= mean >= minimum:
            raise output.error(number, "maximum >= mean >= minimum")
        if row[1] in rates:
            raise output.error(number, f"{row[1]} once")
        rates[row[1]] = Rate(maximum, minimum, mean)
    return rates
