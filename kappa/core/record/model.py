"""A session and its cases: what is read of ReFrame's report, and what follows from it. Strings are clean.

Only what is needed is read, so that newer versions of ReFrame still fit.
"""

import hashlib
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import Struct, field

from kappa.core.ground.clean_text import one_line
from kappa.core.record.evidence import (
    Census,
    Curve,
    Figure,
    FiguresOfNodes,
    Finding,
    HeatMap,
    LoadByOthers,
    Matrix,
    Measurement,
    Origin,
    PerNode,
    Provenance,
    ReferenceSource,
    Scaling,
    Simulation,
    figures_of,
)

_SEPARATOR = " %"
_NODE, _PARTITION, _REPEAT = ".nid=", ".part=", ".repeat_no="

# How a case was measured again: in its own job, or in a session that measured cases of another again.
SAME_ALLOCATION, SAME_NODES, OTHER_NODES = "same-allocation", "same-nodes", "other-nodes"
# Measured on the nodes that are left without those on which jobs hang.
REMAINING_NODES = "remaining-nodes"


def own_parameters(name: str) -> dict[str, str]:
    """The parameters in a case's name: what is recorded of them where reports lack them."""
    _, *parameters = name.split(_SEPARATOR)
    pairs = (parameter.partition("=") for parameter in parameters if not parameter.startswith("."))
    return {key: value for key, _, value in pairs}


def added_parameters(display_name: str) -> tuple[str, ...]:
    """What was added to the case; empty for one that was run as it is in the suite."""
    _, *parameters = display_name.split(_SEPARATOR)
    return tuple(parameter for parameter in parameters if parameter.startswith("."))


def pinned_node(added: tuple[str, ...]) -> str:
    """The node that ``--distribute`` put the case on, else empty."""
    return next((parameter.removeprefix(_NODE) for parameter in added if parameter.startswith(_NODE)), "")


def changing_parameters(parameters: Iterable[str]) -> list[str]:
    """Without those that make the same case run elsewhere, or again."""
    return [parameter for parameter in parameters if not parameter.startswith((_NODE, _PARTITION, _REPEAT))]


def hash_without_added(display_name: str) -> str:
    """The hash code of the case that this one was made of; empty when ``-P`` made it measure something else.

    It is the start of the SHA-256 of the name and the sorted parameters (ReFrame 4.10, ``RegressionTest.hashcode``).
    """
    name, *parameters = display_name.split(_SEPARATOR)
    own = changing_parameters(parameters)
    if any(parameter.startswith(".") for parameter in own):
        return ""
    return hashlib.sha256("".join([name, *sorted(own)]).encode(errors="replace")).hexdigest()[:8]


class FailInfo(Struct, frozen=True):
    exc_type: Any = ""


class ReframeFacts(Struct, frozen=True, kw_only=True):
    """What ReFrame writes of any test case, as far as the history keeps it; ``None`` where it could not know it."""

    name: str
    system: str
    partition: str = ""
    result: str
    environ: str = ""
    job_nodelist: tuple[str, ...] | None = None
    job: str | int | None = field(name="jobid", default=None)
    perfvalues: dict[str, Figure] | None = None

    @property
    def job_id(self) -> str | None:
        return None if self.job is None else str(self.job)


class CaseFacts(ReframeFacts, frozen=True, kw_only=True):
    """A case without its evidence, which is most of it. ``check_class`` is ``None`` for a check that is not Kappa's."""

    check_class: str | None = None
    family: str = ""
    informational: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    provenance: Origin = Origin()
    per_node: dict[str, PerNode] = {}
    simulation: Simulation | None = None
    """``None`` for what was measured."""
    first_measurement: FiguresOfNodes = FiguresOfNodes()
    nodes_of_job: int = 1
    """More than one when each of them was measured as if it were alone: the metrics are those of the worst."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The job's nodes, as ReFrame had them from the scheduler and as the job itself recorded them."""
        return tuple(sorted({*(self.job_nodelist or ()), *self.provenance.nodelist}))


class ReframeCase(CaseFacts, frozen=True, kw_only=True):
    """All that is read of what ReFrame writes of a case."""

    display_name: str = ""
    descr: str = ""
    """What it is for, in a sentence."""
    recorded_hash: str = field(name="hashcode", default="")
    local: bool = False
    fail_phase: str | None = None
    fail_reason: str | None = None
    fail_info: FailInfo | None = None
    job_stdout: str | None = None
    job_stderr: str | None = None
    outputdir: str | None = None
    stagedir: str | None = None
    run_time_s: float | None = field(name="time_run", default=None)
    submitted_s: float | None = field(name="job_submit_time", default=None)
    """When its job was submitted, in seconds since 1970."""
    ended_s: float | None = field(name="job_completion_time_unix", default=None)
    """When its job ended by its scheduler, in seconds since 1970."""


class RecordedCase(ReframeCase, frozen=True, kw_only=True):
    """A case with all that a check records, the fields of ``Measurement`` among them."""

    provenance: Provenance = Provenance()
    first_measurement: Measurement = Measurement()
    parameters: dict[str, str] = {}
    declared_metrics: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()
    """Metrics that compare each node with the median of its equals in the same case."""
    steady: tuple[str, ...] = ()
    """Metrics that the load of other programs does not change."""
    reference_sources: dict[str, ReferenceSource] = {}
    unmeasured: dict[str, str] = {}
    """Metrics without a value, because the site does not state what they follow from -> what that is."""
    reference_problem: str = ""
    reference_file: str = ""
    partition_size: int = 0
    """Nodes of the partition; 0 when not known."""
    curves: dict[str, Curve] = {}
    heat_maps: dict[str, HeatMap] = {}
    matrices: dict[str, Matrix] = {}
    findings: tuple[Finding, ...] = ()
    hint: str = ""
    load_by_others: dict[str, LoadByOthers] = {}
    robbed: str = ""
    hung_on: tuple[str, ...] = ()
    ended_by_slurm: str = ""
    lost_to: str = ""
    """Why what it says of itself counts for nothing, as a full disk; empty when it counts."""
    validity: str = ""
    notes: tuple[str, ...] = ()
    energy_j: float | None = None
    """What its job took by Slurm's accounting, with all measurements of the job; ``None`` where that does not tell."""
    job_s: float | None = None
    """How long its job held its nodes, by Slurm's accounting; ``None`` where that does not tell."""
    job_nodes: int | None = None
    stated_s: float = 0
    """What the check said before that its job would take."""
    stated_bytes: int = 0
    """What it said that it would write at most."""
    written_bytes: int = 0
    scaling: Scaling | tuple[Scaling, ...] | None = None
    """One point of a series, or all points of several."""
    not_provided: tuple[str, ...] = ()
    """Kinds of state that the check asks for and that no node of the partition has."""
    census: Census | None = None


#: What only Kappa's checks have: others may use the names for something else.
KAPPA_FIELDS = frozenset(RecordedCase.__struct_fields__) - frozenset(ReframeCase.__struct_fields__) | (
    frozenset(CaseFacts.__struct_fields__) - frozenset(ReframeFacts.__struct_fields__)
)


class SessionInfo(Struct, frozen=True, kw_only=True):
    """``mode`` and what follows are what the suite added by ``--session-extras``; ``nodes`` and the checks ``left_out``
    by the budget are separated by colons, ``budget`` is in node-hours."""

    uuid: str = ""
    hostname: str = ""
    user: str = ""
    reframe_version: str = field(name="version", default="")
    time_start: str = ""
    elapsed_s: float | None = field(name="time_elapsed", default=None)
    command_line: str = field(name="cmdline", default="")
    prefix_stage: str = ""
    prefix_output: str = ""
    mode: str | None = None
    purpose: str = ""
    confirms: str = ""
    nodes: str = ""
    budget: str = ""
    left_out: str = ""
    cut: str = ""
    """Why it did not come to its end, as far as who started it knows; empty when it did."""


class Run(Struct, frozen=True):
    testcases: tuple[RecordedCase, ...]


class Report(Struct, frozen=True):
    session_info: SessionInfo
    runs: tuple[Run, ...]
    restored_cases: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Metric:
    """One performance variable as ReFrame recorded it.

    The fractions are relative to ``reference``, or absolute bounds when it is 0; ``None`` is unbounded.
    ``value`` is ``None`` when what was recorded is no number; ``raw`` says what it was.
    """

    name: str
    value: float | None
    raw: str
    unit: str
    reference: float
    lower_fraction: float | None
    upper_fraction: float | None
    result: str

    @classmethod
    def of(cls, name: str, figure: Figure) -> "Metric":
        value = figure.value if isinstance(figure.value, float) else None
        raw, unit, result = one_line(str(figure.value), 40), figure.unit or "", figure.result or ""
        return cls(name, value, raw, unit, figure.reference or 0, figure.lower, figure.upper, result)


class Case(RecordedCase, frozen=True, kw_only=True, dict=True):
    """One test case of one run."""

    fail_phase: str = ""
    fail_reason: str = ""
    run: int = 0
    purpose: str = ""
    """``SAME_ALLOCATION`` or one of those beside it when it was measured again, else empty."""
    asked_nodes: tuple[str, ...] = ()
    """When it was measured again: the nodes that it had to take or to avoid; empty when not known."""
    first: "Case | None" = None
    """As its job measured first, when that was measured again in the same allocation."""
    matrix_folders: tuple[str, ...] = ()
    """Where the files of its matrices may lie."""
    pinned: str = ""
    """The node that ReFrame's ``--distribute`` put it on, else empty."""

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(Metric.of(name, figure) for name, figure in figures_of(self.perfvalues).items())

    @property
    def took_s(self) -> float | None:
        """How long its job ran, by Slurm's accounting; without that, ReFrame's time, which holds the wait for nodes."""
        return self.run_time_s if self.job_s is None else self.job_s

    @property
    def error_type(self) -> str:
        return str(self.fail_info.exc_type) if self.fail_info else ""

    @property
    def folder(self) -> str | None:
        """Where the job's files lie; ReFrame moves those of what passed out of the stage folder."""
        return self.outputdir if self.result == "pass" else self.stagedir

    @property
    def output(self) -> str | None:
        """Path of the job's standard output."""
        return self._file(self.job_stdout)

    @property
    def error_output(self) -> str | None:
        """Path of the job's standard error."""
        return self._file(self.job_stderr)

    def _file(self, name: str | None) -> str | None:
        return str(pathlib.PurePath(self.folder, name)) if self.folder and name and self.job_id else None

    @property
    def added(self) -> tuple[str, ...]:
        """The parameters that ReFrame's ``--distribute``, ``--repeat`` and ``-P`` added; its name leaves them out."""
        return added_parameters(self.display_name)

    @property
    def hashcode(self) -> str:
        """What ReFrame selects the case by, without what its options added; empty when they cannot be left out."""
        return hash_without_added(self.display_name) if self.added else self.recorded_hash

    @property
    def prepares(self) -> bool:
        """Whether it is a fixture, which builds or installs what checks run: ReFrame names its scope after ``~``."""
        return " ~" in self.name

    @property
    def variant(self) -> str:
        """The values of its parameters, for people."""
        return " ".join(self.parameters.values())

    @property
    def kind(self) -> tuple[object, ...]:
        """What it shares with the cases that do the same, be it on other nodes or another partition."""
        parameters = frozenset(self.parameters.items()), frozenset(changing_parameters(self.added))
        return self.check_class, self.environ, *parameters

    @property
    def title(self) -> str:
        """Name, partition and environment, as ReFrame writes them, and the node if it was put on one."""
        return f"{self.name} on {self.partition}+{self.environ}" + (f", {self.pinned}" if self.pinned else "")

    @cached_property
    def involved(self) -> frozenset[str]:
        """The nodes of the job and those that it measured: Slurm's list of a job that is ending leaves nodes out."""
        return frozenset(self.nodes).union(
            *(figures.values for figures in self.per_node.values()),
            *(matrix.nodes for matrix in self.matrices.values() if matrix.of == "nodes"),
        )

    @property
    def selected(self) -> tuple[str, ...]:
        """What ReFrame selects this case by: the case that was measured again shares it."""
        return self.name, self.system, self.partition, self.environ

    @property
    def identity(self) -> tuple[str, ...]:
        """What a retry of this case in the same session shares with it."""
        return *self.selected, *self.added


class Session(SessionInfo, frozen=True, kw_only=True):
    """A ReFrame session. ``runs`` holds more than one list of cases when cases were retried or the session rerun."""

    path: str
    restored_cases: int
    runs: tuple[tuple[Case, ...], ...]
    again: "tuple[Session, ...]" = ()
    """The sessions that measured cases of this one again."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({case.system for cases in self.runs for case in cases}))
