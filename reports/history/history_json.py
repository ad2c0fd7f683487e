"""The findings for machines: strict JSON, every number finite or null."""

import datetime
import math
from collections.abc import Sequence
from typing import Any

from reports.history.gate import Judged, exit_status


def to_document(site: str, judged: Sequence[Judged]) -> dict[str, Any]:
    """Every series with what was found in it, worst first. Values are in the series' ``unit``, times in UTC."""
    return {"site": site, "exit_status": exit_status(judged), "series": [_series(one) for one in judged]}


def _series(one: Judged) -> dict[str, Any]:
    series, finding = one.series, one.finding
    since = series.times[min(finding.at, len(series.times) - 1)] if finding.changed else None
    return {
        "case": series.case,
        "check_class": series.check_class,
        "metric": series.metric,
        "partition": series.partition,
        "environ": series.environ,
        "nodes": series.nodes.split(",") if series.nodes else [],
        "unit": series.unit,
        "values": len(series.values),
        "finding": finding.kind.value,
        "worse": one.worse,
        "since": datetime.datetime.fromtimestamp(since, datetime.UTC).isoformat() if since is not None else None,
        "before": _number(finding.before),
        "after": _number(finding.after),
        "relative_change": _number(finding.change),
        "z": _number(finding.z),
        "changed_then": list(one.changes),
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
