"""Read pytest's JUnit files: number of passed tests, and the failures, grouped."""

import pathlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

CAUSE_LINES = 5
OUTCOMES = ("passed", "failed", "errors", "skipped")
_TAGS = {"error": "errors", "failure": "failed", "skipped": "skipped"}


@dataclass(frozen=True)
class Failure:
    file: str
    test: str
    exception: str
    message: str


@dataclass(frozen=True)
class Group:
    """``count`` tests of one file that ended with the same exception; ``first`` is the first of them."""

    first: Failure
    count: int


@dataclass(frozen=True)
class Results:
    counts: Counter[str]
    failures: tuple[Failure, ...]


def read(path: pathlib.Path) -> Results:
    """Read the JUnit file ``path`` (xunit1, which names files); without a whole file there are no results."""
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return Results(Counter(), ())
    outcomes = [next(((tag, found) for tag in _TAGS if (found := case.find(tag)) is not None), None) for case in cases]
    counts = Counter(_TAGS[outcome[0]] if outcome else "passed" for outcome in outcomes)
    failures = [
        _failure(case, outcome[1])
        for case, outcome in zip(cases, outcomes, strict=True)
        if outcome and outcome[0] != "skipped"
    ]
    return Results(counts, tuple(failures))


def _failure(case: ElementTree.Element, outcome: ElementTree.Element) -> Failure:
    kept = {entry.get("name"): entry.get("value", "") for entry in case.iter("property")}
    message = outcome.get("message", "").strip()
    exception = kept.get("exception", "")
    if not exception:
        # tests/conftest.py did not see it: a file was not collected, a worker crashed, or pytest did. Workers have
        # numbers, and a traceback ends with its cause.
        exception = re.sub(r"\d+", "N", message.partition("\n")[0][:60]) or outcome.tag
        message = "\n".join((outcome.text or message).splitlines()[-CAUSE_LINES:])
    test = kept.get("nodeid", "").partition("::")[2] or case.get("name", "")
    return Failure(case.get("file") or case.get("classname") or "pytest", test, exception, message)


def grouped(failures: Iterable[Failure]) -> list[Group]:
    """Group the failures by file and exception, in order of appearance."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.file, failure.exception), []).append(failure)
    return [Group(found[0], len(found)) for found in groups.values()]
