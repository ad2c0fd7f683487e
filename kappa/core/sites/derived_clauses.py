"""Clauses of a contract about the figures of other clauses: retained speed, and an index."""

import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kappa.core.ground.figures import counted, figure

_Line = Annotated[
    str, Meta(max_length=500, pattern=r"^\S(.*\S)?$(?!\n)", description="one line without blanks at its ends")
]
_Positive = Annotated[float, Meta(gt=0, le=1e300, description="a finite number above 0")]
_Key = Annotated[
    str,
    Meta(
        pattern=r"^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64}|RW[A-Za-z0-9+/]{54})$(?!\n)",
        description="a GnuPG fingerprint without blanks, or the last line of minisign's public key",
    ),
]


class AgreedChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The parties' agreement to a change: of a rerun's programs and inputs, or of a tender's frozen sources.

    ``change`` is Kappa's name of the difference. All parties of the contract must be listed.
    """

    change: _Line
    reason: _Line
    parties: Annotated[tuple[_Line, ...], Meta(min_length=1, max_length=8)]
    date: Annotated[datetime.date, Meta(description="a date of the calendar as YYYY-MM-DD")]


class Retained(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rerun of an accepted dossier's series; each must keep a share of its accepted figure.

    ``dossier``: its folder, relative to the contract. ``share``: of the accepted figure; where less is better, the new
    figure may be at most the accepted one divided by ``share``. ``keys``: each of them must have signed the dossier;
    without keys one good signature by a key of GnuPG's keyring suffices.
    """

    dossier: _Line
    share: Annotated[float, Meta(gt=0, le=1, description="a share above 0 and at most 1")]
    every_months: Annotated[int, Meta(ge=1, le=240, description="1 to 240 months")]
    keys: Annotated[tuple[_Key, ...], Meta(max_length=8)] = ()
    agreed: Annotated[tuple[AgreedChange, ...], Meta(max_length=100)] = ()

    title = "lowest share of an accepted figure"
    unit = "%"

    @property
    def least(self) -> float:
        return 100 * self.share

    @property
    def requirement(self) -> str:
        return f"≥ {figure(self.least)} %"

    def bound(self, accepted: float, comparison: Literal["at_least", "at_most"]) -> float:
        """Return the threshold of a figure, from the accepted one."""
        return accepted * self.share if comparison == "at_least" else accepted / self.share


class ReferenceFigure(Struct, frozen=True, forbid_unknown_fields=True):
    value: _Positive
    unit: Annotated[str, Meta(max_length=40)]


class IndexPiece(Struct, frozen=True, forbid_unknown_fields=True):
    """A clause about a series, and the figure of the reference machine. ``weight`` is its exponent."""

    clause: _Line
    reference: ReferenceFigure
    weight: _Positive = 1.0


class Index(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The geometric mean of rates over their references, as SSP and SSI; ``least`` is its threshold.

    Where less is better, the rate is the reciprocal.
    """

    name: _Line
    of: Annotated[tuple[IndexPiece, ...], Meta(min_length=1, max_length=100)]
    least: _Positive

    unit = ""

    @property
    def title(self) -> str:
        return f"{self.name}, geometric mean of {counted(len(self.of), 'rate')}"

    @property
    def requirement(self) -> str:
        return f"≥ {figure(self.least)}"
