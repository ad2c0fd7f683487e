"""What changed since the last run, in a line each."""

import pathlib

from kappa.core.ground.figures import percent
from reports.compare.compare import Comparison, compare
from reports.compare.earlier import Past
from reports.compare.figures import figures_of
from reports.compare.listing import value_of

MOST = 5


def since_last(run: pathlib.Path, past: Past) -> Comparison | None:
    """The report ``run`` held against the last of ``past``; ``None`` without one.

    :raises InputError: ``run`` has not the shape of a report.
    """
    if past.last is None:
        return None
    return compare(past.last, figures_of(run), Past(past.runs[1:]))


def lines_of(found: Comparison) -> list[str]:
    """What is worse, or changed in a metric of which nobody knows whether more is worse; the worst first."""
    rows = [row for row in found.rows if row.word in ("worse", "changed")]
    lines = [
        f"{row.word}: {row.after.name} on {row.after.partition}, {row.after.metric}"
        f" {value_of(row.old)} → {value_of(row.new)} {row.after.unit}".rstrip()
        + (f" ({percent(100 * row.change.share)} %)" if row.change else "")
        for row in rows[:MOST]
    ]
    return [*lines, f"and {len(rows) - MOST} more"] if len(rows) > MOST else lines
