"""Results of RailSweep for ``kappa-measure ring-traffic`` with eight adapters."""

import pytest
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.transports import only_over
from reframe_checks.network.ring_sweeps import RailSweep
from tests.figures import figure
from tests.measured import EACH_WAY, ring_traffic
from tests.stand_in import StandIn

EIGHT = [f"mlx5_{rail}:1" for rail in range(8)]
NODES = [f"node{number}" for number in range(1, 7)]


def document(used, mb_s):
    """``mb_s``: (sender, receiver) -> rate."""
    adapters = [{"name": name, "sent": 2 * EACH_WAY if name == used else 0, "received": 0} for name in EIGHT]
    return ring_traffic(NODES, mb_s, lambda node: {"node": node, "adapters": adapters})


def swept(rate, used=lambda adapter: adapter):
    """A check whose adapters sent at ``rate(adapter, sender, receiver)``, judged."""
    texts = {
        RailSweep.result_file(number, adapter): document(used(adapter), lambda a, b, via=adapter: rate(via, a, b))
        for number in (1, 2)
        for adapter in EIGHT
    }
    check = StandIn(
        RailSweep, rails=EIGHT, rounds=2, least_slowdown=1.25, num_tasks=len(NODES), provenance={"nodelist": NODES},
        output_text=texts.__getitem__,
    )  # fmt: skip
    assert check.read_rails().evaluate()
    return check


def named(check):
    return [(finding.kind, finding.name, finding.evidence.split(" is ")[0]) for finding in check.findings]


def test_equal_adapters_name_nobody():
    check = swept(lambda adapter, sender, receiver: 12000)
    assert (named(check), figure(RailSweep, "uniformity", check)) == ([], 1)
    assert check.per_node["bandwidth_mlx5_3:1"] == dict.fromkeys(NODES, 12000)


@pytest.mark.parametrize("slow", [{"node4"}, set(NODES)])
def test_what_sends_slowly_over_one_adapter_is_named(slow):
    check = swept(lambda adapter, sender, receiver: 3000 if sender in slow and adapter == "mlx5_3:1" else 12000)
    one = [("node", "node4", "over mlx5_3:1")]
    assert named(check) == (one if len(slow) == 1 else [("rail", "mlx5_3:1", "over mlx5_3:1 of all nodes")])
    assert figure(RailSweep, "slowest_adapter_bandwidth", check) == 3000


def test_what_receives_slowly_over_one_adapter_is_named():
    check = swept(lambda adapter, sender, receiver: 3000 if (adapter, receiver) == ("mlx5_7:1", "node1") else 12000)
    assert named(check) == [("node", "node1", "over mlx5_7:1")]


def test_one_slow_link_blames_neither_end():
    check = swept(lambda adapter, sender, receiver: 3000 if {sender, receiver} == {"node2", "node3"} else 12000)
    assert named(check) == []


def test_an_mpi_that_does_not_listen_blames_no_node():
    told = r"should use only mlx5_1:1 \(UCX_NET_DEVICES\); node1: fell back to mlx5_0:1"
    with pytest.raises(SanityError, match=told):
        swept(lambda adapter, sender, receiver: 12000, used=lambda adapter: "mlx5_0:1")


@pytest.mark.parametrize(
    ("adapter", "variables"),
    [
        ("mlx5_3:1", {"UCX_NET_DEVICES": "mlx5_3:1"}),
        ("hfi1_1:1", {"HFI_UNIT": "1", "HFI_PORT": "1"}),
        ("eth1", {"UCX_NET_DEVICES": "eth1", "OMPI_MCA_btl_tcp_if_include": "eth1", "FI_TCP_IFACE": "eth1"}),
    ],
)
def test_each_library_is_told_of_the_adapter(adapter, variables):
    assert only_over(adapter) == variables
