"""What is right, wrong or could not be told of a site, each a matter in one line with the remedy behind it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

RIGHT, WRONG, UNTOLD, NOT_APPLICABLE = "right", "wrong", "not told", "not applicable"
SIGNS = {RIGHT: "✔", WRONG: "✘", UNTOLD: "◌", NOT_APPLICABLE: "–"}
PASS, FAIL, INCOMPLETE = 0, 1, 2


class Matter(NamedTuple):
    """``subject``: what it is about, ``places``: partitions, nodes or environments, none for all of the site.

    ``found``: what is so; ``remedy``: what to do where it is not right.
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
    return Matter(UNTOLD, subject, tuple(places), f"not asked: {why}", remedy)


def not_applicable(subject: str, places: Sequence[str], why: str) -> Matter:
    return Matter(NOT_APPLICABLE, subject, tuple(places), f"not applicable: {why}")


def merged(matters: Iterable[Matter]) -> list[Matter]:
    """Equal ones of several places in one; those of one subject together, in the order of the first."""
    places: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for one in matters:
        places.setdefault((one.state, one.subject, one.found, one.remedy), {}).update(dict.fromkeys(one.places))
    one_each = [Matter(state, subject, tuple(where), found, remedy)
                for (state, subject, found, remedy), where in places.items()]  # fmt: skip
    order = list(dict.fromkeys(one.subject for one in one_each))
    return sorted(one_each, key=lambda one: order.index(one.subject))


def status(matters: Iterable[Matter]) -> int:
    """The exit status; of a site of which nothing was asked, too, nothing could be told."""
    states = {one.state for one in matters}
    if WRONG in states:
        return FAIL
    return INCOMPLETE if UNTOLD in states or not states else PASS
