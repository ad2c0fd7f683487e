"""Share the parts of clauses about operation: their jobs in Slurm, and the verdict on their repeats."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.ground.order_statistics import interval_of, value_of
from reports.acceptance.campaign.operations import OperationAttempt, OperationBench, operation_attempts
from reports.acceptance.kinds.clause import Clause, ClauseEvidence, ClauseVerdict, Sample
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
SILENT = "--output=/dev/null"


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
class QueuedJob:
    """A job that Kappa submits; without ``command`` it sleeps for ``seconds``."""

    nodes: int
    seconds: int
    command: tuple[str, ...] = ()

    def submission(self, attempt: OperationAttempt, *options: str) -> list[str]:
        """Return the command that submits the job; its time limit is twice its time."""
        minutes = max(1, -(-2 * self.seconds // 60))
        task = shlex.join(self.command or ("sleep", str(self.seconds)))
        return [
            "sbatch", "--parsable", f"--job-name={attempt.about.job_name}", "--no-requeue", "--chdir=/",
            f"--nodes={self.nodes}", "--ntasks-per-node=1", f"--time={minutes}", *options, f"--wrap=exec {task}",
        ]  # fmt: skip


def cancel_jobs(bench: OperationBench, attempt: OperationAttempt) -> None:
    """Cancel the jobs of an attempt that are left in the queue.

    :raises InputError: slurmctld does not answer.
    """
    bench.run(("scancel", "--quiet", f"--name={attempt.about.job_name}"))


@dataclass(frozen=True)
class OperationRepeat:
    """Hold one repeat.

    ``value`` is in the clause's unit. ``figures`` have their keys of ``verdict.json``. ``facts`` are for the dossier.
    ``broken``: the reason, besides the value, why the clause is not met.
    """

    attempt: OperationAttempt
    value: float
    nodes: Iterable[str]
    jobs: Sequence[str]
    figures: Mapping[str, float | None]
    facts: Sequence[str]
    broken: str = ""

    @property
    def number(self) -> int:
        return self.attempt.about.repeat

    @property
    def sample(self) -> Sample:
        jobs = f"{self.jobs[0]}–{self.jobs[-1]}" if len(self.jobs) > 1 else self.jobs[0]
        folder, started = self.attempt.folder.name, self.attempt.about.started
        return Sample(self.value, self.number, tuple(sorted(self.nodes)), jobs, folder, started=started)


@dataclass(frozen=True)
class OperationDetail:
    """``broken``: each reason, besides the value, why the clause is not met."""

    repeats: Sequence[OperationRepeat]
    broken: Sequence[str]


Reader = Callable[[OperationAttempt], OperationRepeat]


def read_repeats(
    clause: Clause, attempts: Sequence[OperationAttempt], read: Reader
) -> tuple[list[OperationRepeat], list[str]]:
    """Return the repeats, from the last finished attempt at each, and the problems.

    :param read: raises InputError if the attempt has no figure.
    """
    finished = {attempt.about.repeat: attempt for attempt in attempts if attempt.finished}
    repeats, problems = [], []
    for number in range(1, clause.repeats + 1):
        if number not in finished:
            problems.append(f"repeat {number} is not finished")
            continue
        try:
            repeats.append(read(finished[number]))
        except InputError as err:
            problems.append(f"repeat {number}: {err}")
    return repeats, problems


def repeats_left(clause: Clause, bench: OperationBench, read: Reader | None, cancel: bool = True) -> list[int]:
    """Return the repeats without a finished attempt; with ``read``, also those whose attempt has no figure.

    :param cancel: cancel the jobs that interrupted attempts left in the queue.
    :raises InputError: slurmctld does not answer.
    """
    attempts = operation_attempts(bench.campaign, clause.id)
    for attempt in attempts if cancel else ():
        if not attempt.finished:
            cancel_jobs(bench, attempt)
    done = {attempt.about.repeat for attempt in attempts if attempt.finished}
    if read:
        done = {repeat.number for repeat in read_repeats(clause, attempts, read)[0]}
    return sorted({*range(1, clause.repeats + 1)} - done)


def judge_repeats(
    clause: Clause,
    evidence: ClauseEvidence,
    read: Reader,
    beyond: Callable[[Sequence[OperationRepeat]], tuple[list[str], list[str]]] = lambda _: ([], []),
) -> ClauseVerdict:
    """Judge a clause by the last finished attempt at each repeat.

    :param read: see ``read_repeats``.
    :param beyond: returns further problems, and the reasons, besides the value, why the clause is not met.
    :raises InputError: an ``attempt.json`` is damaged.
    """
    attempts = operation_attempts(evidence.campaign.folder, clause.id)
    altered = evidence.chain.problems(attempt.folder for attempt in attempts)
    attempts = [attempt for attempt in attempts if attempt.about.repeat <= clause.repeats]
    repeats, problems = read_repeats(clause, attempts, read)
    missing, broken = beyond(repeats)
    problems += [*missing, *altered]
    broken += [f"repeat {repeat.number}: {repeat.broken}" for repeat in repeats if repeat.broken]
    samples = tuple(repeat.sample for repeat in repeats)
    values = [repeat.value for repeat in repeats]
    value = value_of(clause.statistic, values, clause.comparison == "at_least") if values else None
    return ClauseVerdict(
        clause,
        None if problems or value is None else clause.holds(value) and not broken,
        value,
        interval_of(clause.statistic, values) if values else None,
        tuple(problems),
        (*_remarks(attempts), *evidence.without_chain(samples)),
        samples,
        OperationDetail(repeats, broken),
    )


def _remarks(attempts: Sequence[OperationAttempt]) -> Iterator[str]:
    finished = [attempt.about.repeat for attempt in attempts if attempt.finished]
    if interrupted := len(attempts) - len(finished):
        yield counted(interrupted, "interrupted attempt")
    if superseded := len(finished) - len(set(finished)):
        yield f"{counted(superseded, 'finished attempt')} superseded by a later one"


def measured_of(clause: Clause, verdict: ClauseVerdict) -> str:
    """Return the statistic, and each other reason why the clause is not met."""
    return "; ".join((Clause.measured(clause, verdict), *verdict.detail.broken))


def section_of(_: Clause, verdict: ClauseVerdict) -> Section:
    facts = ((f"Repeat {repeat.number}", "; ".join(repeat.facts)) for repeat in verdict.detail.repeats)
    return samples_section(verdict, *facts)


def document_of(_: Clause, verdict: ClauseVerdict) -> dict[str, Any]:
    repeats = [{"repeat": repeat.number, **repeat.figures} for repeat in verdict.detail.repeats]
    return {"operations": repeats} if repeats else {}
