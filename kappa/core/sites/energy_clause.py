"""The block ``energy`` of a clause: its figure is the energy of a case's job, in J per result."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

#: The ``metric`` of a selector for which the whole job is one result.
RUN = "run"
PER = "J/"
_TIMES = ("ns", "us", "ms", "s", "min", "h")
_Aspect = Annotated[Literal[1, 2, 3], Meta(description="a level of 1 to 3")]


class MeasurementLevel(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The level that each aspect of the measurement reaches by the method of the EE HPC WG, as the parties declare it.

    ``granularity``: of the samples in time, and their span. ``fraction``: of the machine. ``subsystems``: those
    measured besides the processors. ``meter``: its place and accuracy.
    """

    granularity: _Aspect
    fraction: _Aspect
    subsystems: _Aspect
    meter: _Aspect

    @property
    def lowest(self) -> int:
        return min(self.granularity, self.fraction, self.subsystems, self.meter)

    def __str__(self) -> str:
        aspects = ", ".join(f"{name} {level}" for name, level in asdict(self).items())
        return f"level {self.lowest}, the lowest of: {aspects}"


class Energy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``source``: Slurm's accounting, or the readings of processors (RAPL) or of meters (Redfish) in the campaign.

    Without ``level``, only processors are measured. ``gap_s``: the longest time between two readings.
    ``package_w``: no processor takes more, so that a counter of RAPL surely wraps at most once between two readings.
    """

    source: Literal["slurm", "rapl", "redfish"]
    level: MeasurementLevel | None = None
    gap_s: Annotated[float, Meta(gt=0, le=86_400, description="seconds above 0")] = 60.0
    package_w: Annotated[float, Meta(gt=0, le=100_000, description="watts above 0")] = 1000.0

    def __post_init__(self) -> None:
        if self.source == "rapl" and self.level:
            raise ValueError("RAPL measures processors only: expected no level")
        if self.source == "redfish" and not self.level:
            raise ValueError("expected the key level")

    @property
    def declared(self) -> str:
        return str(self.level) if self.level else "no level: processors only"


def unit_problem(metric: str, unit: str) -> str:
    """Return the reason why an energy for each ``metric`` cannot have the threshold's ``unit``; empty if it can."""
    if metric == RUN:
        return "" if unit == "J" else f"expected 'J' for each run, found {unit!r}"
    counted = unit.removeprefix(PER)
    if not unit.startswith(PER) or "/" in counted or counted in _TIMES:
        return f"expected 'J/UNIT', where {metric} counts results in UNIT and is no time and no rate, found {unit!r}"
    return ""
