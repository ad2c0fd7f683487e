"""A plug-in for checks that use every GPU of their nodes."""

import reframe as rfm
import reframe.core.builtins as rfmb

# The node has several GPUs.
SEVERAL_GPUS = "several_gpus"


class OnGpus(rfm.RegressionTestPlugin):
    """A rank for each GPU, or one for all of a node; the ranks share the node's cores."""

    rank_for_each_gpu = True

    @rfmb.run_after("setup")
    def lay_out_on_gpus(self):
        nodes = self.num_nodes_used
        self.num_gpus_per_node = self.gpus_per_node
        self.num_tasks_per_node = self.gpus_per_node if self.rank_for_each_gpu else 1
        self.num_tasks = nodes * self.num_tasks_per_node
        self.num_cpus_per_task = max(self.cores_per_node // self.num_tasks_per_node, 1)

    @property
    def gpus_per_node(self):
        return self.stated("extras/gpus_per_node", self.current_partition.extras.get("gpus_per_node"))
