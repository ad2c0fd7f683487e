"""Results of GpuPairs for ``kappa-measure ring-traffic --gpus``, with four GPUs in each of six nodes."""

import itertools

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.network.ring_sweeps import GpuPairs
from tests.figures import figure
from tests.measured import ring_traffic
from tests.stand_in import StandIn

GPUS = 4
NODES = [f"node{number}" for number in range(1, 7)]


def document(pair, mb_s, bus):
    """``mb_s``: ((sender, GPU), (receiver, GPU)) -> rate."""
    ends = [(node, pair[rank % 2]) for rank, node in enumerate(NODES)]

    def told(end):
        return {"node": end[0], "adapters": [], "gpu": {"ordinal": end[1], "pci": bus(*end)}}

    return ring_traffic(ends, mb_s, told)


def swept(rate, bus=lambda node, gpu: f"0000:{gpu:02x}:00.0"):
    """A check whose GPUs sent at ``rate``, judged."""
    pairs = list(itertools.product(range(GPUS), repeat=2))
    texts = {GpuPairs.result_file(number, pair): document(pair, rate, bus) for number in (1, 2) for pair in pairs}
    check = StandIn(
        GpuPairs, gpus_per_node=GPUS, rounds=2, least_slowdown=1.25, num_tasks=len(NODES),
        provenance={"nodelist": NODES}, output_text=texts.__getitem__,
    )  # fmt: skip
    assert check.read_pairs().evaluate()
    return check


def named(check):
    return [(finding.kind, finding.name, finding.evidence.split(" is ")[0]) for finding in check.findings]


def usual(sender, receiver):
    """GPUs 0 and 1 hang on one switch of PCIe, 2 and 3 on the other."""
    return 24000 if sender[1] // 2 == receiver[1] // 2 else 15000


def test_nodes_that_are_made_alike_name_nobody():
    check = swept(usual)
    assert named(check) == []
    assert check.per_node["bandwidth_gpu3"] == dict.fromkeys(NODES, 24000)
    assert check.heat_maps["bandwidth between GPUs"] == {
        (g, h): usual(("", g), ("", h)) for g, h in itertools.product(range(GPUS), repeat=2)
    }
    assert figure(GpuPairs, "slowest_pair_bandwidth", check) == 15000
    assert figure(GpuPairs, "uniformity", check) == 1


@pytest.mark.parametrize("slow", [{"node4"}, set(NODES)])
def test_a_slow_gpu_is_named(slow):
    def rate(sender, receiver):
        return 6000 if any(end[0] in slow and end[1] == 2 for end in (sender, receiver)) else usual(sender, receiver)

    check = swept(rate)
    one = ("node", "node4", "over GPU 2") if len(slow) == 1 else ("rail", "GPU 2", "over GPU 2 of all nodes")
    assert named(check) == [one]
    assert figure(GpuPairs, "slowest_gpu_bandwidth", check) == 6000


def test_a_slow_node_is_named():
    check = swept(lambda *ends: 6000 if "node5" in dict(ends) else usual(*ends))
    assert named(check) == [("node", "node5", "over its 4 GPUs")]


def test_two_gpus_that_are_slow_with_each_other_alone_blame_neither():
    def rate(*ends):
        return 6000 if set(ends) == {("node2", 0), ("node3", 1)} else usual(*ends)

    assert named(swept(rate)) == [("link", "node2-node3", "between GPU 0 of node2 and GPU 1 of node3")]


def test_a_number_that_is_another_gpu_is_refused():
    with pytest.raises(SanityError, match=r"node3: GPU 2 was at 0000:01:00\.0, as GPU 1: expected one PCIe address"):
        swept(usual, lambda node, gpu: f"0000:{1 if (node, gpu) == ('node3', 2) else gpu:02x}:00.0")
