"""Which checks a run of so many node-hours takes: by findings per node-hour, and every family in its turn."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kappa.ground.errors import InputError
from kappa.ground.figures import figure
from kappa.record.model import Session
from reports.plan.plan import Plan
from reports.verdict.case_verdict import executed

# In as many nights in a row every family runs.
NIGHTS = 7
# Checks that take no node are always taken; so is what is free by a plan that knows nothing of it.
_NEVER = 10**6


@dataclass(frozen=True)
class Choice:
    """Of a check. ``nights``: how many since its last run, 0 for the newest one; ``None`` when no stored run has it."""

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
        ages: dict[str, int] = {}
        for choice in self.choices:
            ages[choice.family] = min(ages.get(choice.family, _NEVER), _age(choice.nights))
        return tuple(sorted(family for family, age in ages.items() if family not in ran and age >= NIGHTS - 1))


def nights_since(sessions: Sequence[Session], mode: str) -> dict[str, int]:
    """Check -> how many runs of ``mode`` since that in which a case of it last came to a result.

    :param sessions: newest first.
    """
    found: dict[str, int] = {}
    for number, session in enumerate(one for one in sessions if one.mode == mode):
        for case in (case for run in session.runs for case in run if case.check_class and executed(case)):
            found.setdefault(str(case.check_class), number)
    return found


def select(budget_node_hours: float, planned: Plan, found: Mapping[str, int], since: Mapping[str, int]) -> Selection:
    """Take, as long as the budget lasts, first a check of each family that no run had for six nights, then checks by
    findings per node-hour; of equal ones first what waited longest, then what is cheapest, then by name.

    :param found: check -> what it has found.
    :param since: check -> nights since its last run, as ``nights_since``.
    :raises InputError: in no order do all families have their turn; says what they need.
    """
    checks = [
        Choice(check, of_check.cases[0].case.family, of_check.node_hours, found.get(check, 0), since.get(check), "")
        for check, of_check in planned.by_check.items()
    ]
    _require_room(budget_node_hours, checks)
    left = budget_node_hours
    taken: dict[str, str] = {}
    order: list[Choice] = []

    def consider(choice: Choice, why: str) -> bool:
        nonlocal left
        if choice.check not in taken and choice.node_hours <= left:
            left -= choice.node_hours
            taken[choice.check] = why
            order.append(choice)
        return choice.check in taken

    for choice in checks:
        if choice.node_hours == 0:
            consider(choice, "it takes no node")
    for choice in _due(checks):
        if choice.family not in {one.family for one in order}:
            consider(choice, "its family is due")
    by_yield = sorted(checks, key=lambda choice: (-_yield(choice), *_waited_longest(choice)))
    for choice in by_yield:
        consider(choice, f"{figure(_yield(choice), 3)} findings per node-hour" if choice.found else "there is room")
    rest = [choice for choice in by_yield if choice.check not in taken]
    told = [Choice(**{**vars(choice), "why": taken.get(choice.check, "")}) for choice in (*order, *rest)]
    return Selection(budget_node_hours, tuple(told))


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
    for cost in costs:
        night = next((number for number, left in enumerate(room) if cost <= left), None)
        if night is None:
            return False
        room[night] -= cost
    return True


def _cheapest(checks: Iterable[Choice]) -> list[Choice]:
    """Of each family."""
    families: dict[str, list[Choice]] = {}
    for choice in checks:
        families.setdefault(choice.family, []).append(choice)
    return [min(members, key=lambda choice: (choice.node_hours, choice.check)) for members in families.values()]


def _due(checks: Sequence[Choice]) -> list[Choice]:
    """The cheapest check of each family whose turn it is at the latest: first what waited longest, then, so that the
    rest still finds room, what takes most."""
    ages: dict[str, int] = {}
    for choice in checks:
        ages[choice.family] = min(ages.get(choice.family, _NEVER), _age(choice.nights))
    due = [choice for choice in _cheapest(checks) if ages[choice.family] >= NIGHTS - 1]
    return sorted(due, key=lambda choice: (-ages[choice.family], -choice.node_hours, choice.check))


def _yield(choice: Choice) -> float:
    return choice.found / choice.node_hours if choice.node_hours else 0.0


def _waited_longest(choice: Choice) -> tuple[float, float, str]:
    return -_age(choice.nights), choice.node_hours, choice.check


def _age(nights: int | None) -> int:
    """Runs that went by without it: 0 when the newest one had it."""
    return _NEVER if nights is None else nights
