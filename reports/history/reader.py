"""Read the small part of a report that the history keeps; most of a report is evidence."""

import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import fit
from kappa.core.record.evidence import Figure, figures_of
from kappa.core.record.load import decoded, parse_report, read
from kappa.core.record.model import CaseFacts, SessionInfo
from reports.verdict.metric_verdict import absolute_bounds


class RunFacts(msgspec.Struct, frozen=True):
    testcases: tuple[CaseFacts, ...]


class ReportFacts(msgspec.Struct, frozen=True):
    """Hold the facts of a report. msgspec skips all other keys without making objects of them."""

    session_info: SessionInfo
    runs: tuple[RunFacts, ...]


def load_figures(path: pathlib.Path) -> ReportFacts:
    """Read the values and facts of one report.

    :raises InputError: see ``load_session``.
    """
    source = clean(str(path))
    return figures_in(read(path, source), source)


def figures_in(text: str, source: str) -> ReportFacts:
    """Return the values and facts in the text of a report, which messages call ``source``.

    :raises InputError: see ``load_session``.
    """
    return decoded(text, ReportFacts) or read_slowly(text, source)


def read_slowly(text: str, source: str) -> ReportFacts:
    """Read a report that ``decoded`` refuses, and name the problem.

    :raises InputError: the report is damaged.
    """
    return fit(parse_report(text, source), ReportFacts, source)


class BoundedFigure(NamedTuple):
    """Hold a value with its absolute ``bounds``, infinite where unbounded; ``None`` for invalid bounds."""

    metric: str
    unit: str
    value: float
    bounds: tuple[float, float] | None


def bounded_figures(perfvalues: dict[str, Figure] | None) -> Iterator[BoundedFigure]:
    """Yield the metrics with a number."""
    for name, figure in figures_of(perfvalues).items():
        if isinstance(figure.value, float):
            try:
                bounds = absolute_bounds(figure.reference or 0, figure.lower, figure.upper)
            except ValueError:
                bounds = None
            yield BoundedFigure(name, figure.unit or "", figure.value, bounds)
