"""Slurm's answers about jobs and its scheduler, parsed: ``sacct``, ``squeue`` and ``sdiag``.

Run the commands with ``TZ=UTC`` and ``SLURM_TIME_FORMAT=standard``: their times have no zone.
"""

import re
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import MAX_NODES, unfolded
from reports.acceptance.campaign.slurm_answers import answer_lines, odd_answer, time_of

#: After ``sacct``; then come ``-S`` and ``-E``. -D: a job that was requeued has two rows.
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
_SINCE = re.compile(r"^Data since\s+.*\(([0-9]{1,12})\)$")
_FIGURE = re.compile(r"^\t(Max cycle|Total cycles|Mean cycle):\s+([0-9]{1,15})$")
_MAIN, _SECTION = "Main schedule statistics (microseconds):", re.compile(r"^\S.*$")


@dataclass(frozen=True)
class JobRow:
    """A job. Times are in seconds since 1970; ``start`` and ``end`` are ``None`` until then."""

    job: str
    state: str
    submit: int
    start: int | None
    end: int | None
    node_count: int
    nodes: tuple[str, ...]
    reason: str


def parse_jobs(text: str, command: str) -> list[JobRow]:
    """Read the answer of ``sacct`` with ``SACCT_OPTIONS`` or of ``SQUEUE_COMMAND``.

    :param command: its name, for errors.
    :raises InputError: a line is no job, or the answer is cut off; names the line.
    """
    found = []
    for number, line in answer_lines(text, command):
        fields = line.split("|", _COLUMNS - 1)
        state = fields[1].partition(" ")[0] if len(fields) == _COLUMNS else ""
        if not state or not fields[0] or not fields[5].isdecimal():
            raise odd_answer(command, number, "JOB|STATE|SUBMIT|START|END|NODES|NODELIST|REASON", line)
        submit, start, end = (time_of(fields[column], command, number) for column in (2, 3, 4))
        if submit is None:
            raise odd_answer(command, number, "the time of submission", line)
        try:
            nodes = () if fields[6] in _NO_NODES else unfolded(fields[6], MAX_NODES)
        except ValueError as err:
            raise InputError(f"{command}, line {number}: {err}") from None
        found.append(
            JobRow(
                fields[0], state, submit,
                None if state in _NOT_STARTED else start, end if state in ENDED else None,
                int(fields[5]), nodes, fields[7].strip(),
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class SchedulerStatistics:
    """Cycles of the main scheduler since ``since`` (seconds since 1970), in microseconds; ``None``: none so far."""

    since: int
    cycles: int
    mean_us: int | None
    longest_us: int


def parse_sdiag(text: str) -> SchedulerStatistics:
    """Read ``sdiag``. slurmctld begins anew at midnight UTC; without a cycle there is no line *Mean cycle*.

    :raises InputError: the main scheduler's figures are missing.
    """
    since, inside, values = None, False, dict[str, int]()
    for line in text.splitlines():
        if match := _SINCE.match(line):
            since = int(match[1])
        elif _SECTION.match(line):
            # The backfill scheduler has figures of the same names.
            inside = line.rstrip() == _MAIN
        elif inside and (match := _FIGURE.match(line.rstrip())):
            values[match[1]] = int(match[2])
    if since is None or not {"Max cycle", "Total cycles"} <= values.keys():
        raise InputError(f"sdiag: expected `Data since` and cycles below {_MAIN!r}")
    return SchedulerStatistics(since, values["Total cycles"], values.get("Mean cycle"), values["Max cycle"])
