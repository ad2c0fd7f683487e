"""Additions of a tender to a contract: run rules, origin of the commitments, and the key of each commitment."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from kappa.core.sites.derived_clauses import AgreedChange

_Line = Annotated[
    str, Meta(max_length=500, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
_Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$(?!\n)", description="a SHA-256 in hexadecimal")]


class RunRules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rules for every measurement, of a bidder and of the acceptance.

    ``may_tune``: a closed list; everything else stays as it is in the suite. ``repeats_by``: the role of the party that
    runs the repeats. ``clock``: ``program``, the clock of each benchmark's own program, or ``accounting``, Slurm's
    start and end of the job.
    """

    may_tune: Annotated[tuple[_Line, ...], Meta(max_length=100)]
    repeats_by: _Line
    clock: Literal["program", "accounting"]


class TenderOrigin(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The origin of a contract's commitments; ``kappa tender adopt`` writes it.

    ``pack`` is the SHA-256 of the pack's manifest, ``bid`` the bid's. ``suite`` is the revision of the frozen suite,
    and ``sources`` maps each of its frozen folders to a SHA-256. ``agreed`` is written by the parties.
    """

    bidder: _Line
    date: Annotated[datetime.date, Meta(description="a date of the calendar as YYYY-MM-DD")]
    pack: _Digest
    bid: _Digest
    suite: _Line
    sources: Annotated[dict[_Line, _Digest], Meta(min_length=1, max_length=100)]
    tuned: Annotated[tuple[_Line, ...], Meta(max_length=100)] = ()
    agreed: Annotated[tuple[AgreedChange, ...], Meta(max_length=100)] = ()


class Commitment(NamedTuple):
    """The place of a clause's commitment: the key ``key`` of the mapping ``block`` of the clause.

    ``factor``: a figure in the clause's unit over the value of the key.
    """

    block: str
    key: str
    factor: float = 1


#: For each block, the key that a bid commits. All other keys are terms of the tender, for instance ``least_h``, the
#: risks of a reliability test, and further bounds on a mix.
COMMITMENTS = (
    Commitment("threshold", "value"),
    Commitment("reliability", "promised_h"),
    Commitment("availability", "least"),
    Commitment("retained", "share", 100),
    Commitment("index", "least"),
    Commitment("mix", "efficiency"),
    Commitment("duration", "at_most_s"),
)


def commitment_of(clause: Mapping[str, Any]) -> Commitment | None:
    """Return the place of the commitment in a clause's document, or ``None`` if the clause has no such block."""
    return next((one for one in COMMITMENTS if clause.get(one.block) is not None), None)
