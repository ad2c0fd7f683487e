"""Paths between NUMA domains with one slow path."""

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.compute.node_sweep import NumaMatrix
from reframe_checks.localise.parts import suspects_of_paths
from reframe_checks.parsers import core_programs
from reframe_checks.parsers.core_programs import MemoryPath
from tests.figures import figure
from tests.stand_in import StandIn


def node(domains=2, slow=None, near=None):
    """Remote memory has half of the bandwidth; a path of ``slow`` a third of it, one of ``near`` twice the latency."""
    paths = {}
    for cores in range(domains):
        for memory in range(domains):
            remote = cores != memory
            triad, latency = (50e3, 150.0) if remote else (100e3, 90.0)
            paths[cores, memory] = MemoryPath(
                cores, memory, 21 if remote else 10, triad / (3 if (cores, memory) == slow else 1),
                latency * (2 if (cores, memory) == near else 1), True,
            )  # fmt: skip
    return paths


def names(nodes):
    return [(finding.name, finding.quantity) for finding in suspects_of_paths(nodes, least_slowdown=1.15)]


def test_equal_nodes_are_not_blamed():
    assert names({f"n{number}": node() for number in range(8)}) == []
    assert names({"n1": node(4)}) == []


def test_the_node_with_a_slow_link_is_named_with_its_domains():
    nodes = {f"n{number}": node(slow=(0, 1) if number == 3 else None) for number in range(8)}
    assert names(nodes) == [("n3", "triad of the cores of domain 0 on memory of domain 1")]


def test_slow_memory_shows_in_its_latency():
    nodes = {f"n{number}": node(near=(1, 1) if number == 3 else None) for number in range(8)}
    assert names(nodes) == [("n3", "latency of the cores of domain 1 on memory of domain 1")]


def test_one_node_has_its_own_paths_to_compare_with():
    (finding,) = suspects_of_paths({"n1": node(4, slow=(2, 3))}, least_slowdown=1.15)
    assert (finding.kind, finding.nodes) == ("link", ("n1",))
    assert finding.name == "n1: cores of domain 2 on memory of domain 3"
    assert finding.slowdown == pytest.approx(3)


@pytest.fixture
def check(recorded):
    text = recorded("node_numa/two_nodes_of_two_domains.json")
    nodes = core_programs.node_numa(text)
    return StandIn(
        NumaMatrix, nodes=nodes, first=nodes["node1"], least_slowdown=1.15, result="", output_text=lambda name: text
    )


def test_remote_memory_is_held_against_local(check):
    assert check.read_matrices().evaluate()
    assert figure(NumaMatrix, "remote_triad_share", check) == pytest.approx(26019.1 / 100947.8)
    assert figure(NumaMatrix, "remote_latency_ratio", check) == pytest.approx(151.318 / 92.0512)
    assert check.heat_maps["latency"][0, 1] == pytest.approx((148.254 + 151.318) / 2)
    assert [finding.name for finding in check.findings] == ["node2: cores of domain 0 on memory of domain 1"]


def test_one_domain_has_no_remote_memory(check):
    check.parsed = lambda parse, text: {"node1": node(1)}
    with pytest.raises(SanityError, match="one NUMA domain on node1"):
        check.read_matrices().evaluate()
