"""A comparison in words: the cells that terminal, page and table share."""

import csv
import io

from kappa.core.ground.figures import NOTHING, counted, figure, percent
from kappa.core.ground.node_lists import folded
from reports.compare.change import Change
from reports.compare.compare import Comparison, Row, Word
from reports.compare.figures import Sample

# Values that vary so much between runs say nothing of a change.
MOST_SHOWN = 9.0
HEADER = ("Case", "Where", "Metric", "Before", "After", "Unit", "Change (%)", "Interval (%)", "")
WORDS: dict[Word, str] = {
    "worse": "✘ worse",
    "better": "✔ better",
    "changed": "≠ changed",
    "": "· as before",
    "not known": "– one value",
}


def cells(row: Row) -> tuple[str, ...]:
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


def value_of(samples: tuple[Sample, ...] | list[Sample]) -> str:
    """The value, or the range of several."""
    values = [sample.value for sample in samples]
    return " … ".join(dict.fromkeys((figure(min(values)), figure(max(values))))) if values else NOTHING


def interval(change: Change | None) -> str:
    """In per cent; a dash where nothing says how much the figure varies."""
    if change is None or change.low is None or change.high is None:
        return NOTHING
    if change.high > MOST_SHOWN:
        return "varies more than tenfold"
    return f"{percent(100 * change.low)} … {percent(100 * change.high)}"


def in_words(change: Change | None) -> str:
    """For instance ``−2.1 % (−4 … +0.1)``."""
    if change is None:
        return ""
    reach = f" ({interval(change)})" if change.low is not None and change.share else ""
    return f"{percent(100 * change.share)} %{reach}"


def headline(found: Comparison) -> str:
    """The comparison in a sentence."""
    told = ", ".join(f"{found.count(word)} {word}" for word in ("worse", "better", "changed") if found.count(word))
    quiet = f"{found.count('')} within what varies anyway" if found.count("") else ""
    alone = found.count("not known")
    unknown = f"{alone} of one value each, of which nothing says how much they vary" if alone else ""
    parts = "; ".join(part for part in (told, quiet, unknown) if part)
    return f"{counted(len(found.rows), 'metric')} in both runs: {parts or 'none'}."


def as_csv(found: Comparison) -> str:
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
