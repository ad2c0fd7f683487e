"""Why a verdict is INCOMPLETE: what is missing, where, and how to mend it."""

from dataclasses import dataclass

# Others used the machine that the nodes share while it was measured.
BUSY = "busy"


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
