"""Write the form of a bid as YAML with comments, and read it again once a bidder has filled it in."""

import datetime
import json
import sys
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kappa.core.ground.clean_text import one_line
from kappa.core.sites.contract import Clause, Contract, Predicted
from kappa.core.sites.tender_terms import COMMITMENTS

_Line = Annotated[
    str, Meta(max_length=500, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
_Number = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a finite number")]

_HEAD = """\
# The form of a bid. Fill in each null in a copy of this file, and change nothing else.
#   committed  the figure that becomes the threshold of the contract
#   evidence   the figure that the bidder measured or projected, in the same unit; it decides nothing
#     basis    measured or projected
#     where    the machine that was measured, or the model
#     how      program, version, settings and number of nodes, or the method
"""


class Committed(Struct, frozen=True, forbid_unknown_fields=True):
    value: _Number
    unit: str


class BidEvidence(Struct, frozen=True, forbid_unknown_fields=True):
    """The figure behind a commitment, in the clause's unit."""

    value: _Number
    basis: Literal["measured", "projected"]
    where: _Line
    how: _Line

    @property
    def predicted(self) -> Predicted:
        return Predicted(self.value, f"{self.where}: {self.how}", self.basis)


class ClauseBid(Struct, frozen=True, forbid_unknown_fields=True):
    clause: str
    committed: Committed
    evidence: BidEvidence


class BidHead(Struct, frozen=True, forbid_unknown_fields=True):
    """``tuned``: the bidder tuned these; each must be in the tender's ``may_tune``."""

    bidder: _Line
    date: datetime.date
    tuned: tuple[_Line, ...]


class Bid(Struct, frozen=True, forbid_unknown_fields=True):
    """``inputs``: the frozen inputs, each with its SHA-256."""

    bid: BidHead
    inputs: dict[str, str]
    clauses: tuple[ClauseBid, ...]


def asked(clause: Clause) -> str:
    """Return the direction and the unit of the commitment, in words: ``at most, in us``. Name the key of a block."""
    places = [one.key for one in COMMITMENTS if clause.block and getattr(clause, one.block, None) is clause.block]
    direction = " ".join([*places, clause.comparison.replace("_", " ")])
    return f"{direction}, {f'in {clause.unit}' if clause.unit else 'without unit'}"


def condition(clause: Clause) -> str:
    """Return the statistic and the repeats of a series, or the title of the block."""
    repeats = f", repeats: {clause.repeats}" if clause.repeats else ""
    metric = f" of {clause.selector}" if clause.selected else ""
    return f"{clause.statistic}{metric}{repeats}"


def form_of(contract: Contract, inputs: dict[str, str]) -> str:
    """Return the form. Text of the contract is in comments of one line, or quoted."""
    may_tune = contract.rules.may_tune if contract.rules else ()
    lines = [
        _HEAD,
        f"# {one_line(contract.title, 200)}",
        "bid:",
        "  bidder: null",
        "  date: null  # YYYY-MM-DD",
        "  tuned: []  # any of:",
        *(f"  #   {_quoted(one)}" for one in may_tune),
        "",
        "# The bid holds for these inputs.",
        "inputs:",
        *(f"  {_quoted(name)}: {_quoted(digest)}" for name, digest in inputs.items()),
        "",
        "clauses:",
    ]
    for clause in contract.clauses:
        lines += [
            f"# {clause.id}{'' if clause.mandatory else ' (optional)'}: {one_line(clause.text, 300)}",
            f"#   {one_line(condition(clause), 300)}",
            f"- clause: {_quoted(clause.id)}",
            f"  committed: {{value: null, unit: {_quoted(clause.unit)}}}  # {asked(clause)}",
            "  evidence:",
            "    value: null",
            "    basis: null",
            "    where: null",
            "    how: null",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
