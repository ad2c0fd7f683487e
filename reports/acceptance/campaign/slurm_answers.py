"""Slurm's answers about outages, parsed: ``sacctmgr show event``, ``sacct`` and ``scontrol show node``.

The commands have to be run with ``TZ=UTC`` and ``SLURM_TIME_FORMAT=standard``: their times have no zone.
"""

import calendar
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import MAX_NODES, unfolded

#: After these come ``start=`` and ``end=``, and the start and end of ``sacct``.
EVENT_COMMAND = ("sacctmgr", "-nP", "show", "event", "event=node", "format=NodeName,Start,End,State,Reason,User")
#: After ``sacct``. Without -D a job that was requeued shows its last record alone.
JOB_OPTIONS = ("-aXDnP", "-s", "NF,BF", "-o", "JobIDRaw,State,NNodes,NodeList,Start,End")
#: After ``sacct``; jobs whose end shows that their nodes answered. After it come ``-N`` and the nodes.
COMPLETED_OPTIONS = ("-aXDnP", "-s", "CD", "-o", "JobIDRaw,State,NNodes,NodeList,Start,End")
NODE_COMMAND = ("scontrol", "-o", "show", "node")
CONFIG_COMMAND = ("scontrol", "show", "config")
_OPEN = ("Unknown", "None", "")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
# An operator's text may look like a key; it stands at the end.
_FREE_TEXT = re.compile(r"\s(?:Reason|Comment|Extra)=")
_TIME_KEYS = re.compile(r"\b(NodeName|BootTime|SlurmdStartTime)=(\S+)")
_CONTROLLER_START = re.compile(r"^BOOT_TIME\s*=\s*(\S+)\s*$", re.MULTILINE)
_ANSWERED = re.compile(r"^Configuration data as of (\S+)\s*$", re.MULTILINE)
_TIMEOUT, _FAILOVER = (
    re.compile(rf"^{name}\s*=\s*(\d+) sec\s*$", re.MULTILINE) for name in ("SlurmdTimeout", "SlurmctldTimeout")
)


@dataclass(frozen=True)
class NodeEvent:
    """A line of ``sacctmgr show event``; ``end`` is ``None`` while it lasts. Times in seconds since 1970."""

    line: int
    node: str
    start: int
    end: int | None
    state: str
    reason: str
    user: str


@dataclass(frozen=True)
class EndedJob:
    """A job with all its nodes. If it died of its nodes, one of them failed; if it completed, all answered."""

    line: int
    job: str
    state: str
    nodes: tuple[str, ...]
    end: int


@dataclass(frozen=True)
class NodeStart:
    """When a node was booted and its daemon was started; ``None`` where Slurm does not know."""

    line: int
    node: str
    boot: int | None
    daemon: int | None


def parse_events(text: str) -> list[NodeEvent]:
    """Read ``EVENT_COMMAND``'s answer. A reason may hold ``|``, so lines are split from both ends.

    :raises InputError: a line is no event; names it.
    """
    found = []
    for number, line in answer_lines(text, "sacctmgr"):
        fields = line.split("|", 4)
        reason, bar, user = fields[-1].rpartition("|")
        if len(fields) != 5 or not bar or not _NODE.fullmatch(fields[0]):
            raise odd_answer("sacctmgr", number, "NODE|START|END|STATE|REASON|USER", line)
        start, end = _moment(fields[1], "sacctmgr", number), time_of(fields[2], "sacctmgr", number)
        if start is None:
            raise odd_answer("sacctmgr", number, "a start", line)
        found.append(NodeEvent(number, fields[0], start, end, fields[3].strip(), reason.strip(), user.strip()))
    return found


def parse_jobs(text: str) -> list[EndedJob]:
    """Parse the answer of ``sacct`` with ``JOB_OPTIONS`` or ``COMPLETED_OPTIONS``, without jobs that still end.

    :raises InputError: a line is no job; names it.
    """
    found = []
    for number, line in answer_lines(text, "sacct"):
        fields = line.split("|")
        if len(fields) != 6 or not fields[0]:
            raise odd_answer("sacct", number, "JOB|STATE|NODES|NODELIST|START|END", line)
        end = time_of(fields[5], "sacct", number)
        if end is None or fields[3] in ("None assigned", ""):
            continue
        try:
            nodes = unfolded(fields[3], MAX_NODES)
        except ValueError as err:
            raise InputError(f"sacct, line {number}: {err}") from None
        found.append(EndedJob(number, fields[0], fields[1], nodes, end))
    return found


def parse_nodes(text: str) -> list[NodeStart]:
    """Read ``NODE_COMMAND``'s answer.

    :raises InputError: a line is no node; names it.
    """
    found = []
    for number, line in answer_lines(text, "scontrol"):
        keys = dict(_TIME_KEYS.findall(_FREE_TEXT.split(line)[0]))
        if not _NODE.fullmatch(keys.get("NodeName", "")):
            raise odd_answer("scontrol", number, "NodeName=…", line)
        boot, daemon = (time_of(keys.get(key, ""), "scontrol", number) for key in ("BootTime", "SlurmdStartTime"))
        found.append(NodeStart(number, keys["NodeName"], boot, daemon))
    return found


@dataclass(frozen=True)
class ControllerFacts:
    """When slurmctld was started and answered, and how long it waits for a node, and a backup for it, in seconds."""

    started: int | None
    node_timeout_s: int
    answered: int | None
    failover_s: int


def parse_config(text: str) -> ControllerFacts:
    """Read ``CONFIG_COMMAND``'s answer; what it does not say is unknown, or 0 s."""
    started, answered = (
        time_of(found[1], "scontrol", 1) if (found := pattern.search(text)) else None
        for pattern in (_CONTROLLER_START, _ANSWERED)
    )
    patience, failover = (int(found[1]) if (found := pattern.search(text)) else 0 for pattern in (_TIMEOUT, _FAILOVER))
    return ControllerFacts(started, patience, answered, failover)


def answer_lines(text: str, command: str) -> Iterator[tuple[int, str]]:
    if text and not text.endswith("\n"):
        raise InputError(f"{command}: its answer is cut off, the last line has no end")
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        if line.strip():
            yield number, clean(line)


def _moment(text: str, command: str, number: int) -> int | None:
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        raise odd_answer(command, number, "a time such as 2026-12-03T03:58:40", text) from None


def time_of(text: str, command: str, number: int) -> int | None:
    return None if text in (*_OPEN, "N/A") else _moment(text, command, number)


def odd_answer(command: str, number: int, expected: str, found: str) -> InputError:
    return InputError(f"{command}, line {number}: expected {expected}; found {one_line(found, 120)!a}")
