"""The verdict on a terminal, in a pipe or in a log: a PASS on one screen, the failures and the headline last.

The end is what stays on a screen, and what is kept of a long log.
"""

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from kappa.core.ground.figures import counted, duration, figure, moment
from reports.compare.compare import Comparison
from reports.compare.since import lines_of
from reports.predicted.counterparts import predicted_pairs
from reports.predicted.pairs import Pair
from reports.show.console import STYLES, open_console, section, table
from reports.show.metric_table import WIDE, metric_table
from reports.show.provenance import notes_of
from reports.verdict.advice import equal_reasons, operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.confirm import diagnose
from reports.verdict.gaps import grouped
from reports.verdict.judge import Verdict
from reports.verdict.loose import LOOSE, LOOSEST, tightness_of
from reports.verdict.observations import observations
from reports.verdict.sight import sight_of
from reports.verdict.state import State
from reports.verdict.summary import fabrics_simulated, headline, known_failure, left_out_by_budget, tally

# Of one reason; the page lists all.
MOST_PLACES = 12


def show(verdict: Verdict, since: Comparison | None = None, *, verbose: bool = False) -> None:
    """Print ``verdict`` on standard output.

    :param since: the run held against the one before.
    :param verbose: also every metric with its bounds, the notes of cases, and what is not provided.
    """
    console = open_console()
    if verbose:
        _not_provided(console, verdict)
        _every_row(console, verdict.cases)
        _notes(console, verdict.cases)
    else:
        _passed(console, verdict)
        _not_passed(console, verdict)
    _observed(console, verdict)
    _unstable(console, verdict)
    _known(console, verdict)
    _weakest(console, verdict)
    _loose(console, verdict)
    _since(console, since)
    _predicted(console, predicted_pairs(verdict))
    _gaps(console, verdict)
    _suspects(console, verdict)
    _failures(console, verdict)
    console.print()
    console.print(_headline(verdict))


def _notes(console: Console, cases: Sequence[CaseVerdict]) -> None:
    listing = notes_of(cases)
    if not listing.rows:
        return
    section(console, listing.title)
    for title, note in listing.rows:
        console.print(Text(f"{title}: {note}"), soft_wrap=True)


def _headline(verdict: Verdict) -> Panel:
    session = verdict.session
    text = Text()
    text.append(verdict.state.label, STYLES[verdict.state])
    text.append(f"  {headline(verdict)}\n")
    counts = ", ".join(f"{number} {what}" for what, number in tally(verdict))
    text.append("; ".join(filter(None, (counts, verdict.breadth))) + "\n")
    text.append(
        f"{verdict.site.name if verdict.site else 'unknown site'}, mode {verdict.mode or 'unknown'}"
        f"{f' ({verdict.mode_origin})' if verdict.mode_origin else ''}, {moment(session.time_start)}, "
        f"{duration(session.elapsed_s)} on {session.hostname or 'an unknown host'}\n",
        "dim",
    )
    if left_out := left_out_by_budget(verdict):
        text.append(f"{left_out}\n", "yellow")
    if simulated := fabrics_simulated(verdict.cases):
        text.append(f"simulated, nothing here was measured; fabrics {simulated}\n", "magenta")
    text.append(session.path, "dim")
    return Panel(text, box=box.ROUNDED, border_style=STYLES[verdict.state], expand=False)


def _failures(console: Console, verdict: Verdict) -> None:
    failed = verdict.cases_in(State.FAIL)
    if failed:
        section(console, "Failures")
    for group in equal_reasons(failed):
        line = operator_line(group[0])
        text = Text(State.FAIL.symbol + " ", STYLES[State.FAIL])
        text.append(line.title if len(group) == 1 else f"{len(group)} cases", "bold")
        text.append(str(line).removeprefix(line.title))
        # One line stays one line, for grep; a terminal folds it by itself.
        console.print(text, soft_wrap=True)
        if len(group) > 1:
            _places(console, [case.case.title for case in group])


def _suspects(console: Console, verdict: Verdict) -> None:
    if not verdict.suspects:
        return
    section(console, "Suspect nodes")
    found = table("Node", "Failed cases", "Evidence", right=("Failed cases",))
    for suspect in verdict.suspects:
        lines = [f"{title}: {evidence}" for title, evidence in suspect.evidence]
        found.add_row(Text(suspect.node, "bold"), str(suspect.failures), Text("\n".join(lines)))
    console.print(found)


def _gaps(console: Console, verdict: Verdict) -> None:
    if verdict.gaps:
        section(console, "Incomplete")
    for gap, places in grouped(verdict.gaps):
        text = Text(f"{State.INCOMPLETE.symbol} ", STYLES[State.INCOMPLETE])
        text.append(gap.what, "bold")
        text.append(f": {gap.remedy}", "dim")
        console.print(text, soft_wrap=True)
        _places(console, places)


def _places(console: Console, places: Sequence[str]) -> None:
    for place in places[:MOST_PLACES]:
        console.print(Text(f"    {place}"), soft_wrap=True)
    if len(places) > MOST_PLACES:
        console.print(Text(f"    and {len(places) - MOST_PLACES} more, all in the report"))


def _predicted(console: Console, found: Sequence[Pair]) -> None:
    if not found:
        return
    compared = [pair for pair in found if pair.error]
    note = f"{counted(len(found), 'figure')}; {counted(len(found) - len(compared), 'limit')} from specifications alone"
    section(console, "Predicted beside measured", note)
    worse = [pair for pair in found if pair.is_worse]
    lines = [
        f"{pair.name} on {pair.case.partition}: {figure(pair.worse_by)} times worse than {pair.fabric} predicts, "
        f"whose error is {figure(pair.error or 0)} times"
        for pair in worse
    ]
    lines += [
        f"{pair.name} on {pair.case.partition}: better than the limit of {pair.fabric}: what is wrong?"
        for pair in found
        if pair.passes_limit
    ]
    for line in lines:
        console.print(Text(f"· {line}"), soft_wrap=True)
    if compared and not worse:
        console.print(Text("· none is worse than predicted by more than the prediction's error"))


def _known(console: Console, verdict: Verdict) -> None:
    known = verdict.cases_in(State.KNOWN)
    if known:
        section(console, "Known failures", "marked xfail; they do not change the verdict")
    for case in known:
        console.print(Text(f"{State.KNOWN.symbol} {case.case.title}: {known_failure(case)}"), soft_wrap=True)


def _unstable(console: Console, verdict: Verdict) -> None:
    if verdict.unstable:
        section(console, "Unstable", "failed first, and no longer when measured again: nothing is blamed")
    for case in verdict.unstable:
        for attempt in case.failed_attempts:
            now = f" | {diagnosis.value}: now within bounds" if (diagnosis := diagnose(case)) else ""
            console.print(Text(f"≈ run {attempt.case.run}: {operator_line(attempt)}{now}"), soft_wrap=True)


def _observed(console: Console, verdict: Verdict) -> None:
    found = observations(verdict.cases)
    if found:
        section(console, "Observations", "measured twice alike, within bounds: nothing to act upon")
    for one in found:
        console.print(Text(f"· {one.node}: {one.text} ({one.case})"), soft_wrap=True)


def _weakest(console: Console, verdict: Verdict) -> None:
    sight = sight_of(verdict.cases)
    if not sight.stated:
        return
    note = "what they find with 95 %; smaller slow-downs may pass"
    section(console, "Weakest bounds", f"{note}; {counted(sight.silent, 'bound')} of other origin do not say")
    for one in sight.weakest:
        console.print(Text(f"· {one}"), soft_wrap=True)


def _loose(console: Console, verdict: Verdict) -> None:
    found = tightness_of(verdict.cases)
    if found.relative_median is not None:
        relative = (
            f"{counted(found.relative, 'bound')} hold each node against the median of its equals, with"
            f" {figure(found.relative_median, 2)} times of headroom at the median: no proof of absolute speed"
        )
        console.print()
        console.print(Text("Relative  ", "bold underline") + Text(relative))
    if not found.loose:
        return
    told = ", ".join(f"{one.check} {one.metric} {figure(one.times, 2)} times" for one in found.loose[:LOOSEST])
    line = (
        f"{len(found.loose)} of {counted(found.bounds, 'absolute bound')} are met more than {LOOSE:g} times over and"
        f" prove little: {told}{' …' if len(found.loose) > LOOSEST else ''}; `kappa learn` proposes tighter ones"
    )
    console.print()
    console.print(Text("Loose  ", "bold underline") + Text(line))


def _since(console: Console, since: Comparison | None) -> None:
    if since is None:
        return
    lines = lines_of(since)
    section(console, "Since the last run", f"{since.before.title}; `kappa compare` shows every metric")
    for line in lines or ["nothing that is more than what varies anyway"]:
        console.print(Text(f"· {line}"), soft_wrap=True)


def _passed(console: Console, verdict: Verdict) -> None:
    """How many cases of each check, in a paragraph."""
    passed = Counter(c.case.name.partition(" ")[0] for c in verdict.cases if c.state is State.PASS)
    if passed:
        names = ", ".join(f"{name} {number}" if number > 1 else name for name, number in sorted(passed.items()))
        console.print()
        console.print(Text("Passed  ", "bold underline") + Text(names))
    if verdict.not_provided:
        checks = len({entry.check for entry in verdict.not_provided})
        console.print(Text(f"Not provided here: {counted(checks, 'check')}. -v lists them, and every metric.", "dim"))


def _not_passed(console: Console, verdict: Verdict) -> None:
    # What failed without a figure is among the failures already.
    cases = [case for case in verdict.cases if case.state is not State.PASS and case.shown_metrics]
    if cases:
        section(console, "Results that are not a pass")
        _rows(console, cases)


def _every_row(console: Console, cases: Sequence[CaseVerdict]) -> None:
    if cases:
        section(console, "Results")
        _rows(console, cases)


def _rows(console: Console, cases: Sequence[CaseVerdict]) -> None:
    console.print(metric_table(sorted(cases, key=lambda case: case.state.severity), console.width >= WIDE))


def _not_provided(console: Console, verdict: Verdict) -> None:
    if not verdict.not_provided:
        return
    section(console, "Not provided here")
    found = table("Check", "Family", "Missing feature and the site's reason")
    for entry in verdict.not_provided:
        found.add_row(Text(entry.check), Text(entry.family), Text(entry.reason))
    console.print(found)
