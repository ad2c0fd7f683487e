"""Predicted beside measured: each figure of a run, and the same check's on the fabric that its partition names."""

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

#: So many runs are looked through for the newest result of each case.
RUNS = 8


@dataclass(frozen=True)
class PredictedPair:
    """One figure of ``case``; ``at`` is the point of a curve, empty for a metric.

    ``error`` is the prediction's on what its calibration held out, as a factor above 1; ``None`` of a fabric that is
    known from specifications alone: its figure is a limit that no machine passes, not an expectation.
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
        """How many times worse than predicted it was measured; below 1 where it is better, NaN where neither way is."""
        sign = worse_sign(-math.inf, math.inf, self.unit)
        return (self.measured / self.predicted) ** sign if sign else math.nan

    @property
    def is_worse(self) -> bool:
        """Worse by more than the prediction's error; never of a limit, which a real machine may miss by far."""
        return self.error is not None and self.worse_by > self.error

    @property
    def passes_limit(self) -> bool:
        """Better than a limit from specifications: the specification, the model or the measurement is wrong."""
        return self.error is None and self.worse_by < 1


def pairs(
    measured: Iterable[Case], predicted: Mapping[str, Iterable[Case]], errors: Mapping[str, float | None]
) -> list[PredictedPair]:
    """The figures that both have.

    :param predicted: for each partition, what was simulated for it.
    :param errors: for each fabric, see ``PredictedPair``.
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
                    continue  # the metric says it
                if positive(value) and positive(there.get(x)):
                    yield name, f"at {x:g} {curve.x_unit}".rstrip(), curve.y_unit, value, there[x]


def _axes(curve: Curve) -> tuple[str, ...]:
    return curve.x, curve.x_unit, curve.y, curve.y_unit


def positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def predicted_pairs(verdict: Verdict) -> list[PredictedPair]:
    """The figures of the run beside what is predicted for them; none without a prediction.

    The simulated results lie beside the site's own, in a folder of the simulated site.

    :raises InputError: there are results of a fabric whose file is gone or broken, so that its error is not known.
    """
    site = verdict.site.description if verdict.site else None
    named = {name: one.predicted_by for name, one in site.described.partitions.items()} if site else {}
    named = {name: fabric for name, fabric in named.items() if fabric}
    if site is None or not named:
        return []
    newest = _newest(pathlib.Path(verdict.session.path).absolute(), site.name)
    predicted = {
        partition: [case for case in newest if case.simulation and case.simulation.fabric == fabric]
        for partition, fabric in named.items()
    }
    fabrics = {str(named[partition]) for partition, cases in predicted.items() if cases}
    described = fabrics_beside(site.folder)
    errors = {fabric: find_fabric(described, fabric).error if described else None for fabric in fabrics}
    return pairs([found.case for found in verdict.cases], predicted, errors)


def _newest(report: pathlib.Path, site: str) -> list[Case]:
    """The newest of each case on a sound fabric."""
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
