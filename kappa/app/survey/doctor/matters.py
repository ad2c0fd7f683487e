"""The results of ``kappa doctor``: each test of a site is one line, right, wrong or not tested, with a remedy."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

RIGHT, WRONG, UNTOLD, NOT_APPLICABLE = "right", "wrong", "not told", "not applicable"
SIGNS = {RIGHT: "✔", WRONG: "✘", UNTOLD: "◌", NOT_APPLICABLE: "–"}
PASS, FAIL, INCOMPLETE = 0, 1, 2


class Matter(NamedTuple):
    """The result of one test.

    ``subject``: what was tested. ``places``: partitions, nodes or environments; none means the whole site. ``found``:
    the finding. ``remedy``: what to do if it is not right.
    """

    state: str
    subject: str
    places: tuple[str, ...]
    found: str
    remedy: str = ""

    @property
    def line(self) -> str:
        where = f" ({', '.join(self.places)})" if self.places else ""
        return f"{SIGNS[self.state]} {self.subject}{where}: {self.found}{f'; {self.remedy}' if self.remedy else ''}"


def right(subject: str, places: Sequence[str], found: str) -> Matter:
    return Matter(RIGHT, subject, tuple(places), found)


def wrong(subject: str, places: Sequence[str], found: str, remedy: str) -> Matter:
    return Matter(WRONG, subject, tuple(places), found, remedy)


def untold(subject: str, places: Sequence[str], why: str, remedy: str = "") -> Matter:
    return Matter(UNTOLD, subject, tuple(places), f"not tested: {why}", remedy)


def not_applicable(subject: str, places: Sequence[str], why: str) -> Matter:
    return Matter(NOT_APPLICABLE, subject, tuple(places), f"not applicable: {why}")


def merged(matters: Iterable[Matter]) -> list[Matter]:
    """Merge equal results of several places into one, and sort results of one subject together."""
    places: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for one in matters:
        places.setdefault((one.state, one.subject, one.found, one.remedy), {}).update(dict.fromkeys(one.places))
    one_each = [Matter(state, subject, tuple(where), found, remedy)
                for (state, subject, found, remedy), where in places.items()]  # fmt: skip
    order = list(dict.fromkeys(one.subject for one in one_each))
    return sorted(one_each, key=lambda one: order.index(one.subject))


def status(matters: Iterable[Matter]) -> int:
    """Return the exit status. Without any result it is INCOMPLETE."""
    states = {one.state for one in matters}
    if WRONG in states:
        return FAIL
    return INCOMPLETE if UNTOLD in states or not states else PASS
