"""Compare two runs metric by metric, of one site, two sites or two environments: in words, as a table, as CSV."""

import csv
import io
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kappa.core.ground.figures import NOTHING, counted, percent
from kappa.core.ground.node_lists import folded
from reports.compare.figures import (
    CONFIDENCE,
    MetricKey,
    NodesValue,
    Past,
    RelativeChange,
    RunFigures,
    change,
    value_of,
)
from reports.verdict.state import State

Word = Literal["worse", "unclear", "better", "changed", "", "not known"]

# Keys of a metric in two runs, the strictest first. Later keys ignore the environment, the partition, or both.
_LOOSER: tuple[Callable[[MetricKey], Hashable], ...] = (
    lambda place: place,
    lambda place: (place.name, place.partition, place.metric, place.unit),
    lambda place: (place.name, place.environ, place.metric, place.unit),
    lambda place: (place.name, place.metric, place.unit),
)
# One value on each side cannot tell a change from noise, but Kappa reports a change for the worse of this share.
LARGE = 0.1
# An interval that ends above this share is not printed: the values vary too much.
MOST_SHOWN = 9.0
HEADER = ("Case", "Where", "Metric", "Before", "After", "Unit", "Change (%)", "Interval (%)", "")
WORDS: dict[Word, str] = {
    "worse": "✘ worse",
    "unclear": "? worse, or noise",
    "better": "✔ better",
    "changed": "≠ changed",
    "": "· as before",
    "not known": "– one value",
}
MOST_LINES = 5
_LINES = {"worse": "worse", "unclear": "worse, or noise", "changed": "changed"}


@dataclass(frozen=True)
class ComparisonRow:
    """Compare one metric in two runs.

    ``word`` judges the change. It is empty within the usual variation, and ``unclear`` for a large change for the worse
    with one value on each side.
    """

    before: MetricKey
    after: MetricKey
    old: tuple[NodesValue, ...]
    new: tuple[NodesValue, ...]
    change: RelativeChange | None
    word: Word

    @property
    def where(self) -> str:
        """Return partition and environment; if they differ between the runs, both values."""
        pairs = ((self.before.partition, self.after.partition), (self.before.environ, self.after.environ))
        return " + ".join(one if one == other else f"{one} → {other}" for one, other in pairs)


@dataclass(frozen=True)
class RunComparison:
    """Hold the comparison of two runs.

    ``rows`` in this order: worse, unclear, better, changed, the rest; within each, the largest change first.
    ``differing``: name -> the values that each run recorded. ``gone``, ``added``: metrics in one run only.
    """

    before: RunFigures
    after: RunFigures
    rows: list[ComparisonRow]
    differing: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    gone: list[MetricKey]
    added: list[MetricKey]

    def count(self, word: Word) -> int:
        return sum(row.word == word for row in self.rows)

    @property
    def state(self) -> State:
        """Return FAIL, INCOMPLETE or PASS.

        FAIL: a metric is worse. INCOMPLETE: a metric is unclear, or no metric's variation is known.
        """
        if self.count("worse"):
            return State.FAIL
        return State.INCOMPLETE if self.count("unclear") or self.count("not known") == len(self.rows) else State.PASS


def compare(before: RunFigures, after: RunFigures, past: Past) -> RunComparison:
    """Compare ``after`` with ``before``; ``past`` gives the variation of each metric between earlier runs."""
    pairs = _paired(before.samples, after.samples)
    found = [(one, other, change(before.samples[one], after.samples[other], past.noise(one))) for one, other in pairs]
    # Bonferroni: of hundreds of metrics without a change, Kappa calls one changed in 1 of 20 comparisons.
    level = (1 - CONFIDENCE) / max(sum(step is not None and step.error is not None for *_, step in found), 1)
    rows = [
        ComparisonRow(one, other, tuple(before.samples[one]), tuple(after.samples[other]), step,
            _word(step, before.samples[one], after.samples[other], after.worse.get(other, 0), level))
        for one, other, step in found
    ]  # fmt: skip
    names = [name for name in after.facts if before.facts.get(name) != after.facts[name]]
    return RunComparison(
        before,
        after,
        sorted(rows, key=_order),
        {name: (before.facts.get(name, ()), after.facts[name]) for name in names},
        gone=[place for place in before.samples if place not in {one for one, _ in pairs}],
        added=[place for place in after.samples if place not in {other for _, other in pairs}],
    )


def _paired(before: Iterable[MetricKey], after: Iterable[MetricKey]) -> list[tuple[MetricKey, MetricKey]]:
    """Return pairs of keys of the same metric, the strictest match first; an ambiguous match is no pair."""
    left, right = list(before), list(after)
    pairs: list[tuple[MetricKey, MetricKey]] = []
    for key in _LOOSER:
        ones, others = _unique(left, key), _unique(right, key)
        pairs += [(ones[shared], others[shared]) for shared in ones if shared in others]
        left = [place for place in left if place not in {one for one, _ in pairs}]
        right = [place for place in right if place not in {other for _, other in pairs}]
    return pairs


def _unique(places: Iterable[MetricKey], key: Callable[[MetricKey], Hashable]) -> dict[Hashable, MetricKey]:
    groups: dict[Hashable, list[MetricKey]] = {}
    for place in places:
        groups.setdefault(key(place), []).append(place)
    return {shared: members[0] for shared, members in groups.items() if len(members) == 1}


def _word(
    step: RelativeChange | None, before: Sequence[NodesValue], after: Sequence[NodesValue], worse: int, level: float
) -> Word:
    if step is None:  # a value is 0 or negative, so there is no ratio
        old, new = (sum(sample.value for sample in side) / len(side) for side in (before, after))
        return "" if old == new else "unclear" if (new - old) * worse > 0 else "not known"
    if step.error is None:
        large = abs(math.log1p(step.share)) >= math.log1p(LARGE)
        return "unclear" if large and step.share * worse > 0 else "not known"
    if not step.exceeds(level):
        return ""
    return "changed" if not worse else "worse" if step.share * worse > 0 else "better"


def _order(row: ComparisonRow) -> tuple[int, float]:
    rank = ("worse", "unclear", "better", "changed", "not known", "").index(row.word)
    return rank, -abs(row.change.share) if row.change else 0.0


def since_last(now: RunFigures, past: Past) -> RunComparison | None:
    """Compare a run with the last run of ``past``; return ``None`` without one."""
    return compare(past.last, now, past) if past.last else None


def cells(row: ComparisonRow) -> tuple[str, ...]:
    """Return the cells of a row in the order of ``HEADER``."""
    return (
        row.after.name,
        row.where,
        row.after.metric,
        value_of(row.old),
        value_of(row.new),
        row.after.unit,
        percent(100 * row.change.share) if row.change else NOTHING,
        interval(row.change),
        WORDS[row.word],
    )


def interval(change: RelativeChange | None) -> str:
    """Return the confidence interval in per cent; a dash if the variation is unknown."""
    if change is None or change.interval is None:
        return NOTHING
    low, high = change.interval
    if high > MOST_SHOWN:
        return "varies more than tenfold"
    return f"{percent(100 * low)} … {percent(100 * high)}"


def in_words(change: RelativeChange | None) -> str:
    """Return the change in words, for instance ``−2.1 % (−4 … +0.1)``."""
    if change is None:
        return ""
    reach = f" ({interval(change)})" if change.error is not None and change.share else ""
    return f"{percent(100 * change.share)} %{reach}"


def headline(found: RunComparison) -> str:
    """Return the comparison in one sentence."""
    told = ", ".join(f"{found.count(word)} {word}" for word in ("worse", "better", "changed") if found.count(word))
    quiet = f"{found.count('')} within the usual variation" if found.count("") else ""
    unclear = ""
    if doubtful := found.count("unclear"):
        shares = sorted(abs(row.change.share) for row in found.rows if row.word == "unclear" and row.change)
        ends = dict.fromkeys(f"{100 * share:.0f}" for share in (*shares[:1], *shares[-1:]))
        by = f" by {' to '.join(ends)} %" if ends else ""
        unclear = f"{doubtful} worse{by} or noise (one value on each side cannot tell)"
    alone = found.count("not known")
    unknown = f"{alone} with one value in each run and an unknown variation" if alone else ""
    parts = "; ".join(part for part in (told, unclear, quiet, unknown) if part)
    return f"{counted(len(found.rows), 'metric')} in both runs: {parts or 'none'}."


def as_csv(found: RunComparison) -> str:
    """Return the comparison as CSV: plain numbers, changes as shares, an empty cell for a missing value."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ("case", "partition_before", "partition_after", "environment_before", "environment_after", "metric", "unit",
         "nodes_before", "nodes_after", "before", "after", "change", "change_low", "change_high", "word")
    )  # fmt: skip
    for row in found.rows:
        step = row.change
        rows.writerow(
            (
                row.after.name, row.before.partition, row.after.partition, row.before.environ, row.after.environ,
                row.after.metric, row.after.unit,
                *(folded(node for sample in side for node in sample.nodes) for side in (row.old, row.new)),
                *(" ".join(repr(sample.value) for sample in side) for side in (row.old, row.new)),
                *("" if share is None else repr(share)
                  for share in ((step.share, *(step.interval or (None, None))) if step else (None,) * 3)),
                row.word,
            )
        )  # fmt: skip
    return text.getvalue()


def lines_of(found: RunComparison) -> list[str]:
    """Return a line for each metric that is worse, unclear, or changed in an unknown direction; the worst first."""
    rows = [row for row in found.rows if row.word in ("worse", "unclear", "changed")]
    lines = [
        f"{_LINES[row.word]}: {row.after.name} on {row.after.partition}, {row.after.metric}"
        f" {value_of(row.old)} → {value_of(row.new)} {row.after.unit}".rstrip()
        + (f" ({percent(100 * row.change.share)} %)" if row.change else "")
        for row in rows[:MOST_LINES]
    ]
    return [*lines, f"and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else lines
