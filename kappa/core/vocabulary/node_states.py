"""The table of node states: every word and sign that Slurm 17.11 to 25.11 writes for a node. Parsers of sinfo's lines.

``scontrol show node`` writes a base state and flags in capitals, joined by ``+``, each with an optional sign after it
(``IDLE+CLOUD+POWERED_DOWN``, ``DOWN*+DRAIN``). ``sinfo`` writes one word with signs (``idle~``), long (``%T``) or
compact (``%t``). Sources: NODE STATE CODES of sinfo(1), scontrol(1), and ``node_state_string`` and
``node_state_flag_string`` of ``src/common/slurm_protocol_defs.c``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kappa.core.ground.errors import InputError

#: A sign after a word -> its flag.
SIGNS = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED", "+": "COMPLETING",
}  # fmt: skip
# Other spellings: from sinfo, long and compact, and from older versions of scontrol.
_BUSY, _FREE = ("ALLOCATED",), ("IDLE",)
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "ALLOC": _BUSY, "MIX": ("MIXED",), "COMP": ("COMPLETING",), "PLND": ("PLANNED",), "NPC": ("PERFCTRS",),
    "RESV": ("RESERVED",), "RES": ("RESERVED",), "MAINT": ("MAINTENANCE",), "FUTR": ("FUTURE",), "UNK": ("UNKNOWN",),
    "ERR": ("ERROR",), "INVAL": ("INVALID_REG",), "NO_RESPOND": ("NOT_RESPONDING",), "NO_RESP": ("NOT_RESPONDING",),
    "BLCKD": ("BLOCKED",), "BLOCK": ("BLOCKED",),
    "DRAINED": (*_FREE, "DRAIN"), "DRAINING": (*_BUSY, "DRAIN"), "DRNG": (*_BUSY, "DRAIN"),
    "FAILING": (*_BUSY, "FAIL"), "FAILG": (*_BUSY, "FAIL"),
    "REBOOT": ("REBOOT_ISSUED",), "BOOT": ("REBOOT_ISSUED",), "REBOOTING": ("REBOOT_ISSUED",),
    "CANCEL_REBOOT": ("REBOOT_CANCEL",), "CANC_R": ("REBOOT_CANCEL",),
    # Before 20.11 a powered-down node has the flag POWER.
    "POWER": ("POWERED_DOWN",), "POW_DN": ("POWERING_DOWN",), "POW_UP": ("POWERING_UP",),
    "POWERED_DN": ("POWERED_DOWN",), "POWRING_DN": ("POWERING_DOWN",), "POWRNG_DN": ("POWERING_DOWN",),
    "EXT": ("EXTERNAL",), "RESM": ("RESUME",), "DYNAMIC": ("DYNAMIC_FUTURE",),
    "POWERED_UP": ("POWER_UP",), "POWER_DOWN_ASAP": ("POWER_DRAIN",), "POWER_DOWN_FORCE": ("POWER_DOWN",),
}  # fmt: skip
_SIGNED = re.compile(rf"(.*?)([{re.escape(''.join(SIGNS))}]*)")
#: Format for ``sinfo --Node --noheader``: a line for each node, or with ``--all`` for each node of each partition.
SINFO_FORMAT = "%N|%T|%E"
SINFO_FORMAT_OF_ALL = f"%R|{SINFO_FORMAT}"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,255}")


class Cause(StrEnum):
    """The cause of a state."""

    NONE = "none"
    JOBS = "jobs"
    SLURM = "Slurm"
    OPERATOR = "an operator"
    FAULT = "a fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class StateWord:
    """A base state or flag.

    ``takes_jobs``: Slurm may give the node to a job of any user, now or when other jobs have ended. ``can_be_woken``:
    the node has no power, or will soon have none, and Slurm starts it for a job. ``in_service``: neither a fault nor an
    operator keeps the node from running jobs.
    """

    takes_jobs: bool
    in_service: bool
    cause: Cause
    meaning: str
    can_be_woken: bool = False


#: The words as ``scontrol`` of the newest version writes them. A meaning is a phrase whose subject is the node.
STATES = {
    "IDLE": StateWord(True, True, Cause.NONE, "has no job"),
    "ALLOCATED": StateWord(True, True, Cause.JOBS, "is fully allocated to jobs"),
    "MIXED": StateWord(True, True, Cause.JOBS, "is partly allocated to jobs"),
    "COMPLETING": StateWord(True, True, Cause.JOBS, "is finishing its last job, or runs the epilog"),
    "PLANNED": StateWord(True, True, Cause.SLURM, "is kept free for a job of higher priority"),
    "BLOCKED": StateWord(True, True, Cause.JOBS, "is blocked by a job that uses its switch or block exclusively"),
    "PERFCTRS": StateWord(True, True, Cause.JOBS, "is used by a job that reads its network's performance counters"),
    "RESERVED": StateWord(False, True, Cause.OPERATOR, "is in a reservation"),
    "MAINTENANCE": StateWord(False, False, Cause.OPERATOR, "is in a reservation for maintenance"),
    "DRAIN": StateWord(False, False, Cause.OPERATOR, "is drained: it takes no new jobs until it is resumed"),
    "FAIL": StateWord(False, False, Cause.OPERATOR, "is expected to fail soon"),
    "DOWN": StateWord(False, False, Cause.FAULT, "is unavailable"),
    "ERROR": StateWord(False, False, Cause.FAULT, "is unavailable because of an error"),
    "NOT_RESPONDING": StateWord(False, False, Cause.FAULT, "does not answer slurmctld"),
    "INVALID_REG": StateWord(False, False, Cause.FAULT, "registered with fewer resources than slurm.conf states"),
    "UNKNOWN": StateWord(False, False, Cause.SLURM, "has not registered since slurmctld started"),
    "FUTURE": StateWord(False, False, Cause.OPERATOR, "is defined for later and does not exist yet"),
    "EXTERNAL": StateWord(False, False, Cause.OPERATOR, "is managed by another system, without slurmd"),
    "POWERED_DOWN": StateWord(True, True, Cause.SLURM, "has no power until a job needs it", can_be_woken=True),
    "POWERING_UP": StateWord(True, True, Cause.SLURM, "is starting"),
    "POWER_UP": StateWord(True, True, Cause.SLURM, "is about to be started"),
    "POWERING_DOWN": StateWord(False, True, Cause.SLURM, "is being powered down", can_be_woken=True),
    "POWER_DOWN": StateWord(False, True, Cause.SLURM, "is about to be powered down", can_be_woken=True),
    "POWER_DRAIN": StateWord(False, True, Cause.SLURM, "is powered down when its jobs have ended", can_be_woken=True),
    "REBOOT_REQUESTED": StateWord(False, False, Cause.OPERATOR, "reboots when its jobs have ended"),
    "REBOOT_ISSUED": StateWord(False, False, Cause.OPERATOR, "is rebooting"),
    "REBOOT_CANCEL": StateWord(True, True, Cause.OPERATOR, "has a cancelled reboot"),
    "RESUME": StateWord(True, True, Cause.OPERATOR, "is being resumed"),
    "UNDRAIN": StateWord(True, True, Cause.OPERATOR, "is being resumed"),
    "CLOUD": StateWord(True, True, Cause.NONE, "is started in a cloud when a job needs it"),
    "DYNAMIC_NORM": StateWord(True, True, Cause.NONE, "registered without a line in slurm.conf"),
    "DYNAMIC_FUTURE": StateWord(True, True, Cause.NONE, "replaced a node that was defined for later"),
}


# During power-up and boot slurmd cannot answer. This is no fault, and sinfo does not show it either.
_WITHOUT_SLURMD = {"POWERED_DOWN", "POWERING_UP", "POWER_UP", "POWERING_DOWN"}
# Causes from worst to best: the worst one is the cause of a combined state.
_WORST = (Cause.UNKNOWN, Cause.FAULT, Cause.OPERATOR, Cause.SLURM, Cause.JOBS, Cause.NONE)


@dataclass(frozen=True)
class NodeCondition:
    """A node's state: ``text`` as Slurm wrote it, ``words`` of ``STATES``, and ``unknown`` words.

    A node with an unknown word takes no job and is not in service.
    """

    text: str
    words: frozenset[str]
    unknown: tuple[str, ...] = ()

    @property
    def takes_jobs(self) -> bool:
        """Return whether any user's job can get the node, now or when other jobs have ended."""
        return self._all(word.takes_jobs for word in self._rows)

    @property
    def in_service(self) -> bool:
        """Return whether neither a fault nor an operator keeps the node from running jobs."""
        return self._all(word.in_service for word in self._rows)

    @property
    def can_be_woken(self) -> bool:
        """Return whether the node has no power, or will soon have none, and Slurm starts it for a job (minutes)."""
        return self.in_service and any(word.can_be_woken for word in self._rows)

    @property
    def idle(self) -> bool:
        """Return whether the node is free now and has power."""
        jobs = {"ALLOCATED", "MIXED", "COMPLETING", "PERFCTRS", "BLOCKED", "POWERED_DOWN", "POWERING_UP", "POWER_UP"}
        return self.takes_jobs and "IDLE" in self.words and not self.words & jobs

    @property
    def reserved(self) -> bool:
        """Return whether the node is in a reservation, including one for maintenance."""
        return bool(self.words & {"RESERVED", "MAINTENANCE"})

    def for_its_reservation(self) -> "NodeCondition":
        """Return the state as jobs of the node's reservation see it. A drained or lost node takes no job there, too."""
        words = self.words - {"RESERVED", "MAINTENANCE"}
        # sinfo prints the reservation alone for a node without jobs.
        return replace(self, words=words or (self.words and frozenset(_FREE)))

    @property
    def drained(self) -> bool:
        """Return whether an operator has drained the node; a job may still run there."""
        return "DRAIN" in self.words

    @property
    def responds(self) -> bool:
        return "NOT_RESPONDING" not in self.words

    @property
    def exists(self) -> bool:
        return "FUTURE" not in self.words

    @property
    def cause(self) -> Cause:
        """Return the cause of the state: of the words that keep the node from jobs, or of any word without those."""
        if self.unknown:
            return Cause.UNKNOWN
        hinder = [word.cause for word in self._rows if not word.in_service] or [
            word.cause for word in self._rows if not word.takes_jobs
        ]
        return min(hinder or (word.cause for word in self._rows), key=_WORST.index, default=Cause.UNKNOWN)

    @property
    def meaning(self) -> str:
        """Return the meaning of all words."""
        known = [word.meaning for word in self._rows if word.cause is not Cause.NONE or len(self.words) == 1]
        strange = [f"is in a state that Slurm's documentation up to 25.11 does not list: {one}" for one in self.unknown]
        return ", ".join([*strange, *known])

    @property
    def _rows(self) -> list[StateWord]:
        return [STATES[word] for word in sorted(self.words)]

    def _all(self, answers: Iterable[bool]) -> bool:
        return bool(self.words) and not self.unknown and all(answers)


def condition(text: str) -> NodeCondition:
    """Parse a node's state as ``scontrol`` or ``sinfo`` writes it, in capitals or not. Accept every text.

    ``mixed-`` is a planned, partly used node; ``allocated+`` is an allocated node with a completing job.
    """
    words: set[str] = set()
    unknown: list[str] = []
    *first, last = _apart(text.strip())
    for part in (*first, last):
        match = _SIGNED.fullmatch(part)
        assert match
        word, signs = match[1].upper(), match[2]
        words.update(SIGNS[sign] for sign in signs)
        if word in STATES:
            words.add(word)
        elif word in _SPELLINGS:
            words.update(_SPELLINGS[word])
        elif word:
            unknown.append(match[1])
    if words & _WITHOUT_SLURMD:
        words.discard("NOT_RESPONDING")
    if not words and not unknown:
        unknown.append(text.strip() or "no state")
    return NodeCondition(text.strip(), frozenset(words), tuple(unknown))


def _apart(text: str) -> list[str]:
    """Return the words of a state, each with its signs. A ``+`` before a letter separates words."""
    return re.split(r"\+(?=[A-Za-z])", text)


@dataclass(frozen=True)
class NodeLine:
    """A line of sinfo; ``flags`` are Slurm's suffixes, for instance ``*`` for a node that does not respond."""

    name: str
    state: str
    flags: str
    reason: str

    @property
    def condition(self) -> NodeCondition:
        """Return the meaning of the state; words that no version of Slurm documents are in its ``unknown``."""
        return condition(self.state + self.flags)

    @property
    def usable(self) -> bool:
        """Return whether the node is in service: neither a fault nor an operator keeps it from running jobs."""
        return self.condition.in_service


def node_line(line: str) -> NodeLine | None:
    """Parse ``NODE|STATE|REASON``. Return ``None`` for any other line."""
    name, _, rest = line.partition("|")
    said, sign, reason = rest.partition("|")
    if not (sign and said.strip() and _NAME.fullmatch(name.strip()) and line.isprintable()):
        return None
    state = said.strip().rstrip("".join(SIGNS))
    return NodeLine(name.strip(), state, said.strip()[len(state) :], reason.strip())


def nodes_of_partitions(text: str) -> list[tuple[str, NodeLine]]:
    """Parse output in ``SINFO_FORMAT_OF_ALL``. Return each partition with each of its nodes, in the order printed.

    :raises InputError: a line is not PARTITION|NODE|STATE|REASON or is cut off, a node is twice in a partition or in
        different states in two partitions, or there is no node.
    """
    if not text.endswith("\n"):
        raise InputError("sinfo: expected lines, each with a line end: its output is empty or cut off")
    found: dict[tuple[str, str], NodeLine] = {}
    seen: dict[str, NodeLine] = {}
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        partition, _, rest = line.partition("|")
        node = node_line(rest) if _NAME.fullmatch(partition) else None
        if node is None:
            raise InputError(f"sinfo, line {number}: expected PARTITION|NODE|STATE|REASON; found {line[:120]!a}")
        if seen.setdefault(node.name, node) != node:
            raise InputError(f"sinfo, line {number}: expected {node.name} in the same state in all of its partitions")
        if found.setdefault((partition, node.name), node) is not node:
            raise InputError(f"sinfo, line {number}: expected one line for {node.name} in {partition}")
    return [(partition, node) for (partition, _), node in found.items()]
