"""Results of ``sparse_direct`` (``application/src/sparse_direct``): one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity


@dataclass(frozen=True)
class SparseDirect:
    """``factor_ns`` and ``solve_ns``: of the slowest rank, in each step; ``backward_error``: the largest of all steps,
    relative; ``error``: of the solution, whose values are 1 to 2."""

    mpi: str
    solver: str
    ranks: int
    edge: int
    steps: int
    factor_ns: tuple[int, ...]
    solve_ns: tuple[int, ...]
    factor_entries: float
    factor_flop: float
    backward_error: float
    error: float

    @property
    def step_s(self) -> float:
        return 1e-9 * (sum(self.factor_ns) + sum(self.solve_ns)) / self.steps


def parse(text: str) -> SparseDirect:
    """
    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, or a figure
        that contradicts another.
    """
    output = Output.read("sparse_direct", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-sparse-direct" or record.integer("version") != 1:
        raise record.error("kappa-sparse-direct, version 1", "format")
    edge, steps = record.integer("edge", 2), record.integer("steps", 1)
    unknowns = edge**3
    if record.integer("unknowns") != unknowns:
        raise record.error("edge^3", "unknowns")
    factor_ns, solve_ns = (record.integers(key) for key in ("factor_ns", "solve_ns"))
    if not len(factor_ns) == len(solve_ns) == steps or min(*factor_ns, *solve_ns) <= 0:
        raise record.error(f"{steps} positive times of factorisations, and of solutions", "factor_ns")
    if record.integer("total_ns") != sum(factor_ns) + sum(solve_ns):
        raise record.error("the sum of the times of factorisations and solutions", "total_ns")
    entries, flop = (record.number(key, Quantity.COUNT, unknowns) for key in ("factor_entries", "factor_flop"))
    if entries > 2 * unknowns**2 or flop > unknowns**3:
        raise record.error("no more entries and operations than full factors have", "factor_entries")
    return SparseDirect(
        mpi=record.text("mpi"),
        solver=record.text("solver"),
        ranks=record.integer("ranks", 1, Quantity.RANKS),
        edge=edge,
        steps=steps,
        factor_ns=tuple(factor_ns),
        solve_ns=tuple(solve_ns),
        factor_entries=entries,
        factor_flop=flop,
        backward_error=record.number("backward_error", Quantity.COUNT, 0),
        error=record.number("error", Quantity.COUNT, 0),
    )
