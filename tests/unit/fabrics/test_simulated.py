"""SimGrid reads the platforms and gives the figures of the YAML."""

import os
import pathlib
import shutil
import subprocess

import pytest

from kappa.core.fabrics.network import network_of
from kappa.core.fabrics.simgrid_platform import host_slots, platform_xml
from reframe_checks.parsers import transport
from tests.unit.fabrics.conftest import number

pytestmark = pytest.mark.skipif(
    not (shutil.which("smpirun") and shutil.which("smpicc")), reason="needs SimGrid (Debian's libsimgrid-dev)"
)
HERE = pathlib.Path(__file__).parent
LINK_USE = HERE.parents[2] / "reframe_checks/src/link_use"
SMALL, LARGE = 1000, 1_000_000
RANKS = 4  # on each node


def done(*command, cwd, **more):
    ran = subprocess.run(
        [*map(str, command)], cwd=cwd, env=os.environ | more, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def built(name, folder):
    done("smpicc", "-O1", HERE / f"{name}.c", "-o", folder / name, cwd=folder)
    return folder / name


@pytest.fixture(scope="module")
def ping_pong(tmp_path_factory):
    return built("ping_pong", tmp_path_factory.mktemp("ping_pong"))


@pytest.fixture(scope="module")
def counting(tmp_path_factory):
    """The platform that counts."""
    folder = tmp_path_factory.mktemp("link_use")
    done("cmake", "-S", LINK_USE, "-B", folder, cwd=folder)
    done("cmake", "--build", folder, cwd=folder)
    return folder / "link_use.so"


def simulated(program, fabric, nodes, folder, variant="sound", platform="platform.xml", options=()):
    """Microseconds of one way from rank 0, by other rank and bytes."""
    hosts = [f"n{node}" for node in nodes]
    text = run(folder, platform_xml(fabric, variant), hosts, [program, SMALL, LARGE], platform, options)
    rows = (line.split() for line in text.splitlines())
    return {(int(rank), int(size)): float(us) for rank, size, us in rows}


def run(folder, xml, hosts, program, platform="platform.xml", options=()):
    (folder / "platform.xml").write_text(xml)
    (folder / "hosts.txt").write_text("\n".join(hosts) + "\n")
    command = ["smpirun", "-np", len(hosts), "-platform", platform, "-hostfile", "hosts.txt", "--log=root.thres:error"]
    return done(*command, *options, *program, cwd=folder)


def formula(fabric, node, size, variant="sound"):
    """Microseconds from node 0 to another, as the YAML has them; overheads only of messages that are sent at once."""
    software, memory = fabric.software, fabric.node.memory
    eager = size <= software.eager_limit_bytes.value
    overhead = (software.send_us.value + software.receive_us.value) * eager
    if node == 0:
        return overhead + memory.latency_us.value + size / memory.bandwidth_gb_s.value / 1e3
    network = network_of(fabric, variant)
    route = network.route("n0", f"n{node}")
    rate = min(network.cables[hop.cable].bandwidth_gb_s for hop in route)
    return overhead + software.node_latency_us.value + network.latency_us(route) + size / rate / 1e3


@pytest.mark.parametrize("topology", ["tree", "tapered", "torus", "mesh", "chassis"])
def test_latency_and_bandwidth_are_those_of_the_yaml(make, ping_pong, tmp_path, topology):
    fabric = make(topology)
    nodes = [0, 0, 1, 3, fabric.nodes // 2, fabric.nodes - 1]
    found = simulated(ping_pong, fabric, nodes, tmp_path)
    assert len(found) == 2 * 5
    for (rank, size), us in found.items():
        # The clock is read twice, 0.01 us each, and the barrier before lets ranks go one after the other.
        assert us == pytest.approx(formula(fabric, nodes[rank], size), rel=1e-3, abs=0.02)


def test_a_loss_makes_the_way_longer(make, ping_pong, tmp_path):
    lost = {"degraded": {"descr": "lost", "links": ["r0.0.0-r1.0.0"]}}
    fabric = make("torus", lambda d: d.update(variants=lost))
    sound = simulated(ping_pong, fabric, [0, 1], tmp_path)[1, SMALL]
    found = simulated(ping_pong, fabric, [0, 1], tmp_path, "degraded")[1, SMALL]
    # The other three cables of the ring, or two corners: two more cables and switches.
    assert found - sound == pytest.approx(2 * 0.12, abs=0.01)


def test_the_adapter_of_a_node_moves_what_all_of_its_ranks_send(make, ping_pong, tmp_path):
    fabric = make("tree", lambda d: d["node"].update(dma_gb_s=number(2.0)))
    found = simulated(ping_pong, fabric, [0, 0, 1], tmp_path)
    assert found[1, SMALL] == pytest.approx(0.7 + 0.4 + 0.3 + 0.5 + SMALL / 2e3, abs=0.02)
    assert found[1, LARGE] == pytest.approx(0.3 + 0.5 + LARGE / 2e3, rel=1e-3)
    assert found[2, LARGE] == pytest.approx(0.5 + 0.14 + LARGE / 2e3, rel=1e-3)


def test_a_second_job_leaves_what_the_variant_says(make, tmp_path):
    shared = {"descr": "x", "links": "between-switches", "share": number(0.5), "packet_bytes": number(1)}
    fabric = make("tapered", lambda d: d.update(variants={"shared": shared}))
    program = [built("beside", tmp_path), 10 * LARGE]
    # Both go to the same quarter of the other switch's nodes, so over the same cable.
    beside = float(run(tmp_path, platform_xml(fabric), ["n0", "n8", "n1", "n12"], program))
    alone = float(run(tmp_path, platform_xml(fabric, "shared"), ["n0", "n8"], program))
    assert beside == pytest.approx(alone, rel=1e-3)
    assert alone == pytest.approx(10 * LARGE / 4.5e3, rel=1e-3)


def test_two_runs_are_the_same(make, ping_pong, tmp_path):
    fabric = make("chassis")
    hosts = [int(host[1:]) for host in host_slots(fabric, 4, RANKS)]
    assert simulated(ping_pong, fabric, hosts, tmp_path) == simulated(ping_pong, fabric, hosts, tmp_path)


def test_links_count_what_they_carry_and_change_nothing(make, ping_pong, counting, tmp_path):
    fabric = make("tree")
    plain = simulated(ping_pong, fabric, [0, 11], tmp_path)
    options = ("--cfg=network/model:CM02",)
    assert simulated(ping_pong, fabric, [0, 11], tmp_path, platform=counting, options=options) == plain
    found = transport.LinkUseResult.read((tmp_path / "link_use.json").read_text())
    # There and back over three levels, both directions.
    assert found.links_used == 2 * 6
    for link in found.busiest:
        # A hundred messages of each size, and what MPI itself sends.
        assert link.bytes == pytest.approx(100 * (SMALL + LARGE), rel=1e-4)
        assert link.bandwidth_bytes_s == 9e9
    # As good as all of the time, half of it in each direction.
    assert found.busiest[0].use == pytest.approx(0.5, abs=0.05)


def test_a_switch_that_reduces_is_a_host_without_overhead(make, ping_pong, tmp_path):
    fabric = make("tree", lambda d: d.update(in_network={"level_latency_us": number(0.2)}))
    (line,) = run(tmp_path, platform_xml(fabric), ["n0", "s1.0"], [ping_pong, SMALL]).splitlines()
    # A round trip has the node's overhead of sending and of receiving once each, one way half of it; the node's half of
    # its latency; and half of a switch.
    assert float(line.split()[2]) == pytest.approx((0.7 + 0.4) / 2 + 0.25 + 0.02 + 0.05 + SMALL / 9e3, abs=0.02)
