"""The last lines of what the jobs of a failed case said, with a link to all of it."""

import os
import pathlib
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

from kappa.core.ground.bounded_file import read_end
from kappa.core.ground.clean_text import clean
from kappa.core.ground.redaction import without_secrets
from kappa.core.record.model import OTHER_NODES, REMAINING_NODES, SAME_ALLOCATION, SAME_NODES, Case
from reports.verdict.case_verdict import CaseVerdict

LINES, LINE_CHARS = 30, 400
_END_BYTES = 2**16
_WHEN = {
    "": "at first",
    SAME_ALLOCATION: "again in the same allocation",
    SAME_NODES: "again on the same nodes",
    OTHER_NODES: "on other nodes",
    REMAINING_NODES: "on the nodes that are left",
}


@dataclass(frozen=True)
class Tail:
    """``link`` leads from the page's folder to the whole file."""

    title: str
    text: str
    link: str


def output_tails(failed: CaseVerdict, run: pathlib.Path, page: pathlib.Path) -> list[Tail]:
    """Of each of its measurements, oldest first: standard output and standard error, where they hold anything.

    Only of files that lie in the folder ``run``: what lies elsewhere may be of a later run, or of something else.

    :param page: the folder of the page.
    """
    attempts = [*failed.other_attempts, failed, *failed.elsewhere]
    several = len(attempts) > 1
    return [
        tail
        for attempt in attempts
        for tail in _tails(attempt.case, _WHEN.get(attempt.case.purpose, "") if several else "", run, page)
    ]


def kept_file(path: str | None, run: pathlib.Path) -> pathlib.Path | None:
    """The regular file at ``path``, if it lies in the folder ``run``, also when links are followed."""
    file = pathlib.Path(path or "").resolve()
    return file if path and file.is_relative_to(run.resolve()) and file.is_file() else None


def link_to(file: pathlib.Path, page: pathlib.Path) -> str:
    """From the folder ``page``, relative, so that a folder that holds both can be copied."""
    return urllib.parse.quote(os.path.relpath(file, page.resolve()))


def _tails(case: Case, when: str, run: pathlib.Path, page: pathlib.Path) -> Iterator[Tail]:
    for what, path in (("standard output", case.output), ("standard error", case.error_output)):
        file = kept_file(path, run)
        if file is None or not (text := _last_lines(file)):
            continue
        yield Tail(", ".join(filter(None, (what, when))), text, link_to(file, page))


def _last_lines(file: pathlib.Path) -> str:
    try:
        text = read_end(file, _END_BYTES)
    except OSError as err:
        return f"(cannot be read: {err.strerror})"
    # Before it is cut: a secret that goes over several lines, or over a line's end.
    lines = without_secrets(clean(text)).rstrip().splitlines()[-LINES:]
    return "\n".join(line if len(line) <= LINE_CHARS else f"{line[:LINE_CHARS]}…" for line in lines)
