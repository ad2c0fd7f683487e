"""The tests of ``kappa doctor`` are rows. Each states the rules that must hold, and has one result with a remedy."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

RIGHT, WRONG, UNTOLD, NOT_APPLICABLE = "right", "wrong", "not told", "not applicable"
SIGNS = {RIGHT: "✔", WRONG: "✘", UNTOLD: "◌", NOT_APPLICABLE: "–"}
PASS, FAIL, INCOMPLETE = 0, 1, 2
_BEGINNINGS = {UNTOLD: "not tested: ", NOT_APPLICABLE: "not applicable: "}
Answers = TypeVar("Answers")


class DoctorResult(NamedTuple):
    """The result of one test.

    ``subject``: what was tested. ``places``: partitions, nodes or environments; none means the whole site. ``remedy``:
    what to do if it is not right.
    """

    state: str
    subject: str
    places: tuple[str, ...]
    finding: str
    remedy: str = ""

    @property
    def line(self) -> str:
        where = f" ({', '.join(self.places)})" if self.places else ""
        return f"{SIGNS[self.state]} {self.subject}{where}: {self.finding}{f'; {self.remedy}' if self.remedy else ''}"


def result(state: str, subject: str, places: Sequence[str], finding: str, remedy: str = "") -> DoctorResult:
    """Return a result. If the test was not made, ``finding`` is the reason."""
    return DoctorResult(state, subject, tuple(places), _BEGINNINGS.get(state, "") + finding, remedy)


@dataclass(frozen=True)
class Must(Generic[Answers]):
    """A rule that must hold.

    ``finding``: returns how the answers break the rule; nothing if they do not. ``state``: the state of a test whose
    rule is broken.
    """

    finding: Callable[[Answers], str | Literal[False] | None]
    remedy: str | Callable[[Answers], str] = ""
    state: str = WRONG


class DoctorTest(Generic[Answers]):
    """A row: a test with the rules that must hold, in this order.

    ``subject``: ``{}`` stands for a name. ``right``: the finding if all rules hold; without it, there is then no
    result. ``applies``: whether there is anything to test.
    """

    def __init__(
        self, subject: str, *rules: Must[Answers], right: Callable[[Answers], str] | None = None,
        applies: Callable[[Answers], object] = lambda _: True,
    ) -> None:  # fmt: skip
        self.subject, self.rules, self.right, self.applies = subject, rules, right, applies

    def results(self, answers: Answers, places: Sequence[str], name: str = "") -> list[DoctorResult]:
        """Return the result of the first broken rule, or that all is right; nothing if the test does not apply."""
        if not self.applies(answers):
            return []
        subject = self.subject.format(name)
        for rule in self.rules:
            if finding := rule.finding(answers):
                remedy = rule.remedy if isinstance(rule.remedy, str) else rule.remedy(answers)
                return [result(rule.state, subject, places, finding, remedy)]
        return [result(RIGHT, subject, places, self.right(answers))] if self.right else []


def results_of(
    tests: Iterable[DoctorTest[Answers]], answers: Answers, places: Sequence[str], name: str = ""
) -> list[DoctorResult]:
    return [one for test in tests for one in test.results(answers, places, name)]


def merged(results: Iterable[DoctorResult]) -> list[DoctorResult]:
    """Merge equal results of several places into one, and sort results of one subject together."""
    places: dict[DoctorResult, dict[str, None]] = {}
    for each in results:
        places.setdefault(each._replace(places=()), {}).update(dict.fromkeys(each.places))
    order = list(dict.fromkeys(each.subject for each in places))
    each_once = [each._replace(places=tuple(where)) for each, where in places.items()]
    return sorted(each_once, key=lambda each: order.index(each.subject))


def status(results: Iterable[DoctorResult]) -> int:
    """Return the exit status. Without any result it is INCOMPLETE."""
    states = {each.state for each in results}
    if WRONG in states:
        return FAIL
    return INCOMPLETE if UNTOLD in states or not states else PASS
