"""The campaign's result as Markdown."""

import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tests.fault_campaign.faults import KINDS
from tests.fault_campaign.outcome import Outcome
from tests.fault_campaign.statistics import Rate

BEGIN, END = "<!-- fault campaign: begin -->", "<!-- fault campaign: end -->"


def render(outcomes: Sequence[Outcome], seed: int) -> str:
    """Tables of detection, of false alarms, and of every fault that was missed or not pinned on its node."""
    faults = [outcome for outcome in outcomes if outcome.kind is not None]
    healthy = [outcome for outcome in outcomes if outcome.kind is None]
    seconds, load = _spread(outcome.seconds for outcome in outcomes), _spread(outcome.load_1min for outcome in outcomes)
    return "\n".join(
        [
            f"Seed {seed}: {len(faults)} rounds with a fault and {len(healthy)} healthy ones, "
            f"{seconds} s each, on a machine of {os.cpu_count()} cores with a load average of {load} "
            "(median, range). In brackets: 95 % confidence intervals (Clopper–Pearson).",
            "",
            *_faults(faults),
            "",
            *_false_alarms(healthy),
            "",
            *_misses(faults, healthy),
        ]
    )


def _spread(values: Iterable[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.0f} ({ordered[0]:.0f}–{ordered[-1]:.0f})" if ordered else "–"


def _rate(outcomes: Iterable[Outcome], hit: Callable[[Outcome], bool]) -> Rate:
    hits = [hit(outcome) for outcome in outcomes]
    return Rate(sum(hits), len(hits))


def _faults(faults: Sequence[Outcome]) -> list[str]:
    rows = [
        "| fault | what is done to the node | detected | right node named first | no other named | found by |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS.values():
        rows.append(_fault_row(kind.name + (" (hard)" if kind.hard else ""), kind.what, _of(faults, kind.name)))
    hard, soft = ([each for each in faults if KINDS[str(each.kind)].hard is wanted] for wanted in (True, False))
    rows.append(_fault_row("**all hard faults**", "target: all detected", hard))
    rows.append(_fault_row("**all others**", "target: at least 95 % detected", soft))
    rows.append(_fault_row("**all**", "target: right node in at least 95 %", faults))
    return rows


def _of(faults: Iterable[Outcome], kind: str) -> list[Outcome]:
    return [outcome for outcome in faults if outcome.kind == kind]


def _fault_row(title: str, what: str, outcomes: Sequence[Outcome]) -> str:
    found_by = Counter(check for outcome in outcomes for check in outcome.failed)
    return _row(
        title,
        what,
        _rate(outcomes, lambda outcome: outcome.detected),
        _rate(outcomes, lambda outcome: outcome.named_first),
        _rate(outcomes, lambda outcome: outcome.named_alone),
        ", ".join(f"{check} {number}" for check, number in found_by.most_common()),
    )


def _false_alarms(healthy: Sequence[Outcome]) -> list[str]:
    rows = ["| check | false alarms in healthy rounds | transient, measured again |", "|---|---|---|"]
    for check in sorted({check for outcome in healthy for check in outcome.checks}):
        ran = [outcome for outcome in healthy if check in outcome.checks]
        rows.append(
            _row(
                check,
                _rate(ran, lambda outcome, check=check: check in outcome.failed),  # type: ignore[misc]
                sum(check in outcome.unstable and check not in outcome.failed for outcome in ran),
            )
        )
    rows.append(_row("**whole run not PASS**", _rate(healthy, lambda outcome: outcome.detected), ""))
    rows.append(_row("**a node named**", _rate(healthy, lambda outcome: bool(outcome.suspects)), ""))
    return rows


def _misses(faults: Sequence[Outcome], healthy: Sequence[Outcome]) -> list[str]:
    odd = [outcome for outcome in faults if not (outcome.detected and outcome.named_first)]
    odd += [outcome for outcome in healthy if outcome.detected]
    if not odd:
        return ["No fault was missed, none put down to another node, and no healthy round was blamed."]
    rows = ["| round | fault | node | verdict | named | failed | missing |", "|---|---|---|---|---|---|---|"]
    for outcome in sorted(odd, key=lambda outcome: outcome.number):
        fault = f"{outcome.kind}: {outcome.detail}" if outcome.kind else "none"
        rows.append(
            _row(
                outcome.number, fault, outcome.node or "", outcome.verdict,
                *(", ".join(names) for names in (outcome.suspects, outcome.failed, outcome.incomplete)),
            )
        )  # fmt: skip
    return rows


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def between_markers(document: str, text: str) -> str:
    """``document`` with ``text`` in place of what is between the markers.

    :raises ValueError: it has not both markers, in order.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"
