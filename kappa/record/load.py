"""Reads ReFrame's JSON report into ``model``: finds it, checks its shape, cleans every string."""

import json
import pathlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kappa.ground.bounded_file import read_text
from kappa.ground.clean_text import clean, clean_object, one_line
from kappa.ground.errors import InputError
from kappa.ground.redaction import redacted
from kappa.record.added_parameters import added_parameters, hash_without_added, pinned_node
from kappa.record.model import (
    SAME_ALLOCATION,
    Case,
    Census,
    CensusCase,
    CensusCheck,
    CensusPartition,
    Curve,
    Finding,
    HeatMap,
    LoadByOthers,
    Matrix,
    Metric,
    PerNode,
    ReferenceSource,
    Scaling,
    Session,
)
from kappa.record.schema import (
    FINDING_KEYS,
    HEAT_MAP_TITLES,
    LOAD_KEYS,
    MEASURED,
    REPORT,
    SCALING_KEYS,
    VARIANT_KEYS,
    check,
)

PATTERNS = ("run-report*.json", "report*.json")
# Folder beside a report with the reports of what was measured again.
CONFIRMATIONS = "confirmations"
# The largest report of a cluster of a thousand nodes is a tenth of it.
MAX_REPORT_BYTES = 512 * 2**20
# What ReFrame writes for a variable that was never set.
UNDEFINED = "<undefined>"


def find_report(run: pathlib.Path) -> pathlib.Path:
    """The report file ``run``, or the newest report in the folder ``run``.

    :raises InputError: there is none.
    """
    if not run.is_dir():
        return run
    found = {path for pattern in PATTERNS for path in run.glob(pattern) if path.is_file()}
    if not found:
        raise InputError(f"{run}: no {' or '.join(PATTERNS)} in this folder")
    return max(found, key=lambda path: (path.stat().st_mtime, path.name))


def load_session(run: pathlib.Path) -> Session:
    """Read the report at ``run``, a file or a folder of reports.

    :raises InputError: there is no report, it is no valid JSON, or it has not the shape of a ReFrame report;
        names the file and the key.
    """
    path = find_report(run)
    session = _session(path)
    folder = path.parent / CONFIRMATIONS
    again = [_session(file) for file in sorted(folder.glob("*.json"))] if session.uuid else []
    return replace(session, again=tuple(other for other in again if other.confirms == session.uuid))


def _session(path: pathlib.Path) -> Session:
    source = clean(str(path))
    document = parse(read(path, source), source)
    check_shape(document, source)
    info = document["session_info"]
    purpose = info.get("purpose") or ""
    # A comma separates ReFrame's session extras.
    asked_nodes = tuple(filter(None, (info.get("nodes") or "").split(":")))
    return Session(
        path=source,
        uuid=info.get("uuid") or "",
        hostname=info.get("hostname") or "",
        user=info.get("user") or "",
        reframe_version=info.get("version") or "",
        time_start=info.get("time_start") or "",
        elapsed_s=info.get("time_elapsed"),
        command_line=redacted(info.get("cmdline") or ""),
        mode=info.get("mode"),
        purpose=purpose,
        confirms=info.get("confirms") or "",
        restored_cases=len(document.get("restored_cases", [])),
        runs=tuple(
            tuple(_case(entry, number, source, purpose, asked_nodes) for entry in run["testcases"])
            for number, run in enumerate(document["runs"])
        ),
    )


def read(path: pathlib.Path, source: str) -> str:
    """The text of the report at ``path``, which messages call ``source``.

    :raises InputError: it cannot be read, is too large or is no UTF-8.
    """
    try:
        return read_text(path, MAX_REPORT_BYTES)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise InputError(f"{source}: not valid JSON ({err.reason} at byte {err.start})") from err


def parse(text: str, source: str) -> Any:
    """What a report's text holds, with every string in it clean.

    :raises InputError: it is no valid JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=clean_object, parse_int=_integer)
    except json.JSONDecodeError as err:
        raise InputError(f"{source}: line {err.lineno}: not valid JSON ({err.msg}); is the report complete?") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{source}: not valid JSON ({one_line(clean(str(err)), 200)})") from err


def _integer(digits: str) -> float:
    """What exceeds a double becomes infinite, as with any other number."""
    return int(digits) if len(digits) < 300 else float(digits)


def check_shape(document: Any, source: str) -> None:
    """Hold a parsed report against its schema, without what ReFrame could not set, which is dropped in place.

    :raises InputError: names ``source`` and the key that does not fit.
    """
    for case in entries_of(document):
        for key in [key for key, value in case.items() if value == UNDEFINED]:
            del case[key]
    check(document, REPORT, source)


def entries_of(document: Any) -> Iterator[dict[str, Any]]:
    """The test cases of a document whose shape is not checked yet."""
    for run in _dicts(document.get("runs") if isinstance(document, dict) else None):
        yield from _dicts(run.get("testcases"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _case(entry: dict[str, Any], run: int, source: str, purpose: str, asked_nodes: tuple[str, ...]) -> Case:
    system, partition = entry["system"], entry["partition"] or ""
    job_id = entry.get("jobid")
    # ReFrame moves the output of what passed; what did not stays in the stage folder.
    folder = entry.get("outputdir") if entry["result"] == "pass" else entry.get("stagedir")
    stdout = entry.get("job_stdout")
    added = added_parameters(entry.get("display_name", ""))
    first = _first_measured(entry)
    return Case(
        name=entry["name"],
        system=system,
        partition=partition,
        environ=entry.get("environ") or "",
        result=entry["result"],
        fail_phase=entry.get("fail_phase") or "",
        fail_reason=entry.get("fail_reason") or "",
        error_type=str((entry.get("fail_info") or {}).get("exc_type", "")),
        run=run,
        nodes=_nodes(entry),
        job_id=None if job_id is None else str(job_id),
        hashcode=hash_without_added(entry["display_name"]) if added else entry.get("hashcode", ""),
        local=entry.get("local", False),
        added=added,
        pinned=pinned_node(added),
        output=str(pathlib.PurePath(folder, stdout)) if folder and stdout and job_id is not None else None,
        run_time_s=entry.get("time_run"),
        metrics=tuple(
            _metric(key, value, f"{system}:{partition}:") for key, value in (entry.get("perfvalues") or {}).items()
        ),
        first=_case(first, run, source, purpose, asked_nodes) if first else None,
        purpose=purpose or (SAME_ALLOCATION if first else ""),
        asked_nodes=asked_nodes,
        **(_evidence(entry, source) if "check_class" in entry else {}),
    )


def _first_measured(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The entry as it would be if its job had not measured again; without the output, which lies elsewhere."""
    first = entry.get("first_measurement") if "check_class" in entry else None
    if not first:
        return None
    own = {key: value for key, value in entry.items() if key not in (*MEASURED, "scaling", "first_measurement")}
    out_of_bounds = {"result": "fail", "fail_phase": "performance", "fail_reason": None, "job_stdout": None}
    return own | {key: first[key] for key in MEASURED if key in first} | out_of_bounds


def _nodes(entry: dict[str, Any]) -> tuple[str, ...]:
    """The job's nodes, as ReFrame had them from the scheduler and as the job itself recorded them."""
    recorded = entry.get("provenance", {}).get("nodelist", []) if "check_class" in entry else []
    return tuple(sorted({*(entry.get("job_nodelist") or ()), *recorded}))


def _evidence(entry: dict[str, Any], source: str) -> dict[str, Any]:
    """The fields of ``Case`` that only Kappa's checks fill."""
    census, scaling = entry.get("census"), entry.get("scaling")
    return {
        "check_class": entry["check_class"],
        "family": entry.get("family", ""),
        "variant": " ".join(entry[key] for key in VARIANT_KEYS if key in entry),
        "declared_metrics": tuple(entry.get("declared_metrics", ())),
        "informational": frozenset(entry.get("informational", ())),
        "reference_sources": {
            metric: ReferenceSource(source["source"], source["date"], source["samples"], source["method"])
            for metric, source in entry.get("reference_sources", {}).items()
        },
        "reference_problem": entry.get("reference_problem", ""),
        "reference_file": entry.get("reference_file", ""),
        "curves": tuple(_curve(name, curve) for name, curve in entry.get("curves", {}).items()),
        "per_node": tuple(
            PerNode(metric, figures["unit"], figures["values"]) for metric, figures in entry.get("per_node", {}).items()
        ),
        "heat_maps": tuple(
            HeatMap(name, **{key: found[key] for key in HEAT_MAP_TITLES}, points=tuple(map(tuple, found["points"])))
            for name, found in entry.get("heat_maps", {}).items()
        ),
        "matrices": tuple(
            _matrix(name, matrix, f"{source}: {entry['name']}: matrices.{name}")
            for name, matrix in entry.get("matrices", {}).items()
        ),
        "findings": tuple(
            Finding(**{**{key: finding[key] for key in FINDING_KEYS}, "nodes": tuple(finding["nodes"])})
            for finding in entry.get("findings", ())
        ),
        "scaling": Scaling(**{key: scaling[key] for key in SCALING_KEYS}) if scaling else None,
        "partition_size": entry.get("partition_size", 0),
        "suspects": tuple(entry.get("suspects", ())),
        "hint": entry.get("hint", ""),
        "load_by_others": tuple(
            LoadByOthers(place, **{key: taken[key] for key in LOAD_KEYS})
            for place, taken in entry.get("load_by_others", {}).items()
        ),
        "robbed": entry.get("robbed", ""),
        "provenance": entry.get("provenance", {}),
        "census": _census(census) if census else None,
    }


def _metric(key: str, entry: list[Any], prefix: str) -> Metric:
    value, reference, lower, upper, unit, *result = entry
    return Metric(
        name=key.removeprefix(prefix),
        value=_number(value),
        raw=one_line(str(value), 40),
        unit=unit or "",
        reference=reference or 0,
        lower_fraction=lower,
        upper_fraction=upper,
        result=(result[0] if result else None) or "",
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _curve(name: str, curve: dict[str, Any]) -> Curve:
    return Curve(
        name=name,
        x=curve["x"],
        x_unit=curve["x_unit"],
        y=curve["y"],
        y_unit=curve["y_unit"],
        points=tuple((x, y) for x, y in curve["points"]),
        gated=curve.get("gated", {}),
    )


def _matrix(name: str, matrix: dict[str, Any], where: str) -> Matrix:
    """
    :raises InputError: not a row of numbers or nulls for each node, as long as there are nodes.
    """
    rows, size = matrix["values"], len(matrix["nodes"])
    if len(rows) != size or any(not isinstance(row, list) or len(row) != size for row in rows):
        raise InputError(f"{where}.values: expected {size} lists of {size}, a row and a column for each node")
    values = tuple(tuple(None if value is None else _number(value) for value in row) for row in rows)
    odd = next((value for row, read in zip(rows, values, strict=True) for value, kept in zip(row, read, strict=True)
                if kept is None and value is not None), None)  # fmt: skip
    if odd is not None:
        raise InputError(f"{where}.values: expected numbers or nulls, found {clean(repr(odd))[:40]}")
    return Matrix(name, matrix["unit"], tuple(matrix["nodes"]), values)


def _census(census: dict[str, Any]) -> Census:
    return Census(
        suite_revision=census.get("suite_revision", ""),
        checks=tuple(
            CensusCheck(
                name=entry["name"],
                family=entry["family"],
                tags=frozenset(entry.get("tags", ())),
                offered=entry["offered"],
                missing=tuple(entry["missing"]),
                cases=tuple(map(_census_case, entry["cases"])) if "cases" in entry else None,
            )
            for entry in census["checks"]
        ),
        not_loaded=tuple((entry["file"], entry["problem"]) for entry in census["not_loaded"]),
        install=census.get("install", {}),
        partitions={
            name: CensusPartition(found["nodes"], found["sockets"], found["numa_domains"], frozenset(found["features"]))
            for name, found in census.get("partitions", {}).items()
        },
    )


def _census_case(entry: dict[str, Any]) -> CensusCase:
    places = (place.partition("+") for place in entry["places"])
    return CensusCase(
        entry["name"], tuple(entry["features"]), tuple((partition, environ) for partition, _, environ in places)
    )
