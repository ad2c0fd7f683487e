"""Print a plan, and its comparison with a run, on a terminal."""

from kappa.core.ground.figures import counted, duration, figure
from reports.plan.budget import Selection
from reports.plan.plan import TOLERANCE, PlanCheck, PlannedTurns, RunPlan
from reports.show.console import open_console, table

_GIB = 2**30
TITLES = ("check", "cases", "nodes", "seconds", "node-hours", "writes, GiB", "at most, GiB", "from")


def gib(of_bytes: int) -> str:
    """Return a number of bytes in GiB."""
    return figure(of_bytes / _GIB, 3)


def show_plan(planned: RunPlan, *, each_case: bool) -> None:
    """Print the plan by check, or by case with ``each_case``, and its sums."""
    console = open_console()
    shown = table(*TITLES, right=TITLES[1:-1])
    for check, of_check in planned.by_check.items():
        groups = [RunPlan((one,)) for one in of_check.cases] if each_case else [of_check]
        for group in groups:
            nodes = sorted({one.case.nodes for one in group.cases})
            known = sum(one.runs > 0 for one in group.cases)
            shown.add_row(
                str(group.cases[0].case.series) if each_case else check,
                str(len(group.cases)),
                f"{nodes[0]}" if len(nodes) == 1 else f"{nodes[0]}–{nodes[-1]}",
                figure(group.seconds, 3), figure(group.node_hours, 3), gib(group.written_bytes), gib(group.most_bytes),
                "history" if known == len(group.cases) else f"history of {known}" if known else "the check",
            )  # fmt: skip
    console.print(shown)
    known = sum(one.runs > 0 for one in planned.cases)
    console.print(
        f"{counted(len(planned.cases), 'case')}, {known} of them from earlier runs: "
        f"{figure(planned.node_hours, 3)} node-hours, {gib(planned.written_bytes)} GiB written "
        f"(at most {gib(planned.most_bytes)} GiB); {duration(planned.seconds)} if the jobs run one after the other"
    )


def show_turns(planned: RunPlan, turns: PlannedTurns) -> None:
    """Print the cost of the rotation over single nodes, and the sums of the whole night."""
    nodes = ", ".join(f"{count} of {partition}" for partition, count in turns.nodes.items()) or "no node"
    of_turns = turns.plan
    open_console().print(
        f"rotation over single nodes, {nodes}, each check of one node {counted(turns.repeats, 'time')}: "
        f"{figure(of_turns.node_hours, 3)} node-hours, {gib(of_turns.written_bytes)} GiB written (at most "
        f"{gib(of_turns.most_bytes)} GiB); the whole night takes "
        f"{figure(planned.node_hours + of_turns.node_hours, 3)} node-hours and writes "
        f"{gib(planned.written_bytes + of_turns.written_bytes)} GiB"
    )


def show_selection(selection: Selection) -> None:
    """Print the checks that a budget takes, with reasons, and the names of those that it leaves out."""
    console = open_console()
    shown = table("check", "family", "node-hours", "findings", "last run", "reason", right=("node-hours", "findings"))
    for choice in selection.choices:
        last = "never" if choice.nights is None else f"{counted(choice.nights + 1, 'night')} ago"
        shown.add_row(
            choice.check, choice.family, figure(choice.node_hours, 3), str(choice.found), last,
            choice.why or "left out by the budget",
        )  # fmt: skip
    console.print(shown)
    console.print(
        f"budget of {figure(selection.budget_node_hours, 4)} node-hours: {counted(len(selection.taken), 'check')} for "
        f"{figure(selection.node_hours, 3)} node-hours by the plan"
    )
    if selection.left_out:
        names = ", ".join(choice.check for choice in selection.left_out)
        console.print(f"left out by the budget: {counted(len(selection.left_out), 'check')}, {names}")
    if selection.overdue:
        console.print(f"overdue, because others waited longer: {', '.join(selection.overdue)}")


def show_held(held: PlanCheck) -> None:
    """Print the plan and the real cost of a run, the cases that differ most first, and the sums."""
    console = open_console()
    titles = ("case", "nodes", "planned, s", "took, s", "planned, GiB", "wrote, GiB")
    shown = table(*titles, right=titles[1:])
    apart = sorted(held.pairs, key=lambda pair: -abs(pair[0].node_hours - pair[1].node_hours))
    for planned, of_run in apart[:10]:
        shown.add_row(
            str(planned.case.series), str(of_run.nodes), figure(planned.seconds, 3), figure(of_run.seconds, 3),
            gib(planned.written_bytes), gib(of_run.written_bytes),
        )  # fmt: skip
    console.print(shown)
    if not held.pairs:
        console.print("nothing to compare with: the run's accounting has no case of the plan")
    else:
        verdict = "within" if held.holds else "not within"
        console.print(
            f"{counted(len(held.pairs), 'case')}: planned {figure(held.planned_node_hours, 3)} node-hours and "
            f"{gib(held.planned_bytes)} GiB, took {figure(held.took_node_hours, 3)} node-hours and wrote "
            f"{gib(held.took_bytes)} GiB: {verdict} {TOLERANCE:.0%}"
        )
    for series, what in ((held.not_run, "planned, but not in the run"), (held.not_planned, "in the run, not planned")):
        if series:
            console.print(f"{what}: {counted(len(series), 'case')}, {', '.join(map(str, series[:5]))}")
