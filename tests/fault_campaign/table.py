"""Write the campaign's result as Markdown."""

import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from kappa.core.vocabulary.check_pages import as_markdown
from kappa.core.vocabulary.checks import catalogue
from tests.fault_campaign import jobs
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.kinds import KINDS, SEEN_BY, can_see, false_diagnoses
from tests.fault_campaign.outcomes import Outcome, Settings
from tests.fault_campaign.own import OWN, kinds_of
from tests.tables import Place, Rate, least_trials

# Target for a hang.
NAMED_WITHIN_S = 60
PLACE = Place("<!-- fault campaign: begin -->", "<!-- fault campaign: end -->")
Row = tuple[str, ...]


def render(outcomes: Sequence[Outcome], settings: Sequence[Settings]) -> str:
    """Return the tables of each kind of fault, of each check, and of every fault that was missed, misjudged or not
    put down to its node alone.

    :param settings: of each campaign that the outcomes are from.
    """
    faults = [outcome for outcome in outcomes if outcome.kind is not None]
    # A run without a verdict is neither a false positive nor a sign that there is none.
    healthy = [outcome for outcome in outcomes if outcome.kind is None and outcome.judged]
    lost = [outcome for outcome in outcomes if not outcome.judged]
    seconds, load = _spread(outcome.seconds for outcome in outcomes), _spread(outcome.load_1min for outcome in outcomes)
    seeds = " and ".join(str(one.seed) for one in settings)
    loads = dict.fromkeys(load for one in settings for load in one.beside)
    beside = f", beside {', '.join(loads)}" if loads else ""
    return "\n".join(
        [
            f"Seed {seeds}{beside}: {len(faults)} rounds with a fault and {len(outcomes) - len(faults)} "
            f"healthy ones, {len(lost)} of them without a verdict. One round takes {seconds} s on a machine of "
            f"{os.cpu_count()} cores with a load average of {load} (median, range). The tables give 95 % confidence "
            "intervals in brackets (Clopper–Pearson).",
            "",
            _faults(faults, {name: kind for one in settings for name, kind in kinds_of(one).items()}),
            "",
            *_time_to_name(faults),
            _checks(faults, healthy),
            "",
            "Each check's rate counts only rounds with a fault that the check can see. The first table gives in "
            "brackets the other checks that failed. A check whose job cannot start, because a node is lost, measures "
            "nothing.",
            "",
            _misses(faults, [*healthy, *(outcome for outcome in lost if outcome.kind is None)]),
            "",
            _what_it_shows(len(faults), len(healthy)),
        ]
    )


def _spread(values: Iterable[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.0f} ({ordered[0]:.0f}–{ordered[-1]:.0f})" if ordered else "–"


def _rate(outcomes: Iterable[Outcome], hit: Callable[[Outcome], bool]) -> Rate:
    hits = [hit(outcome) for outcome in outcomes]
    return Rate(sum(hits), len(hits))


def _faults(faults: Sequence[Outcome], kinds: Mapping[str, Kind]) -> str:
    rows: list[Row] = [
        ("fault", "how it is planted", "detected", "right node named first", "no other named",
         "no false diagnosis after re-measuring", "found by", "smallest mode", "seconds")
    ]  # fmt: skip
    tried = {outcome.kind for outcome in faults}
    for kind in (kind for kind in kinds.values() if kind.name in tried):
        rows.append(_fault_row(kind.name + (" (hard)" if kind.hard else ""), kind.what, _of(faults, kind.name)))
    hard, soft = ([each for each in faults if kinds[str(each.kind)].hard is wanted] for wanted in (True, False))
    rows.append(_fault_row("**all hard faults**", "target: all detected", hard))
    rows.append(_fault_row("**all others**", "target: at least 95 % detected", soft))
    rows.append(_fault_row("**all**", "target: right node in at least 95 %", faults))
    untried = [kind.name for kind in KINDS.values() if kind.name not in tried]
    return as_markdown(rows) + (f"\n\nKinds without a round: {', '.join(untried)}." if untried else "")


def _of(faults: Iterable[Outcome], kind: str) -> list[Outcome]:
    return [outcome for outcome in faults if outcome.kind == kind]


def _fault_row(title: str, what: str, outcomes: Sequence[Outcome]) -> Row:
    return _row(
        title,
        what,
        _rate(outcomes, lambda outcome: outcome.detected),
        _rate(outcomes, lambda outcome: outcome.named_first),
        _rate(outcomes, lambda outcome: outcome.named_alone),
        _rate((outcome for outcome in outcomes if outcome.diagnoses), lambda outcome: not false_diagnoses(outcome)),
        _found_by(outcomes),
        _found_in(outcomes),
        _spread(outcome.seconds for outcome in outcomes),
    )


def _found_in(outcomes: Iterable[Outcome]) -> str:
    """Return the smaller of the modes smoke and nightly that has one of the failed checks, and the number of rounds."""
    smoke = {name for name, check in catalogue().items() if "smoke" in check.modes}
    modes = Counter("smoke" if smoke.intersection(each.failed) else "nightly" for each in outcomes if each.failed)
    return ", ".join(f"{mode} {number}" for mode, number in modes.most_common())


def _found_by(outcomes: Sequence[Outcome]) -> str:
    """Return the failed checks that measure what the fault changes, and in brackets the other failed checks.

    The campaign does not know what an operator's own fault changes. There, every failed check has found the fault.
    """
    said = [(check, can_see(check, outcome) or outcome.kind == OWN) for outcome in outcomes for check in outcome.failed]
    finds, beside = (
        ", ".join(
            f"{check} {number}" for check, number in Counter(c for c, sees in said if sees is wanted).most_common()
        )
        for wanted in (True, False)
    )
    return " ".join(filter(None, (finds, beside and f"({beside})")))


def _time_to_name(faults: Sequence[Outcome]) -> list[str]:
    """Return the table of the times until a job named a node, for faults that make a job hang."""
    rows: list[Row] = []
    for kind in jobs.OF_HANGS:
        told = [outcome.named_after_s for outcome in _of(faults, kind.name)]
        seconds = [each for each in told if each is not None]
        if told:
            within = Rate(sum(each <= NAMED_WITHIN_S for each in seconds), len(seconds))
            rows.append(_row(kind.name, _spread(seconds), within, len(told) - len(seconds)))
    if not rows:
        return []
    until = "seconds from the fault until the job named a node"
    return [as_markdown([("hang", until, f"within {NAMED_WITHIN_S} s", "not named by the job"), *rows]), ""]


def _checks(faults: Sequence[Outcome], healthy: Sequence[Outcome]) -> str:
    rows: list[Row] = [
        ("check", "faults that it can see", "failed in rounds with these faults",
         "of these, named only the right node", "false positives in healthy rounds",
         "healthy rounds with a transient failure")
    ]  # fmt: skip
    for check in sorted({check for outcome in (*faults, *healthy) for check in outcome.checks}):
        kinds = [kind for kind, checks in SEEN_BY.items() if check in checks]
        visible = [outcome for outcome in faults if can_see(check, outcome)]
        # A check that did not run because of the fault has not found the fault.
        found = [outcome for outcome in visible if check in outcome.failed]
        alone = [outcome for outcome in found if outcome.blamed.get(check) == [outcome.node]]
        ran = [outcome for outcome in healthy if check in outcome.checks]
        alarms = [outcome for outcome in ran if check in outcome.failed]
        transient = [outcome for outcome in ran if check in outcome.unstable and outcome not in alarms]
        rates = [Rate(len(hits), len(trials)) for hits, trials in ((found, visible), (alone, found), (alarms, ran))]
        rows.append(_row(check, ", ".join(kinds), *rates, len(transient)))
    rows.append(_run_row("**whole run not PASS**", faults, healthy, lambda outcome: outcome.detected))
    rows.append(_run_row("**a node named**", faults, healthy, lambda outcome: outcome.names_a_node))
    return as_markdown(rows)


def _run_row(title: str, faults: Sequence[Outcome], healthy: Sequence[Outcome], hit: Callable[[Outcome], bool]) -> Row:
    found = [outcome for outcome in faults if hit(outcome)]
    alone = _rate(found, lambda outcome: outcome.named_alone)
    return _row(title, "all", Rate(len(found), len(faults)), alone, _rate(healthy, hit), "")


def _what_it_shows(faults: int, healthy: int) -> str:
    _, alarms = Rate(0, healthy).interval()
    found, _ = Rate(faults, faults).interval()
    return (
        f"Limits of so few rounds: with 0 false positives in {healthy} healthy rounds, the true rate may be up to "
        f"{100 * alarms:.0f} %. With {faults} of {faults} faults found, the true rate may be as low as "
        f"{100 * found:.0f} %. To show at most 1 % takes {least_trials(0.01)} healthy rounds without a false positive; "
        f"to show at least 95 % takes {least_trials(0.05)} faults without a miss."
    )


def _misses(faults: Sequence[Outcome], healthy: Sequence[Outcome]) -> str:
    odd = [each for each in faults if not (each.detected and each.named_alone) or false_diagnoses(each)]
    odd += [each for each in healthy if each.detected or each.names_a_node or not each.judged]
    if not odd:
        return "Every fault was found, and put down to the right node alone. No healthy round was blamed."
    rows: list[Row] = [("round", "fault", "node", "verdict", "named", "false diagnosis", "failed", "missing")]
    for outcome in sorted(odd, key=lambda outcome: outcome.number):
        fault = f"{outcome.kind}: {outcome.detail}" if outcome.kind else "none"
        lists = ((*outcome.suspects, *outcome.observed), false_diagnoses(outcome), outcome.failed, outcome.incomplete)
        rows.append(
            _row(outcome.number, fault, outcome.node or "", outcome.verdict, *(", ".join(names) for names in lists))
        )
    return as_markdown(rows)


def _row(*cells: object) -> Row:
    return tuple(str(cell).replace("\n", " ") for cell in cells)
