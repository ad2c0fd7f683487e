"""Two runs, metric by metric: of one site, of two, or with two environments."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from reports.compare.change import CONFIDENCE, Change, change
from reports.compare.earlier import Past
from reports.compare.figures import Place, RunFigures, Sample

Word = Literal["worse", "better", "changed", "", "not known"]

# What two runs need not share to be of the same metric, least first: the environment, the partition, both.
_LOOSER: tuple[Callable[[Place], Hashable], ...] = (
    lambda place: place,
    lambda place: (place.name, place.partition, place.metric, place.unit),
    lambda place: (place.name, place.environ, place.metric, place.unit),
    lambda place: (place.name, place.metric, place.unit),
)


@dataclass(frozen=True)
class Row:
    """A metric in both runs. ``word`` says what the change means; it is empty within what varies anyway."""

    before: Place
    after: Place
    old: tuple[Sample, ...]
    new: tuple[Sample, ...]
    change: Change | None
    word: Word

    @property
    def where(self) -> str:
        """Partition and environment, or both of them where they differ."""
        pairs = ((self.before.partition, self.after.partition), (self.before.environ, self.after.environ))
        return " + ".join(one if one == other else f"{one} → {other}" for one, other in pairs)


@dataclass(frozen=True)
class Comparison:
    """``rows`` in order: what became worse most first, then better, otherwise, the rest. ``differing``: name -> what
    either run recorded of it. ``gone`` and ``added`` are in one run only."""

    before: RunFigures
    after: RunFigures
    rows: list[Row]
    differing: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    gone: list[Place]
    added: list[Place]

    def count(self, word: Word) -> int:
        return sum(row.word == word for row in self.rows)


def compare(before: RunFigures, after: RunFigures, past: Past) -> Comparison:
    """``after`` held against ``before``; ``past`` says how much figures vary between runs where nothing changed."""
    pairs = _paired(before.samples, after.samples)
    found = [(one, other, change(before.samples[one], after.samples[other], past.noise(one))) for one, other in pairs]
    # So that among hundreds of metrics that did not change, one time in twenty a single one is said to have.
    level = (1 - CONFIDENCE) / max(sum(step is not None and step.low is not None for *_, step in found), 1)
    rows = [
        Row(one, other, tuple(before.samples[one]), tuple(after.samples[other]), step,
            _word(step, after.worse.get(other, 0), level))
        for one, other, step in found
    ]  # fmt: skip
    names = [name for name in after.facts if before.facts.get(name) != after.facts[name]]
    return Comparison(
        before,
        after,
        sorted(rows, key=_order),
        {name: (before.facts.get(name, ()), after.facts[name]) for name in names},
        gone=[place for place in before.samples if place not in {one for one, _ in pairs}],
        added=[place for place in after.samples if place not in {other for _, other in pairs}],
    )


def _paired(before: Iterable[Place], after: Iterable[Place]) -> list[tuple[Place, Place]]:
    """Places of the same metric, the likest first; where several are as like, none is chosen."""
    left, right = list(before), list(after)
    pairs: list[tuple[Place, Place]] = []
    for key in _LOOSER:
        ones, others = _unique(left, key), _unique(right, key)
        pairs += [(ones[shared], others[shared]) for shared in ones if shared in others]
        left = [place for place in left if place not in {one for one, _ in pairs}]
        right = [place for place in right if place not in {other for _, other in pairs}]
    return pairs


def _unique(places: Iterable[Place], key: Callable[[Place], Hashable]) -> dict[Hashable, Place]:
    groups: dict[Hashable, list[Place]] = {}
    for place in places:
        groups.setdefault(key(place), []).append(place)
    return {shared: members[0] for shared, members in groups.items() if len(members) == 1}


def _word(step: Change | None, worse: int, level: float) -> Word:
    if step is None or step.low is None:
        return "not known"
    if step.p >= level:
        return ""
    return "changed" if not worse else "worse" if step.share * worse > 0 else "better"


def _order(row: Row) -> tuple[int, float]:
    rank = ("worse", "better", "changed", "not known", "").index(row.word)
    return rank, -abs(row.change.share) if row.change else 0.0
