"""Loss of bandwidth of GPUs that copy at once: figures and output of two GPUs behind one PCIe switch."""

from types import SimpleNamespace

import pytest

from reframe_checks.compute.gpus import NvBandwidthTogether
from reframe_checks.parsers import gpu
from tests.figures import figure


@pytest.fixture
def check(recorded):
    measured = gpu.nvbandwidth(
        recorded("nvbandwidth/composed_four_gpus_together.txt"), expect=NvBandwidthTogether.copies, expect_gpus=4
    )
    there = SimpleNamespace(measured=measured, pairs=NvBandwidthTogether.pairs, hint="look")
    there.kept = {name: NvBandwidthTogether.kept_of(there, name) for name in there.pairs}
    return there


def test_what_each_gpu_keeps(check):
    assert figure(NvBandwidthTogether, "together_over_alone", check) == pytest.approx(0.5)
    # Against the median of 0.5, 0.5, 1 and 1.
    assert figure(NvBandwidthTogether, "uniformity", check) == pytest.approx(2 / 3, rel=0.01)
    assert figure(NvBandwidthTogether, "host_to_all", check) == 164.8


def test_the_group_behind_the_switch_is_named(check, recorded):
    groups = gpu.topology(recorded("gpu_topology/composed_two_switches.txt"), expect_gpus=4).groups
    assert groups == ((0, 1), (2, 3))
    NvBandwidthTogether.name_groups(check, groups)
    assert check.hint == "GPU 0, 1, behind one PCIe switch, keeps 50%; look"
