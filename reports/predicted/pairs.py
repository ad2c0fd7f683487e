"""Predicted beside measured: each figure of a run, and the same check's on the fabric that stands for its partition."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kappa.core.record.evidence import Curve
from kappa.core.record.model import Case
from reports.history.direction import worse_sign


@dataclass(frozen=True)
class Pair:
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
) -> list[Pair]:
    """The figures that both have.

    :param predicted: for each partition, what was simulated for it.
    :param errors: for each fabric, see ``Pair``.
    """
    found: list[Pair] = []
    for case in measured:
        for other in predicted.get(case.partition, ()):
            if other.simulation and (case.check_class, case.parameters) == (other.check_class, other.parameters):
                fabric = other.simulation.fabric
                figures = (*_metrics(case, other), *_curves(case, other))
                found += [Pair(case, fabric, *figure, errors.get(fabric)) for figure in figures]
    return found


def _metrics(case: Case, other: Case) -> Iterator[tuple[str, str, str, float, float]]:
    there = {metric.name: metric for metric in other.metrics}
    for metric in case.metrics:
        same = there.get(metric.name)
        if same and same.unit == metric.unit and _positive(metric.value) and _positive(same.value):
            yield metric.name, "", metric.unit, metric.value or 0, same.value or 0


def _curves(case: Case, other: Case) -> Iterator[tuple[str, str, str, float, float]]:
    for name, curve in case.curves.items():
        same = other.curves.get(name)
        if same and _axes(same) == _axes(curve):
            there = dict(same.points)
            for x, value in curve.points:
                if f"{x:.17g}" in curve.gated:
                    continue  # the metric says it
                if _positive(value) and _positive(there.get(x)):
                    yield name, f"at {x:g} {curve.x_unit}".rstrip(), curve.y_unit, value, there[x]


def _axes(curve: Curve) -> tuple[str, ...]:
    return curve.x, curve.x_unit, curve.y, curve.y_unit


def _positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0
