"""List the provenance of a run, each fact once: jobs, machines, files with hashes, references with sources."""

import posixpath
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import NOTHING, duration, figure
from kappa.core.ground.node_lists import folded
from reports.show.result_rows import ALIKE
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.state import State


@dataclass(frozen=True)
class Listing:
    """Hold a table of the page; ``numeric`` names the columns of numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numeric: frozenset[str] = frozenset()
    note: str = ""
    not_printed: frozenset[str] = frozenset()
    """Columns that narrow paper does without: empty ones, and those with what another table or column has."""


def listings(cases: Sequence[CaseVerdict]) -> list[Listing]:
    """Return the tables that have rows."""
    tables = [
        notes_of(cases),
        _validity(cases),
        _jobs(cases),
        _machines(cases),
        _specs(cases),
        _files(cases),
        _references(cases),
    ]
    return [table for table in tables if table.rows]


def suite_revisions(cases: Sequence[CaseVerdict]) -> list[str]:
    """Return every revision of the suite in these cases; more than one means a mixed run."""
    recorded = {_fact(verdict, "suite_revision") for verdict in cases if verdict.case.provenance.suite_revision}
    return sorted(recorded | {verdict.case.census.suite_revision for verdict in cases if verdict.case.census})


def notes_of(cases: Sequence[CaseVerdict]) -> Listing:
    """Return the notes on metrics, each once for all cases that have it."""
    said: dict[str, list[str]] = {}
    for verdict in cases:
        for note in verdict.case.notes:
            said.setdefault(one_line(note, 500), []).append(verdict.title)
    rows = [
        (titles[0] if len(titles) == 1 else f"{titles[0]} and {len(titles) - 1} more", note)
        for note, titles in said.items()
    ]
    return Listing("Notes", ("Case", "Note"), rows)


def _validity(cases: Sequence[CaseVerdict]) -> Listing:
    """Return whether results are valid by the benchmark's own rules, or what they lack."""
    rows = [(verdict.title, one_line(verdict.case.validity, 500)) for verdict in cases if verdict.case.validity]
    return Listing("By the benchmark's rules", ("Check", "Result"), rows)


def _jobs(cases: Sequence[CaseVerdict]) -> Listing:
    """Return a row for each job; passed jobs of the same case on different nodes share one row."""
    alike: dict[object, list[CaseVerdict]] = {}
    for number, verdict in enumerate(cases):
        case = verdict.case
        passed = verdict.state is State.PASS and not verdict.repeated
        key = (case.name, case.partition, case.environ, _fact(verdict, "executable")) if passed else number
        alike.setdefault(key, []).append(verdict)
    rows = [
        row
        for members in alike.values()
        for row in ([_job(members)] if len(members) >= ALIKE else [_job([member]) for member in members])
    ]
    header = ("Case", "Partition", "Environment", "Nodes", "Job", "Run time", "Energy (kJ)", "Executable", "Output")
    below, short = _below([row[-1] for row in rows])
    rows = [(*row[:-1], output) for row, output in zip(rows, short, strict=True)]
    note = f"The output files are below {below}." if below else ""
    empty = {title for title, *column in zip(header, *rows, strict=True) if set(column) == {NOTHING}}
    not_printed = empty | {"Environment", "Executable"}
    return Listing("Jobs", header, rows, frozenset({"Run time", "Energy (kJ)"}), note, frozenset(not_printed))


def _below(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return the common folder of all absolute paths, if there is one, and the paths below it."""
    absolute = [path for path in paths if path.startswith("/")]
    common = posixpath.commonpath([posixpath.dirname(path) for path in absolute]) if len(absolute) > 1 else "/"
    if common == "/":
        return "", list(paths)
    return common, [path.removeprefix(f"{common}/") for path in paths]


def _job(members: Sequence[CaseVerdict]) -> tuple[str, ...]:
    verdict, *more = members
    case = verdict.case
    jobs = sorted({member.case.job_id or NOTHING for member in members}, key=lambda job: (len(job), job))
    times = sorted(member.case.took_s for member in members if member.case.took_s is not None)
    energies = [member.case.energy_j for member in members if member.case.energy_j is not None]
    ends = dict.fromkeys(map(duration, (times[0], times[-1]))) if times else [NOTHING]
    return (
        case.name,
        case.partition,
        case.environ,
        folded(node for member in members for node in member.case.nodes),
        f"{jobs[0]} … {jobs[-1]} ({len(members)})" if more else jobs[0],
        " … ".join(ends),
        figure(sum(energies) / 1000) if energies else NOTHING,
        _fact(verdict, "executable"),
        case.output or NOTHING,
    )


def _machines(cases: Sequence[CaseVerdict]) -> Listing:
    keys = ("hostname", "kernel", "cpu_model", "memory_kib", "mpi")
    machines = {tuple(_fact(verdict, key) for key in keys) for verdict in cases if verdict.case.provenance}
    rows = [
        (host, kernel, cpu, figure(int(memory) / 2**20) if memory.isdecimal() and len(memory) < 20 else memory, mpi)
        for host, kernel, cpu, memory, mpi in sorted(machines)
    ]
    return Listing("First nodes", ("Node", "Kernel", "CPU", "Memory (GiB)", "MPI"), rows, frozenset({"Memory (GiB)"}))


def _specs(cases: Sequence[CaseVerdict]) -> Listing:
    """Return Spack's packages that ran, with the number of cases."""
    found = [verdict.case.provenance.spec for verdict in cases if verdict.case.provenance.spec]
    uses = Counter((spec.name, spec.version, spec.compiler, spec.mpi, spec.hash) for spec in found)
    rows = [(*(one_line(word, 200) for word in spec), str(count)) for spec, count in sorted(uses.items())]
    header = ("Name", "Version", "Compiler", "MPI", "Hash", "Cases")
    return Listing("Built by Spack", header, rows, frozenset({"Cases"}))


def _files(cases: Sequence[CaseVerdict]) -> Listing:
    """Return the programs and files of the cases; a path with two hashes changed between cases."""
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
    return Listing("Programs and files", ("Path", "SHA-256", "Cases", "Note"), rows, frozenset({"Cases"}))


def _references(cases: Sequence[CaseVerdict]) -> Listing:
    uses: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for verdict in cases:
        for metric in verdict.case.metrics:
            if source := metric.source:
                key = (source.source, source.date, str(source.samples), source.method)
                uses.setdefault(key, {})[f"{verdict.case.check_class} {metric.name}"] = None
    rows = [(*key, ", ".join(names)) for key, names in sorted(uses.items())]
    header = ("Source", "Date", "Samples", "Method", "Metrics")
    return Listing("References", header, rows, frozenset({"Samples"}))


def _fact(verdict: CaseVerdict, key: str) -> str:
    return one_line(getattr(verdict.case.provenance, key) or NOTHING, 200)
