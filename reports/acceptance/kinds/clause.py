"""A clause of a contract, and everything about it that does not depend on its kind.

A kind of clause is a subclass of ``Clause`` in one file of this package: its keys, plan, measurement, verdict, and its
part of the dossier. No other file asks a clause for its kind.
"""

import functools
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kappa.core.ground.documents import Path, YamlFile
from kappa.core.ground.figures import NOTHING, figure, figure_apart
from kappa.core.ground.order_statistics import Interval, Statistic
from kappa.core.record.model import Case
from kappa.core.sites.site_file import SiteDescription
from reports.acceptance.campaign.folder import Attempt, Campaign, Families
from reports.acceptance.campaign.measured import WITHOUT_CHAIN, Measured, load_measured
from reports.acceptance.campaign.operations import OperationBench
from reports.acceptance.campaign.seal import Proof
from reports.acceptance.kinds.contract_head import Comparison, ContractHead, Id, Predicted, Text, Waiver
from reports.acceptance.kinds.pages import Section

T = TypeVar("T")


class Clause(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A clause. ``source`` is its origin, ``requirement`` the id of the requirement that it covers.

    The tag of a subclass is the YAML key that only clauses of this kind have; ``Series`` has the tag of all others.
    """

    id: Id
    text: Text
    source: Text = ""
    requirement: Id | None = None
    mandatory: bool
    predicted: Predicted | None = None
    waiver: Waiver | None = None

    timed: ClassVar[bool] = False
    """Whether ``measure_stop`` measures the clause."""

    # The terms.

    @property
    def statistic(self) -> Statistic:
        """Return the statistic over the repeats, or the title of the kind."""
        raise NotImplementedError

    @property
    def comparison(self) -> Comparison:
        return "at_least"

    @property
    def threshold(self) -> float:
        """Return the threshold in ``unit``."""
        raise NotImplementedError

    @property
    def unit(self) -> str:
        return ""

    @property
    def repeats(self) -> int:
        """Return the number of measurements; 0 if the clause is not measured by repeats."""
        return 0

    @property
    def limit(self) -> str:
        """Return the threshold with its sign and unit."""
        sign = "≥" if self.comparison == "at_least" else "≤"
        return f"{sign} {figure(self.threshold)} {self.unit}".rstrip()

    @property
    def required(self) -> str:
        """Return all that the clause demands, in one line."""
        return self.limit

    @property
    def evidence(self) -> str:
        """Return the checks, or other sources, that the verdict follows from."""
        raise NotImplementedError

    def holds(self, value: float) -> bool:
        return value >= self.threshold if self.comparison == "at_least" else value <= self.threshold

    # The contract.

    def misfits(self, contract: "Contract") -> Iterator[tuple[Path, str]]:
        """Yield each contradiction to the rest of the contract: path below the clause, and expectation."""
        yield from ()

    def check_names(self, file: YamlFile, here: Path, site: SiteDescription) -> None:
        """Add a problem to ``file`` for each name at the path ``here`` that the suite or the site does not know."""

    def as_begun(self) -> "Clause":
        """Return the clause without the parts that parties may add after a measurement."""
        return replace(self, waiver=None)

    # Plan and measurement.

    def series(self, planning: "Planning") -> Sequence["MeasuredSeries"]:
        """Return the series that ReFrame runs for the clause.

        :raises InputError: an input of the clause is not usable.
        """
        return ()

    def plan(self, planning: "Planning") -> "ClausePlan | None":
        """Return the plan of the clause, if there is more to say than its series and repeats."""
        return None

    def keep_inputs(self, planning: "Planning") -> None:
        """Copy the inputs of the clause into the campaign, each complete or not at all."""

    def measure(self, bench: OperationBench) -> None:
        """Measure all repeats that are left and that need no person."""

    def measure_stop(self, bench: OperationBench, stop: "OperatorStop") -> bool | None:
        """Measure the next repeat of a ``timed`` clause, which begins with an operator's action.

        Return whether it alone meets the clause; ``None`` if it has no figure.
        """
        raise NotImplementedError

    # The verdict.

    def judge(self, evidence: "ClauseEvidence") -> "ClauseVerdict":
        raise NotImplementedError

    def prove(self, evidence: "ClauseEvidence", keys: Sequence[str]) -> Proof:
        """Check the files in a dossier that only clauses of this kind have."""
        return Proof([], [], [])

    @property
    def not_reread(self) -> str:
        """Return the reason why the raw output does not give the figures again; empty if it does."""
        return ""

    # The dossier.

    def measured(self, verdict: "ClauseVerdict") -> str:
        """Return the statistic with its unit, with enough digits to differ from the threshold."""
        if verdict.value is None:
            return NOTHING
        same = verdict.value == self.threshold
        text = figure(verdict.value) if same else figure_apart(verdict.value, self.threshold)
        return f"{text} {self.unit}".rstrip()

    def doubts(self, verdict: "ClauseVerdict") -> Iterator[str]:
        """Yield the reasons to doubt the value; they do not change the verdict."""
        yield from ()

    def section(self, verdict: "ClauseVerdict") -> Section:
        """Return facts, charts and tables of the clause's section of the dossier."""
        return Section()

    def document(self, verdict: "ClauseVerdict") -> dict[str, Any]:
        """Return the keys of ``verdict.json`` that only clauses of this kind have."""
        return {}


class MeasuredSeries(Protocol):
    """A clause about one series of ReFrame's cases; ``check`` is ``None`` if it names a family of checks."""

    @property
    def id(self) -> str: ...
    @property
    def repeats(self) -> int: ...
    @property
    def check(self) -> str | None: ...
    @property
    def evidence(self) -> str: ...
    def selects(self, case: Case) -> bool: ...
    def misfit(self, case: Case) -> str:
        """Return the reason why the case that a site offers has no such figure; empty if it has."""


class Contract(ContractHead, frozen=True, kw_only=True):
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Planning:
    """Hold all that a plan may read.

    ``file``: the contract's. ``campaign``: the campaign's folder, if there is one. ``verify``: as in ``dossier.py``.
    """

    contract: Contract
    file: pathlib.Path
    campaign: pathlib.Path | None
    judge: "Callable[[pathlib.Path], ContractVerdict]"
    verify: Callable[[pathlib.Path], Proof]
    contents: dict[str, Any] = field(default_factory=dict)
    """By id of a clause: an input that several of its methods need, and that takes long to verify."""


class ClausePlan(NamedTuple):
    """Hold lines for a terminal, and a document for JSON."""

    lines: tuple[str, ...]
    document: dict[str, Any]


class OperatorStop(NamedTuple):
    """Describe how an operator stops a part of the machine: by a command, at a named time, or by hand.

    ``began`` is in seconds since 1970. ``node`` is the node that is booted.
    """

    command: Sequence[str] = ()
    began: float | None = None
    node: str = ""


class ClauseOutcome(Enum):
    """Name the outcome of a clause, with a symbol that needs no colour."""

    MET = ("met", "✔")
    WAIVED = ("waived", "◆")
    INCOMPLETE = ("incomplete", "○")
    NOT_MET = ("not met", "✘")

    def __init__(self, word: str, symbol: str) -> None:
        self.word, self.symbol = word, symbol


class Acceptance(Enum):
    """Name the outcome of the contract, with the exit status."""

    ACCEPTED = ("ACCEPTED", "✔", 0)
    NOT_ACCEPTED = ("NOT ACCEPTED", "✘", 1)
    INCOMPLETE = ("INCOMPLETE", "○", 2)

    def __init__(self, word: str, symbol: str, exit_status: int) -> None:
        self.word, self.symbol, self.exit_status = word, symbol, exit_status


@dataclass(frozen=True)
class Sample:
    """Hold one value in the clause's unit. ``node`` is set if each node has a value of its own.

    ``attempt`` is the name of the attempt's folder. ``load``: use of these nodes by other processes during the
    measurement; empty if it is negligible. ``started`` is empty if the attempt's session states it. ``figures``:
    further figures, by their keys in ``verdict.json``.
    """

    value: float
    repeat: int
    nodes: tuple[str, ...]
    job_id: str
    attempt: str
    node: str | None = None
    load: str = ""
    started: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ClauseVerdict:
    """Hold the verdict on a clause.

    ``met`` is ``None`` if ``problems`` leave it open. ``detail`` belongs to the kind of the clause.
    """

    clause: Clause
    met: bool | None
    value: float | None = None
    interval: Interval | None = None
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    detail: Any = None

    @property
    def without_waiver(self) -> ClauseOutcome:
        if self.met is None:
            return ClauseOutcome.INCOMPLETE
        return ClauseOutcome.MET if self.met else ClauseOutcome.NOT_MET

    @property
    def outcome(self) -> ClauseOutcome:
        excused = self.clause.waiver is not None and not self.met
        return ClauseOutcome.WAIVED if excused else self.without_waiver

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(self.clause.doubts(self))

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted({node for sample in self.samples for node in sample.nodes}))

    @property
    def document(self) -> dict[str, Any]:
        """Return the verdict as a document for JSON; values are in the clause's ``unit``."""
        clause = self.clause
        return {
            "id": clause.id,
            "outcome": self.outcome.word,
            "without_waiver": self.without_waiver.word,
            "mandatory": clause.mandatory,
            "statistic": str(clause.statistic),
            "comparison": clause.comparison,
            "threshold": clause.threshold,
            "unit": clause.unit,
            "value": self.value,
            "interval": asdict(self.interval) if self.interval else None,
            "samples": [
                {"repeat": one.repeat, "value": one.value, "nodes": one.nodes, "attempt": one.attempt, **one.figures}
                for one in self.samples
            ],
            **clause.document(self),
            "problems": self.problems,
            "remarks": self.remarks,
        }


@dataclass(frozen=True)
class ContractVerdict:
    """Hold the verdict on a contract and its clauses.

    ``earlier_contracts``: names of the contract's versions before waivers were given, changed or withdrawn.
    """

    contract: Contract
    acceptance: Acceptance
    clauses: tuple[ClauseVerdict, ...]
    attempts: tuple[Attempt, ...]
    earlier_contracts: tuple[str, ...]
    families: Families
    chain: Measured
    requirements: Mapping[str, str] = field(default_factory=dict)
    """Requirements that the contract has to cover: id -> text."""


@dataclass(frozen=True)
class ClauseEvidence:
    """Everything that a verdict follows from: the contract, and the folder of a campaign. Read each file once."""

    campaign: Campaign
    contract: Contract
    judge_dossier: Callable[[pathlib.Path], ContractVerdict]
    _contents: dict[Any, Any] = field(default_factory=dict)

    @functools.cached_property
    def attempts(self) -> list[Attempt]:
        return self.campaign.attempts()

    @functools.cached_property
    def chain(self) -> Measured:
        return load_measured(self.campaign.folder)

    def read(self, reader: Callable[[pathlib.Path], T]) -> T:
        """Return the result of ``reader`` on the campaign's folder; several clauses may ask for the same."""
        if reader not in self._contents:
            self._contents[reader] = reader(self.campaign.folder)
        content: T = self._contents[reader]
        return content

    def verdict(self, clause: Clause) -> ClauseVerdict:
        """Return the verdict on a clause, which the clauses about its figure share."""
        if clause.id not in self._contents:
            self._contents[clause.id] = clause.judge(self)
        verdict: ClauseVerdict = self._contents[clause.id]
        return verdict

    def without_chain(self, samples: Sequence[Sample]) -> list[str]:
        """Return a remark if no chain of measurements protects the samples."""
        return [WITHOUT_CHAIN] if samples and not self.chain.kept else []
