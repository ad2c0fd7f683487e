"""Clauses of a contract about operation: a mix of jobs, and the time from the stop of a part to the next job.

Both are measured several times. Seconds and microseconds are part of each name.
"""

import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kappa.core.ground.figures import figure

_MOST_NODES, _MOST_JOBS = 100_000, 10_000
_Option = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=r"^--[a-z][a-z-]*(=\S+)?$(?!\n)",
        description="a long option of sbatch such as --partition=batch",
    ),
]
_Options = Annotated[tuple[_Option, ...], Meta(max_length=20)]
_Word = Annotated[str, Meta(min_length=1, max_length=1000)]
_Nodes = Annotated[int, Meta(ge=1, le=_MOST_NODES)]
_Seconds = Annotated[int, Meta(ge=1, le=30 * 86_400)]
_Repeats = Annotated[int, Meta(ge=1, le=1000)]
_Most = Annotated[float, Meta(ge=0, le=1e12)] | None
_Statistic = Literal["median", "minimum", "maximum"]
# Kappa sets these itself, or they would make another job of it.
_OWN_OPTIONS = ("array", "clusters", "exclusive", "job-name", "nodelist", "nodes", "output", "time", "wrap")


def _refuse_own(options: tuple[str, ...]) -> None:
    for option in options:
        name = option.removeprefix("--").partition("=")[0]
        if name in _OWN_OPTIONS:
            raise ValueError(f"options: Kappa sets --{name} itself; remove it")


@dataclass(frozen=True)
class QueuedJob:
    """A job of a mix: ``seconds`` count in the efficiency; without ``command`` it sleeps as long."""

    nodes: int
    seconds: int
    command: tuple[str, ...] = ()

    @property
    def limit_min(self) -> int:
        """Slurm's time limit in minutes: twice the time, at least a minute."""
        return max(1, -(-2 * self.seconds // 60))


class MixJob(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``count`` equal jobs of ``nodes``, or of a ``share`` of the machine's nodes.

    A job with ``command`` runs this program, on its first node; it has to end with status 0. ``seconds`` is its run
    time as the parties agreed, so that the efficiency does not depend on the speed of the processors.
    """

    nodes: _Nodes | None = None
    share: Annotated[float, Meta(gt=0, le=1, description="a share above 0 and at most 1")] | None = None
    seconds: _Seconds
    count: Annotated[int, Meta(ge=1, le=_MOST_JOBS)]
    command: Annotated[tuple[_Word, ...], Meta(max_length=100)] = ()

    def __post_init__(self) -> None:
        if (self.nodes is None) == (self.share is None):
            raise ValueError("expected either nodes or share")

    def nodes_of(self, machine: int) -> int:
        return self.nodes or max(1, round((self.share or 0) * machine))


class MixBounds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Bounds on further figures of a mix: ``starts_per_minute`` at least, the others at most.

    ``idle_node_s``: idle node-seconds before a job of the whole machine, from the last start of another job.
    ``mean_cycle_us`` and ``longest_cycle_us``: cycles of the main scheduler, of ``sdiag`` after the mix.
    """

    median_wait_s: _Most = None
    p95_wait_s: _Most = None
    idle_node_s: _Most = None
    mean_cycle_us: _Most = None
    longest_cycle_us: _Most = None
    starts_per_minute: _Most = None


@dataclass(frozen=True)
class StatedBound:
    """A bound on the figure ``name``."""

    name: str
    value: float

    @property
    def at_least(self) -> bool:
        return self.name == "starts_per_minute"

    @property
    def words(self) -> tuple[str, str]:
        """Return the figure's name and unit in words."""
        stem, _, unit = self.name.rpartition("_")
        return {
            "starts_per_minute": ("starts", "per minute"), "idle_node_s": ("idle before a full job", "node-s")
        }.get(self.name, (stem.replace("_", " "), unit))  # fmt: skip

    def __str__(self) -> str:
        name, unit = self.words
        return f"{name} {'≥' if self.at_least else '≤'} {figure(self.value)} {unit}"


class JobMix(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mix of jobs, submitted at once in an order that ``seed`` fixes, on a machine of ``nodes``.

    ``efficiency`` is the least Σ nodes·seconds / (``nodes`` · makespan). After ``limit_s`` Kappa cancels the rest.
    """

    nodes: _Nodes
    jobs: Annotated[tuple[MixJob, ...], Meta(min_length=1, max_length=100)]
    efficiency: Annotated[float, Meta(gt=0, le=1, description="an efficiency above 0 and at most 1")]
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 1
    options: _Options = ()
    bounds: MixBounds = MixBounds()
    limit_s: _Seconds
    repeats: _Repeats = 1
    statistic: _Statistic = "median"

    def __post_init__(self) -> None:
        _refuse_own(self.options)
        if sum(kind.count for kind in self.jobs) > _MOST_JOBS:
            raise ValueError(f"expected at most {_MOST_JOBS} jobs")
        for kind in self.jobs:
            if kind.nodes_of(self.nodes) > self.nodes:
                raise ValueError(f"jobs: expected at most the {self.nodes} nodes of the machine, found {kind.nodes}")

    @property
    def queue(self) -> list[QueuedJob]:
        """Return the jobs in the order of submission: by the SHA-256 of seed and number, so that anyone can check."""
        jobs = [
            QueuedJob(kind.nodes_of(self.nodes), kind.seconds, kind.command)
            for kind in self.jobs
            for _ in range(kind.count)
        ]
        order = sorted(range(len(jobs)), key=lambda i: hashlib.sha256(f"{self.seed} {i}".encode()).digest())
        return [jobs[i] for i in order]

    @property
    def comparison(self) -> Literal["at_least", "at_most"]:
        return "at_least"

    @property
    def threshold(self) -> float:
        return self.efficiency

    @property
    def unit(self) -> str:
        return ""

    @property
    def requirement(self) -> str:
        return ", ".join([f"efficiency ≥ {figure(self.efficiency)}", *(str(bound) for bound in self.stated_bounds)])

    @property
    def stated_bounds(self) -> list["StatedBound"]:
        return [
            StatedBound(name, value)
            for name in self.bounds.__struct_fields__
            if (value := getattr(self.bounds, name)) is not None
        ]


class OperationTime(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The time from a stop to the first new job that runs, in seconds.

    ``of``: ``restart`` of slurmctld, ``failover`` to a backup controller (the bound holds ``SlurmctldTimeout``),
    ``reboot`` of a node, ``start`` of the whole system. Kappa submits a job of ``nodes`` nodes each second. ``load``
    jobs of a node run meanwhile, and have to go on.
    """

    of: Literal["restart", "failover", "reboot", "start"]
    at_most_s: Annotated[float, Meta(gt=0, le=30 * 86_400, description="seconds above 0")]
    nodes: _Nodes = 1
    load: Annotated[int, Meta(ge=0, le=1000)] = 0
    options: _Options = ()
    repeats: _Repeats = 1
    statistic: _Statistic = "median"

    def __post_init__(self) -> None:
        _refuse_own(self.options)
        if self.load and self.of in ("reboot", "start"):
            raise ValueError(f"load: expected jobs that go on with restart or failover only, found {self.of}")
        if self.of == "reboot" and self.nodes != 1:
            raise ValueError("nodes: expected 1 for the reboot of a node")

    @property
    def comparison(self) -> Literal["at_least", "at_most"]:
        return "at_most"

    @property
    def threshold(self) -> float:
        return self.at_most_s

    @property
    def unit(self) -> str:
        return "s"

    @property
    def requirement(self) -> str:
        going_on = f", {self.load} running jobs go on" if self.load else ""
        return f"time of {self.of} ≤ {figure(self.at_most_s)} s{going_on}"
