"""The head of a contract, and the types of the texts and numbers in a contract."""

import datetime
import sys
from typing import Annotated, Literal

from msgspec import Meta, Struct

from reports.acceptance.outages.terms import OutageTerms

# `$` alone would also match before a line end.
Text = Annotated[
    str, Meta(min_length=1, max_length=2000, pattern=r"\S", description="some text of at most 2000 characters")
]
Name = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)", description="letters, digits, '.', '_' and '-'")
]
Id = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$(?!\n)",
        description="at most 40 letters, digits, '.', '_' and '-'",
    ),
]
Line = Annotated[
    str, Meta(max_length=2000, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
Unit = Annotated[
    str, Meta(max_length=40, pattern=r"^(\S(.*\S)?)?$(?!\n)", description="one line without blanks at its ends")
]
Day = Annotated[datetime.date, Meta(description="a date of the calendar as YYYY-MM-DD")]
Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a finite number")]
Comparison = Literal["at_least", "at_most"]


class Predicted(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure from a model, a data sheet or a bid, in the threshold's unit; it does not change the verdict."""

    value: Number
    source: Text
    basis: Literal["measured", "projected"] | None = None


class Waiver(Struct, frozen=True, forbid_unknown_fields=True):
    reason: Text
    name: Text
    date: Day


class ContractHead(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The head of a contract.

    ``system`` is the name of the ReFrame system. Only checks with the tag ``mode`` run. ``parties`` maps a role, for
    instance buyer or vendor, to a name; each party signs. ``observation`` defines outages for all clauses.
    """

    title: Text
    system: Name
    date: Day
    mode: Name | None = None
    parties: Annotated[dict[Text, Text], Meta(min_length=1, max_length=8)]
    observation: OutageTerms | None = None
