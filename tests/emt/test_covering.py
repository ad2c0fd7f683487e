"""Covering arrays have every pair of values of any two settings, in few rows."""

from itertools import combinations, product

import pytest

from .covering import covering_array


@pytest.mark.parametrize("levels", [(4, 2, 3, 3, 2), (4, 2, 3, 1, 2), (2, 2), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_every_pair_is_there(levels: tuple[int, ...], seed: int) -> None:
    rows = covering_array(levels, seed)
    assert all(0 <= value < level for row in rows for value, level in zip(row, levels, strict=True))
    for i, j in combinations(range(len(levels)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(range(levels[i]), range(levels[j])))
    largest, second = sorted(levels)[-1], sorted(levels)[-2]
    assert largest * second <= len(rows) <= 1.5 * largest * second


def test_seeds_give_other_rows() -> None:
    assert len({tuple(covering_array((4, 2, 3, 3, 2), seed)) for seed in range(10)}) > 5
    assert covering_array((4, 2, 3, 3, 2), 1) == covering_array((4, 2, 3, 3, 2), 1)
