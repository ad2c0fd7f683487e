"""The figures of a run, by what was measured, without its evidence."""

import datetime
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import moment
from kappa.core.record.load import find_report
from kappa.core.record.report import CaseFacts
from reports.history.direction import worse_sign
from reports.history.reader import Report, load_figures
from reports.verdict.metric_verdict import absolute_bounds

# What may differ between runs, with its name for people.
_FACTS = {"mpi": "MPI", "kernel": "kernel", "driver": "driver", "suite_revision": "suite revision"}


@dataclass(frozen=True)
class Place:
    """A metric of a case; ``name`` is the case's, with its parameters."""

    name: str
    partition: str
    environ: str
    metric: str
    unit: str


@dataclass(frozen=True)
class Sample:
    nodes: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class RunFigures:
    """``samples``: every value of a place, in the report's order. ``worse``: +1 where higher is worse, -1 where lower
    is, 0 where neither. ``facts``: name -> the values that the run's cases recorded."""

    source: str
    site: str
    mode: str
    time: str
    started: float
    samples: dict[Place, list[Sample]]
    worse: dict[Place, int]
    facts: dict[str, tuple[str, ...]]

    @property
    def title(self) -> str:
        mode = f"mode {self.mode}" if self.mode else ""
        return ", ".join(part for part in (self.site, mode, moment(self.time)) if part)


def figures_of(run: pathlib.Path) -> RunFigures:
    """Of the report ``run``, or of the newest in that folder.

    :raises InputError: there is none, or it has not the shape of a report.
    """
    path = find_report(run)
    report = load_figures(path, frozenset())
    cases = [case for each in report.runs for case in each.testcases if case.check_class is not None]
    samples, worse = _samples(cases)
    info = report.session_info
    return RunFigures(
        source=clean(str(path)),
        site=", ".join(sorted({case.system for case in cases})),
        mode=info.mode or "",
        time=info.time_start,
        started=started(report),
        samples=samples,
        worse=worse,
        facts=_facts(cases),
    )


def started(report: Report) -> float:
    """Seconds since 1970; 0 where the report does not say it."""
    try:
        return datetime.datetime.strptime(report.session_info.time_start, "%Y%m%dT%H%M%S%z").timestamp()
    except ValueError:
        return 0.0


def _samples(cases: Iterable[CaseFacts]) -> tuple[dict[Place, list[Sample]], dict[Place, int]]:
    samples: dict[Place, list[Sample]] = {}
    worse: dict[Place, int] = {}
    for case in cases:
        prefix = f"{case.system}:{case.partition}:"
        for key, figure in (case.perfvalues or {}).items():
            if isinstance(figure.value, float):
                metric, unit = key.removeprefix(prefix), figure.unit or ""
                place = Place(case.name, case.partition, case.environ, metric, unit)
                samples.setdefault(place, []).append(Sample(case.nodes, figure.value))
                try:
                    bounds = absolute_bounds(figure.reference or 0, figure.lower, figure.upper)
                except ValueError:
                    continue
                worse[place] = worse_sign(*bounds, unit)
    return samples, worse


def _facts(cases: Iterable[CaseFacts]) -> dict[str, tuple[str, ...]]:
    known = list(cases)
    found = {
        name: sorted({one_line(getattr(case.provenance, field), 120) for case in known} - {""})
        for field, name in _FACTS.items()
    }
    found["environment"] = sorted({case.environ for case in known} - {""})
    found["partition"] = sorted({case.partition for case in known} - {""})
    return {name: tuple(values) for name, values in found.items()}
