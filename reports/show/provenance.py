"""What ran where, without repetition: jobs, machines, files with their hashes, references with their sources."""

from collections.abc import Sequence
from dataclasses import dataclass

from kappa.ground.clean_text import one_line
from kappa.ground.figures import NOTHING, duration, figure
from kappa.ground.node_lists import folded
from reports.verdict.case_verdict import CaseVerdict


@dataclass(frozen=True)
class Listing:
    """A table of the page; ``numeric`` names the columns of numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[str] = frozenset()


def listings(cases: Sequence[CaseVerdict]) -> list[Listing]:
    """The tables that hold anything."""
    tables = [_jobs(cases), _machines(cases), _files(cases), _references(cases)]
    return [table for table in tables if table.rows]


def suite_revisions(cases: Sequence[CaseVerdict]) -> list[str]:
    """Every revision of the suite that these cases came from; more than one is worth a question."""
    recorded = {_fact(verdict, "suite_revision") for verdict in cases if verdict.case.provenance.suite_revision}
    return sorted(recorded | {verdict.case.census.suite_revision for verdict in cases if verdict.case.census})


def _jobs(cases: Sequence[CaseVerdict]) -> Listing:
    rows = [
        (
            verdict.case.name,
            verdict.case.partition,
            verdict.case.environ,
            folded(verdict.case.nodes),
            verdict.case.job_id or NOTHING,
            duration(verdict.case.run_time_s),
            _fact(verdict, "executable"),
            verdict.case.output or NOTHING,
        )
        for verdict in cases
    ]
    header = ("Case", "Partition", "Environment", "Nodes", "Job", "Run time", "Executable", "Output")
    return Listing("Jobs", header, rows, frozenset({"Run time"}))


def _machines(cases: Sequence[CaseVerdict]) -> Listing:
    keys = ("hostname", "kernel", "cpu_model", "memory_kib", "mpi")
    machines = {tuple(_fact(verdict, key) for key in keys) for verdict in cases if verdict.case.provenance}
    rows = [(host, kernel, cpu, _gib(memory), mpi) for host, kernel, cpu, memory, mpi in sorted(machines)]
    return Listing("First nodes", ("Node", "Kernel", "CPU", "Memory (GiB)", "MPI"), rows, frozenset({"Memory (GiB)"}))


def _gib(kib: str) -> str:
    return figure(int(kib) / 2**20) if kib.isdecimal() and len(kib) < 20 else kib


def _files(cases: Sequence[CaseVerdict]) -> Listing:
    """Programs and files that decided what ran; a path with two hashes changed between cases."""
    uses: dict[tuple[str, str], int] = {}
    for verdict in cases:
        provenance = verdict.case.provenance
        hashed = {_fact(verdict, "executable"): _fact(verdict, "sha256")} if provenance.sha256 else {}
        for path, digest in {**hashed, **provenance.files}.items():
            uses[path, digest] = uses.get((path, digest), 0) + 1
    paths = [path for path, _ in uses]
    rows = [
        (path, digest, str(count), "differs between cases" if paths.count(path) > 1 else "")
        for (path, digest), count in sorted(uses.items())
    ]
    return Listing("Programs and files", ("Path", "SHA-256", "Cases", ""), rows, frozenset({"Cases"}))


def _references(cases: Sequence[CaseVerdict]) -> Listing:
    uses: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for verdict in cases:
        for metric, source in verdict.case.reference_sources.items():
            key = (source.source, source.date, str(source.samples), source.method)
            uses.setdefault(key, {})[f"{verdict.case.check_class} {metric}"] = None
    rows = [(*key, ", ".join(names)) for key, names in sorted(uses.items())]
    header = ("Source", "Date", "Samples", "Method", "Metrics")
    return Listing("References", header, rows, frozenset({"Samples"}))


def _fact(verdict: CaseVerdict, key: str) -> str:
    return one_line(getattr(verdict.case.provenance, key) or NOTHING, 200)
