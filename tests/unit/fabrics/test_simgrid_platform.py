import xml.etree.ElementTree as ET
from itertools import product

import pytest

from kappa.core.fabrics.description import fabric_names, find_fabric
from kappa.core.fabrics.network import variants
from kappa.core.fabrics.simgrid_platform import platform_xml
from kappa.core.ground.errors import InputError
from tests.unit.fabrics.conftest import SHIPPED, TOPOLOGIES, number

SHARED = {
    "descr": "another job",
    "links": "between-switches",
    "share": number(0.5),
    "packet_bytes": number(4096),
}


def read(fabric, variant="sound", nodes=None):
    return ET.fromstring(platform_xml(fabric, variant, nodes))


@pytest.mark.parametrize("name", fabric_names(SHIPPED))
def test_each_shipped_fabric_is_a_whole_platform(name):
    fabric = find_fabric(SHIPPED, name)
    for variant in variants(fabric):
        document = read(fabric, variant, min(6, fabric.nodes))
        links = {link.get("id") for link in document.iter("link")}
        halves = links | {f"{link}_{way}" for link, way in product(links, ("UP", "DOWN"))}
        hosts = [host.get("id") for host in document.iter("host")]
        routes = {(route.get("src"), route.get("dst")): list(route) for route in document.iter("route")}
        nodes = [host for host in hosts if host.startswith("n")]
        assert len(nodes) == min(6, fabric.nodes)
        assert {*product(nodes, repeat=2)} <= set(routes)
        assert all(via.get("id") in halves for route in routes.values() for via in route)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_nothing_differs_from_one_time_to_the_next(make, topology):
    fabric = make(topology)
    assert platform_xml(fabric) == platform_xml(fabric)


def figures(document):
    return {
        link.get("id"): (float(link.get("bandwidth").removesuffix("Bps")), float(link.get("latency").removesuffix("s")))
        for link in document.iter("link")
    }


def test_bandwidths_and_latencies_are_those_of_the_yaml(make):
    links = figures(read(make()))
    # 10 GB/s with 0.9 of payload; a cable of 0.02 us, and half of each switch of 0.1 us at its ends.
    assert links["s1.0-s2.0"] == pytest.approx((9e9, 0.12e-6))
    # One switch, and half of the 0.5 us that a message spends in its nodes.
    assert links["n0-s1.0"] == pytest.approx((9e9, 0.32e-6))
    assert links["memory-n0"] == pytest.approx((40e9, 0.3e-6))


def test_a_node_latency_that_is_swept(make):
    fabric = make()
    assert figures(read(fabric.with_node_latency(2.5)))["n0-s1.0"][1] == pytest.approx(0.07e-6 + 1.25e-6)
    assert fabric.software.node_latency_us.value == 0.5


def test_a_second_job_takes_bandwidth_and_lets_packets_wait(make):
    fabric = make("tree", lambda d: d.update(variants={"shared": SHARED}))
    sound, shared = figures(read(fabric)), figures(read(fabric, "shared"))
    assert shared["n0-s1.0"] == sound["n0-s1.0"]
    # Half a packet of 4096 bytes at 9 GB/s: 0.5 / (2 (1 - 0.5)).
    assert shared["s1.0-s2.0"] == pytest.approx((4.5e9, sound["s1.0-s2.0"][1] + 0.5 * 4096 / 9e9))


def test_what_is_lost_is_not_in_the_platform(make):
    lost = {"descr": "lost", "switches": ["s2.1"]}
    text = platform_xml(make("tree", lambda d: d.update(variants={"degraded": lost})), "degraded")
    assert "s2.1" not in text
    assert "s2.0" in text


def test_a_variant_that_there_is_not(make):
    with pytest.raises(InputError, match="has no variant 'degraded', only sound"):
        platform_xml(make(), "degraded")


def test_text_of_the_yaml_stays_text(make):
    fabric = make("tree", lambda d: d.update(descr="a <b> --> & </zone>"))
    assert read(fabric).find("zone") is not None
