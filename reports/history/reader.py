"""Reads of a report what the history keeps, which is a small part of it: most is evidence.

msgspec checks the types while it parses, and passes over what no structure here names without making objects of it.
A report that it refuses, or in which something is to be cleaned, is read again as for a verdict: that is slower, but
accepts what the schema accepts, and names the key that does not fit.
"""

import pathlib
from collections.abc import Container
from typing import Any

import msgspec

from kappa.ground.clean_text import clean, is_clean_json, one_line
from kappa.ground.errors import InputError
from kappa.record.load import UNDEFINED, check_shape, entries_of, parse, read


class Figure(msgspec.Struct, array_like=True):
    """An entry of ``perfvalues``: anything may have been extracted as the value; a whole number becomes a float."""

    value: float | bool | str | list[Any] | dict[str, Any] | None
    reference: float | None
    lower: float | None
    upper: float | None
    unit: str | None
    result: str | None = None


class Provenance(msgspec.Struct):
    files: dict[str, str] = {}
    nodelist: list[str] = []
    kernel: Any = None
    driver: Any = None
    mpi: Any = None
    sha256: Any = None
    suite_revision: Any = None


class Measurement(msgspec.Struct):
    perfvalues: dict[str, Figure] | None = None


class Case(msgspec.Struct):
    name: str
    system: str
    partition: str | None
    result: str
    environ: str | None = None
    job_nodelist: list[str] | None = None
    jobid: str | int | None = None
    perfvalues: dict[str, Figure] | None = None
    # What follows only Kappa's checks have; others may use the names for something else, and are then read slowly.
    check_class: str | msgspec.UnsetType = msgspec.UNSET
    family: str = ""
    informational: list[str] = []
    suspects: list[str] = []
    provenance: Provenance = msgspec.field(default_factory=Provenance)
    first_measurement: Measurement = msgspec.field(default_factory=Measurement)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The job's nodes, as ReFrame had them from the scheduler and as the job itself recorded them."""
        return tuple(sorted({*(self.job_nodelist or ()), *self.provenance.nodelist}))


class Run(msgspec.Struct):
    testcases: list[Case]


class Info(msgspec.Struct):
    uuid: str | None = None
    hostname: str | None = None
    user: str | None = None
    version: str | None = None
    time_start: str | None = None
    time_elapsed: float | None = None
    cmdline: str | None = None
    mode: str | None = None
    confirms: str | None = None
    purpose: str | None = None


class Report(msgspec.Struct):
    session_info: Info
    runs: list[Run]
    restored_cases: list[Any] = []


_DECODER = msgspec.json.Decoder(Report)
# Whatever else a case holds is not held against the schema: the history does without it.
_READ = frozenset(Case.__struct_fields__)
_KAPPA_ONLY = ("family", "informational", "suspects", "provenance", "first_measurement")


def load_figures(path: pathlib.Path, present: Container[str]) -> Report:
    """The figures and facts of one report. A damaged session whose uuid is in ``present`` may come without its cases.

    :raises InputError: as ``load_session``.
    """
    source = clean(str(path))
    text = read(path, source)
    return _read_fast(text) or _read_slowly(text, source, present)


def _read_fast(text: str) -> Report | None:
    if not is_clean_json(text):
        return None
    try:
        report = _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if any(_odd(case) for run in report.runs for case in run.testcases) else report


def _odd(case: Case) -> bool:
    """Whether ReFrame could not set some text of it, or it is another's and uses names of Kappa's."""
    texts = (case.name, case.system, case.partition, case.result, case.environ, case.jobid, case.family)
    foreign = case.check_class is msgspec.UNSET
    return UNDEFINED in (*texts, case.check_class) or (foreign and bool(case.family or case.provenance.nodelist))


def _read_slowly(text: str, source: str, present: Container[str]) -> Report:
    document = parse(text, source)
    info = document.get("session_info") if isinstance(document, dict) else None
    if isinstance(info, dict) and isinstance(info.get("uuid"), str) and info["uuid"] in present:
        document["runs"] = []
    for case in entries_of(document):
        for key in case.keys() - _READ:
            del case[key]
    check_shape(document, source)
    for case in entries_of(document):
        if "check_class" not in case:
            for key in _KAPPA_ONLY:
                case.pop(key, None)
    try:
        return msgspec.convert(document, Report)
    except msgspec.ValidationError as err:
        raise InputError(f"{source}: {one_line(clean(str(err)), 200)}") from err
