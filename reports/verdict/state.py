"""Define the states of metrics, cases and verdicts, and the gaps that make a verdict INCOMPLETE."""

from dataclasses import dataclass
from enum import Enum

# During the measurement, other processes used the machine that the nodes share.
BUSY = "busy"


class State(Enum):
    """Name each state by a symbol and a word, so that no reader depends on colour."""

    INFO = "INFO"
    PASS = "PASS"
    KNOWN = "KNOWN"
    INCOMPLETE = "INCOMPLETE"
    FAIL = "FAIL"

    @property
    def word(self) -> str:
        return "known failure" if self is State.KNOWN else self.value.lower()

    @property
    def symbol(self) -> str:
        return "·✔◆◌✘"[self.severity]

    @property
    def severity(self) -> int:
        return list(State).index(self)

    @property
    def label(self) -> str:
        return f"{self.symbol} {self.word.upper()}"


@dataclass(frozen=True)
class Gap:
    """Describe one reason for INCOMPLETE.

    ``what`` and ``remedy`` are equal for gaps of one kind; ``where`` and ``detail`` differ.
    """

    what: str
    remedy: str
    where: str = ""
    detail: str = ""
    absent: bool = False
    """Whether the report has no case of it."""

    cause: str = ""
    """``BUSY`` or empty. Programs read this key and not ``what``."""

    @property
    def place(self) -> str:
        return ": ".join(part for part in (self.where, self.detail) if part)


def grouped(gaps: tuple[Gap, ...]) -> list[tuple[Gap, list[str]]]:
    """Return one gap of each kind with its places, in order of appearance."""
    groups: dict[tuple[str, str], tuple[Gap, list[str]]] = {}
    for gap in gaps:
        _, places = groups.setdefault((gap.what, gap.remedy), (gap, []))
        if gap.place and gap.place not in places:
            places.append(gap.place)
    return list(groups.values())
