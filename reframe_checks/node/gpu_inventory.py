"""Check that every GPU that the site states is visible to a job on every node, and that all GPUs are equal."""

from collections import Counter

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import SystemCheck
from reframe_checks.base.node_program import ask_nodes
from reframe_checks.base.scaled import OncePerPartition, OnEachNode
from reframe_checks.parsers import gpu


@rfm.simple_test
class GpuInventory(OncePerPartition, OnEachNode, SystemCheck):
    descr = "Compares number, model, driver, memory, ECC and PCIe link of all GPUs; finds missing and different GPUs"
    family = "node/gpu"
    estimated_s = 5
    needs_partition = ["nvidia"]
    tags = {"smoke"}
    programs = ["nvidia-smi"]
    informational = ["gpus_slowed_down"]
    hint = "check `nvidia-smi -q` and `dmesg | grep -i xid` on the named node"
    failure_means = (
        "A node has fewer GPUs than the site states, or a GPU differs in model, driver, memory, ECC or PCIe link. "
        "Reboot the named node; if the GPU is still missing or different, call the vendor."
    )

    @rfmb.run_after("setup")
    def command_line(self):
        promised = self.current_partition.extras.get("gpus_per_node")
        self.num_gpus_per_node = self.stated("extras/gpus_per_node", promised)
        ask_nodes(self, ["gpu.*"])

    @rfmb.sanity_function
    def gpus_are_alike(self):
        self.gpus = self.parsed(
            gpu.inventory, self.output_text(), expect_nodes=self.num_nodes_used, expect_per_node=self.num_gpus_per_node
        )
        self.of_node = {}
        for device in self.gpus:
            self.of_node.setdefault(device.host, []).append(device)
        self.record_per_node("gpus", "", {node: len(devices) for node, devices in self.of_node.items()})
        self.require_all_nodes(self.of_node)
        kinds = Counter(device.kind for device in self.gpus)
        usual, count = kinds.most_common(1)[0]
        others = [device for device in self.gpus if device.kind != usual]
        if others:
            if 2 * count > len(self.gpus):
                self.suspects = sorted({device.host for device in others})
            found = ", ".join(f"{device.host} GPU {device.index} {device.kind}" for device in others[:8])
            raise SanityError(f"GPUs differ in model, driver, memory, ECC or PCIe link: {found}; most are {usual}")
        return True

    steady = ["gpus_per_node_min"]
    metrics = {
        "gpus_per_node_min": ("GPUs", lambda self: min(len(devices) for devices in self.of_node.values())),
        # GPUs that are slowed down by heat or lack of power at the moment.
        "gpus_slowed_down": ("GPUs", lambda self: sum(device.slowed_down is True for device in self.gpus)),
    }
