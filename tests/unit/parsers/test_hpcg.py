"""Reports of HPCG, and their result under its rules."""

import pytest

from reframe_checks.compute.hpcg import BYTES_PER_EQUATION, broken_rules, hpcg_dat, local_grid
from reframe_checks.parsers import hpcg
from reframe_checks.parsers.text import ParseError

SHORT = "hpcg/two_ranks_short.txt"
FAILED = {
    "symmetry": "epsilon::Result=",
    "convergence": "Convergence Tests::Result=",
    "reproducibility": "Reproducibility Information::Result=",
    "iterations": "Count Information::Result=",
}


def failed(text, result):
    """As HPCG writes it when a test fails."""
    assert f"{result}PASSED" in text
    head, _, _ = text.replace(f"{result}PASSED", f"{result}FAILED").partition("Final Summary::")
    return head + "Final Summary::HPCG result is=INVALID.\n"


def test_a_short_run_passes_its_tests_and_is_no_official_result(recorded):
    result = hpcg.parse(recorded(SHORT))
    assert (result.ranks, result.local_grid) == (2, (32, 32, 40))
    assert (result.gflops, result.raw_gflops, result.memory_gb) == (3.88801, 3.96964, 0.0586085)
    assert all(result.passed.values())
    assert broken_rules(result.total_s, 0.001) == ["3 s of 1800 s", "0.1% of the memory, expected 25%"]
    assert not broken_rules(1800, 0.25)


def test_an_official_run_of_the_embedded_cluster_is_valid(recorded):
    result = hpcg.parse(recorded("hpcg/two_ranks_official.txt"))
    assert (result.gflops, result.total_s) == (1.33495, 2283.35)
    assert all(result.passed.values())
    assert not broken_rules(result.total_s, 0.2554)


def test_a_published_report_of_3_0_with_lines_of_a_vendor(recorded):
    result = hpcg.parse(recorded("hpcg/published_3_0.yaml"))
    assert (result.version, result.gflops, result.memory_gb) == ("3.0", 3.28908, 6.43715)
    assert broken_rules(result.total_s, 0.25) == ["50 s of 1800 s"]


@pytest.mark.parametrize("test", FAILED)
def test_a_failed_test_is_a_result_that_is_not_valid(recorded, test):
    result = hpcg.parse(failed(recorded(SHORT), FAILED[test]))
    assert [name for name, passed in result.passed.items() if not passed] == [test]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("is VALID with a GFLOP/s rating of=3.88801", "is VALID with a GFLOP/s rating of=38.8801"),
        ("GFLOP/s Summary::Raw Total=3.96964", "GFLOP/s Summary::Raw Total=3969.64"),
        ("Global nx=64", "Global nx=32"),
        ("Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon::Result=PASSED", "x::Result=PASSED"),
    ],
)
def test_figures_of_two_reports_or_in_other_units_are_refused(recorded, before, after):
    text = recorded(SHORT)
    assert before in text
    with pytest.raises(ParseError):
        hpcg.parse(text.replace(before, after))


def test_two_reports_or_a_part_of_one_are_refused(recorded):
    text = recorded(SHORT)
    for damaged in (2 * text, text + text.partition("version=3.1\n")[2], text.partition("Final Summary")[0]):
        with pytest.raises(ParseError):
            hpcg.parse(damaged)


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
