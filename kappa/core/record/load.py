"""Read and keep the record of a run: everything that was measured, in one file with a versioned schema.

``record.json`` lies beside ReFrame's report (docs/record.md). Kappa writes it when the run and its re-measurements
have ended. Where it is missing, as after a plain ``reframe -r``, the reports give the same record.
"""

import hashlib
import itertools
import json
import math
import os
import pathlib
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import MOST_DIGITS, fit, parse_json
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.model import Session
from kappa.core.record.reframe_report import decoded, read, session_of
from kappa.core.record.runs import CONFIRMATIONS, RECORD, RUN_REPORT, find_report

T = TypeVar("T")
#: Of ``record.json``. Another schema is of another version of Kappa, and the reports count.
SCHEMA = "kappa-record-1"
# Reads back as infinite: JSON has no infinity and no NaN, and no measured value has as many digits.
_NOT_FINITE = 10 ** (2 * MOST_DIGITS)
# The start of a path in the run's folder.
_HERE = "./"


class Record(Struct, frozen=True, kw_only=True):
    """Hold a session with the sessions that re-measured its cases.

    ``made_from``: each report, from the run's folder -> its size in bytes. Paths in the session that begin with ``./``
    lead from the run's folder, too.
    """

    schema: Literal["kappa-record-1"] = "kappa-record-1"
    made_from: dict[str, int]
    session: Session


def load_session(run: pathlib.Path) -> Session:
    """Read the record beside the report at ``run``, a file or a folder of reports, or else the report.

    :raises InputError: there is no report, it is not valid JSON, or it does not have the structure of a ReFrame
        report; names the file and the key.
    """
    report = find_report(run)
    return _recorded(report) or _from_reports(report)


def keep_record(report: pathlib.Path) -> Session:
    """Write the record of a run that has ended, and return its session.

    :raises InputError: as ``load_session``, or the record cannot be written.
    """
    session = _from_reports(report)
    here = report.parent.absolute()

    def inside(path: str) -> str:
        whole = pathlib.Path(path).absolute()
        return _HERE + os.path.relpath(whole, here) if whole.is_relative_to(here) else path

    # Not the session itself: the caller needs it with its own paths.
    kept = msgspec.convert(msgspec.to_builtins(session), Session)
    write_record(report.with_name(RECORD), Record(made_from=_sizes(report), session=_with_paths(kept, inside)))
    return session


def _recorded(report: pathlib.Path) -> Session | None:
    """Return the session of the record; ``None`` without one, or if the run has other reports than it was made from."""
    path = report.with_name(RECORD)
    # Only one report of a folder has the record: several lie beside each other where ReFrame wrote them alone.
    if report.name != RUN_REPORT or not path.is_file():
        return None
    record = read_record(path, Record, SCHEMA)
    if record is None or record.made_from != _sizes(report):
        return None
    folder = str(report.parent)
    session = _with_paths(
        record.session, lambda path: os.path.join(folder, path[len(_HERE) :]) if path.startswith(_HERE) else path
    )
    # A received record may name any file.
    force_setattr(session, "path", clean(str(report)))
    for other in session.again:
        force_setattr(other, "path", str(report.parent / CONFIRMATIONS / pathlib.PurePath(other.path).name))
    return session


def _from_reports(report: pathlib.Path) -> Session:
    session = session_of(report)
    again = map(session_of, _confirmations(report)) if session.uuid else ()
    return replace(session, again=tuple(other for other in again if other.confirms == session.uuid))


def _confirmations(report: pathlib.Path) -> list[pathlib.Path]:
    return sorted(filter(pathlib.Path.is_file, (report.parent / CONFIRMATIONS).glob("*.json")))


def hashes_of(report: pathlib.Path) -> list[str]:
    """Return the SHA-256 of the run's report and of the reports of its re-measurements.

    :raises InputError: one of them cannot be read.
    """
    texts = [read(path, clean(str(path))) for path in (report, *_confirmations(report))]
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def _sizes(report: pathlib.Path) -> dict[str, int]:
    present = (report, *_confirmations(report))
    return {str(path.relative_to(report.parent)): path.stat().st_size for path in present}


def _with_paths(session: Session, convert: Callable[[str], str]) -> Session:
    """Convert each path of a session in place, and return the session."""
    for each in (session, *session.again):
        force_setattr(each, "path", convert(each.path))
        for case in itertools.chain.from_iterable(each.runs):
            for one in (case, case.first) if case.first else (case,):
                force_setattr(one, "stagedir", one.stagedir and convert(one.stagedir))
                force_setattr(one, "outputdir", one.outputdir and convert(one.outputdir))
                force_setattr(one, "matrix_folders", tuple(map(convert, one.matrix_folders)))
    return session


def write_record(path: pathlib.Path, record: Struct) -> None:
    """Write a record as JSON, for those who may read the report beside it.

    :raises InputError: it cannot be written.
    """
    document = msgspec.to_builtins(record)
    text = json.dumps(document, ensure_ascii=False)
    # Rarely: the search for such numbers takes longer than all the rest.
    if "Infinity" in text or "NaN" in text:
        text = json.dumps(_finite(document), ensure_ascii=False)
    try:
        write_atomically(path, text + "\n", path.with_name(RUN_REPORT).stat().st_mode & 0o777)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(path))}: {err.strerror}") from err


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return -_NOT_FINITE if value < 0 else _NOT_FINITE
    return value


def read_record(path: pathlib.Path, kind: type[T], schema: str) -> T | None:
    """Read a record that ``write_record`` wrote; return ``None`` if it has another ``schema``.

    :raises InputError: it cannot be read, or is not complete; names the file and the key.
    """
    source = clean(str(path))
    text = read(path, source)
    if found := decoded(text, kind):
        return found
    document = parse_json(text, source)
    if not isinstance(document, dict) or document.get("schema") != schema:
        return None
    return fit(document, kind, source)
