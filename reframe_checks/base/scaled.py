"""Plug-ins that place a case: scales, few ranks, placements, all cores, all GPUs, the first environment only."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError
from reframe.core.runtime import valid_sysenv_comb

from kappa.core.vocabulary.scales import GPU_PLACEMENTS, LAYOUTS, PLACEMENTS, RANK_COUNTS, SCALES, SWITCH_PLACEMENTS
from reframe_checks.base.job_files import in_stage
from reframe_checks.parsers import job_scripts, slurm

# Placement -> the parts of the node that its two ranks are in, and the index of each rank's part.
BOUND_PLACEMENTS = {
    "same_numa": ("numa_nodes", (0, 0)),
    "other_numa": ("numa_nodes", (0, 1)),
    "other_socket": ("sockets", (0, 1)),
    "gpus_other_socket": ("sockets", (0, 1)),
}


def cpus_of(placement: str, topology: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    """Return the operating system's numbers of the CPUs for rank 0 and 1, on different cores.

    :param topology: ``processor/topology`` as ReFrame detects it: hexadecimal CPU masks of ``cores`` and of the parts.
    :raises ValueError: the topology lacks the parts, or a part has too few cores.
    """
    kind, indices = BOUND_PLACEMENTS[placement]
    for needed in ("cores", kind):
        if not topology.get(needed):
            raise ValueError(f"{placement}: the site's settings must give processor/topology/{needed}")
    parts = topology[kind]
    if len(parts) <= max(indices):
        raise ValueError(f"{placement}: processor/topology/{kind} has {len(parts)} entry; remove the feature")
    # The first CPU of each core: two ranks never share a core's hardware threads.
    firsts = [_lowest(int(mask, 16)) for mask in topology["cores"]]
    chosen: list[int] = []
    for index in indices:
        inside = [cpu for cpu in sorted(firsts) if int(parts[index], 16) >> cpu & 1 and cpu not in chosen]
        if not inside:
            raise ValueError(f"{placement}: too few cores in processor/topology/{kind} entry {index}")
        chosen.append(inside[0])
    return chosen[0], chosen[1]


def ranks_of_node(hybrid: bool, cores: int) -> int:
    """Return the number of ranks of a node: one for each core; with ``hybrid``, two, or one if it has under 4 cores."""
    return (2 if cores >= 4 else 1) if hybrid else cores


def cores_of_ranks(ranks: int, scattered: bool, cores: Sequence[int], domains: Sequence[int]) -> list[list[int]]:
    """Return the cores of each rank of a node, as masks of their CPUs, in the order of ranks.

    Compact: one core after the other, so a rank has neighbouring cores. Scattered: in turn from each NUMA domain, or
    from each half of a node with one domain, so a rank has distant cores. All ranks have equally many cores; cores
    beyond that are not used.

    :param cores: masks of all cores of the node.
    :param domains: masks of its NUMA domains; empty if they are not known.
    """
    size = len(cores) // ranks
    order = sorted(cores, key=_lowest)
    if scattered:
        parts = [[core for core in order if core & domain] for domain in domains]
        if len(parts) < 2:
            parts = [order[: len(order) // 2], order[len(order) // 2 :]]
        longest = max(map(len, parts))
        order = [part[number] for number in range(longest) for part in parts if number < len(part)]
    return [order[size * rank : size * (rank + 1)] for rank in range(ranks)]


def cpus_in(mask: int) -> list[int]:
    return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]


def _lowest(mask: int) -> int:
    if mask <= 0:
        raise ValueError("processor/topology/cores: a mask without a CPU")
    return (mask & -mask).bit_length() - 1


PLACEMENT_FILE, TOPOLOGY_FILE = "placement.txt", "topology.txt"
# Without a topology scontrol says so and fails.
SHOW_TOPOLOGY = f"scontrol show topology > {TOPOLOGY_FILE} 2> /dev/null || true"


class LayoutCases(rfm.RegressionTestPlugin):
    """A case for each layout of ``table``; ``named_by`` is the name of the parameter."""

    table: ClassVar[dict] = {}
    named_by = ""

    def chosen_scale(self):
        return self.table[getattr(self, self.named_by)]

    @classmethod
    def alternative_features(cls):
        return [[cls.table[name].feature] for name in cls.raw_params[cls.named_by].values]

    @rfmb.run_after("init")
    def tag_scale(self):
        self.tags |= {self.chosen_scale().feature}


class Scaled(LayoutCases):
    """A case for each scale; leaves shorten the list, or add few ranks from ``RANK_COUNTS``."""

    table, named_by = LAYOUTS, "scale"
    scale = rfmb.parameter(SCALES, loggable=True)


class OnEachNode(Scaled):
    """One case: a rank on each node of the partition."""

    scale = rfmb.parameter(["each_node"], loggable=True)


class OnRanks(LayoutCases):
    """A case for each number of ranks: within one node, and one on each node."""

    table, named_by = RANK_COUNTS, "ranks"
    ranks = rfmb.parameter(RANK_COUNTS, loggable=True)


class Placed(LayoutCases):
    """A case for each placement of two ranks; by default for the placements that need no GPU."""

    table, named_by = PLACEMENTS, "placement"
    placement = rfmb.parameter([name for name in PLACEMENTS if name not in GPU_PLACEMENTS], loggable=True)
    reports_placement = False
    cpus: tuple[int, int] | None = None

    @rfmb.run_after("init")
    def tag_placement(self):
        self.tags |= {f"placement_{self.placement}"}

    @rfmb.run_after("setup")
    def request_placement(self):
        """Ask for the placement, and make the job report where its ranks run."""
        launcher_options = []
        if self.placement in BOUND_PLACEMENTS:
            topology = self.stated("processor/topology", self.current_partition.processor.topology)
            try:
                self.cpus = cpus_of(self.placement, topology)
            except ValueError as err:
                raise ReframeError(f"partition {self.current_partition.fullname}: {err}") from None
            launcher_options = [f"--cpu-bind=map_cpu:{','.join(map(str, self.cpus))}"]
        elif self.placement in SWITCH_PLACEMENTS:
            stated = self.current_partition.extras.get("placements", {}).get(self.placement)
            self.job.options += self.stated(f"extras/placements/{self.placement}", stated)
        else:
            return
        self.job.launcher.options += launcher_options
        self.reports_placement = True

    @rfmb.run_before("run")
    def report_switches(self):
        if self.placement in SWITCH_PLACEMENTS:
            self.prerun_cmds = [*self.prerun_cmds, SHOW_TOPOLOGY]

    def command_lines(self):
        lines = super().command_lines()
        if not self.reports_placement:
            return lines
        return [self.launched("bash", in_stage(self, "place_of_rank.sh"), ">", PLACEMENT_FILE), *lines]

    def require_placement(self):
        """Require that the ranks ran where the placement asks for; for use in sanity functions.

        :raises SanityError: they ran elsewhere.
        """
        if not self.reports_placement:
            return
        ranks = self.parsed(job_scripts.placement, self.output_text(PLACEMENT_FILE), expect_ranks=2)
        nodes = len({rank.node for rank in ranks})
        if nodes != self.chosen_scale().nodes:
            expected = self.chosen_scale().nodes
            raise SanityError(f"placement {self.placement}: two ranks ran on {nodes} node(s), expected {expected}")
        if self.placement in BOUND_PLACEMENTS and [rank.cpus for rank in ranks] != [str(cpu) for cpu in self.cpus]:
            found = ", ".join(rank.cpus for rank in ranks)
            raise SanityError(f"placement {self.placement}: ranks may run on CPUs {found}, expected {self.cpus}")
        if self.placement in SWITCH_PLACEMENTS:
            self.require_switches()

    def require_switches(self):
        """Require that the job's nodes are on one leaf switch, or each on another, by Slurm's topology.

        :raises SanityError: they are not, or Slurm has no topology.
        """
        text = self.output_text(TOPOLOGY_FILE)
        if not text.strip():
            raise SanityError(
                f"placement {self.placement}: Slurm knows no topology (`scontrol show topology`), so the job's "
                f"switches are unknown; configure a topology, or remove the feature {self.chosen_scale().feature}"
            )
        leaves = self.parsed(slurm.leaves_of, text, nodes=self.provenance["nodelist"])
        if len(set(leaves.values())) != (1 if self.placement == "same_switch" else len(leaves)):
            found = ", ".join(f"{node} on {leaf}" for node, leaf in leaves.items())
            wanted = "one leaf switch" if self.placement == "same_switch" else "different leaf switches"
            raise SanityError(f"placement {self.placement}: expected nodes on {wanted}, found {found}")


class AllCores(rfm.RegressionTestPlugin):
    """A task on each node with all cores of the node, one hardware thread of each core."""

    @rfmb.run_after("setup")
    def take_all_cores(self):
        self.num_cpus_per_task = self.cores_per_node
        # Else Slurm counts hardware threads as CPUs, and gives both threads of half of the cores.
        self.use_multithreading = False
        # Since Slurm 22.05, srun no longer takes --cpus-per-task from the job.
        self.env_vars = {**self.env_vars, "SRUN_CPUS_PER_TASK": self.cores_per_node}


# Feature of a partition whose nodes have several GPUs.
SEVERAL_GPUS = "several_gpus"


class OnGpus(rfm.RegressionTestPlugin):
    """A rank for each GPU, or one rank for all GPUs of a node; the ranks share the node's cores."""

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


class OncePerPartition(rfm.RegressionTestPlugin):
    """A case in the first environment of each partition, for checks of the nodes themselves.

    ReFrame has one list of environments for all partitions of a check. So a partition that also has the first
    environment of another partition runs the check in both.
    """

    @rfmb.run_after("init")
    def choose_first_environments(self):
        offered = valid_sysenv_comb(self.valid_systems, ["*"])
        self.valid_prog_environs = sorted({environ.name for environs in offered.values() for environ in environs[:1]})
