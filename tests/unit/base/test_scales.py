import pytest

from kappa.core.vocabulary.scales import PLACEMENTS, RANK_COUNTS, SCALES


@pytest.mark.parametrize(
    ("scale", "layout"),
    [
        ("one_core", (1, 1)),
        ("one_node", (1, 16)),
        ("two_nodes", (2, 16)),
        ("whole_partition", (6, 16)),
        ("each_node", (6, 1)),
    ],
)
def test_layout(scale, layout):
    assert SCALES[scale].layout(partition_nodes=6, cores_per_node=16) == layout


def test_placements_are_two_ranks():
    for placement in PLACEMENTS.values():
        nodes, ranks = placement.layout(partition_nodes=4, cores_per_node=8)
        assert nodes * ranks == 2


def test_rank_counts_within_one_node_and_one_on_each_node():
    layouts = {name: row.layout(partition_nodes=4, cores_per_node=8) for name, row in RANK_COUNTS.items()}
    assert layouts == {f"{n}_ranks": (1, n) for n in (2, 3, 4)} | {f"{n}_nodes": (n, 1) for n in (2, 3, 4)}


def test_too_small_partition_is_an_error_that_names_the_feature():
    with pytest.raises(ValueError, match=r"2 nodes needed, but the partition has 1.*scale_two_nodes"):
        SCALES["two_nodes"].layout(partition_nodes=1, cores_per_node=4)
