"""Are the nodes of a partition alike, and as Slurm believes they are? One job, one task on each node.

Compares CPU model, cores, CPUs that a task may use, kernel and memory over the nodes, the files (libraries,
programs) and mounts that the site names, Slurm's figures with the machine's own, and the clocks with their median
(Cristian 1989: the round trip with the least delay bounds the offset by half of it).
"""

import shlex
import statistics
from collections import Counter

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import SystemCheck
from reframe_checks.base.once import OncePerPartition
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import node_probe

# What has to be equal on every node.
UNIFORM = (
    "cpu_model", "cpus_online", "cpu_affinity_count", "sockets", "numa_nodes", "kernel", "os_release", "cpu_governor",
    "swap_kib",
)  # fmt: skip
# A node with less than this share of the median node's free space on a mount is a suspect.
SUSPECT_FREE_SHARE = 0.5
# A clock so far from the median one is suspect, if the round trips can tell.
SUSPECT_CLOCK_US = 1000


@rfm.simple_test
class PartitionHealth(OncePerPartition, Scaled, SystemCheck):
    descr = "Health and uniformity of the nodes of a partition"
    family = "node/health"
    measured_s = 2
    scale = rfmb.parameter(["each_node"], loggable=True)
    tags = {"smoke"}
    sourcesdir = "src"
    programs = ["./node_probe.py"]
    hint = "look at the named node: memory modules, kernel and image, mounts (`df`), time (`chronyc tracking`)"

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "python3 ./node_probe.py"
        mounts = [*self.current_partition.extras.get("storage", {"root": "/"}).values()]
        files = self.current_partition.extras.get("uniform_files", [])
        self.executable_opts = [
            *(option for path in mounts for option in ("--mount", shlex.quote(path))),
            *(option for path in files for option in ("--file", shlex.quote(path))),
        ]

    @rfmb.sanity_function
    def nodes_agree(self):
        self.facts = {
            node.host: node for node in self.parsed(node_probe.parse, self.output_text(), expect_nodes=self.num_tasks)
        }
        clocks_us = {name: node.clock_offset_us for name, node in self.facts.items()}
        usual_us = statistics.median(clocks_us.values())
        self.clock_offsets_us = {name: offset - usual_us for name, offset in clocks_us.items()}
        self.record_per_node("clock_offset", "us", self.clock_offsets_us)
        self.record_per_node("memory", "KiB", {name: node.memory_total_kib for name, node in self.facts.items()})
        problems = [*self.odd_nodes(), *self.odd_files(), *self.bad_mounts(), *self.slurm_disagrees()]
        self.suspects = sorted({*(node for node, _ in problems), *self.fullest_nodes(), *self.odd_clocks()})
        if problems:
            raise SanityError("; ".join(f"{node}: {problem}" for node, problem in problems))
        return True

    def odd_nodes(self):
        """Nodes that differ from the majority, and how."""
        for key in UNIFORM:
            values = {name: getattr(node, key) for name, node in self.facts.items()}
            usual, _ = Counter(values.values()).most_common(1)[0]
            for name, value in values.items():
                if value != usual:
                    yield name, f"{key} is {value!r}, most nodes have {usual!r}"

    def odd_files(self):
        """Nodes that have another file than most, or none."""
        of_node = {name: {file.path: file.sha256 for file in node.files} for name, node in self.facts.items()}
        for path in self.current_partition.extras.get("uniform_files", []):
            digests = {name: files.get(path) for name, files in of_node.items()}
            usual, _ = Counter(digests.values()).most_common(1)[0]
            for name, digest in digests.items():
                if digest is None:
                    yield name, f"{path} cannot be read"
                elif digest != usual:
                    yield name, f"{path} differs from that of most nodes (SHA-256 {digest[:12]}…)"

    def fullest_nodes(self):
        free = {
            (name, mount.path): mount.free_bytes / mount.size_bytes
            for name, node in self.facts.items()
            for mount in node.mounts
            if mount.size_bytes
        }
        usual = {path: statistics.median(free[key] for key in free if key[1] == path) for _, path in free}
        return {name for (name, path), share in free.items() if share < SUSPECT_FREE_SHARE * usual[path]}

    def odd_clocks(self):
        for name, node in self.facts.items():
            if abs(self.clock_offsets_us[name]) > max(SUSPECT_CLOCK_US, node.clock_rtt_us):
                yield name

    def bad_mounts(self):
        for name, node in self.facts.items():
            for mount in node.mounts:
                if mount.type is None:
                    yield name, f"{mount.path} is not mounted"
                elif not mount.writable:
                    yield name, f"{mount.path} is read-only"

    def slurm_disagrees(self):
        for name, node in self.facts.items():
            if node.slurm is None:
                yield name, "`scontrol show node` does not answer"
                continue
            if node.slurm.cpus != node.cpus_online:
                yield name, f"Slurm counts {node.slurm.cpus} CPUs, the machine has {node.cpus_online}"
            if node.slurm.memory_mib * 1024 > node.memory_total_kib:
                has_mib = node.memory_total_kib // 1024
                yield name, f"Slurm promises {node.slurm.memory_mib} MiB, the machine has {has_mib}"

    @rfmb.performance_function("us")
    def clock_offset_max(self):
        """Largest offset from the median clock of the nodes."""
        return max(map(abs, self.clock_offsets_us.values()))

    @rfmb.performance_function("")
    def memory_spread(self):
        """Largest over smallest memory, less one."""
        memory = [node.memory_total_kib for node in self.facts.values()]
        return max(memory) / min(memory) - 1

    @rfmb.performance_function("")
    def free_space_min(self):
        """Smallest free fraction of the storage targets (of `/` where there is none), over all nodes."""
        return min(mount.free_bytes / mount.size_bytes for node in self.facts.values() for mount in node.mounts)
