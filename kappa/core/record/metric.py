"""One metric of a case, in the shape that every reader of a record uses."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kappa.core.ground.clean_text import one_line
from kappa.core.record.evidence import Figure, ReferenceSource


# Without garbage collection: it has no cycles, and a large run has tens of thousands.
class Metric(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A measured value with its reference.

    ``value`` is ``None`` if none was measured. ``lower`` and ``upper`` are the bounds in the metric's unit, ``None``
    where unbounded. ``relative``: the bounds compare each node with the median of its equals in the same case.
    ``steady``: the load of other programs does not change it. ``informational``: it needs no reference.
    """

    name: str
    value: float | None = None
    unit: str = ""
    reference: float = 0.0
    lower: float | None = None
    upper: float | None = None
    informational: bool = False
    relative: bool = False
    steady: bool = False
    source: ReferenceSource | None = None
    result: str = ""
    """ReFrame's: pass, fail, xfail or xpass."""
    raw: str = ""
    """What was extracted, if it is no number."""
    problem: str = ""
    """Why the reference cannot be used."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower and the upper bound, infinite where unbounded."""
        return -math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper

    @property
    def bounded(self) -> bool:
        return self.lower is not None or self.upper is not None


def metric_of(name: str, figure: Figure, **facts: Any) -> Metric:
    """Return the metric of an entry of ReFrame's ``perfvalues``; ``facts`` are further fields."""
    reference, problem = figure.reference or 0.0, ""
    lower, upper = -math.inf, math.inf
    if not math.isfinite(reference):
        problem = f"the reference is {reference}"
    else:
        try:
            lower, upper = absolute_bounds(reference, figure.lower, figure.upper)
        except ValueError as err:
            problem = str(err)
    # A check that has just run may have a whole number.
    value = figure.value
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Metric(
        name=name,
        value=number,
        unit=figure.unit or "",
        reference=reference,
        lower=lower if math.isfinite(lower) else None,
        upper=upper if math.isfinite(upper) else None,
        result=figure.result or "",
        raw="" if value is None or number is not None else one_line(str(value), 40),
        problem=problem,
        **facts,
    )


def with_reference(metric: Metric, entry: Sequence[Any] | None, source: ReferenceSource | None) -> Metric:
    """Return the metric with another reference.

    :param entry: ``[value, lower, upper, unit]``, as in a reference file; ``None`` for no reference.
    """
    reference, lower, upper = entry[:3] if entry else (None, None, None)
    bounds = metric_of(metric.name, Figure(None, reference, lower, upper, metric.unit))
    return replace(
        metric,
        reference=bounds.reference,
        lower=bounds.lower,
        upper=bounds.upper,
        problem=bounds.problem,
        source=source,
    )


def figures_of(perfvalues: Mapping[str, Figure | Sequence[Any]] | None) -> dict[str, Figure]:
    """Return each metric's figure, from ReFrame's ``perfvalues`` of a report or of a check that has just run.

    A key of ``perfvalues`` is ``SYSTEM:PARTITION:METRIC``.
    """
    return {
        key.rpartition(":")[2]: entry if isinstance(entry, Figure) else Figure(*entry)
        for key, entry in (perfvalues or {}).items()
    }


def absolute_bounds(
    reference: float, lower_fraction: float | None, upper_fraction: float | None
) -> tuple[float, float]:
    """Return the lower and upper bound in the metric's unit, infinite where unbounded.

    The rule is the one of ReFrame's ``assert_reference``: reference × (1 + fraction); for a negative reference
    × (1 - fraction); for a reference of 0 the fraction itself.

    :raises ValueError: a fraction is not a number, has the wrong sign, or moves the bound past 0.
    """
    lowest = -1.0 if reference > 0 else -math.inf
    highest = math.inf if reference >= 0 else 1.0
    if lower_fraction is not None and not lowest <= lower_fraction <= 0:
        raise ValueError(f"invalid low threshold value: {lower_fraction}")
    if upper_fraction is not None and not 0 <= upper_fraction <= highest:
        raise ValueError(f"invalid high threshold value: {upper_fraction}")
    lower = -math.inf if lower_fraction is None else _bound(reference, lower_fraction)
    upper = math.inf if upper_fraction is None else _bound(reference, upper_fraction)
    return lower, upper


def _bound(reference: float, fraction: float) -> float:
    if reference == 0:
        return float(fraction)
    return float(reference * (1 + math.copysign(1, reference) * fraction))
