"""Read the values of a run and of earlier runs, and estimate how much a value changed.

Changes are logarithms, so half and double are equally far from 1.
"""

import datetime
import functools
import math
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, figure, moment
from kappa.core.record.load import load_session
from kappa.core.record.model import Case, Session
from reports.verdict.metric_verdict import worse_sign

# Facts that may differ between runs, with their display names.
_FACTS = {"mpi": "MPI", "kernel": "kernel", "driver": "driver", "suite_revision": "suite revision"}
CONFIDENCE = 0.95
# The least standard deviation: a few runs may be equal by chance.
LEAST_DEVIATION = 0.005
# The least number of nodes that both runs measured, for a comparison node by node.
LEAST_PAIRS = 3
# The most earlier runs and bytes to read, so that a page does not wait for a year of reports.
RUNS, BYTES = 8, 64 << 20
_FOLDERS = ("runs", "nights")


@dataclass(frozen=True)
class MetricKey:
    """Identify a metric of a case; ``name`` is the case's name with its parameters."""

    name: str
    partition: str
    environ: str
    metric: str
    unit: str


@dataclass(frozen=True)
class NodesValue:
    """Hold a value with the nodes that it was measured on."""

    nodes: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class RunFigures:
    """Hold the values of one run.

    ``samples``: metric -> its values, in the report's order. ``worse``: +1 if higher is worse, -1 if lower is worse, 0
    if unknown. ``facts``: name -> the values that the run's cases recorded. ``started``: seconds since 1970.
    """

    source: str
    site: str
    mode: str
    time: str
    started: float
    samples: dict[MetricKey, list[NodesValue]]
    worse: dict[MetricKey, int]
    facts: dict[str, tuple[str, ...]]

    @property
    def title(self) -> str:
        mode = f"mode {self.mode}" if self.mode else ""
        return ", ".join(part for part in (self.site, mode, moment(self.time)) if part)


def figures_of(run: pathlib.Path) -> RunFigures:
    """Read the values of the report ``run``, or of the newest report in that folder.

    :raises InputError: there is no report, or the file is not a report.
    """
    return figures_in(load_session(run))


def figures_in(session: Session) -> RunFigures:
    """Return the values of a session, without the sessions that re-measured its cases."""
    cases = [case for run in session.runs for case in run if case.check_class is not None]
    samples, worse = _samples(cases)
    return RunFigures(
        source=session.path,
        site=", ".join(sorted({case.system for case in cases})),
        mode=session.mode or "",
        time=session.time_start,
        started=started(session),
        samples=samples,
        worse=worse,
        facts=_facts(cases),
    )


def started(session: Session) -> float:
    """Return the start in seconds since 1970; 0 if the record lacks it."""
    try:
        return datetime.datetime.strptime(session.time_start, "%Y%m%dT%H%M%S%z").timestamp()
    except ValueError:
        return 0.0


def _samples(cases: Iterable[Case]) -> tuple[dict[MetricKey, list[NodesValue]], dict[MetricKey, int]]:
    samples: dict[MetricKey, list[NodesValue]] = {}
    worse: dict[MetricKey, int] = {}
    for case in cases:
        for one in case.metrics:
            if one.value is not None:
                place = MetricKey(case.name, case.partition, case.environ, one.name, one.unit)
                samples.setdefault(place, []).append(NodesValue(case.nodes, one.value))
                if not one.problem:
                    worse[place] = worse_sign(*one.bounds, one.unit)
    return samples, worse


def _facts(cases: Iterable[Case]) -> dict[str, tuple[str, ...]]:
    known = list(cases)
    found = {
        name: sorted({one_line(getattr(case.provenance, field), 120) for case in known} - {""})
        for field, name in _FACTS.items()
    }
    found["environment"] = sorted({case.environ for case in known} - {""})
    found["partition"] = sorted({case.partition for case in known} - {""})
    return {name: tuple(values) for name, values in found.items()}


@dataclass(frozen=True)
class Noise:
    """Hold the noise of a metric between earlier runs: standard deviation of its logarithm, degrees of freedom."""

    deviation: float
    freedom: int


@dataclass(frozen=True)
class RelativeChange:
    """Hold a change as a share: 0.1 is ten per cent more than before.

    ``error``: the standard error of its logarithm, with ``freedom`` degrees of freedom; ``None`` if the variation is
    unknown.
    """

    share: float
    error: float | None = None
    freedom: float = math.inf

    @functools.cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval; ``None`` if the variation is unknown."""
        if self.error is None:
            return None
        from scipy import special  # noqa: PLC0415 (it takes long to load, and most changes are small)

        step = math.log1p(self.share)
        reach = float(special.stdtrit(self.freedom, (1 + CONFIDENCE) / 2)) * self.error
        return math.expm1(step - reach), math.expm1(step + reach)

    def exceeds(self, level: float) -> bool:
        """Return whether noise alone gives a change as large with a probability below ``level``."""
        if self.error is None:
            return False
        step = abs(math.log1p(self.share))
        # Student's t is never less likely than a normal value to lie so far out.
        if step <= statistics.NormalDist().inv_cdf(1 - level / 2) * self.error:
            return False
        from scipy import special  # noqa: PLC0415

        return not self.error or 2 * float(special.stdtr(self.freedom, -step / self.error)) < level


def noise_of(values: Sequence[float]) -> Noise | None:
    """Estimate the noise from one value of each run; ``None`` with fewer than three."""
    if len(values) < 3 or min(values) <= 0:
        return None
    return Noise(max(statistics.stdev(map(math.log, values)), LEAST_DEVIATION), len(values) - 1)


def change(
    before: Sequence[NodesValue], after: Sequence[NodesValue], noise: Noise | None = None
) -> RelativeChange | None:
    """Estimate the change from ``before`` to ``after``; return ``None`` if a value is 0 or negative.

    The interval comes from the nodes that both runs measured, or else from several values on each side, or else from
    the ``noise`` between earlier runs.
    """
    if not before or not after or min(sample.value for sample in (*before, *after)) <= 0:
        return None
    pairs = _pairs(before, after)
    if len(pairs) >= LEAST_PAIRS:
        error = statistics.stdev(pairs) / math.sqrt(len(pairs))
        return RelativeChange(math.expm1(statistics.fmean(pairs)), error, len(pairs) - 1)
    one, other = ([math.log(sample.value) for sample in side] for side in (before, after))
    step = statistics.fmean(other) - statistics.fmean(one)
    if min(len(one), len(other)) >= 2:
        parts = statistics.variance(one) / len(one), statistics.variance(other) / len(other)
        freedom = _welch(parts, (len(one) - 1, len(other) - 1))
        return RelativeChange(math.expm1(step), math.sqrt(sum(parts)), freedom)
    if noise:
        error = noise.deviation * math.sqrt(1 / len(one) + 1 / len(other))
        return RelativeChange(math.expm1(step), error, noise.freedom)
    return RelativeChange(math.expm1(step))


def _pairs(before: Sequence[NodesValue], after: Sequence[NodesValue]) -> list[float]:
    """Return the logarithm of each node's ratio, for nodes that each side measured once and alone."""
    sides = [{sample.nodes: sample.value for sample in side if len(sample.nodes) == 1} for side in (before, after)]
    if any(len(values) < len(side) for values, side in zip(sides, (before, after), strict=True)):
        return []
    return [math.log(sides[1][node] / value) for node, value in sides[0].items() if node in sides[1]]


def _welch(parts: tuple[float, float], freedom: tuple[int, int]) -> float:
    """Return the degrees of freedom by Welch and Satterthwaite."""
    whole = sum(parts)
    return whole**2 / sum(part**2 / free for part, free in zip(parts, freedom, strict=True)) if whole else sum(freedom)


@dataclass(frozen=True)
class Past:
    """Hold earlier ``runs`` of the same site and mode, the newest first."""

    runs: tuple[RunFigures, ...]

    @property
    def last(self) -> RunFigures | None:
        return self.runs[0] if self.runs else None

    def noise(self, place: MetricKey) -> Noise | None:
        """Return the noise of a metric between runs, from the first value of each run."""
        return noise_of([run.samples[place][0].value for run in self.runs if place in run.samples])

    def before(self, place: MetricKey, now: list[NodesValue]) -> tuple[list[NodesValue], RelativeChange | None]:
        """Return the last run's values, of the same nodes if it has all of them, and the change since then."""
        found = _alike_values(self.last, place, now) if self.last else []
        return found, change(found, now, self.noise(place))

    def course(self, place: MetricKey, now: list[NodesValue]) -> list[float]:
        """Return the median of each run that measured ``place``, oldest first; the median of ``now`` comes last."""
        runs = [*(_alike_values(run, place, now) for run in reversed(self.runs)), now]
        return [statistics.median(sample.value for sample in samples) for samples in runs if samples]


def _alike_values(run: RunFigures, place: MetricKey, now: list[NodesValue]) -> list[NodesValue]:
    """The values of ``run``, those of the same nodes where it has them all."""
    found = run.samples.get(place, [])
    nodes = {sample.nodes for sample in now}
    same = [sample for sample in found if sample.nodes in nodes]
    return same if len(same) >= len(now) else found


NO_PAST = Past(())


def past_of(now: RunFigures) -> Past:
    """Read the runs before ``now``; skip an unreadable one, because it does not affect the verdict."""
    path = pathlib.Path(now.source).absolute()
    if path.parent.parent.name not in _FOLDERS:
        return NO_PAST
    return Past(tuple(_alike(now, _before(path))))


def _before(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield the reports of earlier folders beside the folder of ``path``; the folders are named by their time."""
    read = 0
    for folder in sorted(path.parent.parent.iterdir(), reverse=True):
        other = folder / path.name
        if folder.name < path.parent.name and other.is_file():
            read += other.stat().st_size
            yield other
            if read > BYTES:
                return


def _alike(now: RunFigures, paths: Iterator[pathlib.Path]) -> Iterator[RunFigures]:
    found = 0
    for path in paths:
        try:
            run = figures_of(path)
        except InputError:
            continue
        if (run.site, run.mode) == (now.site, now.mode) and run.started <= now.started:
            yield run
            found += 1
            if found == RUNS:
                return


def value_of(samples: tuple[NodesValue, ...] | list[NodesValue]) -> str:
    """Return the value, or the range of several values."""
    values = [sample.value for sample in samples]
    return " … ".join(dict.fromkeys((figure(min(values)), figure(max(values))))) if values else NOTHING
