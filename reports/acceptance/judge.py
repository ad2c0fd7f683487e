"""Judge a contract: the verdict is a pure function of the contract and of a campaign's results."""

import dataclasses

from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.contract import binding_contract, earlier_contracts, kept_requirements
from reports.acceptance.kinds.clause import (
    Acceptance,
    Clause,
    ClauseEvidence,
    ClauseOutcome,
    ClauseVerdict,
    ContractVerdict,
)


def gather(campaign: Campaign) -> ClauseEvidence:
    """Return everything that the verdict on a campaign or a dossier follows from."""
    return ClauseEvidence(campaign, binding_contract(campaign.folder), lambda dossier: judge(Campaign(dossier)))


def judge(campaign: Campaign, evidence: ClauseEvidence | None = None) -> ContractVerdict:
    """Judge the results of a campaign or a dossier.

    - NOT ACCEPTED: a mandatory clause is not met.
    - INCOMPLETE: otherwise, if a mandatory clause is incomplete or no clause is met.
    - ACCEPTED: otherwise.

    A waiver excuses a clause that is not met or incomplete.

    :param evidence: of the campaign, if a part of it was read before.
    """
    folder = campaign.folder
    evidence = evidence or gather(campaign)
    contract, earlier = evidence.contract, earlier_contracts(folder)
    begun = next(iter(earlier.values()), contract)
    clauses = tuple(
        _with_waiver_remark(evidence.verdict(clause), before)
        for clause, before in zip(contract.clauses, begun.clauses, strict=True)
    )
    return ContractVerdict(
        contract,
        _acceptance(clauses),
        clauses,
        tuple(evidence.attempts),
        tuple(earlier),
        campaign.families(),
        evidence.chain,
        kept_requirements(folder),
    )


def _acceptance(clauses: tuple[ClauseVerdict, ...]) -> Acceptance:
    binding = {verdict.outcome for verdict in clauses if verdict.clause.mandatory}
    if ClauseOutcome.NOT_MET in binding:
        return Acceptance.NOT_ACCEPTED
    if ClauseOutcome.INCOMPLETE in binding or not any(verdict.outcome is ClauseOutcome.MET for verdict in clauses):
        return Acceptance.INCOMPLETE
    return Acceptance.ACCEPTED


def _with_waiver_remark(verdict: ClauseVerdict, begun: Clause) -> ClauseVerdict:
    """Add a remark on the change of the waiver since the run began."""
    waiver, before = verdict.clause.waiver, begun.waiver
    if waiver == before:
        return verdict
    change = "withdrawn" if waiver is None else "changed" if before else "given"
    earlier = f"; before: {before.reason} ({before.name}, {before.date})" if before else ""
    remark = f"the waiver was {change} after the run began{earlier}"
    return dataclasses.replace(verdict, remarks=(remark, *verdict.remarks))
