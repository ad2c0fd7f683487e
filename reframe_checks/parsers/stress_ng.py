"""Output of ``stress_on_node.sh``: how stress-ng ended on each node, one line each, and its log of a node."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_LINE = re.compile(r"@stress-ng ([\w.-]{1,255}) ([0-9]{1,3}) ([0-9]{1,2}) ((?:[a-z0-9-]{1,40}(?: |$)){0,99})")
# What stress-ng itself says to be wrong when a stressor was killed.
_OF_COUNTERS = re.compile(r"bogo-ops counter|metrics-check: ")


@dataclass(frozen=True)
class Stressed:
    """``status``: stress-ng's exit status, 0 where all that was computed was right. ``stressors`` did something."""

    node: str
    status: int
    stressors: tuple[str, ...]


def parse(text: str, *, expect_nodes: int) -> dict[str, Stressed]:
    """By node.

    :raises ParseError: a line of another kind, a node twice, or another number of nodes.
    """
    output = Output.read("stress-ng", text)
    found: dict[str, Stressed] = {}
    for number, line in enumerate(output.lines, start=1):
        match = _LINE.fullmatch(line)
        stressors = tuple(match[4].split()) if match else ()
        if match is None or match[1] in found or int(match[2]) > 255 or len(stressors) != int(match[3]):
            raise output.error(number, "`@stress-ng NODE STATUS COUNT STRESSOR …`, each node once")
        found[match[1]] = Stressed(match[1], int(match[2]), stressors)
    if len(found) != expect_nodes:
        raise output.missing(f"{expect_nodes} nodes, found {len(found)}")
    return found


def wrong_result(log: str) -> str | None:
    """The first line by which a stressor says that a result is wrong, or ``None``."""
    return next((line for line in log.splitlines() if " fail: " in line and not _OF_COUNTERS.search(line)), None)
