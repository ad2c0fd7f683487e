"""The verdict on a contract for machines: strict JSON."""

import json
from typing import Any

from reports.acceptance.judge import ClauseVerdict, Verdict

# What explains and decides nothing: a later version of the suite may word it otherwise.
_PROSE = ("statistic", "method", "problems", "remarks", "families")


def to_json(verdict: Verdict) -> str:
    """The verdict as a JSON document; figures are in the clause's ``unit``."""
    document = {
        "verdict": verdict.acceptance.word,
        "exit_status": verdict.acceptance.exit_status,
        "title": verdict.contract.title,
        "system": verdict.contract.system,
        "families": {"expected": verdict.families.expected, "offered": verdict.families.offered},
        "clauses": [_clause(clause) for clause in verdict.clauses],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def without_prose(document: str) -> str:
    """A document of ``to_json`` with its verdicts and figures alone, every pair in its order, also a repeated one.

    :raises ValueError: it is not JSON.
    :raises RecursionError: it is nested without end.
    """
    return json.dumps(json.loads(document, object_pairs_hook=_decisive))


def _decisive(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [pair for pair in pairs if pair[0] not in _PROSE]


def _clause(verdict: ClauseVerdict) -> dict[str, Any]:
    clause, interval = verdict.clause, verdict.interval
    return {
        "id": clause.id,
        "outcome": verdict.outcome.word,
        "without_waiver": verdict.without_waiver.word,
        "mandatory": clause.mandatory,
        "statistic": str(clause.statistic),
        "comparison": clause.comparison,
        "threshold": clause.threshold,
        "unit": clause.unit,
        "value": verdict.value,
        "interval": {"low": interval.low, "high": interval.high, "method": interval.method} if interval else None,
        "samples": [
            {"repeat": sample.repeat, "value": sample.value, "nodes": sample.nodes, "attempt": sample.attempt}
            for sample in verdict.samples
        ],
        "problems": verdict.problems,
        "remarks": verdict.remarks,
    }
