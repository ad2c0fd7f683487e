"""The bar of a metric's headroom: logarithmic, with the bound at a fifth of it, and a hundred times that at its end."""

import math
from dataclasses import dataclass

from kappa.core.ground.figures import NOTHING, figure, figure_apart
from reports.verdict.headroom import headroom
from reports.verdict.loose import LOOSE
from reports.verdict.metric_verdict import MetricVerdict

BOUND_AT = 20.0
"""Where the bound is, in per cent of the bar's width."""
_DECADES = 2.0


@dataclass(frozen=True)
class Bar:
    """``start`` and ``width`` in per cent of the bar's whole width; none is drawn where ``width`` is ``None``."""

    text: str
    key: str = ""
    start: float = 0.0
    width: float | None = None
    mark: str = ""
    """``loose`` or ``relative``: what keeps the bound from proving much."""


def bar_of(verdict: MetricVerdict | None) -> Bar:
    """The bar of a metric; nothing for what has no headroom."""
    found = headroom(verdict) if verdict else None
    if verdict is None or found is None:
        return Bar(NOTHING)
    reach = math.log10(found) / _DECADES * (100 - BOUND_AT)
    end = min(max(BOUND_AT + reach, 0.0), 100.0)
    start, width = round(min(end, BOUND_AT), 1), round(abs(end - BOUND_AT), 1)
    mark = "relative" if verdict.relative else "loose" if found > LOOSE else ""
    return Bar(f"× {_short(found)}", repr(found), start, width, mark)


def _short(ratio: float) -> str:
    """With as many digits as tell it from 1."""
    short = figure(ratio, 2)
    return figure_apart(ratio, 1.0) if short == "1" and ratio != 1 else short
