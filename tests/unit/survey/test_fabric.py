"""The RDMA ports of a node that carry MPI, by link layer and rate."""

import pytest

from kappa.app.survey.fabric import fabric
from kappa.app.survey.found import HEADERS
from kappa.app.survey.limits import too_small
from kappa.app.survey.probe import parse
from kappa.app.survey.reasons import reasons
from kappa.app.survey.site_files import asked
from kappa.app.survey.theory import references
from kappa.core.vocabulary.features import LARGE_PUTS, RAILS
from tests.unit.survey.clusters import Cluster, files_of, gpu, node, partition, probe, site_in, surveyed


def ports(layer, rate, *devices):
    return [(f"{device}.1", f"{rate} Gb/sec (4X HDR)", layer) for device in devices]


def numbered(count):
    return [f"mlx5_{number}" for number in range(count)]


def names(count):
    return [f"{device}:1" for device in numbered(count)]


IB_200 = ports("InfiniBand", 200, *numbered(4))
EFA = [("efa_0.1", "100 Gb/sec (4X EDR)", "Unknown")]


@pytest.mark.parametrize(
    ("adapters", "expected"),
    [
        (IB_200, ("InfiniBand", 200, names(4))),
        (IB_200 + ports("Ethernet", 200, "mlx5_4"), ("InfiniBand", 200, names(4))),
        (ports("Ethernet", 200, "mlx5_4") + IB_200, ("InfiniBand", 200, names(4))),
        (IB_200 + ports("Ethernet", 25, "mlx5_4", "mlx5_5"), ("InfiniBand", 200, names(4))),
        (IB_200 + ports("Ethernet", 400, "mlx5_4"), ("InfiniBand", 200, names(4))),
        (IB_200 + ports("InfiniBand", 100, "mlx5_4"), ("InfiniBand", 200, names(4))),
        (IB_200 + EFA, ("InfiniBand", 200, names(4))),
        (ports("InfiniBand", 100, "hfi1_0"), ("InfiniBand", 100, ["hfi1_0:1"])),
        (ports("InfiniBand", "?", "mlx5_0"), ("InfiniBand", 0, names(1))),
        (ports("Ethernet", 100, *numbered(2)), ("RoCE", 100, names(2))),
        (ports("Ethernet", 25, "mlx5_2", "mlx5_3") + ports("Ethernet", 100, *numbered(2)), ("RoCE", 100, names(2))),
        (ports("Ethernet", 100, "mlx5_0") + ports("Ethernet", 25, *"abcd"), ("RoCE", 100, names(1))),
        (ports("Ethernet", 100, "cxgb4_0"), ("iWARP", 100, ["cxgb4_0:1"])),
        (ports("Ethernet", 100, "iwp1s0f0"), ("iWARP", 100, ["iwp1s0f0:1"])),
        ([], ("Ethernet", 25, [])),
    ],
)
def test_ports_of_one_link_and_rate_carry_mpi(adapters, expected):
    network = fabric(parse(probe("NAME", adapters=adapters)))
    assert (network.link, network.link_gbit_per_s, network.adapters, network.unclear_adapters) == (*expected, {})


@pytest.mark.parametrize(
    ("adapters", "candidates"),
    [
        (EFA, [["efa_0:1"]]),
        (ports("Unspecified", 100, "rdmap16s27", "rdmap32s27"), [["rdmap16s27:1", "rdmap32s27:1"]]),
        (ports("", 100, "mlx4_0"), [["mlx4_0:1"]]),
        (EFA + ports("Ethernet", 200, "mlx5_0"), [["efa_0:1"], ["mlx5_0:1"]]),
        (ports("Ethernet", 100, "mlx5_0", "cxgb4_0"), [["mlx5_0:1"], ["cxgb4_0:1"]]),
        (ports("InfiniBand", 400, "mlx5_4") + IB_200, [["mlx5_4:1"], names(4)]),
        (ports("Ethernet", 400, "mlx5_4") + ports("Ethernet", 200, *numbered(4)), [["mlx5_4:1"], names(4)]),
    ],
)
def test_a_person_is_asked_which_ports_carry_mpi(adapters, candidates):
    network = fabric(parse(probe("NAME", adapters=adapters)))
    assert (network.link, network.link_gbit_per_s, network.adapters) == ("", 0, [])
    assert list(network.unclear_adapters.values()) == candidates


@pytest.mark.parametrize(
    ("gpus", "adapters", "unclear"), [(8, 10, True), (4, 6, True), (4, 8, False), (6, 4, False), (1, 2, False)]
)
def test_ports_besides_those_of_the_gpus_may_be_of_storage(gpus, adapters, unclear):
    facts = {}
    for index in range(gpus):
        facts |= gpu(index, "NVIDIA A100-SXM4-40GB", 40960, "8.0")
    network = fabric(parse(probe("NAME", facts=facts, adapters=ports("InfiniBand", 200, *numbered(adapters)))))
    assert (network.link, network.link_gbit_per_s, bool(network.unclear_adapters)) == ("InfiniBand", 200, unclear)
    assert [*network.unclear_adapters.values()] == [names(adapters)] * unclear
    assert network.adapters == ([] if unclear else names(adapters))


def test_a_port_that_is_down_carries_nothing():
    text = probe("NAME", adapters=IB_200).replace('ib.mlx5_1.1.state "ACTIVE"', 'ib.mlx5_1.1.state "DOWN"')
    assert fabric(parse(text)).adapters == ["mlx5_0:1", "mlx5_2:1", "mlx5_3:1"]


def two_nodes(adapters, **limits):
    """Return the findings for two nodes whose login node can build the programs that need ``large_puts`` and rails."""
    nodes = "\n".join(node(name) for name in ("n1", "n2"))
    headers = {f"needed_to_build.{name}": f"/usr/include/{name}" for name in HEADERS}
    login = probe("login", programs=["cmake", "c++", "mpicxx"], facts=headers)
    probes = {"batch": probe("NAME", adapters=adapters, facts=limits)}
    return surveyed(Cluster(nodes, partition("batch", "n[1-2]"), probes, login=login))


@pytest.mark.parametrize("layer", ["Unknown", "Unspecified"])
def test_a_site_with_efa_claims_neither_link_nor_rate(layer, tmp_path):
    found = two_nodes(ports(layer, 100, "efa_0", "efa_1"), **{"limit.locked_memory_bytes": 8 << 20})
    site = site_in(tmp_path / "site_configs", found)
    made = site.description.described.partitions["batch"]
    assert (made.transport, made.rails) == (None, None)
    assert not {LARGE_PUTS, RAILS} & {*made.features}
    text = files_of(found)["site.yaml"]
    assert "RoCE" not in text and "InfiniBand" not in text
    [question] = [words for words in asked(found) if "transport" in words]
    assert f"link layer {layer}, 100 Gbit/s: efa_0:1 efa_1:1" in question
    rates = {"OsuBandwidth", "OsuBidirectionalBandwidth", "PairSweep"}
    assert not rates & {one.check for one in references("made", found)}
    assert [one.key for one in too_small(found.parts["batch"])] == ["memlock"]
    # Without a reason the site's runs are incomplete until a person answers.
    assert not {LARGE_PUTS, RAILS} & reasons(found).not_provided.keys()
    lacking = {feature for one in site.unexplained("full") for feature in one.features}
    assert {LARGE_PUTS, RAILS} <= lacking


def test_single_ports_are_no_rails_even_if_it_is_unclear_which_carry_mpi():
    why = reasons(two_nodes(EFA + ports("Ethernet", 200, "mlx5_0"))).not_provided
    assert RAILS in why and LARGE_PUTS not in why


def test_a_site_with_infiniband_has_no_ethernet_rail(tmp_path):
    found = two_nodes(IB_200 + ports("Ethernet", 200, "mlx5_4"))
    made = site_in(tmp_path / "site_configs", found).description.described.partitions["batch"]
    assert made.transport.adapters == made.rails == names(4)
    assert {LARGE_PUTS, RAILS} <= {*made.features}
    assert not [words for words in asked(found) if "transport" in words]
    [loss] = [one for one in references("made", found) if one.check == "PairSweep"]
    assert loss.metric == "worst_loss"


def test_a_site_with_one_port_beside_another_network_has_no_rails(tmp_path):
    found = two_nodes(ports("InfiniBand", 100, "mlx5_0") + ports("Ethernet", 100, "mlx5_1"))
    made = site_in(tmp_path / "site_configs", found).description.described.partitions["batch"]
    assert (list(made.transport.adapters), made.rails) == (names(1), None)
    assert RAILS in reasons(found).not_provided
