"""Build the rows of the history: one for each session, run, case and metric."""

import datetime
import functools
import hashlib
import json
import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import PerNode
from kappa.core.record.metric import Metric
from kappa.core.record.model import SAME_ALLOCATION, Case, Session
from kappa.core.vocabulary.checks import worse_by_unit

_NAMES = ("mode", "purpose", "check_class", "family", "case", "parameters", "partition", "environ", "nodes")
_OUTCOME = ("verdict", "node_check", "kernel", "driver", "mpi", "sha256", "files", "suite_revision", "job_id")
#: Column -> its type in DuckDB.
SCHEMA = {
    "time": "TIMESTAMP WITH TIME ZONE",
    "session": "VARCHAR",
    "run": "INTEGER",
    **dict.fromkeys((*_NAMES, "metric", "unit"), "VARCHAR"),
    **dict.fromkeys(("value", "lower", "upper"), "DOUBLE"),
    **dict.fromkeys(_OUTCOME, "VARCHAR"),
    # Older months lack these columns.
    "informational": "BOOLEAN",
    "confirms": "VARCHAR",
    "of_node": "BOOLEAN",
    "content": "VARCHAR",
}
_METRIC = ("metric", "unit", "value", "lower", "upper", "informational", "of_node")
_DTYPES: dict[str, Any] = {"DOUBLE": float, "BOOLEAN": bool, "INTEGER": np.int32, "VARCHAR": object}
#: Facts that may explain a change, with their display names. ``files`` is a hash over the specs and libraries.
FACTS = {
    "kernel": "kernel",
    "driver": "driver",
    "mpi": "MPI",
    "sha256": "program",
    "files": "specs and libraries",
    "nodes": "node set",
    "suite_revision": "suite revision",
}
NODE_FAMILY = "node/"
# Axes and calendars cannot show the year 9999.
LAST_YEAR = 2200


class Table(NamedTuple):
    """Hold rows by column; ``cases`` has the columns that the rows of a case share, once per case."""

    cases: dict[str, NDArray[Any]]
    metrics: dict[str, NDArray[Any]]
    case_of: NDArray[np.intp]

    def column(self, name: str) -> NDArray[Any]:
        return self.metrics[name] if name in self.metrics else self.cases[name][self.case_of]

    def chosen(self, rows: NDArray[np.bool_]) -> "Table":
        return Table(self.cases, {name: column[rows] for name, column in self.metrics.items()}, self.case_of[rows])


class Rows:
    """Collect one row for each metric with a number, from several sessions."""

    def __init__(self) -> None:
        self._cases: list[dict[str, Any]] = []
        self._metrics: list[dict[str, Any]] = []
        self._case_of: list[int] = []

    def add(self, session: Session) -> None:
        """Add the rows of a session, all or none, without the sessions that re-measured its cases.

        :raises InputError: the session has no uuid or no time, so its rows cannot be identified.
        """
        if not session.uuid:
            raise InputError(f"{session.path}: session_info.uuid: expected the session's identifier, found none")
        common = {
            "time": _moment(session.time_start, session.path),
            "session": session.uuid,
            "content": session.sha256,
            "mode": session.mode or "",
            "purpose": session.purpose,
            "confirms": session.confirms,
        }
        cases = [case for run in session.runs for case in run]
        node_checks = [case for case in cases if case.check_class is not None and case.family.startswith(NODE_FAMILY)]
        for case in cases:
            if case.check_class is None:
                continue
            facts = {**common, "run": case.run, **_facts(case, node_checks)}
            alone = case.nodes_of_job > 1
            of_nodes = {node: _own_facts(node, case, node_checks) for node in case.nodes} if alone else None
            if case.first and case.first.metrics:
                failed = {**facts, "verdict": "fail"}
                self._case(failed, of_nodes, _metrics(case.first.metrics), case.first.per_node)
                facts |= {"purpose": SAME_ALLOCATION, "confirms": session.uuid}
            self._case(facts, of_nodes, _metrics(case.metrics), case.per_node)
            for node, figures in _of_nodes(case).items():
                self._measured({**facts, "nodes": node}, figures)

    def _case(
        self,
        facts: dict[str, Any],
        of_nodes: dict[str, dict[str, Any]] | None,
        metrics: list[dict[str, Any]],
        per_node: dict[str, PerNode],
    ) -> None:
        """Add the metrics of a case.

        If its nodes were measured alone, add each node like a case; ``of_nodes``: node -> its own facts.
        """
        if of_nodes is None:
            self._measured(facts, metrics)
            return
        for node, own in of_nodes.items():
            alone = [
                {**metric, "value": per_node[metric["metric"]].values[node]}
                for metric in metrics
                if metric["metric"] in per_node and node in per_node[metric["metric"]].values
            ]
            sound = all(metric["lower"] <= metric["value"] <= metric["upper"] for metric in alone)
            self._measured({**facts, **own, "verdict": "pass" if sound else "fail"}, alone)

    def _measured(self, facts: dict[str, Any], metrics: list[dict[str, Any]]) -> None:
        if metrics:
            self._case_of += [len(self._cases)] * len(metrics)
            self._cases.append(facts)
            self._metrics += metrics

    def table(self) -> Table:
        cases = {name: _column(self._cases, name) for name in SCHEMA if name not in _METRIC}
        return Table(cases, {name: _column(self._metrics, name) for name in _METRIC}, np.array(self._case_of, np.intp))


def _column(rows: list[dict[str, Any]], name: str) -> NDArray[Any]:
    values = [row[name] for row in rows]
    if SCHEMA[name] == "VARCHAR":  # Equal texts share memory, also in the process that gets them.
        same: dict[str, str] = {}
        values = [same.setdefault(text, text) for text in values]
    return np.array(values, _DTYPES.get(SCHEMA[name], "datetime64[us]"))


def _moment(text: str, source: str) -> np.datetime64:
    try:
        moment = datetime.datetime.strptime(text, "%Y%m%dT%H%M%S%z")
        if 1970 < moment.year < LAST_YEAR:
            return np.datetime64(int(moment.timestamp()), "s")
    except ValueError:
        pass
    raise InputError(
        f"{source}: session_info.time_start: expected a time like 20261121T054519+0000, found {one_line(text, 40)!r}"
    )


def _facts(case: Case, node_checks: list[Case]) -> dict[str, Any]:
    provenance = case.provenance
    return {
        "check_class": case.check_class,
        "family": case.family,
        "case": case.name,
        "parameters": case.name.partition(" ")[2],
        "partition": case.partition,
        "environ": case.environ,
        "nodes": ",".join(case.nodes),
        "verdict": case.result,
        "node_check": node_check_state(case.partition, case.nodes, node_checks),
        "job_id": case.job_id,
        "kernel": _short(provenance.kernel),
        "driver": _short(provenance.driver),
        "mpi": _short(provenance.mpi),
        "sha256": _short(provenance.sha256),
        "files": _files_hash(tuple(provenance.files.items())),
        "suite_revision": _short(provenance.suite_revision),
    }


def _own_facts(node: str, case: Case, node_checks: list[Case]) -> dict[str, Any]:
    return {"nodes": node, "node_check": node_check_state(case.partition, (node,), node_checks)}


def _metrics(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    found = []
    for metric in metrics:
        if metric.value is not None:
            lower, upper = metric.bounds
            gated = {"lower": lower, "upper": upper, "informational": metric.informational, "of_node": False}
            found.append({"metric": metric.name, "unit": metric.unit, "value": metric.value, **gated})
    return found


def _of_nodes(case: Case) -> dict[str, list[dict[str, Any]]]:
    """Return node -> its values in a check that compares nodes, for metrics with a known worse direction.

    The family of node checks is left out, because its values are no speeds.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    left_out = case.family.startswith(NODE_FAMILY) or (case.nodes_of_job > 1 and case.metrics)
    for name, figures in case.per_node.items() if not left_out else ():
        if worse_by_unit(figures.unit):
            common = {"metric": name, "unit": figures.unit, "lower": -math.inf, "upper": math.inf}
            for node, value in figures.values.items():
                found.setdefault(node, []).append({**common, "value": value, "informational": True, "of_node": True})
    return found


@functools.lru_cache(256)  # most cases of most nights have the same facts
def _short(text: str) -> str:
    return one_line(text, 200)


@functools.lru_cache(64)  # most cases use the same files
def _files_hash(files: tuple[tuple[str, str], ...]) -> str:
    """Return one hash over names and contents of the files, whatever their folder; empty without files."""
    contents = sorted((path.rpartition("/")[2], digest) for path, digest in files)
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest() if contents else ""


def node_check_state(partition: str, nodes: Collection[str], node_checks: list[Case]) -> str:
    """Return ``failed`` if a node check of the same session points at one of ``nodes``, else ``passed`` or ``none``.

    A node may be in several partitions. A failed node check that names no node counts for all nodes of its partition.
    """
    for check in node_checks:
        if check.result in {"fail", "abort"}:
            blamed = set(check.suspects)
            if not blamed.isdisjoint(nodes) or (not blamed and check.partition == partition):
                return "failed"
    return "passed" if any(check.partition == partition for check in node_checks) else "none"
