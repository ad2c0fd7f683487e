import pathlib
import subprocess

import pytest

from reframe_checks.parsers import gpu
from reframe_checks.parsers.text import ParseError

LINE = "node1, 0, NVIDIA H100 80GB HBM3, 550.90.07, 81559, Enabled, 5, 16, 0x0000000000000001\n"


def test_gpus_of_two_nodes(recorded):
    facts = gpu.inventory(recorded("gpu/composed_two_nodes.csv"), expect_nodes=2, expect_per_node=2)
    assert [(device.host, device.index) for device in facts] == [
        ("node1", 0), ("node1", 1), ("node2", 0), ("node2", 1)
    ]  # fmt: skip
    assert facts[2] == gpu.GpuFacts(
        "node2", 0, "NVIDIA H100 80GB HBM3", "550.90.07",
        memory_mib=81559, ecc=True, pcie_gen=4, pcie_width=16, slowed_down=True,
    )  # fmt: skip
    # One is in a slot of an older generation; that it is slowed down now does not make it another kind.
    assert facts[0].kind == facts[1].kind == facts[3].kind != facts[2].kind


def test_what_real_gpus_say(recorded):
    facts = {device.host: device for device in gpu.inventory(recorded("gpu/published.csv"), expect_nodes=5)}
    assert facts["h200"] == gpu.GpuFacts(
        "h200", 0, "NVIDIA H200", "590.48.01",
        memory_mib=143771, ecc=True, pcie_gen=5, pcie_width=16, slowed_down=False,
    )  # fmt: skip
    # Idle, or at the limit of power that its owner set: neither is a fault.
    assert [device.slowed_down for device in facts.values()] == [False] * 5
    assert facts["rtx2080"].ecc is None


def test_lines_in_any_order(recorded):
    lines = recorded("gpu/composed_two_nodes.csv").splitlines(keepends=True)
    assert gpu.inventory("".join(reversed(lines))) == gpu.inventory("".join(lines))


def test_fields_that_a_device_does_not_report(recorded):
    (facts,) = gpu.inventory(recorded("gpu/composed_workstation.csv"))
    assert (facts.ecc, facts.pcie_gen, facts.pcie_width, facts.slowed_down) == (None,) * 4
    assert gpu.inventory(LINE.replace("Enabled", "Disabled"))[0].ecc is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node1, No devices were found\n", "line 1: expected HOST, index, name, driver_version"),
        ("node1, NVIDIA-SMI has failed.\n", "found 'node1, NVIDIA-SMI has failed.'"),
        (LINE[:-1], "a line end"),
        (LINE.replace("81559", "81559 MiB"), "expected HOST"),
        (LINE.replace("81559", "0"), "memory in MiB above 0"),
        (LINE.replace("81559", "[81559]"), "expected HOST"),
        (LINE.replace("node1, ", ""), "expected HOST"),
        (LINE.replace("Enabled", "Enable"), "expected HOST"),
        (LINE.replace(", 16", ", 17"), "expected HOST"),
        (LINE.replace("0001", "001"), "expected HOST"),
        (LINE.replace(", 5,", ", 0,"), "expected HOST"),
        (LINE[:20] + LINE, "expected HOST"),
        (LINE + LINE, "line 2: expected one line for GPU 0 of node1"),
        (LINE.replace(" 0,", " 1,"), "the GPUs of node1 numbered from 0"),
    ],
)
def test_damage_is_named(text, message):
    with pytest.raises(ParseError, match=message):
        gpu.inventory(text)


def test_missing_gpus_and_nodes():
    with pytest.raises(ParseError, match="2 GPUs on node1, found 1"):
        gpu.inventory(LINE, expect_per_node=2)
    with pytest.raises(ParseError, match="GPUs of 2 nodes, found 1"):
        gpu.inventory(LINE, expect_nodes=2)


@pytest.mark.parametrize("said", ["[N/A]", "[Unknown Error]", "[GPU requires reset]", "[Insufficient Permissions]"])
def test_what_a_device_does_not_say_is_none_and_loses_no_gpu(said):
    text = LINE.replace("81559, Enabled, 5", f"{said}, {said}, {said}")
    text = text.replace("NVIDIA H100", "\x1b[4mNVIDIA H100\x1b[0m")
    (facts,) = gpu.inventory(text, expect_nodes=1, expect_per_node=1)
    assert (facts.name, facts.memory_mib, facts.ecc, facts.pcie_gen) == ("NVIDIA H100 80GB HBM3", None, None, None)


SMI = """#!/bin/bash
fields=${1#--query-gpu=}
case ,$fields, in *,clocks_throttle_reasons.active,*|*,pcie.link.gen.max,*)
  echo "Field \\"$fields\\" is not a valid field to query."; exit 2 ;;
esac
for gpu in 0 1; do
  line=
  for field in ${fields//,/ }; do
    case $field in
      index) value=$gpu ;; name) value="Tesla K80" ;; driver_version) value=384.81 ;; memory.total) value=11439 ;;
      ecc.mode.current) value=Enabled ;; pcie.link.width.current) value=16 ;; *) value=0x0000000000000001 ;;
    esac
    line="$line, $value"
  done
  echo "${line#, }"
done
"""


def test_a_field_that_the_driver_does_not_know_loses_no_gpu(tmp_path, monkeypatch):
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    script = pathlib.Path(gpu.__file__).parents[1] / "node/src/gpu_inventory.sh"
    done = subprocess.run(["bash", script, gpu.REQUIRED, *gpu.OPTIONAL], capture_output=True, text=True, check=True)
    first, second = gpu.inventory(done.stdout, expect_nodes=1, expect_per_node=2)
    assert (first.index, second.index, first.driver_version) == (0, 1, "384.81")
    assert (first.ecc, first.pcie_gen, first.pcie_width, first.slowed_down) == (True, None, 16, False)
