"""MPI libraries of one partition side by side."""

from reports.show.mpi_libraries import compared_libraries, library_listings
from tests.unit.reports.samples import judged, latency, report


def series(environ, kappas, **changes):
    """A case with a point for each number of ranks: mapping ranks -> κ′ of each round."""
    points = [
        {"series": "step, 2 nodes", "ranks": ranks, "speedup": 1.0, "efficiency": 0.5, "karp_flatt": None,
         "kappa_us": sorted(rounds)[len(rounds) // 2], "kappa_repeats_us": rounds}
        for ranks, rounds in kappas.items()
    ]  # fmt: skip
    mpi = {"mpi": f"{environ} 1.0", "nodelist": ["node1", "node2"]}
    return latency(environ=environ, check_class="EmtSeries", scaling=points, provenance=mpi, **changes)


def cases_of(tmp_path, *cases):
    return [found.case for found in judged(report(list(cases)), tmp_path).cases]


def test_which_differ_and_by_how_much(tmp_path):
    openmpi = series("openmpi", {2: [1.0, 1.1, 1.2, 1.3, 1.4], 4: [5.0, 5.1, 5.2, 5.3, 5.4]})
    mpich = series("mpich", {2: [1.35, 1.5, 1.6, 1.7, 1.8], 4: [2.0, 2.1, 2.2, 2.3, 2.4], 8: [9.0] * 5})
    [found] = compared_libraries(cases_of(tmp_path, openmpi, mpich))
    assert found.libraries == (("openmpi", "openmpi 1.0"), ("mpich", "mpich 1.0"))
    assert [row.ranks for row in found.rows] == [2, 4, 8]
    assert [row.differ for row in found.rows] == [(), ("mpich takes 3 us less than openmpi",), ()]
    assert found.rows[2].cells[0] is None
    # Five rounds do not give 95 %: the interval is all of them, and says how sure that is.
    assert found.method.startswith("93.8 % confidence, order statistics 1 and 5 of 5")
    [table] = library_listings(cases_of(tmp_path, openmpi, mpich))
    difference = "mpich takes 3 us less than openmpi"
    assert table.rows[1] == ("step, 2 nodes", "4", "5.2 (5 … 5.4)", "2.2 (2 … 2.4)", difference)


def test_one_round_says_nothing(tmp_path):
    [found] = compared_libraries(cases_of(tmp_path, series("openmpi", {2: [1.0]}), series("mpich", {2: [9.0]})))
    assert [row.differ for row in found.rows] == [()]
    assert str(found.rows[0].cells[1]) == "9"


def test_one_library_and_what_is_simulated_is_not_compared(tmp_path):
    simulation = {"fabric": "hdr", "variant": "sound", "kind": "spec-only", "platform_sha256": "0" * 64}
    alone = [series("openmpi", {2: [1.0]}), latency(environ="mpich")]
    fabrics = [series(environ, {2: [1.0]}, simulation=simulation) for environ in ("smpi", "smpi-4")]
    assert compared_libraries(cases_of(tmp_path, *alone)) == []
    assert compared_libraries(cases_of(tmp_path, *fabrics)) == []
