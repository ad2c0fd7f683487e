"""Slurm's answers about jobs and its scheduler, parsed: ``sacct``, ``squeue`` and ``sdiag``.

Run the commands with ``TZ=UTC`` and ``SLURM_TIME_FORMAT=standard``: their times have no zone.
"""

import math
import re
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import expand_nodes
from reports.acceptance.campaign.slurm_answers import answer_lines, odd_answer, time_of

#: After ``sacct``; then comes ``-S``. -D: a job that was requeued has two rows.
SACCT_OPTIONS = ("-aXDnP", "-o", "JobIDRaw,State,Submit,Start,End,NNodes,NodeList,Reason")
#: The same columns; the last is the reason why a job waits, which ``sacct`` does not keep.
SQUEUE_COMMAND = ("squeue", "--noheader", "--all", "--states=all", "--format=%A|%T|%V|%S|%e|%D|%N|%r")
_COLUMNS = 8
ENDED = frozenset(
    ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE",
     "PREEMPTED", "REVOKED")
)  # fmt: skip
# A waiting job may have an expected start.
_NOT_STARTED = ("PENDING", "CONFIGURING")
_NO_NODES = ("None assigned", "(null)", "")
_SINCE = re.compile(r"^Data since\s+.*\(([0-9]{1,12})\)$", re.MULTILINE)
_FIGURE = re.compile(r"^\t(Max|Total|Mean) cycles?:\s+([0-9]{1,15})$", re.MULTILINE)
_MAIN, _NEXT_SECTION = "\nMain schedule statistics (microseconds):", re.compile(r"^\S", re.MULTILINE)


@dataclass(frozen=True)
class JobRow:
    """A job. Times are in seconds since 1970; ``start`` and ``end`` are infinite until then."""

    job: str
    state: str
    submit: int
    start: float
    end: float
    nodes: tuple[str, ...]
    reason: str


def parse_jobs(text: str, command: str) -> list[JobRow]:
    """Parse the answer of ``sacct`` with ``SACCT_OPTIONS`` or of ``SQUEUE_COMMAND``.

    :param command: its name, for errors.
    :raises InputError: a line is no job, or the answer is cut off; names the line.
    """
    rows = []
    for number, line in answer_lines(text, command):
        fields = line.split("|", _COLUMNS - 1)
        state = fields[1].partition(" ")[0] if len(fields) == _COLUMNS else ""
        if not state or not fields[0] or not fields[5].isdecimal():
            raise odd_answer(command, number, "JOB|STATE|SUBMIT|START|END|NODES|NODELIST|REASON", line)
        submit, start, end = (time_of(field, command, number) for field in fields[2:5])
        if submit is None:
            raise odd_answer(command, number, "the time of submission", line)
        try:
            nodes = [] if fields[6] in _NO_NODES else expand_nodes(fields[6])
        except ValueError as err:
            raise InputError(f"{command}, line {number}: {err}") from None
        started = math.inf if start is None or state in _NOT_STARTED else start
        ended = math.inf if end is None or state not in ENDED else end
        rows.append(JobRow(fields[0], state, submit, started, ended, tuple(nodes), fields[7].strip()))
    return rows


def parse_sdiag(text: str) -> dict[str, int]:
    """Return cycles of the main scheduler in microseconds, from the answer of ``sdiag``: Max, Total and Mean cycle.

    ``since``: when slurmctld began to count, which it does anew at midnight UTC, in seconds since 1970. Without a cycle
    there is no mean. Without figures of the main scheduler the result is empty.
    """
    # The backfill scheduler has figures of the same names.
    section = _NEXT_SECTION.split(text.partition(_MAIN)[2], maxsplit=1)[0]
    since, figures = _SINCE.search(text), {name: int(value) for name, value in _FIGURE.findall(section)}
    return {"since": int(since[1]), **figures} if since and {"Max", "Total"} <= figures.keys() else {}
