"""A clause about one series of measurements: a statistic over repeats of one case, against a threshold.

::

    selector: {check: OsuLatency, partition: cpu, metric: latency_8B, parameters: {placement: two_nodes}}
    statistic: median                # minimum, maximum, {percentile: N}, {every_node: NUMBER OF NODES}
    comparison: at_most
    threshold: {value: 500, unit: us}
    repeats: 5
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field, structs

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.documents import Path, YamlFile
from kappa.core.ground.figures import counted
from kappa.core.ground.order_statistics import Interval, Statistic, interval_of, value_of
from kappa.core.record.metric import Metric
from kappa.core.record.model import Case
from kappa.core.record.series import CaseSeries
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.checks import CataloguedCheck, catalogue, families, uncatalogued
from reports.acceptance.campaign.folder import Attempt
from reports.acceptance.campaign.set_aside import set_aside
from reports.acceptance.kinds.clause import (
    Clause,
    ClauseEvidence,
    ClauseVerdict,
    MeasuredSeries,
    Planning,
    Sample,
)
from reports.acceptance.kinds.contract_head import Comparison, Line, Number, Unit
from reports.acceptance.kinds.pages import Section
from reports.acceptance.kinds.samples import crosses_threshold, samples_section
from reports.verdict.advice import used_by_others
from reports.verdict.case_verdict import executed


class Selector(Struct, frozen=True, forbid_unknown_fields=True):
    """The results that a clause is about; ``None`` matches any. ``parameters`` are parameters in a case's name."""

    metric: Line
    check: Line | None = None
    family: Line | None = None
    partition: Line | None = None
    environment: Line | None = None
    parameters: dict[Line, Line | int] = {}

    def __post_init__(self) -> None:
        if (self.check is None) == (self.family is None):
            raise ValueError("expected either check or family")

    def __str__(self) -> str:
        names = [self.check or self.family or "", *(f"{key}={value}" for key, value in self.parameters.items())]
        place = "+".join(part for part in (self.partition, self.environment) if part)
        return f"{self.metric} of {' '.join(names)}" + (f" on {place}" if place else "")

    def selects(self, case: Case) -> bool:
        """Return whether the selector selects ``case``, whatever the case measured."""
        return (
            self.check in (None, case.check_class)
            and self.family in (None, case.family)
            and self.partition in (None, case.partition)
            and self.environment in (None, case.environ)
            and {key: str(value) for key, value in self.parameters.items()}.items() <= case.parameters.items()
        )


class StatisticOf(Struct, frozen=True, forbid_unknown_fields=True):
    """A percentile over the repeats, or each of the given number of nodes in each repeat."""

    percentile: Annotated[float, Meta(gt=0, lt=100, description="a finite number between 0 and 100")] | None = None
    every_node: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None

    def __post_init__(self) -> None:
        if (self.percentile is None) == (self.every_node is None):
            raise ValueError("expected either percentile or every_node")


class Threshold(Struct, frozen=True, forbid_unknown_fields=True):
    value: Number
    unit: Unit


class Series(Clause, frozen=True, kw_only=True, tag="series"):
    """A clause about one series. A value outside the site's references counts: the contract's threshold decides."""

    selector: Selector
    stated_statistic: Annotated[
        Literal["median", "minimum", "maximum"] | StatisticOf,
        Meta(description="median, minimum, maximum, {percentile: NUMBER} or {every_node: NUMBER OF NODES}"),
    ] = field(name="statistic")
    comparison: Comparison
    bound: Threshold = field(name="threshold")
    repeats: Annotated[int, Meta(ge=1, le=1000)]

    @property
    def statistic(self) -> Statistic:
        stated = self.stated_statistic
        if isinstance(stated, str):
            return Statistic(stated)
        if stated.percentile is not None:
            return Statistic("percentile", percentile=stated.percentile)
        return Statistic("every_node", nodes=stated.every_node or 0)

    @property
    def threshold(self) -> float:
        return self.bound.value

    @property
    def unit(self) -> str:
        return self.bound.unit

    @property
    def check(self) -> str | None:
        return self.selector.check

    @property
    def evidence(self) -> str:
        return str(self.selector)

    def selects(self, case: Case) -> bool:
        return self.selector.selects(case)

    # The names in the contract.

    def check_names(self, file: YamlFile, here: Path, site: SiteDescription) -> None:
        at, selector = (*here, "selector"), self.selector
        of_key: dict[str, tuple[Iterable[str], str]] = {
            "check": ([*catalogue(), *uncatalogued()], "check"),
            "family": (families(), "family of checks"),
            "partition": (site.described.partitions, "partition of the site"),
            "environment": (site.environment_names, "environment of the site"),
        }
        known = [
            file.require_known((*at, key), name, legal, title)
            for key, (legal, title) in of_key.items()
            if (name := getattr(selector, key)) is not None
        ]
        if all(known):
            names = [selector.check] if selector.check else families()[selector.family or ""]
            if not uncatalogued().keys() & set(names):
                self._check_measured(file, here, [catalogue()[name] for name in names])

    def _check_measured(self, file: YamlFile, here: Path, checks: list[CataloguedCheck]) -> None:
        """Check that one of ``checks`` has the parameters of the clause, and that its metric has the clause's unit."""
        at = (*here, "selector")
        # A metric of each node has another name, which is known only after a measurement.
        if self.statistic.kind != "every_node":
            self.check_metric(file, here, checks)
        asked = {key: str(value) for key, value in self.selector.parameters.items()}
        for key, value in asked.items():
            place = (*at, "parameters", key)
            if file.require_known(place, key, [name for check in checks for name in check.parameters], "parameter"):
                file.require_known(place, value, [legal for check in checks for legal in check.values_of(key)], key)
        if not any(asked.items() <= case.parameters.items() for check in checks for case in check.cases):
            file.refuse((*at, "parameters"), "no case has all of these parameters")

    def check_metric(self, file: YamlFile, here: Path, checks: list[CataloguedCheck]) -> None:
        """Add a problem to ``file`` if no check has the metric in the clause's unit."""
        metric = self.selector.metric
        names = [name for check in checks for name in check.metrics]
        if file.require_known((*here, "selector", "metric"), metric, names, "metric"):
            units = {self.unit_of(check.metrics[metric]) for check in checks if metric in check.metrics}
            file.require_known((*here, "threshold", "unit"), self.unit, units, f"unit of {metric}")

    # Plan and measurement.

    def series(self, planning: Planning) -> Sequence[MeasuredSeries]:
        return (self,)

    def misfit(self, case: Case) -> str:
        # Checks do not declare values per node.
        if self.statistic.kind == "every_node" or self.selector.metric in case.declared_metrics:
            return ""
        declared = ", ".join(case.declared_metrics)
        return f"the check has no metric {self.selector.metric}; its metrics are {declared}"

    # The verdict.

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        matching = [
            (attempt, case)
            for attempt in evidence.attempts
            for case in attempt.cases
            if CaseSeries.of(case) == attempt.series and self.selects(case)
        ]
        series = sorted({attempt.series for attempt, _ in matching})
        samples: list[Sample] = []
        if len(series) == 1:
            samples, problems = self._samples(matching, evidence)
        elif series:
            problems = [f"the selector matches {len(series)} series instead of one: {', '.join(map(str, series))}"]
        else:
            problems = [evidence.campaign.unresolved().get(self.id) or "the selector matches no series of the run"]
        # Also of an attempt whose report was cut afterwards, so that it would count as interrupted.
        altered = evidence.chain.problems(one.folder for one in evidence.attempts if one.series in series)
        values = [sample.value for sample in samples]
        value = value_of(self.statistic, values, self.comparison == "at_least") if values else None
        interval = interval_of(self.statistic, values) if values else None
        remarks = [
            *self._remarks(evidence.attempts, matching, interval),
            *_disturbed(samples),
            *evidence.without_chain(samples),
        ]
        met = None if problems or altered or value is None else self.holds(value)
        return ClauseVerdict(self, met, value, interval, (*problems, *altered), tuple(remarks), tuple(samples))

    def _samples(
        self, matching: Sequence[tuple[Attempt, Case]], evidence: ClauseEvidence
    ) -> tuple[list[Sample], list[str]]:
        """Return the samples of the required repeats, from the last finished attempt at each, and the problems."""
        latest = {attempt.repeat: (attempt, case) for attempt, case in matching}
        samples, problems, sessions = [], [], set[str]()
        for repeat in range(1, self.repeats + 1):
            if repeat not in latest:
                problems.append(f"repeat {repeat} is not finished")
                continue
            attempt, case = latest[repeat]
            uuid = attempt.session.uuid if attempt.session else ""
            if uuid in sessions:
                problems.append(f"repeat {repeat} has the same session as another repeat")
                continue
            sessions.add(uuid)
            try:
                values, figures = self.values_of(case, evidence)
            except NoValueError as err:
                problems.append(f"repeat {repeat}: {err}")
                continue
            samples += [
                Sample(
                    value,
                    repeat,
                    (node,) if node else case.nodes,
                    case.job_id or "",
                    attempt.folder.name,
                    node,
                    _load(case, node),
                    figures=figures,
                )
                for node, value in values
            ]
        return samples, problems

    def values_of(self, case: Case, evidence: ClauseEvidence) -> tuple[list[tuple[str | None, float]], dict[str, Any]]:
        """Return the values of one repeat as (node, value), and further figures for ``verdict.json``.

        :raises NoValueError: the repeat does not count.
        """
        require_executed(case)
        if self.statistic.kind == "every_node":
            return self._values_of_nodes(case), {}
        return [(None, self.metric_of(case))], {}

    def metric_of(self, case: Case) -> float:
        """Return the value of the metric.

        :raises NoValueError: the case has no finite value in the unit of the clause.
        """
        name = self.selector.metric
        metric: Metric | None = next((metric for metric in case.metrics if metric.name == name), None)
        if metric is None:
            raise NoValueError(f"the check did not measure {name}")
        if metric.value is None or not math.isfinite(metric.value):
            raise NoValueError(f"{metric.name} is {metric.raw or metric.value}, not a finite number")
        self._require_unit(metric.unit)
        return metric.value

    def unit_of(self, unit: str) -> str:
        """Return the unit of the clause's figure, from the unit of the metric."""
        return unit

    def _require_unit(self, unit: str) -> None:
        if self.unit_of(unit) != self.unit:
            shown = repr(self.unit_of(unit)) if unit else "'no unit'"
            raise NoValueError(f"the unit is {shown}, but the threshold is in {self.unit!r}")

    def _values_of_nodes(self, case: Case) -> list[tuple[str | None, float]]:
        measured = case.per_node.get(self.selector.metric)
        if measured is None:
            raise NoValueError(f"the check has no {self.selector.metric} per node")
        self._require_unit(measured.unit)
        if len(measured.values) != self.statistic.nodes:
            nodes = counted(len(measured.values), "node")
            raise NoValueError(f"{nodes} measured instead of {self.statistic.nodes}")
        if not all(map(math.isfinite, measured.values.values())):
            raise NoValueError("the value of a node is not finite")
        return sorted(measured.values.items())

    def _remarks(
        self, attempts: Sequence[Attempt], matching: Sequence[tuple[Attempt, Case]], interval: Interval | None
    ) -> Iterator[str]:
        """Yield remarks for the parties that sign; they do not change the verdict."""
        series = {attempt.series for attempt, _ in matching}
        aside = set_aside([one for one in attempts if one.series in series and one.repeat <= self.repeats])
        if interrupted := sum(attempt.kind == "interrupted" for attempt in aside):
            yield f"{counted(interrupted, 'interrupted attempt')} repeated"
        if superseded := sum(attempt.kind == "superseded" for attempt in aside):
            yield f"{counted(superseded, 'finished attempt')} superseded by a later one"
        yield from (attempt.place for attempt in aside if attempt.doubtful)
        if crosses_threshold(self, interval):
            yield "the confidence interval crosses the threshold"
        for key, title in (("sha256", "program"), ("suite_revision", "revision of the suite")):
            if len({getattr(case.provenance, key) for _, case in matching}) > 1:
                yield f"not all repeats ran the same {title}"
        if not all(case.provenance for _, case in matching):
            yield "a repeat has no provenance"
        if any(one.relative for _, case in matching for one in case.metrics if one.name == self.selector.metric):
            yield "relative: the metric compares nodes with the median of their equals and proves no absolute speed"

    def doubts(self, verdict: ClauseVerdict) -> Iterator[str]:
        if crosses_threshold(self, verdict.interval):
            yield "the interval crosses the threshold"
        if disturbed := sum(bool(sample.load) for sample in verdict.samples):
            yield f"{disturbed} of {counted(len(verdict.samples), 'sample')} disturbed"

    def section(self, verdict: ClauseVerdict) -> Section:
        return samples_section(verdict)


class NoValueError(Exception):
    """A repeat does not count; the message says why."""


def require_executed(case: Case) -> None:
    """:raises NoValueError: no job ran, or the check failed before it measured."""
    if not executed(case):
        raise NoValueError("no job ran")
    # A value outside the site's references still counts, because the contract's threshold decides.
    if case.result not in ("pass", "xpass") and case.fail_phase != "performance":
        phase = case.fail_phase or "unknown"
        raise NoValueError(f"the check failed in phase {phase}: {one_line(case.fail_reason, 200)}")


def _load(case: Case, node: str | None) -> str:
    """Return the load of ``node``, or else the load of all nodes or of the machine that they share."""
    mine = {name: load for name, load in case.load_by_others.items() if name == node} or case.load_by_others
    return used_by_others(structs.replace(case, load_by_others=mine)) or case.robbed


def _disturbed(samples: Sequence[Sample]) -> list[str]:
    count = sum(bool(sample.load) for sample in samples)
    return [f"other processes used the nodes during {count} of {counted(len(samples), 'sample')}"] if count else []
