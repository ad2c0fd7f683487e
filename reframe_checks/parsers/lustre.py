"""``lfs getstripe --directory``: the layout that new files of a folder get (Lustre Operations Manual, file layout)."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_PAIR = re.compile(r"(stripe_count|stripe_size|pattern|stripe_offset):\s*(\S+)")
_WHOLE = re.compile(r"-1|\d{1,15}")


@dataclass(frozen=True)
class Striping:
    """``stripe_count`` -1 means all object storage targets."""

    stripe_count: int
    stripe_size_bytes: int


def parse(text: str) -> Striping:
    """The plain layout of one folder.

    :raises ParseError: a key missing, twice or not a whole number; several folders; a composite layout.
    """
    output = Output.read("lfs getstripe", text)
    found: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(output.lines, start=1):
        if line.lstrip().startswith("lcm_"):
            raise output.error(number, "a plain layout, found a composite one")
        for key, value in _PAIR.findall(line):
            if key in found:
                raise output.error(number, f"{key} once")
            found[key] = number, value
    figures = {}
    for key in ("stripe_count", "stripe_size"):
        if key not in found:
            raise output.missing(key)
        number, value = found[key]
        if not _WHOLE.fullmatch(value):
            raise output.error(number, f"{key} as a whole number, found {value!r}")
        figures[key] = int(value)
    if figures["stripe_size"] <= 0 or figures["stripe_count"] == 0:
        raise output.missing("a positive stripe size and a stripe count other than 0")
    return Striping(figures["stripe_count"], figures["stripe_size"])
