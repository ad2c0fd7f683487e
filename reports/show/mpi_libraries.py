"""Compare MPI libraries: the parallelisation cost κ′ of each at each number of ranks, and which libraries differ.

The table needs a partition with a series in several environments. The interval is the interval of the median over the
rounds, from order statistics. Two libraries differ if their intervals do not touch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from kappa.core.ground.figures import NOTHING, figure
from kappa.core.ground.order_statistics import Interval, Statistic, interval_of
from kappa.core.record.model import Case
from reports.show.curve_plots import points_of
from reports.show.provenance import Listing

_MEDIAN = Statistic("median")


@dataclass(frozen=True)
class LibraryCell:
    """Hold κ′ (us) of one library at one number of ranks; one round gives no interval, so its bounds are ``None``."""

    kappa_us: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        sure = f" ({figure(low)} … {figure(high)})" if low is not None and high is not None else ""
        return figure(self.kappa_us) + sure

    def apart_from(self, other: "LibraryCell") -> bool:
        """Return whether the intervals do not touch; ``False`` if an interval is missing."""
        bounds = (self.interval.low, self.interval.high, other.interval.low, other.interval.high)
        if None in bounds:
            return False
        low, high, other_low, other_high = (float(bound or 0) for bound in bounds)
        return high < other_low or other_high < low


@dataclass(frozen=True)
class LibraryRow:
    """Hold the cells of one series at one number of ranks."""

    series: str
    ranks: int
    cells: tuple[LibraryCell | None, ...]
    """In the order of the table's libraries; ``None`` for a library without this point."""
    differ: tuple[str, ...]


@dataclass(frozen=True)
class LibraryComparison:
    """Compare the libraries of a check on a partition.

    ``libraries`` are (environment, its MPI); ``method`` is the method of the intervals with their confidence.
    """

    check: str
    partition: str
    libraries: tuple[tuple[str, str], ...]
    rows: tuple[LibraryRow, ...]
    method: str


def compared_libraries(cases: Sequence[Case]) -> list[LibraryComparison]:
    """Return one comparison for each check and partition with series in several environments.

    Simulated cases have no library and are left out.
    """
    groups: dict[tuple[str, str], dict[str, list[Case]]] = {}
    for case in cases:
        if points_of(case) and case.simulation is None:
            environments = groups.setdefault((case.check_class or "", case.partition), {})
            environments.setdefault(case.environ, []).append(case)
    return [_comparison(*place, found) for place, found in groups.items() if len(found) > 1]


def _comparison(check: str, partition: str, environments: dict[str, list[Case]]) -> LibraryComparison:
    cells = {
        environment: {
            (point.series, point.ranks): LibraryCell(
                point.kappa_us, interval_of(_MEDIAN, point.kappa_repeats_us or (point.kappa_us,))
            )
            for case in of_environment
            for point in points_of(case)
        }
        for environment, of_environment in environments.items()
    }
    # The points of all environments, in the order of the checks.
    keys = list(dict.fromkeys(key for of_environment in cells.values() for key in of_environment))
    rows = [_row(key, {environment: own.get(key) for environment, own in cells.items()}) for key in keys]
    methods = {cell.interval.method for row in rows for cell in row.cells if cell}
    return LibraryComparison(
        check,
        partition,
        tuple((name, next((case.provenance.mpi for case in found), "")) for name, found in environments.items()),
        tuple(rows),
        "; ".join(sorted(methods)),
    )


def _row(key: tuple[str, int], cells: dict[str, LibraryCell | None]) -> LibraryRow:
    there = [(name, cell) for name, cell in cells.items() if cell]
    differ = []
    for (one, first), (other, second) in combinations(there, 2):
        if first.apart_from(second):
            less, more = (one, other) if first.kappa_us < second.kappa_us else (other, one)
            by = figure(abs(first.kappa_us - second.kappa_us), 2)
            differ.append(f"{less} takes {by} us less than {more}")
    return LibraryRow(*key, tuple(cells.values()), tuple(differ))


def library_listings(cases: Sequence[Case]) -> list[Listing]:
    """Return a table of the page for each comparison."""
    return [_listing(comparison) for comparison in compared_libraries(cases)]


def _listing(found: LibraryComparison) -> Listing:
    libraries = "; ".join(f"{name}: {mpi or 'unknown MPI'}" for name, mpi in found.libraries)
    return Listing(
        f"{found.check} on {found.partition}",
        ("Series", "Ranks", *(f"{name}: κ′ (us)" for name, _ in found.libraries), "Differ"),
        [
            (row.series, str(row.ranks), *(str(cell or "") for cell in row.cells), "; ".join(row.differ) or NOTHING)
            for row in found.rows
        ],
        frozenset({"Ranks"}),
        f"{libraries}. Medians; the brackets hold {found.method}. Libraries differ if these do not touch.",
    )
