"""The end of a run's output, for readers of its last 60 lines: failures, table of steps, numbers."""

from collections import Counter
from collections.abc import Sequence

from tests.gate.results import OUTCOMES, Group, grouped, read
from tests.gate.running import Outcome, Step, last_lines

LINES, GROUPS, GROUP_LINES, LOG_LINES, CHARACTERS = 60, 5, 8, 25, 160


def ending(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> list[str]:
    """Return at most ``LINES`` lines; ``outcomes`` are those of the first of the ``steps``."""
    failed = [outcome for outcome in outcomes if not outcome.passed]
    lines = [*_table(steps, outcomes), "", *_repeated(outcomes)]
    lines += [f"{_how(outcome)}: {outcome.log}" for outcome in failed]
    counts = sum((read(one.step.results).counts for one in outcomes if one.step.results), Counter[str]())
    verdict = "failed" if failed else "passed"
    lines.append(f"{', '.join(f'{counts[what]} {what}' for what in OUTCOMES)}: {verdict}")
    return [*_details(failed, LINES - len(lines)), *lines]


def _repeated(outcomes: Sequence[Outcome]) -> list[str]:
    """Output of ``tests.repeating`` about repeated tests."""
    said = (line for one in outcomes if one.step.results for line in one.log.read_text("utf-8", "replace").splitlines())
    return [line[:CHARACTERS] for line in said if line.startswith("REPEATED ")][:GROUPS]


def _how(outcome: Outcome) -> str:
    if outcome.stopped:
        return f"{outcome.note} in step {outcome.step.name}, after {outcome.seconds:.0f} s"
    return f"step {outcome.step.name} failed, {outcome.note}"


def _details(failed: Sequence[Outcome], most: int) -> list[str]:
    lines: list[str] = []
    groups: list[Group] = []
    for outcome in failed:
        of_step = failures_of(outcome)
        groups += of_step
        if not of_step and not outcome.stopped:
            lines += [f"The end of {outcome.log}:", *last_lines(outcome.log, LOG_LINES), ""]
    found = [line for group in groups[:GROUPS] for line in _lines_of(group)]
    if len(groups) > GROUPS:
        found.append(f"… and {len(groups) - GROUPS} more groups of failures")
    # Tests first: they say more than the end of a log.
    lines = [line[:CHARACTERS] for line in [*found, *([""] if found else []), *lines]]
    return lines if len(lines) <= most else [*lines[: most - 2], "… the logs hold more", ""]


def failures_of(outcome: Outcome) -> list[Group]:
    return grouped(read(outcome.step.results).failures) if outcome.step.results else []


def _lines_of(group: Group) -> list[str]:
    times = f"{group.count} × " if group.count > 1 else ""
    message = [line for line in group.first.message.splitlines() if line.strip()]
    shown = message[: GROUP_LINES - 2] if len(message) <= GROUP_LINES - 2 else [*message[: GROUP_LINES - 3], "…"]
    first = f"  {'first: ' if group.count > 1 else ''}{group.first.test}"
    return [f"{group.first.file}: {times}{group.first.exception}", first, *(f"    {line}" for line in shown)]


def _table(steps: Sequence[Step], outcomes: Sequence[Outcome]) -> list[str]:
    rows = [("step", "s", "result", "log"), *(row(outcome) for outcome in outcomes)]
    rows += [(step.name, "", "not run", "") for step in steps[len(outcomes) :]]
    wide = [max(len(cells[column]) for cells in rows) for column in range(3)]
    return [f"{a:<{wide[0]}}  {b:>{wide[1]}}  {c:<{wide[2]}}  {d}".rstrip() for a, b, c, d in rows]


def row(outcome: Outcome) -> tuple[str, str, str, str]:
    result = outcome.note if outcome.stopped else "passed" if outcome.passed else "failed"
    more = f": {outcome.note}" if outcome.note and not outcome.stopped else ""
    return outcome.step.name, f"{outcome.seconds:.0f}", f"{result}{more}", str(outcome.log)
