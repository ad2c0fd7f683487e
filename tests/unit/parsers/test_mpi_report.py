"""Reports of Open MPI, UCX and Intel MPI about their transports, recorded and published."""

import pathlib

import pytest

from reframe_checks.network.transport import silent_hosts, unlike_any, wrong_adapters, wrong_protocols
from reframe_checks.parsers import transport
from reframe_checks.parsers.text import ParseError

DATA = pathlib.Path(__file__).parents[2] / "data"
NODES = [f"r39c2t5n{number}" for number in range(1, 5)]


def said(name):
    found = transport.lanes((DATA / "mpi_report" / name).read_text())
    return {host: sorted(map(str, lanes)) for host, lanes in found.items()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("open_mpi_tcp.txt", {f"node{number}": ["tcp"] for number in range(1, 5)}),
        ("ucx_two_rails.txt", {node: ["rc_mlx5 on mlx5_0:1", "rc_mlx5 on mlx5_1:1"] for node in NODES}),
        ("ucx_four_rails.txt", {"jpbo-007-31": [f"rc_mlx5 on mlx5_{number}:1" for number in range(4)]}),
        ("ucx_tcp.txt", {"promote": ["tcp on enp7s0", "tcp on enp8s0"]}),
        ("intel_sockets.txt", {"": ["sockets"]}),
    ],
)
def test_what_libraries_say(name, expected):
    assert said(name) == expected


GARBLED = "[1.5] [n1:1:0]     ucp_worker.c:1 UCX  INFO  ep_cfg[1]: tag(rc_mlx5/\x00mlx5_0:1);\n"


@pytest.mark.parametrize("text", ["", "rank 0 done\n", "[a:1] mca: bml: Using tcp btl\n", "x" * 200_000, GARBLED])
def test_of_anything_else_nothing_is_made(text):
    assert transport.lanes(text) == {}


def test_a_fall_back_to_tcp_says_so():
    lanes = transport.lanes((DATA / "mpi_report/ucx_tcp.txt").read_text())
    ((host, text),) = wrong_protocols(lanes, ["rc_*", "dc_*"])
    assert (host, text) == ("promote", "MPI uses tcp on enp7s0, tcp on enp8s0, the site expects rc_* or dc_*")
    rails = transport.lanes((DATA / "mpi_report/ucx_two_rails.txt").read_text())
    assert list(wrong_protocols(rails, ["rc_*", "dc_*"])) == []


def test_the_recorded_traffic_is_on_one_adapter():
    traffic = transport.ring_traffic((DATA / "ring_traffic/four_nodes.json").read_text(), expect_nodes=4)
    assert list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, ["eth0"])) == []
    assert list(wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, [])) == []
    absent = [text for _, text in wrong_adapters(traffic.payload_bytes, traffic.sent_bytes, ["ib0"])]
    assert len(absent) == 4
    assert all(text.startswith("the adapter ib0 does not exist; MPI used eth0 (10") for text in absent)


RAILS = {"mlx5_0:1": 50, "mlx5_1:1": 52, "ib0": 0, "eth0": 1}


@pytest.mark.parametrize(
    ("counted", "expected", "text"),
    [
        (RAILS, ["mlx5_*"], None),
        (RAILS, [], None),
        ({**RAILS, "mlx5_0:1": 101, "mlx5_1:1": 0}, ["mlx5_*"], "fewer rails: mlx5_0:1 (101 %), mlx5_1:1 (0 %)"),
        ({**RAILS, "mlx5_0:1": 101, "mlx5_1:1": 0}, [], "fewer rails: mlx5_0:1 (101 %), mlx5_1:1 (0 %)"),
        # TCP over InfiniBand: the port counts it as well.
        ({**RAILS, "ib0": 101}, ["mlx5_*"], "fell back to ib0 (101 %) instead of mlx5_0:1, mlx5_1:1"),
        ({"mlx5_0:1": 0, "mlx5_1:1": 0, "ib0": 0, "eth0": 103}, [], "fell back to eth0 (103 %) instead of"),
        ({"mlx5_0:1": 30, "mlx5_1:1": 20}, ["mlx5_*"], "no adapter counted most of MPI's data: mlx5_0:1 (30 %)"),
        ({"mlx5_0:1": 100}, ["mlx5_0:1", "mlx5_1:1"], "the adapter mlx5_1:1 does not exist"),
    ],
)
def test_adapters(counted, expected, text):
    sent = {"n1": RAILS, "n2": RAILS, "n3": counted}
    if expected[1:]:
        sent = {"n3": counted}
    found = list(wrong_adapters(100, sent, expected))
    assert [node for node, _ in found] == (["n3"] if text else [])
    assert all(said.startswith(text) for _, said in found)


OVER_ETH = {"mlx5_0:1": 1, "eth0": 101}


def test_nobody_is_named_where_half_of_the_nodes_use_another_adapter():
    sent = {"n1": {"ib0": 101, "eth0": 0}, "n2": {"ib0": 0, "eth0": 101}}
    assert unlike_any(100, sent, True) == "nodes use different adapters: 1 nodes eth0; 1 nodes ib0"
    assert list(wrong_adapters(100, sent, [])) == []
    four = {**sent, "n3": sent["n1"], "n4": sent["n2"]}
    assert unlike_any(100, four, False) and not list(wrong_adapters(100, four, []))
    assert unlike_any(100, {**four, "n5": sent["n1"]}, False) is None


def test_all_nodes_fell_back_to_tcp_beside_rdma_unless_the_site_says_so():
    sent = dict.fromkeys(["n1", "n2", "n3"], OVER_ETH)
    assert unlike_any(100, sent, False) == "MPI fell back to TCP: it used eth0, and mlx5_0:1 carried less than 10%"
    assert unlike_any(100, {**sent, "n4": RAILS}, False)
    assert unlike_any(100, sent, True) is None
    assert unlike_any(100, dict.fromkeys(sent, RAILS), False) is None
    assert unlike_any(100, {node: {"eth0": 101} for node in sent}, False) is None


def test_all_nodes_fell_back_to_tcp_over_infiniband_whose_ports_count_that_too():
    # The port also counts the headers of InfiniBand.
    sent = {f"n{number}": {"eth0": 1, "ib0": 104, "mlx5_0:1": 108} for number in range(1, 5)}
    rdma, over_ethernet = {"ib0": 2, "mlx5_0:1": 108}, {"eth1": 104, "irdma0:1": 104}
    said = "MPI fell back to TCP: IP over InfiniBand (ib0) carried its data, and not RDMA"
    assert unlike_any(100, sent, False, {"ib0"}) == said
    assert unlike_any(100, sent, True, {"ib0"}) is None
    # Something else sends a little over it, or the driver of an Ethernet adapter counts RDMA in both places.
    assert unlike_any(100, dict.fromkeys(sent, rdma), False, {"ib0"}) is None
    assert unlike_any(100, dict.fromkeys(sent, over_ethernet), False) is None
    # On purpose, and then not RDMA in its place.
    assert not list(wrong_adapters(100, sent, ["ib*"], {"ib0"}))
    assert list(wrong_adapters(100, dict.fromkeys(sent, rdma), ["ib*"], {"ib0"}))
    # If one node of many differs, it is at fault.
    one = {**dict.fromkeys(sent, rdma), "n4": sent["n4"]}
    assert unlike_any(100, one, False, {"ib0"}) is None
    assert list(wrong_adapters(100, one, [])) == [("n4", "fell back to ib0 (104 %) instead of mlx5_0:1")]


@pytest.mark.parametrize("expected", [[], ["mlx5_*"]])
def test_each_of_twelve_rails_carries_a_twelfth(expected):
    twelve = {**{f"mlx5_{rail}:1": 8 for rail in range(12)}, "eth0": 2}
    broken = {**twelve, "mlx5_3:1": 0, "mlx5_4:1": 16}
    found = dict(wrong_adapters(100, {"n1": twelve, "n2": twelve, "n3": broken}, expected))
    assert list(found) == ["n3"] and found["n3"].startswith("fewer rails: ")
    assert unlike_any(100, dict.fromkeys(["n1", "n2"], twelve), False) is None


def test_where_a_host_says_what_it_uses_all_have_to():
    nodes = ["n1", "n2", "n3"]
    assert silent_hosts({"n1.site": 0, "n3.site": 0}, nodes) == (
        "MPI printed its transport on 2 of 3 nodes, but not on n2"
    )
    assert silent_hosts({"a": 0, "b": 0, "c": 0}, nodes) is None
    assert silent_hosts({"": 0}, nodes) is None


def test_a_node_that_is_missing():
    with pytest.raises(ParseError, match="ranks: 5, found 4"):
        transport.ring_traffic((DATA / "ring_traffic/four_nodes.json").read_text(), expect_nodes=5)
