"""Read ReFrame's JSON report: find it and its raw output, check its structure, clean every string."""

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from kappa.core.ground.clean_text import clean, is_clean_json
from kappa.core.ground.documents import MOST_DIGITS, fit, json_text, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.redaction import redacted
from kappa.core.record.evidence import Measurement
from kappa.core.record.model import (
    KAPPA_FIELDS,
    SAME_ALLOCATION,
    Case,
    RecordedCase,
    Report,
    Session,
    SessionInfo,
    added_parameters,
    own_parameters,
    pinned_node,
)
from kappa.core.record.record import CONFIRMATIONS, Record, kept_session, record_of, write_record

# ReFrame's folders: the first for failed and running cases, the second for passed ones.
STAGE, OUTPUT = "stage", "output"
# Folder beside the output of a re-measurement in the same allocation: the output of the first measurement.
FIRST_FOLDER = "first_measurement"
# Folder beside STAGE and OUTPUT, not deleted with them: figures of pairs that are too many for the report.
MATRICES = "matrices"
# ReFrame's own output.
PRINTED = "reframe.out"
# The page beside a report with links to its raw output.
PAGE = "report.html"
T = TypeVar("T")
PATTERNS = ("run-report*.json", "report*.json")
RUN_REPORT = "run-report.json"
# Ten times the largest report of a cluster of a thousand nodes.
MAX_REPORT_BYTES = 512 * 2**20
# With these digits replaced, a search for an extreme number is a search for a fixed text, which is many times faster.
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_EXPONENT = re.compile(rb"0e[+-]?000+[\s,\]}]")
# ReFrame's value for a variable that was never set.
_UNDEFINED = "<undefined>"


def raw_folder(report: pathlib.Path) -> pathlib.Path:
    """Return the folder with ``STAGE``, ``OUTPUT`` and ``PRINTED`` of this report's session.

    Several sessions may confirm one run, so each confirmation has its own folder.
    """
    return report.with_suffix("") if report.parent.name == CONFIRMATIONS else report.parent


def raw_output_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield every folder ``STAGE`` or ``OUTPUT`` of the sessions whose reports are below ``folder``."""
    for place, names, _ in os.walk(folder):
        raw = [name for name in names if name in (STAGE, OUTPUT)]
        names[:] = [name for name in names if name not in raw]
        yield from (pathlib.Path(place, name) for name in raw)


def as_it_lies(folder: str | None, prefix: str, kept: pathlib.Path) -> str | None:
    """Return the present place of a case's ``folder``, which was below its session's ``prefix``, below ``kept``.

    Return ``folder`` itself if ``kept`` has no such folder: a case without its own folder stays where it ran.
    """
    recorded = pathlib.PurePath(folder or "")
    if not folder or not prefix or not recorded.is_relative_to(prefix):
        return folder
    now = kept / recorded.relative_to(prefix)
    return str(now) if now.is_dir() else folder


def find_report(run: pathlib.Path) -> pathlib.Path:
    """Return the report file ``run``, or the newest report in the folder ``run``.

    :raises InputError: there is none.
    """
    if not run.is_dir():
        return run
    found = {path for pattern in PATTERNS for path in run.glob(pattern) if path.is_file()}
    if not found:
        raise InputError(f"{run}: no {' or '.join(PATTERNS)} in this folder")
    return max(found, key=lambda path: (path.stat().st_mtime, path.name))


def load_session(run: pathlib.Path) -> Session:
    """Read the record beside the report at ``run``, a file or a folder of reports, or else the report.

    :raises InputError: there is no report, it is not valid JSON, or it does not have the structure of a ReFrame
        report; names the file and the key.
    """
    path = find_report(run)
    return _recorded(path) or session_of(path)


def keep_record(report: pathlib.Path) -> None:
    """Write the record of a run that has ended.

    :raises InputError: as ``load_session``, or the record cannot be written.
    """
    write_record(report, session_of(report))


def _recorded(report: pathlib.Path) -> Session | None:
    path = record_of(report)
    # Only one report of a folder has the record: several lie beside each other where ReFrame wrote them alone.
    if report.name != RUN_REPORT or not path.is_file():
        return None
    source = clean(str(path))
    text = read(path, source)
    record = decoded(text, Record) or fit(parse_json(text, source), Record, source)
    return kept_session(report, record)


def session_of(path: pathlib.Path) -> Session:
    """Return the session of a report, with the sessions that re-measured its cases.

    :raises InputError: as ``load_session``.
    """
    session = _session(path)
    folder = path.parent / CONFIRMATIONS
    again = [_session(file) for file in sorted(folder.glob("*.json"))] if session.uuid else []
    return replace(session, again=tuple(other for other in again if other.confirms == session.uuid))


def _session(path: pathlib.Path) -> Session:
    source = clean(str(path))
    text = read(path, source)
    report = decoded(text, Report) or fit(parse_report(text, source), Report, source)
    info = report.session_info
    raw = raw_folder(path)
    runs = tuple(
        tuple(_case(entry, number, info, raw) for entry in run.testcases) for number, run in enumerate(report.runs)
    )
    fields = asdict(info) | {"command_line": redacted(info.command_line)}
    return Session(**fields, path=source, restored_cases=len(report.restored_cases), runs=runs)


def read(path: pathlib.Path, source: str) -> str:
    """Return the text of the report at ``path``, which messages call ``source``.

    :raises InputError: the file is not readable, is too large or is not UTF-8.
    """
    return json_text(path, source, MAX_REPORT_BYTES)


def decoded(text: str, kind: type[T]) -> T | None:
    """Return a report's text as ``kind`` if nothing needs to be cleaned, left out or made infinite, else ``None``.

    If a key occurs twice, the last one counts. This is ten times faster than ``fit(parse_report(text))``, which names
    the value that does not fit.
    """
    if not is_clean_json(text) or _UNDEFINED in text or _has_extremes(text):
        return None
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        return msgspec.json.decode(text, type=kind)
    return None


def _has_extremes(text: str) -> bool:
    """Return whether a number may have more digits than ``MOST_DIGITS``, or an exponent of three digits."""
    alike = text.encode().translate(_DIGITS)
    return b"0" * MOST_DIGITS in alike or _EXPONENT.search(alike) is not None


def parse_report(text: str, source: str) -> Any:
    """Return the document in a report's text, with every string clean, and without values that were never set.

    :raises InputError: the text is not valid JSON.
    """
    document = parse_json(text, source)
    if isinstance(document, dict):
        for info in _dicts([document.get("session_info")]):
            _leave_out_unset(info)
    for case in cases_of(document):
        _leave_out_unset(case)
        # Other checks than Kappa's may use the names of Kappa's variables with another meaning.
        for key in () if "check_class" in case else KAPPA_FIELDS & case.keys():
            del case[key]
    return document


def _leave_out_unset(entry: dict[str, Any]) -> None:
    for key in [key for key, value in entry.items() if value in (None, _UNDEFINED, {})]:
        del entry[key]


def cases_of(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the test cases of a document whose structure is not checked yet."""
    for run in _dicts(document.get("runs") if isinstance(document, dict) else None):
        yield from _dicts(run.get("testcases"))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _matrix_folders(info: SessionInfo, raw: pathlib.Path) -> tuple[str, ...]:
    """Return the folders for matrices: beside the report, or beside the session's raw output.

    The two differ if ReFrame was started without Kappa and wrote its report elsewhere.
    """
    written = [pathlib.Path(info.prefix_output).parent] if info.prefix_output else []
    return tuple(str(folder / MATRICES) for folder in (raw, *written))


def _case(entry: RecordedCase, run: int, info: SessionInfo, raw: pathlib.Path) -> Case:
    foreign = KAPPA_FIELDS if entry.check_class is None else ()
    fields = {name: value for name, value in asdict(entry).items() if name not in foreign and value is not None}
    fields |= {
        "parameters": fields.get("parameters") or own_parameters(entry.name),
        "stagedir": as_it_lies(entry.stagedir, info.prefix_stage, raw / STAGE),
        "outputdir": as_it_lies(entry.outputdir, info.prefix_output, raw / OUTPUT),
    }
    case = Case(
        **fields,
        run=run,
        purpose=info.purpose,
        # A comma separates ReFrame's session extras.
        asked_nodes=tuple(filter(None, info.nodes.split(":"))),
        matrix_folders=_matrix_folders(info, raw),
        pinned=pinned_node(added_parameters(entry.display_name)),
    )
    if case.first_measurement.perfvalues is None:
        return case
    # The case as if its job had not re-measured, which it did because of out-of-bounds figures or an odd node.
    failed = any(figure.failed for figure in case.first_measurement.perfvalues.values())
    first = replace(case, **asdict(case.first_measurement), first_measurement=Measurement(), scaling=None,
                    result="fail" if failed else "pass", fail_phase="performance" if failed else "", fail_reason="",
                    stagedir=case.folder and str(pathlib.PurePath(case.folder, FIRST_FOLDER)))  # fmt: skip
    return replace(case, first=first, purpose=case.purpose or SAME_ALLOCATION)
