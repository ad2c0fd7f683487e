import pytest

from reframe_checks.base.scaled import cpus_of

# Two sockets of two NUMA domains, two cores each; CPUs 8 to 15 are the second threads of cores 0 to 7.
TOPOLOGY = {
    "numa_nodes": ["0x0303", "0x0c0c", "0x3030", "0xc0c0"],
    "sockets": ["0x0f0f", "0xf0f0"],
    "cores": [hex(0x101 << core) for core in range(8)],
}


@pytest.mark.parametrize(
    ("placement", "cpus"), [("same_numa", (0, 1)), ("other_numa", (0, 2)), ("other_socket", (0, 4))]
)
def test_ranks_on_different_cores(placement, cpus):
    assert cpus_of(placement, TOPOLOGY) == cpus


@pytest.mark.parametrize(
    ("placement", "change", "message"),
    [
        ("same_numa", {"cores": []}, "must give processor/topology/cores"),
        ("other_socket", {"sockets": ["0xffff"]}, "sockets has 1 entry"),
        ("same_numa", {"numa_nodes": ["0x0101"]}, "too few cores"),
    ],
)
def test_what_the_topology_lacks_is_named(placement, change, message):
    with pytest.raises(ValueError, match=message):
        cpus_of(placement, TOPOLOGY | change)
