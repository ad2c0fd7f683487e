"""Choose the checks of a run with a budget of node-hours: by findings per node-hour, and every family in turn."""

import pathlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kappa.core.ground.documents import YamlFile, require_sound
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import figure
from kappa.core.record.model import Session
from reports.plan.plan import RunPlan
from reports.verdict.case_verdict import executed
from reports.verdict.judge import latest_attempts
from reports.verdict.state import State

CAMPAIGN = pathlib.Path(__file__).with_name("findings.yaml")
# Every family runs within so many nights in a row.
NIGHTS = 7


def of_campaign() -> dict[str, int]:
    """Return check -> number of faults that it found in the fault campaigns."""
    file = YamlFile(CAMPAIGN)
    found: dict[str, int] = file.decode(dict[str, int])
    require_sound([file])
    return found


def of_sessions(sessions: Iterable[Session]) -> dict[str, int]:
    """Return check -> number of sessions in which a case of it failed, also when re-measured."""
    found: Counter[str] = Counter()
    for session in sessions:
        cases = latest_attempts(session)
        found.update({one.case.check_class for one in cases if one.case.check_class and one.state is State.FAIL})
    return dict(found)


@dataclass(frozen=True)
class Choice:
    """Describe a check and whether it is taken.

    ``nights``: runs of the mode since it ran; 0 if the newest run had it, ``None`` if no run had it. ``found``: number
    of its findings.
    """

    check: str
    family: str
    node_hours: float
    found: int
    nights: int | None
    why: str
    """The reason to take it; empty if it is left out."""

    @property
    def taken(self) -> bool:
        return bool(self.why)


@dataclass(frozen=True)
class Selection:
    """Hold the ``choices`` in the order in which they were considered."""

    budget_node_hours: float
    choices: tuple[Choice, ...]
    runs: int = 0
    """The number of stored runs of the mode."""

    @property
    def taken(self) -> tuple[Choice, ...]:
        return tuple(choice for choice in self.choices if choice.taken)

    @property
    def left_out(self) -> tuple[Choice, ...]:
        return tuple(choice for choice in self.choices if not choice.taken)

    @property
    def node_hours(self) -> float:
        return sum(choice.node_hours for choice in self.taken)

    @property
    def overdue(self) -> tuple[str, ...]:
        """Return the families that do not run in a seventh night, because others that waited longer took the budget."""
        ran = {choice.family for choice in self.taken}
        ages = _ages(self.choices, self.runs)
        return tuple(sorted(family for family, age in ages.items() if family not in ran and age >= NIGHTS - 1))


def nights_since(sessions: Sequence[Session], mode: str) -> tuple[dict[str, int], int]:
    """Return check -> number of runs of ``mode`` since its last result, and the number of runs.

    :param sessions: newest first.
    """
    found: dict[str, int] = {}
    of_mode = [one for one in sessions if one.mode == mode]
    for number, session in enumerate(of_mode):
        for case in (case for run in session.runs for case in run if case.check_class and executed(case)):
            found.setdefault(str(case.check_class), number)
    return found, len(of_mode)


def select(
    budget_node_hours: float, planned: RunPlan, found: Mapping[str, int], since: Mapping[str, int], runs: int
) -> Selection:
    """Choose checks until the budget is used, in this order:

    1. the cheapest check of each family that did not run in the last six runs;
    2. checks by findings per node-hour, as long as every family can still run in time;
    3. families that waited longest;
    4. other checks for which there is room.

    Among equals, the one that waited longest comes first. Then the most expensive family comes first, so that the rest
    still finds room, and the cheapest check; then the order is by name.

    :param found: check -> number of its findings.
    :param since: check -> runs since its last run; with ``runs`` as ``nights_since`` returns them.
    :raises InputError: the families cannot all run in time with this budget; the message has the least budget.
    """
    checks = [
        Choice(check, of_check.cases[0].case.family, of_check.node_hours, found.get(check, 0), since.get(check), "")
        for check, of_check in planned.by_check.items()
    ]
    _require_room(budget_node_hours, checks)
    ages = _ages(checks, runs)
    turns = sorted(_cheapest(checks), key=lambda one: (-ages[one.family], -one.node_hours, one.check))
    night = _Night(budget_node_hours, ages, turns)
    for choice in checks:
        if choice.node_hours == 0:
            night.take(choice, "needs no node")
    for choice in turns:
        if ages[choice.family] >= NIGHTS - 1 and choice.family not in night.families:
            night.take(choice, "family is due")
    by_yield = sorted(checks, key=lambda one: (-_yield(one), -_age(one, runs), one.node_hours, one.check))
    for choice in by_yield:
        if choice.found and night.leaves_turns(choice):
            night.take(choice, f"{figure(_yield(choice), 3)} findings per node-hour")
    for choice in turns:
        if choice.family not in night.families:
            night.take(choice, "family waited longest")
    for choice in by_yield:
        if night.leaves_turns(choice):
            night.take(choice, "budget left")
    rest = [choice for choice in by_yield if choice.check not in {one.check for one in night.taken}]
    return Selection(budget_node_hours, (*night.taken, *rest), runs)


class _Night:
    """Collect the taken checks; ``left`` is the rest of the budget in node-hours."""

    def __init__(self, budget_node_hours: float, ages: Mapping[str, int], turns: Sequence[Choice]) -> None:
        self._budget, self.left, self._ages, self._turns = budget_node_hours, budget_node_hours, ages, turns
        self.taken: list[Choice] = []
        self.families: set[str] = set()

    def take(self, choice: Choice, why: str) -> None:
        """Take a check, unless it is taken already or exceeds the rest of the budget."""
        if choice.node_hours <= self.left and all(choice.check != one.check for one in self.taken):
            self.left -= choice.node_hours
            self.taken.append(replace(choice, why=why))
            self.families.add(choice.family)

    def leaves_turns(self, choice: Choice) -> bool:
        """Return whether, with this check, all families that are not taken yet still fit into the nights in time."""
        room = [self.left - choice.node_hours, *[self._budget] * (NIGHTS - 1)]
        waiting = [one for one in self._turns if one.family not in {*self.families, choice.family}]
        return room[0] >= 0 and all(
            _placed(one.node_hours, room, max(NIGHTS - self._ages[one.family], 1)) for one in waiting
        )


def _placed(cost: float, room: list[float], nights: int) -> bool:
    """Put ``cost`` into the first of the next ``nights`` with room; return whether there is one."""
    night = next((number for number, left in enumerate(room[:nights]) if cost <= left), None)
    if night is not None:
        room[night] -= cost
    return night is not None


def _require_room(budget_node_hours: float, checks: Sequence[Choice]) -> None:
    costs = sorted((choice.node_hours for choice in _cheapest(checks)), reverse=True)
    if not costs or _packed(costs, budget_node_hours):
        return
    enough = budget = max(costs[0], sum(costs) / NIGHTS)
    while not _packed(costs, enough):
        enough += budget / 100
    raise InputError(
        f"--budget {figure(budget_node_hours, 3)} is too small to run every family at least every {NIGHTS}th night: "
        f"the cheapest checks of the {len(costs)} families take {figure(sum(costs), 3)} node-hours, and the most "
        f"expensive of these {figure(costs[0], 3)}; give at least {figure(enough * 1.005, 3)}"
    )


def _packed(costs: Sequence[float], budget_node_hours: float) -> bool:
    """Return whether ``costs``, largest first, fit into the nights, each in the first night with room."""
    room = [budget_node_hours] * NIGHTS
    return all(_placed(cost, room, NIGHTS) for cost in costs)


def _cheapest(checks: Iterable[Choice]) -> list[Choice]:
    """Return the cheapest check of each family."""
    families: dict[str, list[Choice]] = {}
    for choice in checks:
        families.setdefault(choice.family, []).append(choice)
    return [min(members, key=lambda choice: (choice.node_hours, choice.check)) for members in families.values()]


def _ages(checks: Iterable[Choice], runs: int) -> dict[str, int]:
    """Return family -> number of ``runs`` of the mode since a check of it ran."""
    ages: dict[str, int] = {}
    for choice in checks:
        ages[choice.family] = min(ages.get(choice.family, runs), _age(choice, runs))
    return ages


def _yield(choice: Choice) -> float:
    return choice.found / choice.node_hours if choice.node_hours else 0.0


def _age(choice: Choice, runs: int) -> int:
    return runs if choice.nights is None else choice.nights


def to_document(selection: Selection) -> dict[str, Any]:
    """Return the selection as a document for JSON, in node-hours; ``why`` is empty for a check that is left out."""
    return {
        "budget_node_hours": selection.budget_node_hours,
        "node_hours": selection.node_hours,
        "checks": [vars(choice) for choice in selection.choices],
        "overdue": list(selection.overdue),
    }
