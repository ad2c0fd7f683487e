"""Small fabrics, written as YAML and loaded."""

import copy
import pathlib

import pytest
import yaml

from kappa.core.fabrics.description import load_fabric

SHIPPED = pathlib.Path(__file__).parents[3] / "site_configs/simulated/fabrics"


def number(value, origin="assumed"):
    return {"value": value, "origin": origin, "source": "a test"}


def numbers(**values):
    return {key: number(value) for key, value in values.items()}


TREE = {"shape": "fat-tree"} | numbers(nodes=12, down=[2, 3, 2], up=[1, 2, 2])
TAPERED = {"shape": "fat-tree"} | numbers(nodes=16, down=[8, 2], up=[1, 2], parallel=[1, 2])
TORUS = {"shape": "torus"} | numbers(sizes=[4, 3, 2], nodes_per_switch=1)
MESH = {"shape": "mesh"} | numbers(sizes=[3, 2, 2], nodes_per_switch=2)
CHASSIS = {"shape": "all-to-all"} | numbers(
    chassis=3, sockets_per_chassis=4, asics_per_chassis=2, links_between_asics=2, socket_link_gb_s=20.0,
    socket_link_latency_us=0.05,
)  # fmt: skip
TOPOLOGIES = {"tree": TREE, "tapered": TAPERED, "torus": TORUS, "mesh": MESH, "chassis": CHASSIS}
DOCUMENT = {
    "name": "made",
    "descr": "made for a test",
    "kind": "spec-only",
    "topology": TREE,
    "link": numbers(bandwidth_gb_s=10.0, payload_share=0.9, cable_latency_us=0.02, switch_latency_us=0.1),
    "node": {"ranks": number(4), "memory": numbers(bandwidth_gb_s=40.0, latency_us=0.3)},
    "software": {"mpi": "some", "collectives": "mpich"}
    | numbers(send_us=0.7, receive_us=0.4, node_latency_us=0.5, eager_limit_bytes=65536),
}


@pytest.fixture
def make(tmp_path):
    """``make(topology, change)``: the fabric of a document that ``change`` has changed."""

    def made(topology="tree", change=None):
        document = copy.deepcopy(DOCUMENT | {"topology": TOPOLOGIES[topology]})
        if change:
            change(document)
        path = tmp_path / "made.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return load_fabric(path)

    return made
