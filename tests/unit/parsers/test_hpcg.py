"""Reports of HPCG, and what its rules say of them."""

import pytest

from reframe_checks.compute.hpcg import broken_rules
from reframe_checks.compute.hpcg_input import BYTES_PER_EQUATION, hpcg_dat, local_grid
from reframe_checks.parsers import hpcg
from reframe_checks.parsers.errors import ParseError

SHORT = "hpcg/two_ranks_short.txt"
FAILED = {
    "symmetry": [("epsilon::Result=PASSED", "epsilon::Result=FAILED"), ("MG=1.72078e-08", "MG=1.72078")],
    "convergence": [
        ("Convergence Tests::Result=PASSED", "Convergence Tests::Result=FAILED"),
        ("Unpreconditioned::Maximum iteration count=11", "Unpreconditioned::Maximum iteration count=13"),
    ],
    "reproducibility": [
        ("Reproducibility Information::Result=PASSED", "Reproducibility Information::Result=FAILED"),
        ("variance=0", "variance=0.001"),
    ],
    "iterations": [("Count Information::Result=PASSED", "Count Information::Result=FAILED")],
}


def failed(text, changes):
    """As HPCG writes it when a test fails."""
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    head, _, _ = text.partition("Final Summary::")
    return head + "Final Summary::HPCG result is=INVALID.\n"


def test_a_short_run_passes_its_tests_and_is_no_official_result(recorded):
    result = hpcg.parse(recorded(SHORT))
    assert (result.ranks, result.local_grid, result.sets) == (2, (32, 32, 40), 8)
    assert (result.gflops, result.raw_gflops, result.memory_gb) == (3.88801, 3.96964, 0.0586085)
    assert result.valid
    assert broken_rules(result.total_s, 0.001) == ["3 s of 1800 s", "0.1% of the memory, not 25%"]
    assert not broken_rules(1800, 0.25)


def test_an_official_run_of_the_embedded_cluster_is_valid(recorded):
    text = recorded("hpcg/two_ranks_official.txt")
    result = hpcg.parse(text)
    assert (result.gflops, result.total_s, result.sets) == (1.33495, 2283.35, 19)
    assert result.valid
    assert not broken_rules(result.total_s, 0.2554)
    with pytest.raises(ParseError, match="Please upload"):
        hpcg.parse(text.replace("Final Summary::Please upload", "Final Summary::Keep"))


def test_a_published_report_of_3_0_with_lines_of_a_vendor(recorded):
    result = hpcg.parse(recorded("hpcg/published_3_0.yaml"))
    assert (result.version, result.gflops, result.memory_gb) == ("3.0", 3.28908, 6.43715)
    assert broken_rules(result.total_s, 0.25) == ["50 s of 1800 s"]


@pytest.mark.parametrize("test", FAILED)
def test_a_failed_test_is_a_result_that_is_not_valid(recorded, test):
    result = hpcg.parse(failed(recorded(SHORT), FAILED[test]))
    assert [name for name, passed in result.passed.items() if not passed] == [test]
    assert not result.valid


@pytest.mark.parametrize("test", ["symmetry", "convergence", "reproducibility"])
def test_a_test_that_passed_has_figures_that_pass(recorded, test):
    changes = FAILED[test][1:]
    with pytest.raises(ParseError, match="follows from the figures"):
        hpcg.parse(failed(recorded(SHORT), changes))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("is VALID with a GFLOP/s rating of=3.88801", "is VALID with a GFLOP/s rating of=38.8801"),
        ("Results are valid but execution time (sec) is=2.93894", "Please upload results=http://hpcg-benchmark.org"),
    ],
)
def test_the_summary_says_what_follows_from_the_figures(recorded, before, after):
    text = recorded(SHORT)
    assert before in text
    with pytest.raises(ParseError):
        hpcg.parse(text.replace(before, after))


@pytest.mark.parametrize("gib", [0.001, 0.1, 1, 3.9, 64])
def test_a_grid_fills_what_it_shall_and_little_more(gib):
    grid = local_grid(gib * 2**30)
    assert all(edge % 8 == 0 and edge >= 16 for edge in grid)
    assert max(grid) - min(grid) <= 16
    held = grid[0] * grid[1] * grid[2] * BYTES_PER_EQUATION
    assert held >= gib * 2**30
    assert held <= gib * 2**30 * (1 + 8 / min(grid)) or grid == (16, 16, 16)


def test_the_input_file_has_the_grid_in_its_third_line_and_the_time_in_its_fourth():
    assert hpcg_dat((104, 104, 112), 1890).splitlines()[2:] == ["104 104 112", "1890"]
