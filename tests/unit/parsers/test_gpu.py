import csv
import hashlib
import json

import pytest

from kappa.node.facts import gpus
from reframe_checks.parsers import gpu
from reframe_checks.parsers.text import ParseError

FIELDS = ("name", "driver_version", "memory_mib", "ecc", "pcie_gen", "pcie_width", "slowed_down_by")
H100 = {
    "name": "NVIDIA H100 80GB HBM3", "driver_version": "550.90.07", "memory_mib": 81559, "ecc": "Enabled",
    "pcie_gen": 5, "pcie_width": 16, "slowed_down_by": "0x0000000000000001", "compute_capability": "9.0",
    "mig": "Disabled",
}  # fmt: skip


def facts_of(index, **changed):
    return {f"gpu.{index}.{field}": value for field, value in {**H100, **changed}.items()}


def line(facts, host="node1"):
    data = json.dumps({"host": host, "facts": facts, "clock_offset_us": 0, "clock_rtt_us": 0})
    return f"{data} {hashlib.sha256(data.encode()).hexdigest()}\n"


def lines_of(text):
    """The answers of nodes to which ``nvidia-smi`` states these values, each with the node's name before."""
    nodes = {}
    for host, index, *values in csv.reader(text.splitlines(), skipinitialspace=True):
        facts = dict(zip(FIELDS, map(gpus.value, values), strict=True))
        nodes.setdefault(host, {}).update(facts_of(index, **facts))
    return [line(facts, host) for host, facts in nodes.items()]


def test_gpus_of_two_nodes(recorded):
    text = "".join(lines_of(recorded("gpu/composed_two_nodes.csv")))
    found = gpu.inventory(text, expect_nodes=2, expect_per_node=2)
    assert [(device.host, device.index) for device in found] == [
        ("node1", 0), ("node1", 1), ("node2", 0), ("node2", 1)
    ]  # fmt: skip
    slow = found[2]
    assert (slow.memory_mib, slow.ecc, slow.pcie_gen, slow.slowed_down) == (81559, "Enabled", 4, True)
    # One is in a slot of an older generation; that it is slowed down now does not make it another kind.
    assert found[0].kind == found[1].kind == found[3].kind != slow.kind


def test_what_real_gpus_say(recorded):
    text = "".join(lines_of(recorded("gpu/published.csv")))
    found = {device.host: device for device in gpu.inventory(text, expect_nodes=5)}
    assert found["h200"].kind == ("NVIDIA H200", "590.48.01", 143771, "Enabled", 5, 16)
    # Idle, or at the limit of power that its owner set: neither is a fault.
    assert [device.slowed_down for device in found.values()] == [False] * 5
    assert found["rtx2080"].ecc is None


def test_fields_that_a_device_does_not_report(recorded):
    (found,) = gpu.inventory("".join(lines_of(recorded("gpu/composed_workstation.csv"))))
    assert (found.ecc, found.pcie_gen, found.pcie_width, found.slowed_down) == (None,) * 4


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, "the GPUs of node1 numbered from 0, found none"),
        ({"failed.gpus": "OSError: a"}, "the GPUs of node1 numbered from 0, found none"),
        (facts_of(0, memory_mib="81559 MiB"), "gpu.0 of node1: memory_mib"),
        (facts_of(0, memory_mib=0), "gpu.0 of node1: memory_mib"),
        (facts_of(0, ecc="Enable"), "gpu.0 of node1: ecc"),
        (facts_of(0, pcie_width=17), "gpu.0 of node1: pcie_width"),
        (facts_of(0, slowed_down_by="0x1"), "gpu.0 of node1: slowed_down_by"),
        (facts_of(0, pcie_gen=0), "gpu.0 of node1: pcie_gen"),
        (facts_of(0, color="red"), "gpu.0 of node1: .*color"),
        (facts_of(1), "the GPUs of node1 numbered from 0"),
    ],
)
def test_damage_is_named(facts, message):
    with pytest.raises(ParseError, match=message):
        gpu.inventory(line(facts))


def test_missing_gpus_and_nodes():
    with pytest.raises(ParseError, match="2 GPUs on node1, found 1"):
        gpu.inventory(line(facts_of(0)), expect_per_node=2)
    with pytest.raises(ParseError, match="2 nodes, found 1"):
        gpu.inventory(line(facts_of(0)), expect_nodes=2)


@pytest.mark.parametrize("said", ["[N/A]", "[Unknown Error]", "[GPU requires reset]", "[Insufficient Permissions]"])
def test_what_a_device_does_not_say_is_none_and_loses_no_gpu(said):
    unknown = dict.fromkeys(("memory_mib", "ecc", "pcie_gen"), gpus.value(said))
    (found,) = gpu.inventory(line(facts_of(0, name="\x1b[4mNVIDIA H100\x1b[0m", **unknown)), expect_nodes=1)
    assert (found.name, found.memory_mib, found.ecc, found.pcie_gen) == ("NVIDIA H100", None, None, None)


@pytest.mark.parametrize("number", ["[81559]", "81559 MiB", "[]"])
def test_a_value_of_another_form_is_kept_as_text(number):
    assert gpus.value(number) == number


SMI = """#!/bin/bash
fields=${1#--query-gpu=}
case ,$fields, in *,clocks_throttle_reasons.active,*|*,pcie.link.gen.max,*|*,compute_cap,*)
  printf 'Field "%s" is not a valid field to query.\n\n' "$fields"; exit 2 ;;
esac
for gpu in GPUS; do
  line=
  for field in ${fields//,/ }; do
    case $field in
      index) value=$gpu ;; name) value="Tesla K80" ;; driver_version) value=384.81 ;; memory.total) value=11439 ;;
      ecc.mode.current) value=Enabled ;; pcie.link.width.current) value=16 ;; mig.mode.current) value="[N/A]" ;;
      *) value=0x0000000000000001 ;;
    esac
    line="$line, $value"
  done
  echo "${line#, }"
done
"""


@pytest.mark.parametrize("indices", [[0], [0, 1]])
def test_a_field_that_the_driver_does_not_know_loses_no_gpu(indices, on_path):
    """Its message may have as many lines as there are GPUs."""
    on_path("nvidia-smi", SMI.replace("GPUS", " ".join(map(str, indices))))
    found = gpu.inventory(line(dict(gpus.facts())), expect_nodes=1, expect_per_node=len(indices))
    assert [device.index for device in found] == indices
    for device in found:
        assert device.kind == ("Tesla K80", "384.81", 11439, "Enabled", None, 16)
        assert device.slowed_down is False
