"""Print the verdict on a terminal, in a pipe or in a log: a PASS fits one screen.

The failures and the headline come last, because the end stays on the screen and in a truncated log.
"""

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kappa.core.ground.figures import NOTHING, allowed, counted, duration, figure, moment, percent
from kappa.core.ground.node_lists import folded
from reports.compare.compare import RunComparison, lines_of
from reports.predicted.pairs import PredictedPair, predicted_pairs
from reports.show.console import STYLES, open_console, section, table
from reports.show.provenance import notes_of
from reports.verdict.advice import equal_reasons, measured, operator_line
from reports.verdict.bounds import LOOSE, LOOSEST, sensitivity_of, tightness_of
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.confirm import diagnose
from reports.verdict.judge import Verdict
from reports.verdict.metric_verdict import MetricVerdict
from reports.verdict.named_findings import finding_of
from reports.verdict.state import State, grouped
from reports.verdict.summary import (
    changed_site,
    fabrics_simulated,
    headline,
    known_failure,
    left_out_by_budget,
    rerun_command,
    tally,
)
from reports.verdict.suspects import observations

# A narrower table omits the reference and its source. The width is in characters.
WIDE = 110
# The most places shown for one reason; the page lists all.
MOST_PLACES = 12


def metric_table(cases: Sequence[CaseVerdict], wide: bool) -> Table:
    """Return a table with a row for each case and a row for each of its metrics below it."""
    right = ("Value", "Allowed", "Dev. %")
    found = table("State", "Check and metric", "Value", "Unit", "Allowed", "Dev. %", right=right)
    if wide:
        found.add_column("Reference", justify="right")
        found.add_column("Source")
    for case in cases:
        title = Text(case.title, "bold")
        title.append(f"  {folded(case.case.nodes)}", "dim")
        found.add_row(_label(case.state), title)
        for metric in case.shown_metrics:
            found.add_row(_label(metric.state), *(Text(cell) for cell in _metric_cells(metric, wide)))
        found.add_section()
    return found


def _metric_cells(metric: MetricVerdict, wide: bool) -> list[str]:
    cells = [
        f"  {metric.metric.name}",
        measured(metric) or NOTHING,
        metric.metric.unit,
        allowed(*metric.metric.bounds),
        percent(metric.deviation_percent),
    ]
    if wide:
        cells += [
            figure(metric.metric.reference) if metric.metric.bounded else NOTHING,
            metric.metric.source.source if metric.metric.source else NOTHING,
        ]
    return cells


def _label(state: State) -> Text:
    return Text(state.label, STYLES[state])


def show(verdict: Verdict, since: RunComparison | None = None, *, verbose: bool = False) -> None:
    """Print ``verdict`` on standard output.

    :param since: the comparison with the run before.
    :param verbose: also print every metric with its bounds, the notes of cases, and the checks that are not provided.
    """
    console = open_console()
    if verbose:
        _not_provided(console, verdict)
        _results(console, "Results", verdict.cases)
        notes = notes_of(verdict.cases)
        _listed(console, notes.title, [f"{title}: {note}" for title, note in notes.rows])
    else:
        _passed(console, verdict)
        # The failures already list each case that failed without a value.
        cases = [case for case in verdict.cases if case.state is not State.PASS and case.shown_metrics]
        _results(console, "Results that are not a pass", cases)
    observed = [f"· {one.node}: {one.text} ({one.case})" for one in observations(verdict.cases)]
    note = "nodes that stand out in both measurements; the case is within its bounds: no action needed"
    _listed(console, "Observations", observed, note)
    note = "failed first, within bounds when re-measured: no node is blamed"
    _listed(console, "Unstable", _unstable(verdict), note)
    known = [f"{State.KNOWN.symbol} {one.title}: {known_failure(one)}" for one in verdict.cases_in(State.KNOWN)]
    _listed(console, "Known failures", known, "marked xfail; they do not change the verdict")
    bounds = sensitivity_of(verdict.cases)
    note = "the slow-down that each finds with 95 % probability; smaller ones may pass"
    note = f"{note}; unknown for {counted(bounds.silent, 'other bound')}"
    _listed(console, "Weakest bounds", [f"· {one}" for one in bounds.weakest], note)
    _loose(console, verdict)
    if since:
        lines = lines_of(since) or ["no change beyond the usual variation"]
        note = f"{since.before.title}; `kappa compare` shows every metric"
        _listed(console, "Since the last run", [f"· {line}" for line in lines], note)
    if verdict.changes is not None:
        changed = verdict.changes or ("nothing",)
        note = "judged again by the present files and references of the site"
        _listed(console, "Changed since the verdict of that time", [f"· {line}" for line in changed], note)
    _predicted(console, predicted_pairs(verdict))
    _gaps(console, verdict)
    _suspects(console, verdict)
    _failures(console, verdict)
    if again := rerun_command(verdict):
        section(console, "Run the failed checks again")
        console.print(Text(f"    {again}"), soft_wrap=True)  # one line, to be copied
    console.print()
    console.print(_headline(verdict))


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
    if changed := changed_site(verdict):
        text.append(f"{changed}\n", "yellow")
    if simulated := fabrics_simulated(verdict.cases):
        text.append(f"all values are simulated, none is measured; fabrics {simulated}\n", "magenta")
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
        # Each line stays one line, for grep; the terminal wraps it.
        console.print(text, soft_wrap=True)
        told = [(case.title, verdict.acknowledged.of(finding_of(case))) for case in group]
        if len(group) > 1:
            _places(console, [f"{title}, {known}" if known else title for title, known in told])
        elif known := told[0][1]:
            _places(console, [str(known)])


def _suspects(console: Console, verdict: Verdict) -> None:
    if not verdict.suspects:
        return
    section(console, "Suspect nodes")
    found = table("Node", "Failed cases", "Evidence", right=("Failed cases",))
    for suspect in verdict.suspects:
        lines = [f"{title}: {evidence}" for title, evidence in suspect.evidence]
        lines += [str(known)] if (known := verdict.acknowledged.of_node(suspect.node)) else []
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


def _predicted(console: Console, found: Sequence[PredictedPair]) -> None:
    if not found:
        return
    compared = [pair for pair in found if pair.error]
    note = f"{counted(len(found), 'value')}; {counted(len(found) - len(compared), 'limit')} from specifications alone"
    section(console, "Predicted and measured", note)
    worse = [pair for pair in found if pair.is_worse]
    lines = [
        f"{pair.name} on {pair.case.partition}: {figure(pair.worse_by)} times worse than {pair.fabric} predicts; "
        f"the prediction's error is {figure(pair.error or 0)} times"
        for pair in worse
    ]
    lines += [
        f"{pair.name} on {pair.case.partition}: better than the limit of {pair.fabric}; check the specification, the "
        "model and the measurement"
        for pair in found
        if pair.passes_limit
    ]
    for line in lines:
        console.print(Text(f"· {line}"), soft_wrap=True)
    if compared and not worse:
        console.print(Text("· no value is worse than predicted by more than the prediction's error"))


def _listed(console: Console, title: str, lines: Sequence[str], note: str = "") -> None:
    """Print a section of ``lines``; print nothing without lines."""
    if lines:
        section(console, title, note)
    for line in lines:
        # Each line stays one line, for grep; the terminal wraps it.
        console.print(Text(line), soft_wrap=True)


def _unstable(verdict: Verdict) -> list[str]:
    lines = []
    for case in verdict.unstable:
        now = f" | {diagnosis.value}: now within bounds" if (diagnosis := diagnose(case)) else ""
        lines += [f"≈ run {attempt.case.run}: {operator_line(attempt)}{now}" for attempt in case.failed_attempts]
    return lines


def _loose(console: Console, verdict: Verdict) -> None:
    found = tightness_of(verdict.cases)
    if found.relative_median is not None:
        relative = (
            f"{counted(found.relative, 'bound')} compare each node with the median of its equals (median headroom"
            f" {figure(found.relative_median, 2)} times); they prove no absolute speed"
        )
        console.print()
        console.print(Text("Relative  ", "bold underline") + Text(relative))
    if not found.loose:
        return
    told = ", ".join(f"{one.check} {one.metric} {figure(one.times, 2)} times" for one in found.loose[:LOOSEST])
    line = (
        f"{len(found.loose)} of {counted(found.bounds, 'absolute bound')} have more than {LOOSE:g} times of headroom"
        f" and prove little: {told}{' …' if len(found.loose) > LOOSEST else ''}; `kappa learn` proposes tighter bounds"
    )
    console.print()
    console.print(Text("Loose  ", "bold underline") + Text(line))


def _passed(console: Console, verdict: Verdict) -> None:
    """Print the number of passed cases of each check in one paragraph."""
    passed = Counter(c.case.name.partition(" ")[0] for c in verdict.cases if c.state is State.PASS)
    if passed:
        names = ", ".join(f"{name} {number}" if number > 1 else name for name, number in sorted(passed.items()))
        console.print()
        console.print(Text("Passed  ", "bold underline") + Text(names))
    if verdict.not_provided:
        checks = len({entry.check for entry in verdict.not_provided})
        console.print(Text(f"Not provided here: {counted(checks, 'check')}. -v lists them, and every metric.", "dim"))


def _results(console: Console, title: str, cases: Sequence[CaseVerdict]) -> None:
    if cases:
        section(console, title)
        console.print(metric_table(sorted(cases, key=lambda case: case.state.severity), console.width >= WIDE))


def _not_provided(console: Console, verdict: Verdict) -> None:
    if not verdict.not_provided:
        return
    section(console, "Not provided here")
    found = table("Check", "Family", "Missing feature and the site's reason")
    for entry in verdict.not_provided:
        found.add_row(Text(entry.check), Text(entry.family), Text(entry.reason))
    console.print(found)
