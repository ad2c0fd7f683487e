"""Routes over all pairs of nodes of small fabrics."""

from collections import Counter
from itertools import pairwise, permutations

import pytest

from kappa.core.fabrics.network import network_of, network_without
from tests.unit.fabrics.conftest import TOPOLOGIES


def vertices(network, source, route):
    """Where a route leads; each hop has to begin where the last one ended."""
    at = [source]
    for hop in route:
        first, second = network.cables[hop.cable].ends
        start, end = (first, second) if hop.up else (second, first)
        assert start == at[-1]
        at.append(end)
    return at


def every(network):
    """The vertices between each pair of nodes."""
    return {
        (source, target): vertices(network, source, network.route(source, target))
        for source, target in permutations(network.nodes, 2)
    }


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_each_route_leads_to_its_end_and_is_as_long_as_the_way_back(make, topology):
    fabric = make(topology)
    network = network_of(fabric)
    ways = every(network)
    for (source, target), way in ways.items():
        assert way[-1] == target
        assert len(set(way)) == len(way)
        assert all(vertex[0] != "n" for vertex in way[1:-1])
        there, back = (network.latency_us(network.route(*ends)) for ends in ((source, target), (target, source)))
        assert there == pytest.approx(back)
    assert ways == every(network_of(fabric))


def test_a_message_meets_as_many_switches_as_its_tree_has_levels_below(make):
    network = network_of(make("tree"))
    ways = every(network)
    below = [2, 6, 12]
    for (source, target), way in ways.items():
        numbers = int(source[1:]), int(target[1:])
        level = next(level for level, size in enumerate(below, 1) if numbers[0] // size == numbers[1] // size)
        assert len(way) - 2 == 2 * level - 1
        # 0.1 us for each switch, 0.02 us for each cable.
        assert network.latency_us(network.route(source, target)) == pytest.approx(0.1 * (2 * level - 1) + 0.04 * level)


def test_tapered_destinations_are_spread_over_all_cables(make):
    network = network_of(make("tapered"))
    up = Counter(network.route("n0", f"n{target}")[1].cable for target in range(8, 16))
    # Four cables for eight nodes.
    assert sorted(up.values()) == [2, 2, 2, 2]
    assert len([cable for cable in network.cables if cable.startswith("s1.0-")]) == 4


def test_a_destination_is_reached_over_the_same_switch_from_everywhere(make):
    network = network_of(make("tapered"))
    for target in range(8, 16):
        assert len({network.route(f"n{source}", f"n{target}")[2].cable for source in range(8)}) == 1


def coordinates(router):
    return tuple(map(int, router[1:].split(".")))


@pytest.mark.parametrize("topology", ["torus", "mesh"])
def test_dimension_after_dimension_the_shorter_way(make, topology):
    fabric = make(topology)
    sizes = fabric.topology.sizes.value
    for (_, _), way in every(network_of(fabric)).items():
        steps = []
        for one, other in pairwise(map(coordinates, way[1:-1])):
            (dimension,) = [at for at in range(len(sizes)) if one[at] != other[at]]
            steps.append(dimension)
            distance = abs(one[dimension] - other[dimension])
            assert distance == 1 or (topology == "torus" and distance == sizes[dimension] - 1)
        assert steps == sorted(steps)
        first, last = coordinates(way[1]), coordinates(way[-2])
        apart = [abs(one - other) for one, other in zip(first, last, strict=True)]
        if topology == "torus":
            apart = [min(each, size - each) for each, size in zip(apart, sizes, strict=True)]
        assert len(steps) == sum(apart)


def test_a_chassis_is_left_over_one_cable_between_asics(make):
    for (source, target), way in every(network_of(make("chassis"))).items():
        asics = [vertex for vertex in way if vertex[0] == "a"]
        apart = int(source[1:]) // 4 != int(target[1:]) // 4
        assert len(asics) == (2 if apart else 0)
        assert len(way) <= (6 if apart else 5)


@pytest.mark.parametrize(
    ("topology", "lost"),
    [
        ("tree", ["s2.1"]),
        ("tree", ["s3.0", "s3.1"]),
        ("tapered", ["s2.0"]),
        ("tapered", ["s1.0-s2.0.0"]),
        ("torus", ["r0.0.0-r1.0.0"]),
        ("mesh", ["r1.0.0-r2.0.0"]),
        ("chassis", ["a0.0-a1.0.0", "a0.0-a1.0.1"]),
        ("chassis", ["p0.0-p0.1"]),
    ],
)
def test_what_is_lost_is_gone_around(make, topology, lost):
    fabric = make(topology)
    sound, damaged = network_of(fabric), network_without(fabric, lost)
    assert damaged.cut_off() is None
    touched = 0
    for ends in permutations(sound.nodes, 2):
        before, after = sound.route(*ends), damaged.route(*ends)
        way = vertices(damaged, ends[0], after)
        assert way[-1] == ends[1]
        assert not set(lost) & {*way, *(hop.cable for hop in after)}
        hit = set(lost) & {*vertices(sound, ends[0], before), *(hop.cable for hop in before)}
        touched += bool(hit)
        # Who did not need it keeps the route.
        assert hit or before == after
    assert touched
