"""Covering arrays: few combinations of settings in which every pair of values of two settings occurs."""

from collections.abc import Sequence
from itertools import combinations, product
from random import Random

Row = tuple[int, ...]
Pair = tuple[int, int, int, int]
"""A setting and its value, a later setting and its value."""

CANDIDATES = 20


def pairs_of(row: Row) -> set[Pair]:
    return {(i, row[i], j, row[j]) for i, j in combinations(range(len(row)), 2)}


def covering_array(levels: Sequence[int], seed: int) -> list[Row]:
    """Rows of values 0 … levels[i] - 1, greedily: of some random rows the one with the most pairs that are new.

    Each begins with such a pair and gives one setting after the other the value that adds most (D. M. Cohen et al.,
    "The AETG system", IEEE Trans. Software Engineering 23(7), 1997).
    """
    draw = Random(seed)
    settings = range(len(levels))
    missing = {
        (i, a, j, b) for i, j in combinations(settings, 2) for a, b in product(range(levels[i]), range(levels[j]))
    }
    rows: list[Row] = []
    while missing:
        candidates = [_candidate(levels, missing, draw) for _ in range(CANDIDATES)]
        rows.append(max(candidates, key=lambda row: len(pairs_of(row) & missing)))
        missing -= pairs_of(rows[-1])
    return rows


def _candidate(levels: Sequence[int], missing: set[Pair], draw: Random) -> Row:
    i, a, j, b = draw.choice(sorted(missing))
    row = {i: a, j: b}
    others = [setting for setting in range(len(levels)) if setting not in row]
    draw.shuffle(others)
    for setting in others:

        def added(value: int, setting: int = setting) -> int:
            ahead = (
                (other, row[other], setting, value) if other < setting else (setting, value, other, row[other])
                for other in row
            )
            return sum(pair in missing for pair in ahead)

        values = list(range(levels[setting]))
        draw.shuffle(values)
        row[setting] = max(values, key=added)
    return tuple(row[setting] for setting in range(len(levels)))
