"""Reads of a report what the history keeps, which is a small part of it: most is evidence."""

import pathlib
from collections.abc import Container, Iterator
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
    """msgspec passes over what no structure here names without making objects of it."""

    session_info: SessionInfo
    runs: tuple[RunFacts, ...]


def load_figures(path: pathlib.Path, present: Container[str]) -> ReportFacts:
    """The figures and facts of one report. A damaged session whose uuid is in ``present`` may come without its cases.

    :raises InputError: as ``load_session``.
    """
    source = clean(str(path))
    text = read(path, source)
    return decoded(text, ReportFacts) or read_slowly(text, source, present)


def read_slowly(text: str, source: str, present: Container[str]) -> ReportFacts:
    document = parse_report(text, source)
    info = document.get("session_info") if isinstance(document, dict) else None
    if isinstance(info, dict) and isinstance(info.get("uuid"), str) and info["uuid"] in present:
        document["runs"] = []
    return fit(document, ReportFacts, source)


class BoundedFigure(NamedTuple):
    """``bounds`` are absolute, infinite where unbounded; ``None`` where they are not valid."""

    metric: str
    unit: str
    value: float
    bounds: tuple[float, float] | None


def bounded_figures(perfvalues: dict[str, Figure] | None) -> Iterator[BoundedFigure]:
    """Yield the metrics that have a number."""
    for name, figure in figures_of(perfvalues).items():
        if isinstance(figure.value, float):
            try:
                bounds = absolute_bounds(figure.reference or 0, figure.lower, figure.upper)
            except ValueError:
                bounds = None
            yield BoundedFigure(name, figure.unit or "", figure.value, bounds)
