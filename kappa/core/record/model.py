"""A session and its cases as a run's record has them, and values derived from them. All strings are clean."""

import hashlib
import pathlib
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from kappa.core.ground.clean_text import one_line
from kappa.core.record.evidence import (
    Census,
    Curve,
    Finding,
    HeatMap,
    LoadByOthers,
    Matrix,
    PerNode,
    Provenance,
    Scaling,
    Simulation,
)
from kappa.core.record.metric import Metric

_SEPARATOR = " %"
_NODE, _PARTITION, _REPEAT = ".nid=", ".part=", ".repeat_no="

# How a case was re-measured: in its own job, or in a session that re-measured cases of another session.
SAME_ALLOCATION, SAME_NODES, OTHER_NODES = "same-allocation", "same-nodes", "other-nodes"
# Measured on the remaining nodes, without the nodes on which jobs hang.
REMAINING_NODES = "remaining-nodes"


def own_parameters(name: str) -> dict[str, str]:
    """Return the parameters in a case's name, for reports that do not record them."""
    _, *parameters = name.split(_SEPARATOR)
    pairs = (parameter.partition("=") for parameter in parameters if not parameter.startswith("."))
    return {key: value for key, _, value in pairs}


def added_parameters(display_name: str) -> tuple[str, ...]:
    """Return the parameters that ReFrame's options added; empty for a case as it is in the suite."""
    _, *parameters = display_name.split(_SEPARATOR)
    return tuple(parameter for parameter in parameters if parameter.startswith("."))


def pinned_node(added: tuple[str, ...]) -> str:
    """Return the node on which ``--distribute`` put the case, or an empty string."""
    return next((parameter.removeprefix(_NODE) for parameter in added if parameter.startswith(_NODE)), "")


def changing_parameters(parameters: Iterable[str]) -> list[str]:
    """Return the parameters without those that run the same case on another node or partition, or repeat it."""
    return [parameter for parameter in parameters if not parameter.startswith((_NODE, _PARTITION, _REPEAT))]


def hash_without_added(display_name: str) -> str:
    """Return the hash code of the original case; empty if ``-P`` changed what the case measures.

    The hash code is the start of the SHA-256 of the name and the sorted parameters (ReFrame 4.10,
    ``RegressionTest.hashcode``).
    """
    name, *parameters = display_name.split(_SEPARATOR)
    own = changing_parameters(parameters)
    if any(parameter.startswith(".") for parameter in own):
        return ""
    return hashlib.sha256("".join([name, *sorted(own)]).encode(errors="replace")).hexdigest()[:8]


class FailInfo(Struct, frozen=True):
    exc_type: Any = ""


class ReframeCase(Struct, frozen=True, kw_only=True):
    """The fields of any ReFrame test case, with ReFrame's names; ``None`` if ReFrame did not know the value."""

    name: str
    system: str
    partition: str = ""
    result: str
    environ: str = ""
    display_name: str = ""
    descr: str = ""
    """The purpose of the check, in one sentence."""
    recorded_hash: str = field(name="hashcode", default="")
    job_nodelist: tuple[str, ...] | None = None
    job: str | int | None = field(name="jobid", default=None)
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

    @property
    def job_id(self) -> str | None:
        return None if self.job is None else str(self.job)


class CheckedCase(ReframeCase, frozen=True, kw_only=True):
    """A case with all that Kappa's checks record except metrics; ``check_class`` is ``None`` for a foreign check."""

    check_class: str | None = None
    family: str = ""
    parameters: dict[str, str] = {}
    provenance: Provenance = Provenance()
    declared_metrics: tuple[str, ...] = ()
    unmeasured: dict[str, str] = {}
    """Metrics without a value, because the site does not state a required fact -> this fact."""
    reference_problem: str = ""
    reference_file: str = ""
    partition_size: int = 0
    """Number of nodes of the partition; 0 if not known."""
    nodes_of_job: int = 1
    """More than one if the job measured each of its nodes alone; the metrics are then the worst node's."""
    per_node: dict[str, PerNode] = {}
    curves: dict[str, Curve] = {}
    heat_maps: dict[str, HeatMap] = {}
    matrices: dict[str, Matrix] = {}
    findings: tuple[Finding, ...] = ()
    suspects: tuple[str, ...] = ()
    """Nodes of the job only, see ``foreign``."""
    hint: str = ""
    load_by_others: dict[str, LoadByOthers] = {}
    robbed: str = ""
    hung_on: tuple[str, ...] = ()
    ended_by_slurm: str = ""
    lost_to: str = ""
    """The reason why the case's result does not count, for instance a full disk; empty if it counts."""
    validity: str = ""
    notes: tuple[str, ...] = ()
    energy_j: float | None = None
    """Energy of its job from Slurm's accounting, over all measurements of the job, in J; ``None`` if not known."""
    energy_by: str = ""
    """Slurm's plug-in that measured ``energy_j``; empty if not known."""
    job_s: float | None = None
    """Time for which its job held its nodes, from Slurm's accounting, in s; ``None`` if not known."""
    job_nodes: int | None = None
    stated_s: float = 0
    """Duration of the job as the check stated it before, in s."""
    stated_bytes: int = 0
    """The most bytes that the check stated it would write."""
    written_bytes: int = 0
    scaling: Scaling | tuple[Scaling, ...] | None = None
    """One point of a series, or all points of several."""
    not_provided: tuple[str, ...] = ()
    """Kinds of state that the check reads and that no node of the partition reports."""
    census: Census | None = None
    simulation: Simulation | None = None
    """``None`` if the case measured a real machine."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The job's nodes, from the scheduler by ReFrame and from the job's own record."""
        return tuple(sorted({*(self.job_nodelist or ()), *self.provenance.nodelist}))

    def foreign(self, named: Iterable[str]) -> frozenset[str]:
        """Return the ``named`` nodes that are not in the job: a program's output may have any name.

        A local case asks Slurm about nodes, and a simulated case measures a fabric's hosts. Their names all count.
        """
        return frozenset() if self.local or self.simulation else frozenset(named).difference(self.nodes)

    def __post_init__(self) -> None:
        if not self.suspects and not self.findings:
            return
        about = [{*finding.nodes, *([finding.name] if finding.kind == "node" else [])} for finding in self.findings]
        if foreign := self.foreign({*self.suspects}.union(*about)):
            own = tuple(finding for finding, nodes in zip(self.findings, about, strict=True) if not nodes & foreign)
            names = one_line(", ".join(sorted(foreign)), 200)
            force_setattr(self, "findings", own)
            force_setattr(self, "suspects", tuple(node for node in self.suspects if node not in foreign))
            force_setattr(self, "notes", (*self.notes, f"not in the job, so no suspect: {names}"))


class SessionInfo(Struct, frozen=True, kw_only=True):
    """Facts of a session. The suite adds ``mode`` and the fields after it by ``--session-extras``.

    ``nodes``, and the checks ``left_out`` by the budget, are separated by colons. ``budget`` is in node-hours.
    """

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
    """The reason why the session did not end normally, as far as its starter knows; empty if it did."""


class Case(CheckedCase, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """One test case of one run."""

    metrics: tuple[Metric, ...] = ()
    fail_phase: str = ""
    fail_reason: str = ""
    run: int = 0
    purpose: str = ""
    """``SAME_ALLOCATION`` or a constant beside it if this is a re-measurement, otherwise empty."""
    asked_nodes: tuple[str, ...] = ()
    """For a re-measurement: the nodes that it had to use or to avoid; empty if not known."""
    first: "Case | None" = None
    """The first measurement of its job, if the job re-measured in the same allocation."""
    matrix_folders: tuple[str, ...] = ()
    """The possible folders of its matrices' files."""
    pinned: str = ""
    """The node on which ReFrame's ``--distribute`` put it, or empty."""

    @property
    def took_s(self) -> float | None:
        """The job's duration from Slurm's accounting, or else from ReFrame, including the wait for nodes, in s."""
        return self.run_time_s if self.job_s is None else self.job_s

    @property
    def error_type(self) -> str:
        return str(self.fail_info.exc_type) if self.fail_info else ""

    @property
    def folder(self) -> str | None:
        """The folder of the job's files; ReFrame moves the files of passed cases out of the stage folder."""
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
        """The parameters that ReFrame's ``--distribute``, ``--repeat`` and ``-P`` added; they are not in its name."""
        return added_parameters(self.display_name)

    @property
    def hashcode(self) -> str:
        """The hash by which ReFrame selects the original case; empty if options changed what it measures."""
        return hash_without_added(self.display_name) if self.added else self.recorded_hash

    @property
    def prepares(self) -> bool:
        """Whether it is a fixture, which builds or installs programs: ReFrame adds its scope after ``~``."""
        return " ~" in self.name

    @property
    def variant(self) -> str:
        """The values of its parameters, as text for people."""
        return " ".join(self.parameters.values())

    @property
    def kind(self) -> tuple[object, ...]:
        """A key that it shares with cases that do the same on other nodes or partitions."""
        parameters = frozenset(self.parameters.items()), frozenset(changing_parameters(self.added))
        return self.check_class, self.environ, *parameters

    @property
    def title(self) -> str:
        """Name, partition and environment as ReFrame writes them, and the node if ``--distribute`` chose one."""
        return self.title_on(self.pinned)

    def title_on(self, pinned: str) -> str:
        """Return its title if ``--distribute`` chose the node ``pinned``."""
        return f"{self.name} on {self.partition}+{self.environ}" + (f", {pinned}" if pinned else "")

    @cached_property
    def involved(self) -> frozenset[str]:
        """The nodes of the job and the nodes that it measured. Slurm's list for a completing job may be incomplete."""
        return frozenset(self.nodes).union(
            *(figures.values for figures in self.per_node.values()),
            *(matrix.nodes for matrix in self.matrices.values() if matrix.of == "nodes"),
        )

    @property
    def blamable(self) -> frozenset[str]:
        """The nodes that it can have as suspects."""
        return self.involved - self.foreign(self.involved)

    @property
    def selected(self) -> tuple[str, ...]:
        """The key by which ReFrame selects this case; its re-measurement has the same."""
        return self.name, self.system, self.partition, self.environ

    @property
    def identity(self) -> tuple[str, ...]:
        """A key that a retry of this case in the same session shares with it."""
        return *self.selected, *self.added


class Session(SessionInfo, frozen=True, kw_only=True, omit_defaults=True):
    """A ReFrame session. ``runs`` has more than one list of cases if ReFrame retried cases or reran the session.

    ``path``: its report. ``sha256``: of the report's text.
    """

    path: str
    sha256: str
    restored_cases: int
    runs: tuple[tuple[Case, ...], ...]
    again: "tuple[Session, ...]" = ()
    """The sessions that re-measured cases of this one."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({case.system for cases in self.runs for case in cases}))
