"""The states of metrics, cases and verdicts, and the gaps that make a verdict INCOMPLETE."""

from dataclasses import dataclass
from enum import Enum

# Others used the machine that the nodes share while it was measured.
BUSY = "busy"


class State(Enum):
    """A state is told by symbol and word, so that it needs no colour."""

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
    """``what`` and ``remedy`` are the same for gaps of one kind; ``where`` and ``detail`` tell them apart."""

    what: str
    remedy: str
    where: str = ""
    detail: str = ""
    absent: bool = False
    """The report holds nothing of it."""

    cause: str = ""
    """``BUSY``, or empty: for programs, which must not read ``what``."""

    @property
    def place(self) -> str:
        return ": ".join(part for part in (self.where, self.detail) if part)


def grouped(gaps: tuple[Gap, ...]) -> list[tuple[Gap, list[str]]]:
    """One gap of each kind with the places where it occurs, in order of appearance."""
    groups: dict[tuple[str, str], tuple[Gap, list[str]]] = {}
    for gap in gaps:
        _, places = groups.setdefault((gap.what, gap.remedy), (gap, []))
        if gap.place and gap.place not in places:
            places.append(gap.place)
    return list(groups.values())
