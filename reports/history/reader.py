"""Reads of a report what the history keeps, which is a small part of it: most is evidence."""

import pathlib
from collections.abc import Container

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.typed import fit
from kappa.core.record.load import decoded, parse_report, read
from kappa.core.record.report import CaseFacts, SessionInfo


class Run(msgspec.Struct, frozen=True):
    testcases: tuple[CaseFacts, ...]


class Report(msgspec.Struct, frozen=True):
    """msgspec passes over what no structure here names without making objects of it."""

    session_info: SessionInfo
    runs: tuple[Run, ...]


def load_figures(path: pathlib.Path, present: Container[str]) -> Report:
    """The figures and facts of one report. A damaged session whose uuid is in ``present`` may come without its cases.

    :raises InputError: as ``load_session``.
    """
    source = clean(str(path))
    text = read(path, source)
    return decoded(text, Report) or read_slowly(text, source, present)


def read_slowly(text: str, source: str, present: Container[str]) -> Report:
    document = parse_report(text, source)
    info = document.get("session_info") if isinstance(document, dict) else None
    if isinstance(info, dict) and isinstance(info.get("uuid"), str) and info["uuid"] in present:
        document["runs"] = []
    return fit(document, Report, source)
