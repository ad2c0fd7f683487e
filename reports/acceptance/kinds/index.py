"""A clause about an index: the geometric mean of other clauses' rates over the figures of a reference machine.

::

    index:
      name: SSI
      of:
        - {clause: B1, reference: {value: 18, unit: us}}
        - {clause: B2, reference: {value: 40, unit: GB/s}, weight: 2}
      least: 3
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path
from kappa.core.ground.figures import NOTHING, counted, figure
from kappa.core.ground.order_statistics import Statistic
from reports.acceptance.kinds.clause import Clause, ClauseVerdict, Contract, Evidence, Line
from reports.acceptance.kinds.pages import Section
from reports.acceptance.kinds.series import Series
from reports.show.provenance import Listing

_Positive = Annotated[float, Meta(gt=0, le=1e300, description="a finite number above 0")]


class ReferenceFigure(Struct, frozen=True, forbid_unknown_fields=True):
    value: _Positive
    unit: Annotated[str, Meta(max_length=40)]


class IndexPiece(Struct, frozen=True, forbid_unknown_fields=True):
    """A clause about a series, and the figure of the reference machine. ``weight`` is its exponent."""

    clause: Line
    reference: ReferenceFigure
    weight: _Positive = 1.0


class IndexTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: Line
    of: Annotated[tuple[IndexPiece, ...], Meta(min_length=1, max_length=100)]
    least: _Positive


@dataclass(frozen=True)
class PieceRate:
    """Hold the verdict on a piece, which is ``rate`` times as fast as its reference; ``None`` without a rate."""

    piece: IndexPiece
    verdict: ClauseVerdict

    @property
    def rate(self) -> float | None:
        value, reference = self.verdict.value, self.piece.reference.value
        if self.problem or value is None:
            return None
        return value / reference if self.verdict.clause.comparison == "at_least" else reference / value

    @property
    def problem(self) -> str:
        value = self.verdict.value
        if self.verdict.problems or value is None:
            return f"{self.piece.clause}: the clause is incomplete"
        return "" if value > 0 else f"{self.piece.clause}: {figure(value)} gives no rate: expected a figure above 0"


class Index(Clause, frozen=True, kw_only=True, tag="index"):
    """A clause about an index, as SSP and SSI. Where less is better, a rate is the reciprocal."""

    index: IndexTerms

    @property
    def statistic(self) -> Statistic:
        return Statistic(f"{self.index.name}, geometric mean of {counted(len(self.index.of), 'rate')}")

    @property
    def threshold(self) -> float:
        return self.index.least

    @property
    def evidence(self) -> str:
        return ", ".join(piece.clause for piece in self.index.of)

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        units = {clause.id: clause.unit for clause in contract.clauses if isinstance(clause, Series)}
        names = [piece.clause for piece in self.index.of]
        for row, piece in enumerate(self.index.of):
            here, name, unit = ("index", "of", row), piece.clause, piece.reference.unit
            if name not in units:
                yield (*here, "clause"), f"expected the id of a clause about a series, found {name!r}"
            elif name in names[:row]:
                yield (*here, "clause"), f"{name}: expected each clause once"
            elif unit != units[name]:
                yield (*here, "reference", "unit"), f"expected the clause's unit {units[name]!r}, found {unit!r}"

    def judge(self, evidence: Evidence) -> ClauseVerdict:
        clauses = {clause.id: clause for clause in evidence.contract.clauses}
        rates = [PieceRate(piece, evidence.verdict(clauses[piece.clause])) for piece in self.index.of]
        if problems := tuple(piece.problem for piece in rates if piece.problem):
            return ClauseVerdict(self, None, problems=problems, detail=rates)
        logarithms = sum(one.piece.weight * math.log(one.rate) for one in rates if one.rate is not None)
        value = math.exp(logarithms / sum(one.piece.weight for one in rates))
        return ClauseVerdict(self, self.holds(value), value, detail=rates)

    def section(self, verdict: ClauseVerdict) -> Section:
        rows = [
            (
                f"{one.piece.clause} {one.verdict.clause.statistic}",
                one.verdict.clause.measured(one.verdict),
                f"{figure(one.piece.reference.value)} {one.piece.reference.unit}".rstrip(),
                NOTHING if one.rate is None else figure(one.rate),
                figure(one.piece.weight),
            )
            for one in self._rates(verdict)
        ]
        header = ("Clause", "Measured", "Reference", "Rate", "Weight")
        note = "Rate: times as fast as the reference. The index is the geometric mean of the weighted rates."
        return Section(tables=(Listing("Rates", header, rows, note=note),))

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        return {
            "index": [
                {
                    "clause": one.piece.clause,
                    "reference": one.piece.reference.value,
                    "weight": one.piece.weight,
                    "rate": one.rate,
                }
                for one in self._rates(verdict)
            ]
        }

    def _rates(self, verdict: ClauseVerdict) -> list[PieceRate]:
        rates: list[PieceRate] = verdict.detail
        return rates
