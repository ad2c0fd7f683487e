"""The state of the nights for node_exporter's textfile collector, in Prometheus' text format."""

import math
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reports.history.dataset import MetricSeries
from reports.history.judgement import JudgedSeries
from reports.nightly.archive import Archive
from reports.verdict.state import State

_SERIES = ("site", "check", "metric", "unit", "partition", "environ", "node")
# Unlike exit statuses, so that an alert can ask for more than a number.
_VERDICTS = (State.PASS, State.INCOMPLETE, State.FAIL)
# Every state of a case, present with 0, too: a series that is not there is not 0.
STATES = (*(state.word for state in State), "unstable")


def prometheus(site: str, archive: Archive, findings: list[JudgedSeries]) -> str:
    """The newest night's verdict, counts, suspects and figures; when each node was covered last."""
    registry = CollectorRegistry()

    def gauge(name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"kappa_{name}", what, ("site", *labels), registry=registry)

    night = archive.nights[-1]
    gauge("night_verdict", "Verdict of the newest night, the worst highest: 0 PASS, 1 INCOMPLETE, 2 FAIL").labels(
        site
    ).set(_VERDICTS.index(night.state))
    gauge("night_start_timestamp_seconds", "When the newest night started").labels(site).set(night.started)
    if night.ended is not None:
        gauge("night_duration_seconds", "How long the newest night took").labels(site).set(night.ended - night.started)
    cases = gauge("night_cases", "Cases of the newest night by state", "state")
    for state in STATES:
        cases.labels(site, state).set(night.counts.get(state, 0))
    gauge("night_gaps", "Kinds of things missing for a verdict").labels(site).set(len(night.gaps))
    suspect = gauge("node_suspect", "Findings against a node in the newest night", "node")
    covered = gauge("node_covered_timestamp_seconds", "When a node was measured on its own last, 0 never", "node")
    for node in archive.nodes:
        suspect.labels(site, node).set(0)
    for node in archive.nodes_with_turns:
        covered.labels(site, node).set(archive.last_covered.get(node, 0))
    for node, evidence in night.suspects.items():
        suspect.labels(site, node).set(len(evidence))
    gauge("history_worse_series", "Series that are worse than before").labels(site).set(
        sum(one.worse for one in findings)
    )
    value = Gauge("kappa_value", "Newest value of a series", _SERIES, registry=registry)
    bound = Gauge("kappa_bound", "What the value may be", (*_SERIES, "side"), registry=registry)
    for labels, series in _newest(
        site, (one.series for one in findings if one.series.rows[-1].partition(":")[0] in night.sessions)
    ):
        value.labels(*labels).set(float(series.values[-1]))
        for side, at in (("lower", series.lower), ("upper", series.upper)):
            if math.isfinite(at):
                bound.labels(*labels, side).set(at)
    return generate_latest(registry).decode()


def _newest(site: str, found: Iterable[MetricSeries]) -> Iterator[tuple[tuple[str, ...], MetricSeries]]:
    """The series by their labels; of what ran on several sets of nodes, which are no label, the newest."""
    by_labels: dict[tuple[str, ...], MetricSeries] = {}
    for series in found:
        node = "" if "," in series.nodes else series.nodes
        labels = (site, series.case, series.metric, series.unit, series.partition, series.environ, node)
        if labels not in by_labels or series.times[-1] > by_labels[labels].times[-1]:
            by_labels[labels] = series
    return iter(by_labels.items())
