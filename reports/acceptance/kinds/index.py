"""A clause about an index of other clauses' rates, as SSP and SSI; docs/acceptance.md has an example."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from kappa.core.ground.documents import Path
from kappa.core.ground.figures import NOTHING, counted, figure
from kappa.core.ground.order_statistics import Statistic
from reports.acceptance.kinds.clause import Clause, ClauseEvidence, ClauseVerdict, Contract
from reports.acceptance.kinds.contract_head import Line
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

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        clauses = {clause.id: clause for clause in evidence.contract.clauses}
        rates, problems, logarithms = [], [], []
        for piece in self.index.of:
            verdict, rate = evidence.verdict(clauses[piece.clause]), None
            if verdict.problems or verdict.value is None:
                problems.append(f"{piece.clause}: the clause is incomplete")
            elif verdict.value <= 0:
                problems.append(f"{piece.clause}: {figure(verdict.value)} gives no rate: expected a figure above 0")
            else:
                at_least, reference = verdict.clause.comparison == "at_least", piece.reference.value
                rate = verdict.value / reference if at_least else reference / verdict.value
                logarithms.append(piece.weight * math.log(rate))
            rates.append((piece, verdict, rate))
        value = None if problems else math.exp(sum(logarithms) / sum(piece.weight for piece in self.index.of))
        met = None if value is None else self.holds(value)
        return ClauseVerdict(self, met, value, problems=tuple(problems), detail=rates)

    def section(self, verdict: ClauseVerdict) -> Section:
        rows = [
            (
                f"{piece.clause} {measured.clause.statistic}",
                measured.clause.measured(measured),
                f"{figure(piece.reference.value)} {piece.reference.unit}".rstrip(),
                NOTHING if rate is None else figure(rate),
                figure(piece.weight),
            )
            for piece, measured, rate in verdict.detail
        ]
        header = ("Clause", "Measured", "Reference", "Rate", "Weight")
        note = "Rate: times as fast as the reference. The index is the geometric mean of the weighted rates."
        return Section(tables=(Listing("Rates", header, rows, frozenset(header[1:]), note),))

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        return {
            "index": [
                {"clause": piece.clause, "reference": piece.reference.value, "weight": piece.weight, "rate": rate}
                for piece, _, rate in verdict.detail
            ]
        }
