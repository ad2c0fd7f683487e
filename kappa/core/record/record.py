"""Keep the record of a run: everything that was measured, in one file with a versioned schema.

``record.json`` lies beside ReFrame's report. Kappa makes it once, when the run and its re-measurements have ended.
Without it, ``load_session`` makes the same session from the reports.
"""

import json
import math
import os
import pathlib
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import MOST_DIGITS
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.model import Case, Session

FILE = "record.json"
# Folder beside a report with the reports of re-measurements in other jobs.
CONFIRMATIONS = "confirmations"
SCHEMA = "kappa-record-1"
# Reads back as infinite: JSON has no infinity and no NaN, and no measured value has as many digits.
_NOT_FINITE = 10 ** (2 * MOST_DIGITS)


class Record(Struct, frozen=True, kw_only=True):
    """Hold a session with its re-measurements.

    ``made_from``: path of each report from the run's folder -> its size in bytes. Folders of cases are relative to the
    run's folder, if they lie in it.
    """

    schema: Literal["kappa-record-1"] = SCHEMA
    made_from: dict[str, int]
    session: Session


def record_of(report: pathlib.Path) -> pathlib.Path:
    return report.with_name(FILE)


def write_record(report: pathlib.Path, session: Session) -> None:
    """Write the record of the run with this ``report``.

    :raises InputError: it cannot be written.
    """
    folder = report.parent.absolute()

    def inside(path: str) -> str:
        return os.path.relpath(path, folder) if pathlib.PurePath(path).is_relative_to(folder) else path

    reports = [report, *(report.parent / CONFIRMATIONS).glob("*.json")]
    sizes = {inside(str(path.absolute())): path.stat().st_size for path in reports}
    record = Record(made_from=sizes, session=_with_paths(session, inside))
    try:
        write_atomically(record_of(report), _encoded(record))
    except OSError as err:
        raise InputError(f"cannot write {clean(str(record_of(report)))}: {err.strerror}") from err


def _encoded(record: Record) -> str:
    document = msgspec.to_builtins(record)
    text = json.dumps(document, ensure_ascii=False)
    # Rarely: the search for such numbers takes longer than all the rest.
    if "Infinity" in text or "NaN" in text:
        text = json.dumps(_finite(document), ensure_ascii=False)
    return text + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return -_NOT_FINITE if value < 0 else _NOT_FINITE
    return value


def kept_session(report: pathlib.Path, record: Record) -> Session | None:
    """Return the session of a record; ``None`` if the run has other reports now than the record was made from."""
    folder = report.parent.absolute()
    present = [report, *(report.parent / CONFIRMATIONS).glob("*.json")]
    sizes = {str(path.absolute().relative_to(folder)): path.stat().st_size for path in present}
    if sizes != record.made_from:
        return None
    return _with_paths(record.session, lambda path: str(folder / path))


def _with_paths(session: Session, convert: Callable[[str], str]) -> Session:
    """Return the session with each folder of its cases converted."""

    def moved(case: Case) -> Case:
        return replace(
            case,
            stagedir=case.stagedir and convert(case.stagedir),
            outputdir=case.outputdir and convert(case.outputdir),
            matrix_folders=tuple(map(convert, case.matrix_folders)),
            first=case.first and moved(case.first),
        )

    return replace(
        session,
        path=convert(session.path),
        runs=tuple(tuple(map(moved, run)) for run in session.runs),
        again=tuple(_with_paths(other, convert) for other in session.again),
    )
