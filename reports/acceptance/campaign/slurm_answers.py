"""Slurm's answers about nodes and slurmctld, parsed: ``sacctmgr show event``, ``scontrol show node`` and ``config``.

Run the commands with ``TZ=UTC`` and ``SLURM_TIME_FORMAT=standard``: their times have no zone.
"""

import calendar
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError

#: After these come ``start=`` and ``end=``, and the start and end of ``sacct``.
EVENT_COMMAND = ("sacctmgr", "-nP", "show", "event", "event=node", "format=NodeName,Start,End,State,Reason,User")
NODE_COMMAND = ("scontrol", "-o", "show", "node")
CONFIG_COMMAND = ("scontrol", "show", "config")
_OPEN = ("Unknown", "None", "N/A", "")
_NODE = r"(?P<node>[A-Za-z0-9][A-Za-z0-9._-]{0,254})"
# A reason may hold `|`.
_EVENT = re.compile(rf"{_NODE}\|(?P<start>[^|]*)\|(?P<end>[^|]*)\|(?P<state>[^|]*)\|(?P<reason>.*)\|(?P<user>[^|]*)")
# An operator's text may look like a key; it stands at the end.
_FREE_TEXT = re.compile(r"\s(?:Reason|Comment|Extra)=")
_TIME_KEYS = re.compile(r"\b(NodeName|BootTime|SlurmdStartTime)=(\S+)")
_CONTROLLER_START = re.compile(r"^BOOT_TIME\s*=\s*(\S+)\s*$", re.MULTILINE)
_ANSWERED = re.compile(r"^Configuration data as of (\S+)\s*$", re.MULTILINE)
_FAILOVER = re.compile(r"^SlurmctldTimeout\s*=\s*(\d+) sec\s*$", re.MULTILINE)


@dataclass(frozen=True)
class NodeEvent:
    """Hold a line of ``sacctmgr show event``; ``end`` is ``None`` while it lasts. Times in seconds since 1970."""

    node: str
    start: int
    end: int | None
    state: str
    reason: str
    user: str


@dataclass(frozen=True)
class NodeStart:
    """Hold the starts of a node and of its daemon; ``None`` where Slurm does not know."""

    node: str
    boot: int | None
    daemon: int | None


def parse_events(text: str) -> list[NodeEvent]:
    """Parse the answer of ``EVENT_COMMAND``.

    :raises InputError: a line is no event; names it.
    """
    events = []
    for number, line in answer_lines(text, "sacctmgr"):
        match = _EVENT.fullmatch(line)
        start = time_of(match["start"], "sacctmgr", number) if match else None
        if match is None or start is None:
            raise odd_answer("sacctmgr", number, "NODE|START|END|STATE|REASON|USER", line)
        end = time_of(match["end"], "sacctmgr", number)
        state, reason, user = (match[key].strip() for key in ("state", "reason", "user"))
        events.append(NodeEvent(match["node"], start, end, state, reason, user))
    return events


def parse_nodes(text: str) -> list[NodeStart]:
    """Parse the answer of ``NODE_COMMAND``.

    :raises InputError: a line is no node; names it.
    """
    starts = []
    for number, line in answer_lines(text, "scontrol"):
        keys = dict(_TIME_KEYS.findall(_FREE_TEXT.split(line)[0]))
        if not re.fullmatch(_NODE, keys.get("NodeName", "")):
            raise odd_answer("scontrol", number, "NodeName=…", line)
        boot, daemon = (time_of(keys.get(key, ""), "scontrol", number) for key in ("BootTime", "SlurmdStartTime"))
        starts.append(NodeStart(keys["NodeName"], boot, daemon))
    return starts


@dataclass(frozen=True)
class ControllerFacts:
    """Hold the times when slurmctld started and answered, and how long a backup waits for it, in seconds."""

    started: int | None
    answered: int | None
    failover_s: int


def parse_config(text: str) -> ControllerFacts:
    """Parse the answer of ``CONFIG_COMMAND``; a missing time is ``None``, a missing duration 0 s."""
    matches = [pattern.search(text) for pattern in (_CONTROLLER_START, _ANSWERED, _FAILOVER)]
    started, answered, failover = (match[1] if match else "" for match in matches)
    return ControllerFacts(time_of(started, "scontrol", 1), time_of(answered, "scontrol", 1), int(failover or 0))


def answer_lines(text: str, command: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line of an answer.

    :raises InputError: the answer is cut off.
    """
    if text and not text.endswith("\n"):
        raise InputError(f"{command}: its answer is cut off, the last line has no end")
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        if line.strip():
            yield number, clean(line)


def time_of(text: str, command: str, number: int) -> int | None:
    """Return a time in seconds since 1970; ``None`` if Slurm does not know it.

    :raises InputError: it is no time.
    """
    if text in _OPEN:
        return None
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        raise odd_answer(command, number, "a time such as 2026-12-03T03:58:40", text) from None


def odd_answer(command: str, number: int, expected: str, answer: str) -> InputError:
    return InputError(f"{command}, line {number}: expected {expected}; found {one_line(answer, 120)!a}")
