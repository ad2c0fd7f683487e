"""A clause about the energy of a case's job, in J for each result; docs/acceptance.md has an example."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from kappa.core.ground import node_lists
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.documents import Path, YamlFile
from kappa.core.ground.figures import counted, figure
from kappa.core.ground.order_statistics import Interval
from kappa.core.record.model import Case
from kappa.core.vocabulary.checks import CataloguedCheck
from reports.acceptance.kinds.clause import ClauseEvidence, ClauseVerdict, Contract, Sample
from reports.acceptance.kinds.energy_readings import BMC, RAPL, SENSOR, Meter, load_meters
from reports.acceptance.kinds.pages import Section
from reports.acceptance.kinds.samples import crosses_threshold, samples_section
from reports.acceptance.kinds.series import NoValueError, Series
from reports.show.provenance import Listing

# The metric of a selector for which the whole job is one result.
RUN = "run"
_PER = "J/"
_TIMES = ("ns", "us", "ms", "s", "min", "h")
_PROCESSORS_ONLY = "acct_gather_energy/rapl"
_Aspect = Annotated[Literal[1, 2, 3], Meta(description="a level of 1 to 3")]


class MeasurementLevel(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The level that each aspect of the measurement reaches by the method of the EE HPC WG, as the parties declare it.

    ``granularity``: of the samples in time, and their span. ``fraction``: of the machine. ``subsystems``: those
    measured besides the processors. ``meter``: its place and accuracy.
    """

    granularity: _Aspect
    fraction: _Aspect
    subsystems: _Aspect
    meter: _Aspect

    def __str__(self) -> str:
        aspects = asdict(self)
        stated = ", ".join(f"{name} {level}" for name, level in aspects.items())
        return f"level {min(aspects.values())}, the lowest of: {stated}"


class EnergyTerms(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``source``: Slurm's accounting, or the readings of processors (RAPL) or of meters (Redfish) in the campaign.

    Without ``level``, only processors are measured. ``gap_s``: the longest time between two readings.
    ``package_w``: no processor takes more, so that a counter of RAPL surely wraps at most once between two readings.
    """

    source: Literal["slurm", "rapl", "redfish"]
    level: MeasurementLevel | None = None
    gap_s: Annotated[float, Meta(gt=0, le=86_400, description="seconds above 0")] = 60.0
    package_w: Annotated[float, Meta(gt=0, le=100_000, description="watts above 0")] = 1000.0

    def __post_init__(self) -> None:
        if self.source == "rapl" and self.level:
            raise ValueError("RAPL measures processors only: expected no level")
        if self.source == "redfish" and not self.level:
            raise ValueError("expected the key level")

    @property
    def declared(self) -> str:
        return str(self.level) if self.level else "no level: processors only"


@dataclasses.dataclass(frozen=True)
class JobEnergy:
    """Hold the energy of a job that took ``seconds``; ``source`` names the plug-in of Slurm, or the meters.

    By the readings around the job's start and end, it is at least ``low_j`` and at most ``high_j``.
    """

    joules: float
    low_j: float
    high_j: float
    seconds: float
    source: str


class Energy(Series, frozen=True, kw_only=True, tag="energy"):
    energy: EnergyTerms

    # The names in the contract.

    def misfits(self, contract: Contract) -> Iterator[tuple[Path, str]]:
        metric, counting = self.selector.metric, self.unit.removeprefix(_PER)
        if self.comparison != "at_most" or self.statistic.kind == "every_node":
            yield (), "expected energy with comparison at_most, and a statistic over the repeats"
        if metric == RUN and self.unit != "J":
            yield ("threshold", "unit"), f"expected 'J' for each run, found {self.unit!r}"
        elif metric != RUN and (counting == self.unit or "/" in counting or counting in _TIMES):
            expected = f"expected 'J/UNIT', where {metric} counts results in UNIT and is no time and no rate"
            yield ("threshold", "unit"), f"{expected}, found {self.unit!r}"

    def check_metric(self, file: YamlFile, here: Path, checks: list[CataloguedCheck]) -> None:
        if self.selector.metric != RUN:
            super().check_metric(file, here, checks)

    def unit_of(self, unit: str) -> str:
        return f"{_PER}{unit}"

    def misfit(self, case: Case) -> str:
        return "" if self.selector.metric == RUN else super().misfit(case)

    # The verdict.

    def values_of(self, case: Case, evidence: ClauseEvidence) -> tuple[list[tuple[str | None, float]], dict[str, Any]]:
        [(_, results)], _ = super().values_of(case, evidence)
        energy = self._energy(case, evidence)
        return [(None, energy.joules / results)], {"energy": dataclasses.asdict(energy)}

    def metric_of(self, case: Case) -> float:
        if self.selector.metric == RUN:
            return 1.0
        results = super().metric_of(case)
        if results <= 0:
            raise NoValueError(f"{self.selector.metric} is {results:g}: expected a number of results above 0")
        return results

    def _energy(self, case: Case, evidence: ClauseEvidence) -> JobEnergy:
        """:raises NoValueError: the energy of the case's job is not known."""
        # Slurm counts whole seconds.
        if not case.job_s or case.job_s < 1:
            raise NoValueError("Slurm's accounting did not record how long the job ran")
        if self.energy.source == "slurm":
            joules, plugin = self._by_slurm(case)
            return JobEnergy(joules, joules, joules, case.job_s, plugin)
        if case.ended_s is None:
            raise NoValueError("Slurm did not record when the job ended")
        kinds = (RAPL,) if self.energy.source == "rapl" else (SENSOR, BMC)
        meters = _covering([meter for meter in evidence.read(load_meters) if meter.kind in kinds], case.nodes)
        start, gap_s, package_w = case.ended_s - case.job_s, self.energy.gap_s, self.energy.package_w
        parts = [meter.energy(start, case.ended_s, gap_s, package_w) for meter in meters]
        for meter, part in zip(meters, parts, strict=True):
            if not part[0]:
                raise NoValueError(f"{meter.name}: its readings show no energy at all")
        joules, low_j, high_j = (sum(column) for column in zip(*parts, strict=True))
        more = f" and {len(meters) - 8} more" if len(meters) > 8 else ""
        names = ", ".join(meter.name for meter in meters[:8])
        return JobEnergy(joules, low_j, high_j, case.job_s, f"{self.energy.source}: {names}{more}")

    def _by_slurm(self, case: Case) -> tuple[float, str]:
        """Return the job's energy in J by Slurm's accounting, and the plug-in that measured it."""
        if not case.energy_j:
            raise NoValueError("Slurm's accounting has no energy of the job (AcctGatherEnergyType)")
        if case.provenance.other_jobs:
            jobs = one_line(case.provenance.other_jobs, 100)
            raise NoValueError(f"other jobs ran on the nodes, so Slurm's energy is not the job's own: {jobs}")
        plugin = one_line(case.energy_by, 80)
        if not plugin:
            raise NoValueError("the record does not say which plug-in of Slurm measured the energy")
        if (plugin == _PROCESSORS_ONLY) == bool(self.energy.level):
            expected = "no level, as it measures processors only" if self.energy.level else "a level in the contract"
            raise NoValueError(f"Slurm's plug-in {plugin} measured the energy: expected {expected}")
        return case.energy_j, plugin

    @property
    def not_reread(self) -> str:
        return "the energy cannot be compared with raw output: times and nodes of jobs are Slurm's accounting"

    # The dossier.

    def doubts(self, verdict: ClauseVerdict) -> Iterator[str]:
        if not self.energy.level:
            yield self.energy.declared
        if unsure := sum(crosses_threshold(self, _bounds(sample)) for sample in verdict.samples):
            yield f"the readings around {counted(unsure, 'job')} leave the threshold open"
        yield from super().doubts(verdict)

    def section(self, verdict: ClauseVerdict) -> Section:
        facts = ("Energy from", self.energy.source), ("Declared", self.energy.declared)
        section = samples_section(verdict, *facts)
        warning = "" if self.energy.level else self.energy.declared
        return dataclasses.replace(section, tables=(_table(verdict), *section.tables), warning=warning)

    def document(self, verdict: ClauseVerdict) -> dict[str, Any]:
        return {"energy": {"source": self.energy.source, "declared": self.energy.declared}}


def _covering(meters: Iterable[Meter], nodes: Sequence[str]) -> list[Meter]:
    """Return the meters that together measure the job's nodes and no other ones, each node once.

    :raises NoValueError: there are none.
    """
    job = frozenset(nodes)
    chosen = [meter for meter in meters if not job.isdisjoint(meter.nodes)]
    by_node: dict[str, Meter] = {}
    for meter in chosen:
        if others := set(meter.nodes) - job:
            raise NoValueError(f"{meter.name} also measures {node_lists.folded(others)}, which the job did not use")
        for node in meter.nodes:
            other = by_node.setdefault(node, meter)
            # Two PDUs may feed the two power supplies of a node; any other two meters measure the same.
            if other is not meter and {other.kind, meter.kind} != {SENSOR}:
                names = f"{other.name} and {meter.name}"
                raise NoValueError(f"{names} both measure {node}, so its energy would count twice")
    if by_node.keys() != job or not job:
        raise NoValueError(f"no readings of {node_lists.folded(job - by_node.keys()) or 'any node'}")
    return chosen


def _bounds(sample: Sample) -> Interval:
    """Return the least and the most value of a sample by the readings around its job."""
    energy = JobEnergy(**sample.figures["energy"])
    low, high = (sample.value * joules / energy.joules for joules in (energy.low_j, energy.high_j))
    return Interval(low, high, "")


def _table(verdict: ClauseVerdict) -> Listing:
    header = ("Repeat", "Energy (J)", "At least … at most (J)", "Time (s)", "Mean power (W)", "Nodes", "Source")
    energies = [(sample, JobEnergy(**sample.figures["energy"])) for sample in verdict.samples]
    rows = [
        (
            str(sample.repeat),
            figure(energy.joules, 6),
            f"{figure(energy.low_j, 6)} … {figure(energy.high_j, 6)}",
            figure(energy.seconds, 6),
            figure(energy.joules / energy.seconds),
            node_lists.folded(sample.nodes),
            energy.source,
        )
        for sample, energy in energies
    ]
    note = "Energy: of the job's nodes from its start to its end. At least, at most: by the readings around both."
    return Listing("Energy", header, rows, frozenset(header[:5]), note)
