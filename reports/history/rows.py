"""Rows of the history: one for each session, run, case and metric."""

import datetime
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from reports.errors import InputError
from reports.metric_verdict import absolute_bounds
from reports.model import Case, Session
from reports.untrusted import one_line

_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("session", pa.string()),
        ("run", pa.int32()),
        *(
            (name, _TEXT)
            for name in ("mode", "purpose", "check_class", "family", "case", "parameters", "partition", "environ")
        ),
        *((name, _TEXT) for name in ("nodes", "metric", "unit")),
        ("value", pa.float64()),
        *((name, pa.float64()) for name in ("lower", "upper")),
        *((name, _TEXT) for name in ("verdict", "node_check", "kernel", "driver", "mpi", "sha256", "files")),
        ("suite_revision", _TEXT),
        ("job_id", pa.string()),
        # Months written before they came lack them.
        ("informational", pa.bool_()),
        ("confirms", _TEXT),
    ]
)
#: What may explain a change, with its name for people. ``files`` is a hash over the specs and libraries.
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


def rows_of(session: Session) -> list[dict[str, Any]]:
    """One row for each metric with a number.

    :raises InputError: the session has no uuid or no time; rows could not be told from those of another.
    """
    if not session.uuid:
        raise InputError(f"{session.path}: session_info.uuid: expected the session's identifier, found none")
    common = {
        "time": _moment(session),
        "session": session.uuid,
        "mode": session.mode or "",
        "purpose": session.purpose,
        "confirms": session.confirms,
    }
    cases = [case for run in session.runs for case in run]
    node_checks = [case for case in cases if case.family.startswith(NODE_FAMILY)]
    return [{**common, **row} for case in cases for row in _case_rows(case, node_checks)]


def _moment(session: Session) -> datetime.datetime:
    try:
        return datetime.datetime.strptime(session.time_start, "%Y%m%dT%H%M%S%z")
    except ValueError as err:
        raise InputError(
            f"{session.path}: session_info.time_start: expected a time like 20261121T054519+0000, "
            f"found {one_line(session.time_start, 40)!r}"
        ) from err


def _case_rows(case: Case, node_checks: list[Case]) -> Iterator[dict[str, Any]]:
    measured = [metric for metric in case.metrics if metric.value is not None]
    if not measured or case.check_class is None:
        return
    common = {
        "run": case.run,
        "check_class": case.check_class,
        "family": case.family,
        "case": case.name,
        "parameters": case.name.partition(" ")[2],
        "partition": case.partition,
        "environ": case.environ,
        "nodes": ",".join(case.nodes),
        "verdict": case.result,
        "node_check": node_check_state(case, node_checks),
        "job_id": case.job_id,
        "files": _files_hash(case.provenance.get("files", {})),
        **{key: _fact(case, key) for key in ("kernel", "driver", "mpi", "sha256", "suite_revision")},
    }
    for metric in measured:
        try:
            lower, upper = absolute_bounds(metric)
        except ValueError:
            lower, upper = -math.inf, math.inf
        yield {
            **common,
            "metric": metric.name,
            "unit": metric.unit,
            "value": metric.value,
            "lower": lower,
            "upper": upper,
            "informational": metric.name in case.informational,
        }


def _fact(case: Case, key: str) -> str:
    return one_line(str(case.provenance.get(key) or ""), 200)


def _files_hash(files: dict[str, str]) -> str:
    """One hash over the files' contents, whichever folder they lie in; empty without files."""
    contents = sorted((path.rpartition("/")[2], digest) for path, digest in files.items())
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest() if contents else ""


def node_check_state(case: Case, node_checks: list[Case]) -> str:
    """``failed`` when a node check of the same session points at a node of ``case``, else ``passed`` or ``none``.

    A node may be in several partitions. A failed node check that names no node counts for all nodes of its own.
    """
    for check in node_checks:
        if check.result in {"fail", "abort"}:
            blamed = set(check.suspects)
            if blamed & set(case.nodes) or (not blamed and check.partition == case.partition):
                return "failed"
    return "passed" if any(check.partition == case.partition for check in node_checks) else "none"
