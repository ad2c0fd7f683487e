"""The requirement matrix: requirement, clause, checks and result; and the requirements that no clause covers."""

from collections.abc import Mapping

from kappa.core.ground.figures import NOTHING, figure
from reports.acceptance.kinds.clause import Clause, ClauseVerdict, Contract, ContractVerdict
from reports.show.provenance import Listing


def requirement_matrix(verdict: ContractVerdict) -> Listing | None:
    """Return a row for each clause with a requirement, by requirement; ``None`` without one."""
    covering = [judged for judged in verdict.clauses if judged.clause.requirement]
    covering.sort(key=lambda judged: judged.clause.requirement or "")
    if not covering:
        return None
    return Listing(
        "Requirements",
        ("Requirement", "Clause", "Checks", "Committed", "Projected", "Measured", "Result"),
        [_row(judged, verdict.requirements) for judged in covering],
        note="Committed: the contract's limit. Projected: a figure from a model, a data sheet or a bid.",
    )


def _row(judged: ClauseVerdict, requirements: Mapping[str, str]) -> tuple[str, ...]:
    clause = judged.clause
    name = clause.requirement or ""
    text = requirements.get(name, clause.source)
    return (
        f"{name}: {text}" if text else name,
        clause.id,
        clause.evidence,
        clause.required,
        _projected(clause),
        clause.measured(judged),
        f"{judged.outcome.symbol} {judged.outcome.word}",
    )


def _projected(clause: Clause) -> str:
    if not clause.predicted:
        return NOTHING
    value = f"{figure(clause.predicted.value)} {clause.unit}".rstrip()
    return f"{value} ({clause.predicted.basis})" if clause.predicted.basis else value


def uncovered(contract: Contract, requirements: Mapping[str, str]) -> list[str]:
    """Return each requirement that no clause covers, as ``ID: text``."""
    covered = {clause.requirement for clause in contract.clauses}
    return [f"{name}: {text}" for name, text in requirements.items() if name not in covered]
