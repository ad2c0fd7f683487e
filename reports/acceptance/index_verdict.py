"""Verdict on an index: the geometric mean of other clauses' rates over their references."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kappa.core.sites.contract import Clause

from kappa.core.ground.figures import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.acceptance.judge import ClauseVerdict


@dataclass(frozen=True)
class PieceVerdict:
    """``rate``: times as fast as the reference; ``None`` with a ``problem``."""

    verdict: ClauseVerdict
    reference: float
    weight: float
    rate: float | None
    problem: str


@dataclass(frozen=True)
class IndexVerdict:
    """``value`` is ``None`` if a piece has no rate."""

    pieces: tuple[PieceVerdict, ...]
    value: float | None

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(f"{piece.verdict.clause.id}: {piece.problem}" for piece in self.pieces if piece.problem)


def judge_index(clause: Clause, verdicts: Sequence[ClauseVerdict]) -> IndexVerdict:
    """Compute the index from the ``verdicts`` on the contract's clauses about series."""
    assert clause.index
    by_id = {verdict.clause.id: verdict for verdict in verdicts}
    pieces = []
    for piece in clause.index.of:
        verdict, rate, problem = by_id[piece.clause], None, ""
        value = verdict.value
        if verdict.problems or value is None:
            problem = "the clause is incomplete"
        elif value <= 0:
            problem = f"{figure(value)} gives no rate: expected a figure above 0"
        elif verdict.clause.comparison == "at_least":
            rate = value / piece.reference.value
        else:
            rate = piece.reference.value / value
        pieces.append(PieceVerdict(verdict, piece.reference.value, piece.weight, rate, problem))
    rates = [(piece.rate, piece.weight) for piece in pieces if piece.rate is not None]
    value = None
    if len(rates) == len(pieces):
        weights = sum(weight for _, weight in rates)
        value = math.exp(sum(weight * math.log(rate) for rate, weight in rates) / weights)
    return IndexVerdict(tuple(pieces), value)
