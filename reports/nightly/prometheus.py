"""Write the state of the nights in Prometheus' text format for node_exporter's textfile collector."""

import math
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reports.history.dataset import MetricSeries
from reports.history.judgement import JudgedSeries
from reports.nightly.alert import NO_LINKS, Links
from reports.nightly.archive import Archive
from reports.nightly.night_findings import findings_of_night
from reports.verdict.state import State

_SERIES = ("site", "check", "metric", "unit", "partition", "environ", "node")
# Sorted by severity, unlike exit statuses, so that an alert can compare with a number.
_VERDICTS = (State.PASS, State.INCOMPLETE, State.FAIL)
# Every state of a case is exported, also with 0, because a missing series is not 0.
STATES = (*(state.word for state in State), "unstable")


def prometheus(site: str, archive: Archive, findings: list[JudgedSeries], links: Links = NO_LINKS) -> str:
    """Return the newest night's verdict, counts, suspects and values, and the time of each node's last coverage."""
    registry = CollectorRegistry()

    def gauge(name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"kappa_{name}", what, ("site", *labels), registry=registry)

    night = archive.nights[-1]
    gauge("night_verdict", "Verdict of the newest night: 0 PASS, 1 INCOMPLETE, 2 FAIL").labels(
        site
    ).set(_VERDICTS.index(night.state))
    info = gauge("night_info", "The newest night, with the link to its report", "night", "verdict", "report")
    info.labels(site, night.night, night.state.word.upper(), links.report(night)).set(1)
    gauge("night_start_timestamp_seconds", "Start of the newest night").labels(site).set(night.started)
    if night.ended is not None:
        gauge("night_duration_seconds", "Duration of the newest night").labels(site).set(night.ended - night.started)
    cases = gauge("night_cases", "Cases of the newest night by state", "state")
    for state in STATES:
        cases.labels(site, state).set(night.counts.get(state, 0))
    gauge("night_gaps", "Reasons why the newest night is incomplete").labels(site).set(len(night.gaps))
    suspect = gauge("node_suspect", "Findings against a node in the newest night", "node")
    covered = gauge("node_covered_timestamp_seconds", "Last time that a node was measured alone, 0 for never", "node")
    for node in archive.nodes:
        suspect.labels(site, node).set(0)
    for node in archive.nodes_with_turns:
        covered.labels(site, node).set(archive.last_covered.get(node, 0))
    for node, evidence in night.suspects.items():
        suspect.labels(site, node).set(len(evidence))
    gauge("history_worse_series", "Series that are worse than before").labels(site).set(
        sum(one.worse for one in findings)
    )
    known = gauge("finding_acknowledged", "A finding of the newest night: 1 acknowledged, 0 not", "kind", "finding")
    for one in findings_of_night(night, findings):
        known.labels(site, one.finding.kind, one.finding.name).set(archive.acknowledged.of(one.finding) is not None)
    value = Gauge("kappa_value", "Newest value of a series", _SERIES, registry=registry)
    bound = Gauge("kappa_bound", "Bound of the value", (*_SERIES, "side"), registry=registry)
    for labels, series in _newest(
        site, (one.series for one in findings if one.series.rows[-1].partition(":")[0] in night.sessions)
    ):
        value.labels(*labels).set(float(series.values[-1]))
        for side, at in (("lower", series.lower), ("upper", series.upper)):
            if math.isfinite(at):
                bound.labels(*labels, side).set(at)
    return generate_latest(registry).decode()


def _newest(site: str, found: Iterable[MetricSeries]) -> Iterator[tuple[tuple[str, ...], MetricSeries]]:
    """Return the series by their labels.

    Several nodes are no label. So for series on several sets of nodes, return the newest.
    """
    by_labels: dict[tuple[str, ...], MetricSeries] = {}
    for series in found:
        node = "" if "," in series.nodes else series.nodes
        labels = (site, series.case, series.metric, series.unit, series.partition, series.environ, node)
        if labels not in by_labels or series.times[-1] > by_labels[labels].times[-1]:
            by_labels[labels] = series
    return iter(by_labels.items())
