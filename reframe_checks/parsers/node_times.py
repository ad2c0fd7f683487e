"""Parse the times of a job's start and of file calls on each node: lines of JSON, each with its SHA-256."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, TypeVar

from msgspec import Meta

from reframe_checks.parsers.job_scripts import without_sums
from reframe_checks.parsers.json_reader import Count, OwnDocument, Text, decode, require
from reframe_checks.parsers.text import Output, Unit

_Uptime = Annotated[float, Meta(ge=0, le=Unit.UPTIME_S.ceiling)]
_Milliseconds = Annotated[float, Meta(ge=0, le=Unit.OPERATION_MS.ceiling)]
# squeue's form: days, hours, minutes and seconds.
_ELAPSED = re.compile(r"(?:(?:([0-9]{1,5})-)?([0-9]{1,2}):)?([0-9]{1,2}):([0-9]{2})")
#: With these PrologFlags, Slurm runs the prologs of all nodes at allocation, before the job script.
AT_ALLOCATION = ("Alloc", "Contain", "X11")


class TaskStart(OwnDocument, frozen=True):
    node: Text
    up_s: _Uptime


class _JobStart(OwnDocument, frozen=True):
    elapsed: str
    prolog_flags: str

    def __post_init__(self) -> None:
        require(not self.elapsed or _ELAPSED.fullmatch(self.elapsed) is not None, "elapsed: [[DAYS-]HOURS:]MM:SS")


@dataclass(frozen=True)
class JobStart:
    """A job's start; ``elapsed_s``: time from slurmctld's start of the job to its script; ``None`` if not reported."""

    elapsed_s: float | None
    prologs_at_allocation: bool


class FileCalls(OwnDocument, frozen=True, kw_only=True):
    """Medians of ``fsyncs`` writes with fsync, and of create, stat and remove of ``files`` files.

    ``reads``: number of 4 KiB reads. ``failed``: call and reason -> number of failures.
    """

    node: Text
    fsyncs: Count
    fsync_ms: _Milliseconds | None
    files: Count
    file_ms: _Milliseconds | None
    reads: Count
    failed: dict[str, Count]

    def __post_init__(self) -> None:
        require((self.fsyncs > 0) == (self.fsync_ms is not None), "fsync_ms of fsyncs")
        require((self.files > 0) == (self.file_ms is not None), "file_ms of files")


_Line = TypeVar("_Line", TaskStart, FileCalls)


def task_starts(text: str, *, expect_nodes: Collection[str]) -> dict[str, float]:
    """Parse each node's start of its task, in s since boot (``node/src/start_of_task.sh``).

    :raises ParseError: a line was changed, a node occurs twice, or the nodes are not the expected ones.
    """
    return {node: start.up_s for node, start in _of_nodes("start of tasks", text, TaskStart, expect_nodes).items()}


def file_calls(text: str, *, expect_nodes: Collection[str]) -> dict[str, FileCalls]:
    """Parse the output of ``storage/src/file_calls.py`` on each node.

    :raises ParseError: as ``task_starts``.
    """
    return _of_nodes("calls on files", text, FileCalls, expect_nodes)


def job_start(text: str) -> JobStart:
    """Parse the output of ``start_of_task.sh --job``.

    :raises ParseError: the text is not one line with its SHA-256.
    """
    output = without_sums(Output.read("start of the job", text))
    if len(output.lines) != 1:
        raise output.missing("one line")
    told = decode(output, range(1, 2), _JobStart)
    elapsed = _ELAPSED.fullmatch(told.elapsed)
    seconds = None
    if elapsed:
        days, hours, minutes, rest = (int(part or 0) for part in elapsed.groups())
        seconds = float(((24 * days + hours) * 60 + minutes) * 60 + rest)
    return JobStart(seconds, any(flag in told.prolog_flags for flag in AT_ALLOCATION))


def _of_nodes(what: str, text: str, kind: type[_Line], expect_nodes: Collection[str]) -> dict[str, _Line]:
    output = without_sums(Output.read(what, text))
    found: dict[str, _Line] = {}
    for number in range(1, len(output.lines) + 1):
        told = decode(output, range(number, number + 1), kind)
        if told.node in found or told.node not in expect_nodes:
            raise output.error(number, f"each of the job's nodes once, found {told.node}")
        found[told.node] = told
    if missing := {*expect_nodes} - {*found}:
        raise output.missing(f"a line of {', '.join(sorted(missing)[:5])}")
    return found
