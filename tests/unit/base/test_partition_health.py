"""PartitionHealth suspects the nodes of its error, and no others."""

import json
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError
from reframe.utility.sanity import evaluate

from reframe_checks.node import partition_health
from reframe_checks.node.partition_health import PartitionHealth
from reframe_checks.parsers import slurm
from reframe_checks.parsers.job_scripts import NodeFacts
from tests.stand_in import StandIn

REFERENCES = {"clock_offset_max": [0, None, 5000, "us"], "free_space_min": [0.02, 0, None, ""]}


class Health(StandIn):
    """The check without a job: of each node what it tells, its free share of ``/scratch`` and its clock."""

    reference_problem = ""

    def __init__(self, monkeypatch, nodes):
        super().__init__(PartitionHealth, hint="", num_tasks=len(nodes))
        monkeypatch.setattr(partition_health, "facts_of_login_node", lambda users, nodes: {})
        self.nodes = tuple(
            NodeFacts(name, {**facts, **self.disk(free)}, clock_us, 100.0)
            for name, (facts, free, clock_us) in nodes.items()
        )

    @staticmethod
    def disk(free):
        return {"mount./scratch.size_bytes": 1000, "mount./scratch.free_bytes": 1000 * free, "memory.total_kib": 9}

    def _reference_entry(self):
        return REFERENCES, "PartitionHealth.each_node"

    def parsed(self, *_, **__):
        return self.nodes

    def is_local(self):
        return True

    def output_text(self):
        return ""

    def extra(self, name, default):
        return {"storage": {"scratch": "/scratch"}}.get(name, default)

    def users(self):
        return []

    def shared_mounts(self):
        return []

    def record_per_node(self, metric, unit, values):
        self.per_node[metric] = json.loads(json.dumps([unit, values]))

    def is_dry_run(self):
        return False


SOUND = ({}, 0.5, 0.0)


def test_reports_show_figures_of_nodes(monkeypatch):
    health = Health(monkeypatch, {name: ({"slurm.power_w": 400, "cpu.count": 2}, 0.5, 0.0) for name in ("n1", "n2")})
    assert evaluate(health.nodes_agree())
    assert health.per_node["slurm.power_w"] == ["W", {"n1": 400, "n2": 400}]
    assert sorted(health.per_node) == ["clock_offset", "memory", "mount./scratch.free_bytes", "slurm.power_w"]


def test_facts_blame_no_full_disk_and_no_clock(monkeypatch):
    usual, odd = {"net.eth0.mtu": 9000}, {"net.eth0.mtu": 1280}
    nodes = {"n1": (usual, 0.5, 0.0), "n2": (odd, 0.5, 0.0), "n3": (usual, 0.001, 0.0), "n4": (usual, 0.5, 9000.0)}
    health = Health(monkeypatch, nodes)
    with pytest.raises(SanityError, match=r"^n2: net.eth0.mtu is 1280, most nodes have 9000$"):
        evaluate(health.nodes_agree())
    assert health.suspects == ["n2"]


@pytest.mark.parametrize(
    ("of_n3", "of_n4", "suspects"),
    [
        (SOUND, SOUND, []),
        # Fuller and later than the others, and within bounds.
        (({}, 0.1, 0.0), ({}, 0.5, 2000.0), []),
        (({}, 0.001, 0.0), ({}, 0.5, 2000.0), ["n3"]),
        (({}, 0.1, 0.0), ({}, 0.5, 9000.0), ["n4"]),
        (({}, 0.001, 0.0), ({}, 0.5, 9000.0), ["n3", "n4"]),
        # Either half of the clocks may be right.
        (({}, 0.5, 30000.0), ({}, 0.5, 30000.0), []),
    ],
)
def test_figures_blame_whose_is_out_of_bounds(monkeypatch, of_n3, of_n4, suspects):
    health = Health(monkeypatch, {"n1": SOUND, "n2": SOUND, "n3": of_n3, "n4": of_n4})
    assert evaluate(health.nodes_agree()) and health.suspects == []
    health.nodes_out_of_bounds()
    assert health.suspects == suspects


class InSlurm(Health):
    current_partition = SimpleNamespace(scheduler=SimpleNamespace(registered_name="slurm"))

    def __init__(self, *rest, believed):
        super().__init__(*rest)
        self.believed, self.skipped = believed, ""

    def is_local(self):
        return False

    def output_text(self, name=""):
        return self.believed if name else ""

    def parsed(self, parse, text, **kwargs):
        return slurm.node_facts(text, **kwargs) if parse is slurm.node_facts else self.nodes

    def skip(self, why):
        self.skipped = why


def test_nodes_are_as_slurm_believes_or_named(monkeypatch):
    lines = "NodeName=n1 CPUTot=64 RealMemory=9 CurrentWatts=412\nNodeName=n2 CPUTot=32 RealMemory=9 CurrentWatts=n/s\n"
    nodes = {"n1": ({"cpu.count": 64}, 0.5, 0.0), "n2": ({"cpu.count": 64}, 0.5, 0.0)}
    health = InSlurm(monkeypatch, nodes, believed=lines)
    with pytest.raises(SanityError, match="n2: Slurm states 32 CPUs, the machine has 64"):
        evaluate(health.nodes_agree())
    assert (health.facts["n1"]["slurm.power_w"], health.facts["n2"]["slurm.power_w"]) == (412, None)


def test_where_slurm_does_not_answer_no_node_is_suspected_for_it_and_others_are(monkeypatch):
    health = InSlurm(monkeypatch, {name: SOUND for name in ("n1", "n2")}, believed="")
    assert evaluate(health.nodes_agree())
    assert "scontrol show node" in health.skipped and not health.suspects
    alike, odd = ({"net.eth0.mtu": 9000}, 0.5, 0.0), ({"net.eth0.mtu": 1280}, 0.5, 0.0)
    health = InSlurm(monkeypatch, {"n1": alike, "n2": odd, "n3": alike}, believed="")
    with pytest.raises(SanityError, match=r"^n2: net"):
        evaluate(health.nodes_agree())


def test_what_no_node_has_is_not_provided_here_and_no_fault(monkeypatch):
    some = {"ib.mlx5_0.1.state": "ACTIVE", "power.package_w": None, "error.memory_corrected": 0}
    health = Health(monkeypatch, {"n1": (some, 0.5, 0.0), "n2": (some, 0.5, 0.0)})
    assert evaluate(health.nodes_agree())
    assert health.not_provided == ["PCIe links", "machine checks", "throttling", "power (RAPL)", "power (Slurm)"]
    assert not health.suspects
