"""Read ReFrame's JSON report as a session: check its structure, clean every string, find its raw output.

Kappa reads only the fields that it needs, so that reports of newer ReFrame versions fit, too.
"""

import contextlib
import hashlib
import pathlib
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from kappa.core.ground.clean_text import clean, is_clean_json
from kappa.core.ground.documents import MOST_DIGITS, fit, json_text, parse_json
from kappa.core.ground.redaction import redacted
from kappa.core.record.evidence import Figure, Measurement, ReferenceSource
from kappa.core.record.metric import Metric, figures_of, metric_of
from kappa.core.record.model import (
    SAME_ALLOCATION,
    Case,
    CheckedCase,
    ReframeCase,
    Session,
    SessionInfo,
    added_parameters,
    own_parameters,
    pinned_node,
)
from kappa.core.record.runs import FIRST_FOLDER, MATRICES, OUTPUT, STAGE, raw_folder

T = TypeVar("T")
# Ten times the largest report of a cluster of a thousand nodes.
MAX_REPORT_BYTES = 512 * 2**20
# With these digits replaced, a search for an extreme number is a search for a fixed text, which is many times faster.
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_EXPONENT = re.compile(rb"0e[+-]?000+[\s,\]}]")
# ReFrame's value for a variable that was never set.
_UNDEFINED = "<undefined>"


class RecordedCase(CheckedCase, frozen=True, kw_only=True):
    """A case as a check records it in ReFrame's report, including the fields of ``Measurement``."""

    perfvalues: dict[str, Figure] | None = None
    informational: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()
    """Metrics that compare each node with the median of its equals in the same case."""
    steady: tuple[str, ...] = ()
    """Metrics that the load of other programs does not change."""
    reference_sources: dict[str, ReferenceSource] = {}
    first_measurement: Measurement = Measurement()


#: Fields that only Kappa's checks have: other checks may use the names with another meaning.
KAPPA_FIELDS = frozenset(RecordedCase.__struct_fields__) - {*ReframeCase.__struct_fields__, "perfvalues"}


class Run(Struct, frozen=True):
    testcases: tuple[RecordedCase, ...]


class Report(Struct, frozen=True):
    session_info: SessionInfo
    runs: tuple[Run, ...]
    restored_cases: tuple[Any, ...] = ()


def as_it_lies(folder: str | None, prefix: str, kept: pathlib.Path) -> str | None:
    """Return the present place of a case's ``folder``, which was below its session's ``prefix``, below ``kept``.

    Return ``folder`` itself if ``kept`` has no such folder: a case without its own folder stays where it ran.
    """
    recorded = pathlib.PurePath(folder or "")
    if not folder or not prefix or not recorded.is_relative_to(prefix):
        return folder
    now = kept / recorded.relative_to(prefix)
    return str(now) if now.is_dir() else folder


def session_of(path: pathlib.Path) -> Session:
    """Return the session of one report, without the sessions that re-measured its cases.

    :raises InputError: the file is no valid JSON, or does not have the structure of a ReFrame report; names the file
        and the key.
    """
    source = clean(str(path))
    text = read(path, source)
    report = decoded(text, Report) or fit(parse_report(text, source), Report, source)
    info = report.session_info
    raw = raw_folder(path)
    runs = tuple(
        tuple(_case(entry, number, info, raw) for entry in run.testcases) for number, run in enumerate(report.runs)
    )
    fields = asdict(info) | {"command_line": redacted(info.command_line)}
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Session(**fields, path=source, sha256=sha256, restored_cases=len(report.restored_cases), runs=runs)


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
    recorded = {name: getattr(entry, name) for name in CheckedCase.__struct_fields__ if name not in foreign}
    fields = {name: value for name, value in recorded.items() if value is not None} | {
        "parameters": recorded.get("parameters") or own_parameters(entry.name),
        "stagedir": as_it_lies(entry.stagedir, info.prefix_stage, raw / STAGE),
        "outputdir": as_it_lies(entry.outputdir, info.prefix_output, raw / OUTPUT),
    }
    case = Case(
        **fields,
        metrics=_metrics(entry, entry.perfvalues),
        run=run,
        purpose=info.purpose,
        # A comma separates ReFrame's session extras.
        asked_nodes=tuple(filter(None, info.nodes.split(":"))),
        matrix_folders=_matrix_folders(info, raw),
        pinned=pinned_node(added_parameters(entry.display_name)),
    )
    before = entry.first_measurement
    if foreign or before.perfvalues is None:
        return case
    # The case as if its job had not re-measured, which it did because of out-of-bounds figures or an odd node.
    failed = any(figure.failed for figure in before.perfvalues.values())
    measured = {name: value for name, value in asdict(before).items() if name != "perfvalues"}
    first = replace(
        case,
        **measured,
        metrics=_metrics(entry, before.perfvalues),
        scaling=None,
        result="fail" if failed else "pass",
        fail_phase="performance" if failed else "",
        fail_reason="",
        fail_info=None,
        stagedir=case.folder and str(pathlib.PurePath(case.folder, FIRST_FOLDER)),
    )
    return replace(case, first=first, purpose=case.purpose or SAME_ALLOCATION)


def _metrics(entry: RecordedCase, perfvalues: dict[str, Figure] | None) -> tuple[Metric, ...]:
    foreign = entry.check_class is None
    return tuple(
        metric_of(
            name,
            figure,
            informational=foreign or name in entry.informational,
            relative=not foreign and name in entry.relative,
            steady=not foreign and name in entry.steady,
            source=None if foreign else entry.reference_sources.get(name),
        )
        for name, figure in figures_of(perfvalues).items()
    )
