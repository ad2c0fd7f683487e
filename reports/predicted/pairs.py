"""Pair each value of a run with the prediction of the same check on the fabric that the partition names."""

import math
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kappa.core.fabrics.description import find_fabric
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SIMULATED_SITE, fabrics_beside
from kappa.core.record.evidence import Curve
from kappa.core.record.load import load_session
from kappa.core.record.model import Case
from reports.verdict.judge import Verdict
from reports.verdict.metric_verdict import worse_sign

#: The most runs that are searched for the newest result of each case.
RUNS = 8


@dataclass(frozen=True)
class PredictedPair:
    """Pair a measured value of ``case`` with its prediction; ``at`` is the point of a curve, empty for a metric.

    ``error``: the prediction's error on measurements outside its calibration, as a factor above 1. It is ``None`` for a
    fabric from specifications alone: then the prediction is a limit that no machine exceeds, not an expectation.
    """

    case: Case
    fabric: str
    figure: str
    at: str
    unit: str
    measured: float
    predicted: float
    error: float | None

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.case.check_class, self.case.variant, self.figure, self.at) if part)

    @property
    def worse_by(self) -> float:
        """Return how many times worse than predicted the value is; below 1 if better, NaN if no direction is worse."""
        sign = worse_sign(-math.inf, math.inf, self.unit)
        return (self.measured / self.predicted) ** sign if sign else math.nan

    @property
    def is_worse(self) -> bool:
        """Return whether the value is worse by more than the prediction's error; never for a limit."""
        return self.error is not None and self.worse_by > self.error

    @property
    def passes_limit(self) -> bool:
        """Return whether the value is better than a limit: specification, model or measurement is wrong."""
        return self.error is None and self.worse_by < 1


def pairs(
    measured: Iterable[Case], predicted: Mapping[str, Iterable[Case]], errors: Mapping[str, float | None]
) -> list[PredictedPair]:
    """Return the pairs of measured and predicted values.

    :param predicted: partition -> simulated cases.
    :param errors: fabric -> error (see ``PredictedPair``).
    """
    found: list[PredictedPair] = []
    for case in measured:
        for other in predicted.get(case.partition, ()):
            if other.simulation and (case.check_class, case.parameters) == (other.check_class, other.parameters):
                fabric = other.simulation.fabric
                figures = (*_metrics(case, other), *_curves(case, other))
                found += [PredictedPair(case, fabric, *figure, errors.get(fabric)) for figure in figures]
    return found


def _metrics(case: Case, other: Case) -> Iterator[tuple[str, str, str, float, float]]:
    there = {metric.name: metric for metric in other.metrics}
    for metric in case.metrics:
        same = there.get(metric.name)
        if same and same.unit == metric.unit and positive(metric.value) and positive(same.value):
            yield metric.name, "", metric.unit, metric.value or 0, same.value or 0


def _curves(case: Case, other: Case) -> Iterator[tuple[str, str, str, float, float]]:
    for name, curve in case.curves.items():
        same = other.curves.get(name)
        if same and _axes(same) == _axes(curve):
            there = dict(same.points)
            for x, value in curve.points:
                if f"{x:.17g}" in curve.gated:
                    continue  # the metric has the same value
                if positive(value) and positive(there.get(x)):
                    yield name, f"at {x:g} {curve.x_unit}".rstrip(), curve.y_unit, value, there[x]


def _axes(curve: Curve) -> tuple[str, ...]:
    return curve.x, curve.x_unit, curve.y, curve.y_unit


def positive(value: float | None) -> bool:
    """Return whether ``value`` is finite and above 0."""
    return value is not None and math.isfinite(value) and value > 0


def predicted_pairs(verdict: Verdict) -> list[PredictedPair]:
    """Return the values of the run with their predictions; empty without predictions.

    The simulated results are in the folder of the simulated site, beside the site's own results.

    :raises InputError: the file of a simulated fabric is missing or damaged, so its error is unknown.
    """
    newest = _newest(pathlib.Path(verdict.session.path).absolute(), verdict.site.name) if verdict.site else []
    # To read the site's description takes a while, and most sites have no prediction.
    site = verdict.site.description if verdict.site and newest else None
    named = {name: one.predicted_by for name, one in site.described.partitions.items()} if site else {}
    named = {name: fabric for name, fabric in named.items() if fabric}
    if site is None or not named:
        return []
    predicted = {
        partition: [case for case in newest if case.simulation and case.simulation.fabric == fabric]
        for partition, fabric in named.items()
    }
    fabrics = {str(named[partition]) for partition, cases in predicted.items() if cases}
    described = fabrics_beside(site.folder)
    errors = {fabric: find_fabric(described, fabric).error if described else None for fabric in fabrics}
    return pairs([found.case for found in verdict.cases], predicted, errors)


def _newest(report: pathlib.Path, site: str) -> list[Case]:
    """Return the newest result of each case on a fabric without a fault."""
    found: dict[tuple[str, ...], Case] = {}
    for path in _reports(report, site):
        try:
            session = load_session(path)
        except InputError:
            continue
        for case in (case for cases in session.runs for case in cases):
            if case.result == "pass" and case.simulation and case.simulation.variant == "sound":
                found.setdefault(case.identity, case)
    return list(found.values())


def _reports(report: pathlib.Path, site: str) -> Iterator[pathlib.Path]:
    results = next((folder for folder in report.parents if folder.name == site), None)
    runs = results.parent / SIMULATED_SITE / "runs" if results else pathlib.Path("results", SIMULATED_SITE, "runs")
    yield from sorted(runs.glob("*/run-report.json"), reverse=True)[:RUNS]
