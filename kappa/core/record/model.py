"""A session and its cases, as a report has them and with what follows from that. Strings are clean (``clean_text``)."""

import pathlib
from dataclasses import dataclass
from functools import cached_property

from kappa.core.ground.clean_text import one_line
from kappa.core.record.evidence import Figure
from kappa.core.record.parameters import added_parameters, changing_parameters, hash_without_added
from kappa.core.record.report import RecordedCase, SessionInfo

# How a case was measured again: in its own job, or in a session that measured cases of another again.
SAME_ALLOCATION, SAME_NODES, OTHER_NODES = "same-allocation", "same-nodes", "other-nodes"
# Measured on the nodes that are left without those on which jobs hang.
REMAINING_NODES = "remaining-nodes"


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
        prefix = f"{self.system}:{self.partition}:"
        return tuple(Metric.of(key.removeprefix(prefix), figure) for key, figure in (self.perfvalues or {}).items())

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
