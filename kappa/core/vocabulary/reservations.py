"""Slurm's reservations, by ``scontrol show reservation``: the nodes that jobs with ``--reservation`` get.

Sources: slurm.schedmd.com/reservations.html, and ``job_test_resv`` of ``src/slurmctld/reservation.c``.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import expand_nodes
from kappa.core.vocabulary.node_states import NodeCondition
from kappa.core.vocabulary.sbatch_options import option_value

#: Prints each reservation on a line.
RESERVATIONS = "scontrol --oneliner show reservation"
_NAME, _NOTHING = "ReservationName", ("(null)", "")


class Identity(NamedTuple):
    """A user whom a reservation must admit. An empty field is not compared."""

    user: str = ""
    groups: Collection[str] = ()
    accounts: Collection[str] = ()


class Reservation(NamedTuple):
    """The reservation that jobs name.

    ``nodes``: the nodes that it opens to its jobs. ``flex``: its jobs also get nodes outside of it (flag FLEX).
    """

    name: str
    nodes: frozenset[str]
    flex: bool

    def gives(self, node: str) -> bool:
        """Return whether Slurm considers the node for jobs of the reservation, in whatever state it is."""
        return self.flex or node in self.nodes

    def seen(self, node: str, now: NodeCondition) -> NodeCondition:
        """Return the node's state as jobs of the reservation see it."""
        return now.for_its_reservation() if node in self.nodes else now


def named_reservation(options: Sequence[str]) -> str:
    """Return the reservation that options of sbatch name; empty if none."""
    return option_value(options, "reservation")


def parse_reservation(text: str, name: str, identity: Identity = Identity()) -> Reservation:  # noqa: B008
    """Parse the output of ``RESERVATIONS``. ``name`` may be a list with commas: a job then gets one of them.

    :raises InputError: a reservation does not exist, is not active, does not admit the user, or cannot be read.
    """
    records = [
        # The first value of a repeated key counts.
        dict(word.partition("=")[::2] for word in reversed(line.split()))
        for line in clean(text).splitlines()
        if line.startswith(f"{_NAME}=")
    ]
    by_name = {record[_NAME]: record for record in records}
    nodes: set[str] = set()
    flex = False
    for one in name.split(","):
        if one not in by_name:
            known = f"Slurm has {one_line(', '.join(by_name), 200)}" if by_name else "Slurm has none"
            raise InputError(f"there is no reservation {one_line(one, 80)!r}: {known} (`{RESERVATIONS}`)")
        _require_open(by_name[one], identity)
        nodes |= _opened(by_name[one], records)
        flex |= "FLEX" in _listed(by_name[one], "Flags")
    return Reservation(name, frozenset(nodes), flex)


def _require_open(record: Mapping[str, str], identity: Identity) -> None:
    title, state = f"reservation {record[_NAME]}", record.get("State", "")
    # Jobs of a flexible reservation may begin before it and end after it.
    if state != "ACTIVE" and "FLEX" not in _listed(record, "Flags"):
        span = f"it lasts from {record.get('StartTime', '?')} to {record.get('EndTime', '?')}"
        raise InputError(f"{title} is {state or 'of no State'}, expected State=ACTIVE: {span}")
    mine = {"Users": {identity.user} - {""}, "Groups": identity.groups, "Accounts": identity.accounts}
    for key, names in mine.items():
        said = _listed(record, key)
        # A list with a minus before its names admits all others.
        all_others = any(one.startswith("-") for one in said)
        admitted = [one for one in names if one in said or (all_others and f"-{one}" not in said)]
        if said and names and not admitted:
            raise InputError(f"{title} does not admit you: {key}={','.join(said)}, you are {', '.join(sorted(names))}")


def _opened(record: Mapping[str, str], records: Sequence[Mapping[str, str]]) -> set[str]:
    """Return the nodes of a reservation that its jobs get: another active one may keep its own nodes from them."""
    flags, nodes = _listed(record, "Flags"), _nodes(record)
    for other in records:
        overlaps = "OVERLAP" in flags and "MAINT" not in _listed(other, "Flags")
        if other is not record and other.get("State") == "ACTIVE" and not (overlaps or "MAINT" in flags):
            nodes -= _nodes(other)
    return nodes


def _nodes(record: Mapping[str, str]) -> set[str]:
    said = record.get("Nodes", "")
    try:
        return set() if said in _NOTHING else set(expand_nodes(said))
    except ValueError as err:
        raise InputError(f"`{RESERVATIONS}`: {record[_NAME]}: Nodes: {err}") from None


def _listed(record: Mapping[str, str], key: str) -> list[str]:
    said = record.get(key, "")
    return [] if said in _NOTHING else said.split(",")
