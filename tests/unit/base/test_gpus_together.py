"""Loss of bandwidth of GPUs that copy at once: figures and output of two GPUs behind one PCIe switch."""

import pytest

from reframe_checks.compute.gpus import TOPOLOGY_FILE, NvBandwidthTogether
from reframe_checks.parsers import gpu
from tests.figures import figure
from tests.stand_in import StandIn

TOPOLOGY = "gpu_topology/composed_two_switches.txt"


@pytest.fixture
def check(recorded):
    outputs = {"": "nvbandwidth/composed_four_gpus_together.txt", TOPOLOGY_FILE: TOPOLOGY}
    made = StandIn(
        NvBandwidthTogether, hint="look", gpus_per_node=4, output_text=lambda name="": recorded(outputs[name])
    )
    assert made.read_both().evaluate()
    return made


def test_what_each_gpu_keeps(check):
    assert figure(NvBandwidthTogether, "together_over_alone", check) == pytest.approx(0.5)
    # Against the median of 0.5, 0.5, 1 and 1.
    assert figure(NvBandwidthTogether, "uniformity", check) == pytest.approx(2 / 3, rel=0.01)
    assert figure(NvBandwidthTogether, "host_to_all", check) == 164.8


def test_the_group_behind_the_switch_is_named(check, recorded):
    groups = gpu.topology(recorded(TOPOLOGY), expect_gpus=4).groups
    assert groups == ((0, 1), (2, 3))
    assert check.hint == "GPU 0, 1, behind one PCIe switch, keeps 50%; look"
