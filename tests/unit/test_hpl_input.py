import pytest

from reframe_checks.compute.hpl import doublings, hpccinf_txt, hpl_dat, problem_size, process_grid


@pytest.mark.parametrize(
    ("ranks", "grid"),
    [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (12, (3, 4)), (13, (1, 13)), (128, (8, 16))],
)
def test_grid_is_as_square_as_possible(ranks, grid):
    assert process_grid(ranks) == grid


def test_matrix_fills_the_fraction_of_memory():
    order = problem_size(memory_bytes=64 * 2**30, fraction=0.8, block=192)
    assert order % 192 == 0
    assert 8 * order**2 <= 0.8 * 64 * 2**30 < 8 * (order + 192) ** 2


def test_input_has_a_value_first_on_each_line_that_hpl_reads():
    lines = hpl_dat([4000], 192, (2, 3)).splitlines()
    assert len(lines) == 31
    assert [lines[i].split()[0] for i in (5, 7, 10, 11)] == ["4000", "192", "2", "3"]
    assert hpccinf_txt([4000], 192, (2, 3)).splitlines()[:31] == lines


def test_several_orders_in_one_input():
    lines = hpl_dat([1000, 2000, 4000], 192, (1, 2)).splitlines()
    assert lines[4].split()[0] == "3"
    assert lines[5].split() == ["1000", "2000", "4000", "Ns"]


@pytest.mark.parametrize(("nodes", "expected"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (32, [1, 2, 4, 8, 16, 32])])
def test_scaling_doubles_the_nodes(nodes, expected):
    assert doublings(nodes) == expected
