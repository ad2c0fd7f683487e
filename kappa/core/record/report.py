"""ReFrame's JSON report: only what is read of it, so that newer versions of ReFrame still fit."""

from typing import Any

from msgspec import Struct, field

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
)


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


class RecordedCase(ReframeCase, frozen=True, kw_only=True):
    """A case with all that a check records, the fields of ``Measurement`` among them."""

    provenance: Provenance = Provenance()
    first_measurement: Measurement = Measurement()
    parameters: dict[str, str] = {}
    declared_metrics: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()
    """Metrics that hold each node against the median of its equals in the same case."""
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


class Run(Struct, frozen=True):
    testcases: tuple[RecordedCase, ...]


class Report(Struct, frozen=True):
    session_info: SessionInfo
    runs: tuple[Run, ...]
    restored_cases: tuple[Any, ...] = ()
