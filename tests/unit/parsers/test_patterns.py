import json

import pytest

from reframe_checks.parsers import patterns
from reframe_checks.parsers.errors import ParseError

PARSERS = {
    "random_ring": patterns.random_ring,
    "put_barrier": patterns.put_barrier,
    "particles": patterns.particle_exchange,
    "neighbour": patterns.neighbour_exchange,
    "allreduce": patterns.allreduce,
    "simulated_allreduce": patterns.allreduce,
}


@pytest.fixture
def parsed(recorded):
    """The recorded result of a pattern, after ``change`` of its document."""

    def parse(name, change=lambda document: None, expect_ranks=4):
        document = json.loads(recorded(f"patterns/{name}.json"))
        change(document)
        return PARSERS[name](json.dumps(document, indent=1) + "\n", expect_ranks=expect_ranks)

    return parse


def test_bandwidth_is_that_of_two_messages_in_the_best_iteration(parsed):
    ring = parsed("random_ring", lambda document: document.update(times_us=[4000, 2000, 8000]))
    assert (ring.way, ring.message_bytes, ring.ranks, ring.simulated) == ("put", 2_000_000, 4, False)
    assert ring.bandwidth_mb_s == 2000


def test_figures_of_the_others(parsed):
    barrier = parsed("put_barrier")
    assert (barrier.algorithm, len(barrier.times_us)) == ("recursive-doubling", 10)
    assert barrier.shortest_us == min(barrier.times_us) <= barrier.median_us
    particles = parsed("particles")
    assert (particles.barrier, particles.within_nodes, particles.nodes) == ("after", False, 2)
    assert particles.largest_put_bytes < particles.put_bytes < particles.packed_bytes
    assert particles.times_us[particles.best] == particles.shortest_us
    neighbour = parsed("neighbour")
    assert (neighbour.message, neighbour.lines, neighbour.messages) == ("line", 7, 14)
    allreduce = parsed("simulated_allreduce")
    assert (allreduce.where, allreduce.aggregators, allreduce.simulated) == ("in-network", 3, True)
    assert list(allreduce.median_of_sizes_us) == [8 << power for power in range(10)]
    assert not allreduce.cpu_us
    assert parsed("allreduce").cpu_us.keys() == allreduce.sizes.keys()


@pytest.mark.parametrize("name", PARSERS)
def test_of_other_ranks_or_another_pattern_is_an_error(parsed, name):
    with pytest.raises(ParseError, match="8 ranks"):
        parsed(name, expect_ranks=8)
    with pytest.raises(ParseError, match="the pattern"):
        parsed(name, lambda document: document.update(pattern="other"))
    with pytest.raises(ParseError, match="no more nodes than ranks"):
        parsed(name, lambda document: document.update(nodes=5))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("random_ring", {"version": 2}, "version 1"),
        ("random_ring", {"way": "send"}, "isend or put or get"),
        ("random_ring", {"iterations": 4}, "list of 4 numbers"),
        ("random_ring", {"times_us": [1, 2, 0]}, "above 0"),
        ("random_ring", {"simulated": 1}, "true or false"),
        ("put_barrier", {"algorithm": "tree"}, "ring or recursive-doubling"),
        ("particles", {"largest_put_bytes": 1}, "at most so many of them"),
        ("particles", {"put_bytes": 10**9}, "what was packed"),
        ("particles", {"within_nodes": True}, "as many bytes as were packed"),
        ("particles", {"pack_us": [1e6, 1e6, 1e6]}, "no time longer"),
        ("neighbour", {"messages": 7}, "in each direction"),
        ("neighbour", {"lines": 2}, "in each direction"),
        ("simulated_allreduce", {"aggregators": 0}, "aggregators in the network"),
        ("simulated_allreduce", {"largest_bytes": 8192}, "the largest of the 10 sizes"),
        ("simulated_allreduce", {"sizes": [{"bytes": 16, "times_us": [1, 1]}]}, "double from 8 on"),
    ],
)
def test_what_contradicts_is_an_error(parsed, name, change, message):
    with pytest.raises(ParseError, match=message):
        parsed(name, lambda document: document.update(change))
