"""Where each rank of a job ran: ``RANK HOST CPULIST`` on a line for each, as the check's own command prints it."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import INTEGER, Output

_LINE = re.compile(rf"rank ({INTEGER}) on ([A-Za-z0-9.-]{{1,200}}) cpus ([0-9]{{1,6}}(?:[-,][0-9]{{1,6}})*) end")


@dataclass(frozen=True)
class Rank:
    """``cpus``: the list of CPUs that the rank may run on, as the kernel prints it."""

    rank: int
    node: str
    cpus: str


def parse(text: str, *, expect_ranks: int) -> tuple[Rank, ...]:
    """Every rank in order of its number.

    :raises ParseError: a line of another form; a rank twice, missing or out of range.
    """
    output = Output.read("placement of ranks", text)
    found: dict[int, Rank] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _LINE.fullmatch(line)
        if not match:
            raise output.error(number, "`rank N on HOST cpus LIST end`")
        rank = int(match[1])
        if rank in found or rank >= expect_ranks:
            raise output.error(number, f"each rank from 0 to {expect_ranks - 1} once, found {rank}")
        found[rank] = Rank(rank, match[2], match[3])
    if len(found) != expect_ranks:
        raise output.missing(f"{expect_ranks} ranks, found {len(found)}")
    return tuple(found[rank] for rank in range(expect_ranks))
