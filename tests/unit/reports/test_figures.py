import math

import pytest

from kappa.core.ground.figures import allowed, duration, figure, figure_apart, moment, percent
from kappa.core.ground.node_lists import folded
from reports.show.plot import in_binary_unit, suitable_unit

NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1.0, "1"), (0.2, "0.2"), (12.3456, "12.35"), (499.96, "500"), (12345.678, f"12{NARROW}346"),
        (9_999_900, f"9{NARROW}999{NARROW}900"), (12_345_678, "1.235e7"), (-55.00001, "\N{MINUS SIGN}55"),
        (0.000123456, "1.235e\N{MINUS SIGN}4"), (math.nan, "nan"), (-math.inf, "\N{MINUS SIGN}inf"),
    ],
)  # fmt: skip
def test_four_significant_digits(value, text):
    assert figure(value) == text


def test_a_broken_bound_is_visible_in_the_digits():
    assert figure_apart(500.04, 500) == "500.04"
    assert figure_apart(501, 500) == "501"
    assert figure_apart(math.nextafter(500, 600), 500) == "500.0000000000001"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((20, math.inf), "≥ 20"),
        ((-math.inf, 500), "≤ 500"),
        ((0.9, 1.1), "0.9 … 1.1"),
        ((1, 1), "= 1"),
        ((-math.inf, math.inf), "\N{EN DASH}"),
    ],
)
def test_allowed(bounds, text):
    assert allowed(*bounds) == text


def test_percent_and_times():
    assert [percent(value) for value in (None, 3.21, -12.4, -0.01)] == [
        "\N{EN DASH}",
        "+3.2",
        "\N{MINUS SIGN}12",
        "0",
    ]
    assert [duration(value) for value in (None, 3.84, 65, 4320)] == ["\N{EN DASH}", "3.8 s", "1 min 5 s", "1 h 12 min"]
    assert moment("20261121T043820+0000") == "2026-11-21 04:38:20 +0000"
    assert moment("yesterday") == "yesterday"
    assert moment("") == "unknown time"


def test_bytes_in_the_unit_that_suits():
    assert in_binary_unit(65536, "B") == "64 KiB"
    assert in_binary_unit(3, "ranks") == "3 ranks"
    assert suitable_unit(24_684_092, "KiB") == (1024**2, "GiB")
    assert suitable_unit(5000, "MB/s") == (1, "MB/s")


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (["node3", "node1", "node2", "node2"], "node[1-3]"),
        (["nid001", "nid002", "nid010"], "nid[001-002,010]"),
        (["node1"], "node1"),
        ([], ""),
        # A name that is none must not be read as a range of a billion nodes, nor as a group to look up.
        (["n[1-999999999]", "@all", "node1"], "node1,@all,n[1-999999999]"),
    ],
)
def test_nodes_are_folded(nodes, text):
    assert folded(nodes) == text
