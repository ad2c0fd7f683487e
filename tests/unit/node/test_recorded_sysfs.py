"""Facts of nodes from recorded trees of /sys of real kernels (tests/data/sysfs)."""

import pathlib

import pytest
import yaml

from kappa.node.facts import devices, errors, links, power
from reframe_checks.node.odd_nodes import oddities

REPOSITORY = pathlib.Path(__file__).parents[3]
MACHINES = yaml.safe_load((REPOSITORY / "tests/data/sysfs/machines.yaml").read_text())

PORT_OF_CONNECTX_3 = {
    "state": "ACTIVE", "physical_state": "LinkUp", "rate": "40 Gb/sec (4X QDR)", "link_layer": "InfiniBand",
    "links_lost": 0,
}  # fmt: skip
TOLD = {
    "omni_path_and_connectx": {
        "ib.hfi1_0": {"firmware": "1.27.0"},
        "ib.hfi1_0.1": {**PORT_OF_CONNECTX_3, "rate": "100 Gb/sec (4X EDR)", "errors": 0},
        "ib.mlx4_0": {"firmware": "2.31.5050"},
        "ib.mlx4_0.1": {**PORT_OF_CONNECTX_3, "errors": 0},
        "ib.mlx4_0.2": {**PORT_OF_CONNECTX_3, "errors": 0},
        "ib.mlx5_0": {"firmware": "14.28.2006"},
        "ib.mlx5_0.1": {
            **PORT_OF_CONNECTX_3, "physical_state": "ACTIVE", "rate": "25 Gb/sec (1X EDR)", "errors": 0,
        },
        "net.eth0": {
            "state": "up", "speed_mbit": 1000, "duplex": "full", "mtu": 1500, "driver": None, "links_lost": 1,
            "errors": None,
        },
        "pcie.nvme.0000:01:00.0": {"width": 4, "widest": 4, "speed": "8.0 GT/s PCIe", "driver": "nvme"},
        "pcie.network.0000:a2:00.0": {"width": 8, "widest": 8, "speed": "16.0 GT/s PCIe", "driver": "ice"},
        "error": {"memory_corrected": None, "memory_uncorrected": None},
        # A recorded counter of energy stands still.
        "power": {"cores_throttled": 10607, "packages_throttled": 34818, "package_w": 0},
    },
    "iwarp_and_bond": {
        "ib.i40iw0": {"firmware": "0.2"},
        "ib.i40iw0.1": {**PORT_OF_CONNECTX_3, "rate": "10 Gb/sec (4X)", "links_lost": None, "errors": None},
        "ib.mlx4_0": {"firmware": "2.31.5050"},
        "ib.mlx4_0.1": {**PORT_OF_CONNECTX_3, "errors": 5},
        "ib.mlx4_0.2": {**PORT_OF_CONNECTX_3, "errors": None},
        **{
            f"net.{name}": {
                "state": "up", "speed_mbit": speed, "duplex": "full", "mtu": 1500, "driver": None, "links_lost": 1,
                "errors": None,
            }
            for name, speed in (("bond0", None), ("dmz", 1000), ("int", 1000))
        },
        "pcie.nvme.0000:01:00.0": {"width": 4, "widest": 4, "speed": "8.0 GT/s PCIe", "driver": "nvme"},
        "pcie.network.0000:45:00.0": {"width": 4, "widest": 4, "speed": "5.0 GT/s PCIe", "driver": "igb"},
        "error": {"memory_corrected": 1, "memory_uncorrected": 5},
        "power": {"cores_throttled": 14, "packages_throttled": 36, "package_w": 0},
    },
    "connectx_fdr": {
        "ib.mlx4_0": {"firmware": None},
        "ib.mlx4_0.1": {**PORT_OF_CONNECTX_3, "rate": "56 Gb/sec (4X FDR)", "links_lost": None, "errors": None},
        "ib.mlx4_1": {"firmware": None},
        "ib.mlx4_1.1": {
            **PORT_OF_CONNECTX_3, "state": "INIT", "rate": "56 Gb/sec (4X FDR)", "links_lost": None, "errors": None,
        },
        "error": {"memory_corrected": None, "memory_uncorrected": None},
        "power": {"cores_throttled": None, "packages_throttled": None, "package_w": None},
    },
}  # fmt: skip


@pytest.fixture
def facts_of(tmp_path, monkeypatch):
    """``facts_of(machine)`` are the facts that the readers make of its files."""

    def read(machine):
        for folder, files in MACHINES[machine].items():
            path = tmp_path / machine / folder
            path.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                if text.startswith("-> "):
                    (path / name).symlink_to(tmp_path / machine / text[3:])
                else:
                    (path / name).write_text(f"{text}\n")
        rooms = [links, devices, errors, power]
        with monkeypatch.context() as patched:
            for one in rooms:
                for name, value in vars(one).copy().items():
                    if isinstance(value, str) and value.startswith("/sys/"):
                        patched.setattr(one, name, str(tmp_path / machine / value.removeprefix("/sys/")))
            return {name: value for one in rooms for name, value in one.facts().items()}

    return read


@pytest.mark.parametrize("machine", MACHINES)
def test_every_fact_of_a_recorded_machine(facts_of, machine):
    told = facts_of(machine)
    told.pop("error.machine_checks")  # of this machine's /proc
    assert told == {f"{of}.{name}": value for of, facts in TOLD[machine].items() for name, value in facts.items()}


@pytest.mark.parametrize(
    ("changed", "odd"),
    [
        # Counters that only rise differ between nodes that have been up for longer or shorter.
        ({"ib.mlx4_0.1.errors": 12, "ib.mlx4_0.1.links_lost": 3, "error.memory_corrected": 9}, []),
        ({"ib.mlx4_0.1.links_lost": 40}, ["n2: ib.mlx4_0.1.links_lost is 40, the median is 0"]),
        ({"ib.mlx4_0.1.errors": 51}, ["n2: ib.mlx4_0.1.errors is 51, the median is 5"]),
        ({"ib.mlx4_0.1.rate": "10 Gb/sec (1X QDR)"},
         ["n2: ib.mlx4_0.1.rate is '10 Gb/sec (1X QDR)', most nodes have '40 Gb/sec (4X QDR)'"]),
        ({"ib.mlx4_0.2.state": "INIT"}, ["n2: ib.mlx4_0.2.state is 'INIT', most nodes have 'ACTIVE'"]),
        ({"pcie.nvme.0000:01:00.0.width": 2}, ["n2: pcie.nvme.0000:01:00.0.width is 2, most nodes have 4"]),
        ({"error.memory_uncorrected": 1}, ["n2: error.memory_uncorrected: 1"]),
        ({"power.package_w": 1, "power.packages_throttled": 10**6}, []),
    ],
)  # fmt: skip
def test_what_differs_from_recorded_nodes(facts_of, changed, odd):
    node = {**facts_of("iwarp_and_bond"), "error.memory_uncorrected": 0}
    assert list(map(str, oddities({"n1": node, "n2": {**node, **changed}, "n3": node, "n4": node}, {}))) == odd
