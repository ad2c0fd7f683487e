"""The page's results by check: what a fold says while it is closed, and the rows in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.node_lists import folded
from reports.compare.earlier import NO_PAST, Past
from reports.show.headroom_bar import Bar
from reports.show.result_rows import Row, rows
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.state import State


@dataclass(frozen=True)
class Group:
    """``counts`` are (state, number of cases), worst first; ``tightest`` is the bar of the row nearest its bound."""

    check: str
    counts: list[tuple[State, int]]
    tightest: Bar | None
    nodes: str
    rows: list[Row]

    @property
    def opened(self) -> bool:
        """Whether the page shows its rows at once."""
        return self.counts[0][0].severity > State.PASS.severity


def groups(cases: Sequence[CaseVerdict], past: Past = NO_PAST) -> list[Group]:
    """A group for each check, the worst first, else in the report's order."""
    members: dict[str, list[CaseVerdict]] = {}
    for verdict in cases:
        members.setdefault(verdict.case.check_class or verdict.case.name.partition(" ")[0], []).append(verdict)
    made = [_group(check, found, past) for check, found in members.items()]
    return sorted(made, key=lambda group: -group.counts[0][0].severity)


def _group(check: str, cases: Sequence[CaseVerdict], past: Past) -> Group:
    states = Counter(verdict.state for verdict in cases)
    found = rows(cases, past)
    bars = [row.headroom for row in found if row.headroom.key]
    return Group(
        check=check,
        counts=sorted(states.items(), key=lambda item: -item[0].severity),
        tightest=min(bars, key=lambda bar: float(bar.key), default=None),
        nodes=folded(node for verdict in cases for node in verdict.case.nodes),
        rows=found,
    )
