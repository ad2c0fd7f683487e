"""Display of a clause about energy or other clauses' figures in the dossier: facts, and a table of figures.

The table of a contract from a bid has the figures of all clauses.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kappa.core.ground import node_lists
from kappa.core.ground.figures import NOTHING, figure
from kappa.core.sites.contract import Clause
from kappa.core.sites.derived_clauses import AgreedChange
from kappa.core.sites.energy_clause import Energy
from reports.acceptance.index_verdict import IndexVerdict
from reports.acceptance.judge import ClauseVerdict, ContractVerdict
from reports.acceptance.retained import RetainedVerdict

_MET = {True: "✔ met", False: "✘ not met", None: "○ incomplete"}


@dataclass(frozen=True)
class PieceTable:
    """``facts`` are (title, words); each row has a cell for each title of ``header``. ``warning`` is in large type."""

    facts: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str
    warning: str = ""


def piece_table(verdict: ClauseVerdict) -> PieceTable | None:
    """Return the table of a clause about energy, a retained one or an index; ``None`` without figures."""
    if verdict.clause.energy:
        return _energy(verdict, verdict.clause.energy)
    if verdict.retained:
        return _retained(verdict.retained)
    return _index(verdict.index) if verdict.index else None


def _retained(found: RetainedVerdict) -> PieceTable:
    facts = [("Accepted", str(found.accepted_on))]
    if found.next_due:
        facts.append(("Next due", f"{found.next_due}, counted from this run ({found.measured_on})"))
    facts += [("Agreed", words) for words in _agreements(found.agreed)]
    return PieceTable(
        tuple(facts),
        ("Clause", "Committed", "Accepted", "Bound", "Measured", "Share", "Verdict"),
        [
            (
                f"{one.accepted.clause.id} {one.accepted.clause.statistic}",
                one.accepted.clause.requirement,
                _measured(one.accepted),
                one.now.clause.requirement,
                _measured(one.now),
                NOTHING if one.share is None else f"{figure(100 * one.share)} %",
                _MET[one.met],
            )
            for one in found.figures
        ],
        "Committed: the threshold of the accepted contract. Accepted: the figure of the signed dossier. Where less is "
        "better, the share is accepted over measured.",
    )


def _agreements(changes: Iterable[AgreedChange]) -> list[str]:
    return [f"{one.change}: {one.reason} ({', '.join(one.parties)}, {one.date})" for one in changes]


def _index(found: IndexVerdict) -> PieceTable:
    return PieceTable(
        (),
        ("Clause", "Measured", "Reference", "Rate", "Weight"),
        [
            (
                f"{one.verdict.clause.id} {one.verdict.clause.statistic}",
                _measured(one.verdict),
                f"{figure(one.reference)} {one.verdict.clause.unit}".rstrip(),
                NOTHING if one.rate is None else figure(one.rate),
                figure(one.weight),
            )
            for one in found.pieces
        ],
        "Rate: times as fast as the reference. The index is the geometric mean of the rates, each with its weight.",
    )


def commitment_table(verdict: ContractVerdict, suites: Sequence[str]) -> PieceTable | None:
    """Return the table of committed, projected, measured and retained figures; ``None`` if none comes from a bid.

    :param suites: revisions of the suite that measured.
    """
    rows = [row for one in verdict.clauses for row in _commitments(one)]
    if not any(clause.predicted and clause.predicted.basis for clause, _ in rows):
        return None
    tender = verdict.contract.tender
    origin = (
        f"The commitments are from the bid of {tender.bidder}, {tender.date} (SHA-256 {tender.bid[:16]}…, pack "
        f"{tender.pack[:16]}…). Tuned: {', '.join(tender.tuned) or 'nothing'}. Frozen suite: {tender.suite}; measured "
        f"with {', '.join(suites) or 'no suite yet'}. "
        if tender
        else ""
    )
    agreed = "".join(f"Agreed: {words}. " for words in _agreements(tender.agreed if tender else ()))
    return PieceTable(
        (),
        ("Clause", "Committed", "Projected", "Measured", "Retained"),
        [cells for _, cells in rows],
        f"{origin}{agreed}Projected: the bidder's figure, measured elsewhere or projected. Retained: the figure of the "
        "rerun, as a share of the accepted one.",
    )


def _commitments(verdict: ClauseVerdict) -> Iterator[tuple[Clause, tuple[str, ...]]]:
    """Yield the clause with its cells, and then each accepted clause that it reruns."""
    clause, value = verdict.clause, _measured(verdict)
    found = (NOTHING, value) if clause.retained else (value, NOTHING)
    yield clause, (clause.id, clause.requirement, _projected(clause), *found)
    for one in verdict.retained.figures if verdict.retained else ():
        before = one.accepted.clause
        share = "" if one.share is None else f" ({figure(100 * one.share)} %)"
        names = f"{clause.id}/{before.id}", before.requirement, _projected(before)
        yield before, (*names, _measured(one.accepted), f"{_measured(one.now)}{share}")


def _projected(clause: Clause) -> str:
    if not clause.predicted:
        return NOTHING
    words = f"{figure(clause.predicted.value)} {clause.unit}".rstrip()
    return f"{words} ({clause.predicted.basis})" if clause.predicted.basis else words


def _energy(verdict: ClauseVerdict, terms: Energy) -> PieceTable:
    rows: list[tuple[str, ...]] = [
        (
            str(sample.repeat),
            figure(energy.joules, 6),
            f"{figure(energy.low_j, 6)} … {figure(energy.high_j, 6)}",
            figure(energy.seconds, 6),
            figure(energy.watts),
            figure(sample.value, 6),
            node_lists.folded(sample.nodes),
            energy.source,
        )
        for sample in verdict.samples
        if (energy := sample.energy)
    ]
    return PieceTable(
        (("Energy from", terms.source), ("Declared", terms.declared)),
        ("Repeat", "Energy (J)", "At least … at most (J)", "Time (s)", "Mean power (W)",
         f"Value ({verdict.clause.unit})", "Nodes", "Measured by"),
        rows,
        "Energy: of the job's nodes from the job's start to its end. At least, at most: by the readings around both.",
        "" if terms.level else terms.declared,
    )  # fmt: skip


def _measured(verdict: ClauseVerdict) -> str:
    return NOTHING if verdict.value is None else f"{figure(verdict.value)} {verdict.clause.unit}".rstrip()
