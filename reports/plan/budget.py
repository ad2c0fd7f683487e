"""Which checks a run of so many node-hours takes: by findings per node-hour, and every family in its turn."""

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
# In as many nights in a row every family runs.
NIGHTS = 7


def of_campaign() -> dict[str, int]:
    """Check -> faults that it found in the fault campaigns."""
    file = YamlFile(CAMPAIGN)
    found: dict[str, int] = file.decode(dict[str, int])
    require_sound([file])
    return found


def of_sessions(sessions: Iterable[Session]) -> dict[str, int]:
    """Check -> sessions in which a case of it failed and still did when it was measured again."""
    found: Counter[str] = Counter()
    for session in sessions:
        cases = latest_attempts(session)
        found.update({one.case.check_class for one in cases if one.case.check_class and one.state is State.FAIL})
    return dict(found)


@dataclass(frozen=True)
class Choice:
    """A check. ``nights``: runs of the mode that went by without it, 0 when the newest had it; ``None``: all."""

    check: str
    family: str
    node_hours: float
    found: int
    nights: int | None
    why: str
    """Why it was taken; empty when it was left out."""

    @property
    def taken(self) -> bool:
        return bool(self.why)


@dataclass(frozen=True)
class Selection:
    """``choices`` in the order in which they were considered."""

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
        """Families that a seventh night goes by without, since others that waited longer took the budget."""
        ran = {choice.family for choice in self.taken}
        ages = _ages(self.choices, self.runs)
        return tuple(sorted(family for family, age in ages.items() if family not in ran and age >= NIGHTS - 1))


def nights_since(sessions: Sequence[Session], mode: str) -> tuple[dict[str, int], int]:
    """Check -> how many runs of ``mode`` since that in which a case of it last came to a result; and how many runs.

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
    """Take, as long as the budget lasts, the cheapest check of each family that the last six runs did without; checks
    by findings per node-hour, as long as every family can still have its turn in time; families that waited longest;
    and what else there is room for.

    Of equal ones first what waited longest; of families then what takes most, so that the rest still finds room, of
    checks what is cheapest; then by name.

    :param found: check -> what it has found.
    :param since: check -> nights since its last run, as ``nights_since``, and ``runs``.
    :raises InputError: in no order do all families have their turn; says what they need.
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
            night.take(choice, "it takes no node")
    for choice in turns:
        if ages[choice.family] >= NIGHTS - 1 and choice.family not in night.families:
            night.take(choice, "its family is due")
    by_yield = sorted(checks, key=lambda one: (-_yield(one), -_age(one, runs), one.node_hours, one.check))
    for choice in by_yield:
        if choice.found and night.leaves_turns(choice):
            night.take(choice, f"{figure(_yield(choice), 3)} findings per node-hour")
    for choice in turns:
        if choice.family not in night.families:
            night.take(choice, "its family's turn")
    for choice in by_yield:
        if night.leaves_turns(choice):
            night.take(choice, "there is room")
    rest = [choice for choice in by_yield if choice.check not in {one.check for one in night.taken}]
    return Selection(budget_node_hours, (*night.taken, *rest), runs)


class _Night:
    """The checks that are taken; ``left`` node-hours remain."""

    def __init__(self, budget_node_hours: float, ages: Mapping[str, int], turns: Sequence[Choice]) -> None:
        self._budget, self.left, self._ages, self._turns = budget_node_hours, budget_node_hours, ages, turns
        self.taken: list[Choice] = []
        self.families: set[str] = set()

    def take(self, choice: Choice, why: str) -> None:
        """Unless it is, or there is no room for it."""
        if choice.node_hours <= self.left and all(choice.check != one.check for one in self.taken):
            self.left -= choice.node_hours
            self.taken.append(replace(choice, why=why))
            self.families.add(choice.family)

    def leaves_turns(self, choice: Choice) -> bool:
        """Whether, with it, the families that have not run tonight still find room before a seventh night is over."""
        room = [self.left - choice.node_hours, *[self._budget] * (NIGHTS - 1)]
        waiting = [one for one in self._turns if one.family not in {*self.families, choice.family}]
        return room[0] >= 0 and all(
            _placed(one.node_hours, room, max(NIGHTS - self._ages[one.family], 1)) for one in waiting
        )


def _placed(cost: float, room: list[float], nights: int) -> bool:
    """Put ``cost`` into the first of the next ``nights`` that has room."""
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
        f"--budget {figure(budget_node_hours, 3)} is too small for every family at least every {NIGHTS}th night: the "
        f"cheapest check of each of {len(costs)} families takes {figure(sum(costs), 3)} node-hours, the dearest of "
        f"these {figure(costs[0], 3)}; expected at least {figure(enough * 1.005, 3)}"
    )


def _packed(costs: Sequence[float], budget_node_hours: float) -> bool:
    """Whether ``costs``, largest first, fit into the nights, each put into the first that has room."""
    room = [budget_node_hours] * NIGHTS
    return all(_placed(cost, room, NIGHTS) for cost in costs)


def _cheapest(checks: Iterable[Choice]) -> list[Choice]:
    """The cheapest check of each family."""
    families: dict[str, list[Choice]] = {}
    for choice in checks:
        families.setdefault(choice.family, []).append(choice)
    return [min(members, key=lambda choice: (choice.node_hours, choice.check)) for members in families.values()]


def _ages(checks: Iterable[Choice], runs: int) -> dict[str, int]:
    """Family -> how many of the ``runs`` of the mode went by since a check of it ran."""
    ages: dict[str, int] = {}
    for choice in checks:
        ages[choice.family] = min(ages.get(choice.family, runs), _age(choice, runs))
    return ages


def _yield(choice: Choice) -> float:
    return choice.found / choice.node_hours if choice.node_hours else 0.0


def _age(choice: Choice, runs: int) -> int:
    return runs if choice.nights is None else choice.nights


def to_document(selection: Selection) -> dict[str, Any]:
    """For machines: node-hours; of what is left out, ``why`` is empty."""
    return {
        "budget_node_hours": selection.budget_node_hours,
        "node_hours": selection.node_hours,
        "checks": [vars(choice) for choice in selection.choices],
        "overdue": list(selection.overdue),
    }
