"""Two runs compared, metric by metric: of one site, of two, or of two environments; in words, for terminals, as CSV."""

import csv
import io
import math
import pathlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

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
    figures_of,
    value_of,
)
from reports.show.console import open_console, table
from reports.verdict.state import State

Word = Literal["worse", "unclear", "better", "changed", "", "not known"]

# Keys of the same metric in two runs, the strictest first: later ones ignore the environment, the partition, or both.
_LOOSER: tuple[Callable[[MetricKey], Hashable], ...] = (
    lambda place: place,
    lambda place: (place.name, place.partition, place.metric, place.unit),
    lambda place: (place.name, place.environ, place.metric, place.unit),
    lambda place: (place.name, place.metric, place.unit),
)
# One value on each side does not tell a change from noise. One as large for the worse is not passed over either.
LARGE = 0.1
# Values that vary so much between runs say nothing of a change.
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
STYLES = {
    "worse": "bold red", "unclear": "bold yellow", "better": "green", "changed": "yellow", "": "dim",
    "not known": "dim",
}  # fmt: skip
UNKNOWN_SHOWN = 10
_NUMBERS = ("Before", "After", "Change (%)", "Interval (%)")
MOST_LINES = 5
_LINES = {"worse": "worse", "unclear": "worse, or noise", "changed": "changed"}


@dataclass(frozen=True)
class ComparisonRow:
    """A metric in both runs. ``word`` says what the change means; it is empty within what varies anyway, ``unclear``
    where a large change for the worse is of one value on each side."""

    before: MetricKey
    after: MetricKey
    old: tuple[NodesValue, ...]
    new: tuple[NodesValue, ...]
    change: RelativeChange | None
    word: Word

    @property
    def where(self) -> str:
        """Partition and environment, or both of them where they differ."""
        pairs = ((self.before.partition, self.after.partition), (self.before.environ, self.after.environ))
        return " + ".join(one if one == other else f"{one} → {other}" for one, other in pairs)


@dataclass(frozen=True)
class RunComparison:
    """``rows`` in order: what became worse most first, then what may have, better, otherwise, the rest.
    ``differing``: name -> what either run recorded of it. ``gone`` and ``added`` are in one run only."""

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
        """FAIL with a metric that is worse; INCOMPLETE with one that may be, or where nothing tells how any varies."""
        if self.count("worse"):
            return State.FAIL
        return State.INCOMPLETE if self.count("unclear") or self.count("not known") == len(self.rows) else State.PASS


def compare(before: RunFigures, after: RunFigures, past: Past) -> RunComparison:
    """``after`` held against ``before``; ``past`` says how much figures vary between runs where nothing changed."""
    pairs = _paired(before.samples, after.samples)
    found = [(one, other, change(before.samples[one], after.samples[other], past.noise(one))) for one, other in pairs]
    # So that among hundreds of metrics that did not change, one time in twenty a single one is said to have.
    level = (1 - CONFIDENCE) / max(sum(step is not None and step.low is not None for *_, step in found), 1)
    rows = [
        ComparisonRow(one, other, tuple(before.samples[one]), tuple(after.samples[other]), step,
            _word(step, after.worse.get(other, 0), level))
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
    """Places of the same metric, the likest first; where several are as like, none is chosen."""
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


def _word(step: RelativeChange | None, worse: int, level: float) -> Word:
    if step is None:
        return "not known"
    if step.low is None:
        large = abs(math.log1p(step.share)) >= math.log1p(LARGE)
        return "unclear" if large and step.share * worse > 0 else "not known"
    if step.p >= level:
        return ""
    return "changed" if not worse else "worse" if step.share * worse > 0 else "better"


def _order(row: ComparisonRow) -> tuple[int, float]:
    rank = ("worse", "unclear", "better", "changed", "not known", "").index(row.word)
    return rank, -abs(row.change.share) if row.change else 0.0


def since_last(run: pathlib.Path, past: Past) -> RunComparison | None:
    """The report ``run`` held against the last of ``past``; ``None`` without one.

    :raises InputError: ``run`` has not the shape of a report.
    """
    if past.last is None:
        return None
    return compare(past.last, figures_of(run), past)


def cells(row: ComparisonRow) -> tuple[str, ...]:
    """The columns of ``HEADER``."""
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
    """In per cent; a dash where nothing says how much the figure varies."""
    if change is None or change.low is None or change.high is None:
        return NOTHING
    if change.high > MOST_SHOWN:
        return "varies more than tenfold"
    return f"{percent(100 * change.low)} … {percent(100 * change.high)}"


def in_words(change: RelativeChange | None) -> str:
    """For instance ``−2.1 % (−4 … +0.1)``."""
    if change is None:
        return ""
    reach = f" ({interval(change)})" if change.low is not None and change.share else ""
    return f"{percent(100 * change.share)} %{reach}"


def headline(found: RunComparison) -> str:
    """The comparison in a sentence."""
    told = ", ".join(f"{found.count(word)} {word}" for word in ("worse", "better", "changed") if found.count(word))
    quiet = f"{found.count('')} within what varies anyway" if found.count("") else ""
    doubtful = [abs(row.change.share) for row in found.rows if row.word == "unclear" and row.change]
    unclear = ""
    if doubtful:
        by = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(doubtful), max(doubtful))))
        unclear = f"{len(doubtful)} worse by {by} %, which one value on each side cannot tell from noise"
    alone = found.count("not known")
    unknown = f"{alone} of one value each, of which nothing says how much they vary" if alone else ""
    parts = "; ".join(part for part in (told, unclear, quiet, unknown) if part)
    return f"{counted(len(found.rows), 'metric')} in both runs: {parts or 'none'}."


def as_csv(found: RunComparison) -> str:
    """A table for machines: plain numbers, changes as shares, empty where there is none."""
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
                  for share in ((step.share, step.low, step.high) if step else (None,) * 3)),
                row.word,
            )
        )  # fmt: skip
    return text.getvalue()


def show(found: RunComparison, every_row: bool = False) -> None:
    """Print what changed, and the largest differences of one value each; ``every_row`` adds the rest."""
    console = open_console()
    console.print(Text(f"before: {found.before.title}  {found.before.source}"), soft_wrap=True)
    console.print(Text(f"after:  {found.after.title}  {found.after.source}"), soft_wrap=True)
    for name, sides in found.differing.items():
        both = " → ".join(", ".join(values) or NOTHING for values in sides)
        console.print(Text(f"{name}: {both}", "dim"), soft_wrap=True)
    unknown = [row for row in found.rows if row.word == "not known" and row.change and row.change.share][:UNKNOWN_SHOWN]
    shown = [row for row in found.rows if every_row or row.word not in ("", "not known") or row in unknown]
    if shown:
        rows = table(*HEADER, right=_NUMBERS)
        for row in shown:
            *told, word = cells(row)
            rows.add_row(*map(Text, told), Text(word, STYLES[row.word]))
        console.print(rows)
        console.print(Text("Interval: holds the change with 95 %. Words hold for all metrics together.", "dim"))
    for word, places in (("before", found.gone), ("after", found.added)):
        if places:
            console.print(Text(f"only {word}: {len(places)} metrics, of {_cases(places)}", "dim"), soft_wrap=True)
    console.print(Text(headline(found), "bold"))


def _cases(places: list[MetricKey]) -> str:
    names = list(dict.fromkeys(place.name for place in places))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def lines_of(found: RunComparison) -> list[str]:
    """Metrics that are worse, may be, or changed where it is not known whether more is worse; the worst first."""
    rows = [row for row in found.rows if row.word in ("worse", "unclear", "changed")]
    lines = [
        f"{_LINES[row.word]}: {row.after.name} on {row.after.partition}, {row.after.metric}"
        f" {value_of(row.old)} → {value_of(row.new)} {row.after.unit}".rstrip()
        + (f" ({percent(100 * row.change.share)} %)" if row.change else "")
        for row in rows[:MOST_LINES]
    ]
    return [*lines, f"and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else lines
