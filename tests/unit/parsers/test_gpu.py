import pytest

from reframe_checks.parsers import gpu
from reframe_checks.parsers.errors import ParseError

LINE = "node1, 0, NVIDIA H100 80GB HBM3, 550.90.07, 81559, Enabled, 5, 16\n"


def test_gpus_of_two_nodes(recorded):
    facts = gpu.parse(recorded("gpu/composed_two_nodes.csv"), expect_nodes=2, expect_per_node=2)
    assert [(device.host, device.index) for device in facts] == [
        ("node1", 0), ("node1", 1), ("node2", 0), ("node2", 1)
    ]  # fmt: skip
    assert facts[2] == gpu.GpuFacts(
        "node2", 0, "NVIDIA H100 80GB HBM3", "550.90.07", memory_mib=81559, ecc=True, pcie_gen=1, pcie_width=16
    )


def test_lines_in_any_order(recorded):
    lines = recorded("gpu/composed_two_nodes.csv").splitlines(keepends=True)
    assert gpu.parse("".join(reversed(lines))) == gpu.parse("".join(lines))


def test_fields_that_a_device_does_not_report(recorded):
    (facts,) = gpu.parse(recorded("gpu/composed_workstation.csv"))
    assert (facts.ecc, facts.pcie_gen, facts.pcie_width) == (None, None, None)
    assert gpu.parse(LINE.replace("Enabled", "Disabled"))[0].ecc is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node1, No devices were found\n", "line 1: expected HOST, index, name, driver_version"),
        ("node1, NVIDIA-SMI has failed.\n", "found 'node1, NVIDIA-SMI has failed.'"),
        (LINE[:-1], "a line end"),
        (LINE.replace("81559", "81559 MiB"), "expected HOST"),
        (LINE.replace("81559", "0"), "memory in MiB above 0"),
        (LINE.replace("81559", "[N/A]"), "expected HOST"),
        (LINE.replace("node1, ", ""), "expected HOST"),
        (LINE.replace("Enabled", "Enable"), "expected HOST"),
        (LINE.replace(", 16", ", 17"), "expected HOST"),
        (LINE.replace(", 5,", ", 0,"), "expected HOST"),
        (LINE[:20] + LINE, "expected HOST"),
        (LINE + LINE, "line 2: expected one line for GPU 0 of node1"),
        (LINE.replace(" 0,", " 1,"), "the GPUs of node1 numbered from 0"),
    ],
)
def test_damage_is_named(text, message):
    with pytest.raises(ParseError, match=message):
        gpu.parse(text)


def test_missing_gpus_and_nodes():
    with pytest.raises(ParseError, match="2 GPUs on node1, found 1"):
        gpu.parse(LINE, expect_per_node=2)
    with pytest.raises(ParseError, match="GPUs of 2 nodes, found 1"):
        gpu.parse(LINE, expect_nodes=2)
