"""The common part of clauses about operation: their jobs in Slurm, and the verdict on their repeats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import NOTHING, counted, figure
from kappa.core.ground.order_statistics import Statistic, interval_of, value_of
from reports.acceptance.campaign.layout import MEASURED
from reports.acceptance.campaign.operations import OperationAttempt, OperationBench, begin_operation, operation_attempts
from reports.acceptance.kinds.clause import Clause, ClauseEvidence, ClauseVerdict, OperatorStop, Sample
from reports.acceptance.kinds.pages import Section
from reports.acceptance.kinds.samples import samples_section

Nodes = Annotated[int, Meta(ge=1, le=100_000)]
Seconds = Annotated[int, Meta(ge=1, le=30 * 86_400)]
_Option = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=r"^--[a-z][a-z-]*(=\S+)?$(?!\n)",
        description="a long option of sbatch such as --partition=batch",
    ),
]
# Kappa sets these itself, or they would make another job of it.
_OWN_OPTIONS = ("array", "clusters", "exclusive", "job-name", "nodelist", "nodes", "output", "time", "wrap")


class OperationTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Terms of each kind. ``options`` are those of ``sbatch`` for each job."""

    options: Annotated[tuple[_Option, ...], Meta(max_length=20)] = ()
    repeats: Annotated[int, Meta(ge=1, le=1000)] = 1
    statistic: Literal["median", "minimum", "maximum"] = "median"

    def __post_init__(self) -> None:
        for option in self.options:
            name = option.removeprefix("--").partition("=")[0]
            if name in _OWN_OPTIONS:
                raise ValueError(f"options: Kappa sets --{name} itself; remove it")


@dataclass(frozen=True)
class OperationRepeat:
    """Hold one repeat.

    ``value`` is in the clause's unit. ``figures`` have their keys of ``verdict.json``. ``facts`` are for the dossier.
    ``broken``: the reason, besides the value, why the clause is not met; ``problem``: the reason why it is incomplete.
    """

    attempt: OperationAttempt
    value: float
    nodes: Iterable[str]
    jobs: Sequence[str]
    figures: Mapping[str, float | None]
    facts: Sequence[str]
    broken: str = ""
    problem: str = ""

    @property
    def number(self) -> int:
        return self.attempt.about.repeat

    @property
    def sample(self) -> Sample:
        jobs = f"{self.jobs[0]}–{self.jobs[-1]}" if len(self.jobs) > 1 else self.jobs[0]
        folder, started = self.attempt.folder.name, self.attempt.about.started
        return Sample(self.value, self.number, tuple(sorted(self.nodes)), jobs, folder, started=started)

    def __str__(self) -> str:
        figures = [f"{name} {NOTHING if value is None else figure(value)}" for name, value in self.figures.items()]
        return "; ".join((*self.facts, *figures))


class OperationClause(Clause, frozen=True, kw_only=True):
    """A clause about operation. A kind adds its terms, plan, ``run`` and ``read``."""

    @property
    def terms(self) -> OperationTerms:
        raise NotImplementedError

    @property
    def statistic(self) -> Statistic:
        return Statistic(self.terms.statistic)

    @property
    def repeats(self) -> int:
        return self.terms.repeats

    # Measurement.

    def run(self, bench: OperationBench, attempt: OperationAttempt, stop: OperatorStop) -> Struct:
        """Measure a repeat, and return its record.

        :raises InputError: Slurm refuses a job, or does not answer; or the operator's command failed.
        """
        raise NotImplementedError

    def read(self, attempt: OperationAttempt) -> OperationRepeat:
        """Return the figures of a finished attempt.

        :raises InputError: it has none; says why.
        """
        raise NotImplementedError

    def measure_repeat(self, bench: OperationBench, number: int, stop: OperatorStop) -> bool | None:
        """Measure a repeat. Return whether it alone meets the clause; ``None`` if it has no figure."""
        bench.say(f"{self.id}: {self.evidence}, repeat {number} of {self.repeats}")
        attempt = begin_operation(bench.campaign, self.id, number)
        try:
            record = self.run(bench, attempt, stop)
            bench.say(f"  {MEASURED}: {attempt.finish(record)}")
        finally:
            attempt.cancel_jobs(bench)
        try:
            repeat = self.read(attempt)
        except InputError as err:
            bench.say(f"{self.id}: repeat {number}: {err}")
            return None
        broken = self.broken([repeat])
        bench.say(f"{self.id}: {'; '.join((str(repeat), *broken))}")
        return self.holds(repeat.value) and not broken

    def repeats_left(self, bench: OperationBench, again: bool) -> list[int]:
        """Return the repeats without a finished attempt; with ``again``, also those whose attempt has no figure.

        Cancel the jobs of interrupted attempts.
        """
        attempts = operation_attempts(bench.campaign, self.id)
        for attempt in attempts:
            if not attempt.finished:
                attempt.cancel_jobs(bench)
        done = {attempt.about.repeat for attempt in attempts if attempt.finished}
        if again:
            done = {repeat.number for repeat in self._read_all(attempts)[0]}
        return sorted({*range(1, self.repeats + 1)} - done)

    # The verdict.

    def judge(self, evidence: ClauseEvidence) -> ClauseVerdict:
        """Judge by the last finished attempt at each repeat."""
        attempts = operation_attempts(evidence.campaign.folder, self.id)
        repeats, problems = self._read_all(attempts)
        problems += evidence.chain.problems(attempt.folder for attempt in attempts)
        samples = tuple(repeat.sample for repeat in repeats)
        values = [repeat.value for repeat in repeats]
        value = value_of(self.statistic, values, self.comparison == "at_least") if values else None
        return ClauseVerdict(
            self,
            None if problems or value is None else self.holds(value) and not self.broken(repeats),
            value,
            interval_of(self.statistic, values) if values else None,
            tuple(problems),
            (*_remarks(attempts), *evidence.without_chain(samples)),
            samples,
            repeats,
        )

    def _read_all(self, attempts: Sequence[OperationAttempt]) -> tuple[list[OperationRepeat], list[str]]:
        """Return the repeats, from the last finished attempt at each, and the problems."""
        finished = {attempt.about.repeat: attempt for attempt in attempts if attempt.finished}
        repeats, problems = [], []
        for number in range(1, self.repeats + 1):
            if number not in finished:
                problems.append(f"repeat {number} is not finished")
                continue
            try:
                repeats.append(self.read(finished[number]))
            except InputError as err:
                problems.append(f"repeat {number}: {err}")
        problems += [f"repeat {repeat.number}: {repeat.problem}" for repeat in repeats if repeat.problem]
        return repeats, problems

    def broken(self, repeats: Sequence[OperationRepeat]) -> list[str]:
        """Return each reason, besides the value, why the clause is not met."""
        return [f"repeat {repeat.number}: {repeat.broken}" for repeat in repeats if repeat.broken]

    # The dossier.

    def measured(self, verdict: ClauseVerdict) -> str:
        return "; ".join((super().measured(verdict), *self.broken(verdict.detail)))

    def section(self, verdict: ClauseVerdict) -> Section:
        facts = ((f"Repeat {repeat.number}", str(repeat)) for repeat in verdict.detail)
        return samples_section(verdict, *facts)

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        repeats = [{"repeat": repeat.number, **repeat.figures} for repeat in verdict.detail]
        return {"operations": repeats} if repeats else {}


def _remarks(attempts: Sequence[OperationAttempt]) -> Iterator[str]:
    finished = [attempt.about.repeat for attempt in attempts if attempt.finished]
    if interrupted := len(attempts) - len(finished):
        yield counted(interrupted, "interrupted attempt")
    if superseded := len(finished) - len(set(finished)):
        yield f"{counted(superseded, 'finished attempt')} superseded by a later one"
