"""Places of ranks and threads: do they run where the layout puts them, and is their memory near?"""

import re
import shlex
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.scaled import OnEachNode, cores_of_ranks, cpus_in, ranks_of_node
from reframe_checks.parsers import core_programs
from reframe_checks.parsers.core_programs import RankAffinity

#: Accepted share of a thread's pages in another NUMA domain: some belong to libraries or lie next to the stack.
FAR_SHARE = 0.1


@dataclass(frozen=True)
class Misplaced:
    """A problem with the place of ranks, threads or memory: unbound, elsewhere, shared, or in a far NUMA domain."""

    node: str
    text: str

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


def misplaced(ranks: Sequence[RankAffinity], asked: Sequence[Sequence[Sequence[int]]]) -> Iterator[Misplaced]:
    """Yield every rank and thread that is not where the layout puts it.

    :param asked: for each rank of a node, in the order of ranks, its cores, each as the numbers of its CPUs. Each
        thread must have one core of its rank alone, in any order.
    """
    of_node = defaultdict(list)
    for rank in ranks:
        of_node[rank.node].append(rank)
    for node, own in of_node.items():
        for place, rank in enumerate(own):
            if place < len(asked):
                yield from (Misplaced(node, text) for text in _wrong(rank, asked[place]))
        pairs = combinations(own, 2)
        doubled = [(one.rank, other.rank) for one, other in pairs if set(one.cpus) & set(other.cpus)]
        if doubled:
            text = ", ".join(f"{one} and {other}" for one, other in doubled[:4])
            yield Misplaced(node, f"ranks {text} share CPUs")


def _wrong(rank: RankAffinity, cores: Sequence[Sequence[int]]) -> Iterator[str]:
    wanted = {cpu for core in cores for cpu in core}
    if set(rank.cpus) > wanted:
        yield f"rank {rank.rank} is not bound: it may run on {_shown(rank.cpus)}, expected {_shown(wanted)}"
        return
    if set(rank.cpus) != wanted:
        yield f"rank {rank.rank} may run on {_shown(rank.cpus)}, expected {_shown(wanted)}"
        return
    places = [frozenset({*thread.cpus, *thread.ran_on}) for thread in rank.threads]
    if len(places) != len(cores):
        yield f"rank {rank.rank} has {len(places)} threads, expected {len(cores)}"
    for cpus, count in Counter(places).items():
        if cpus not in map(frozenset, cores):
            yield f"{_threads(count)} of rank {rank.rank} may run, or ran, on {_shown(cpus)}, expected one core"
        elif count > 1:
            yield f"{_threads(count)} of rank {rank.rank} share the core {_shown(cpus)}"


def far_memory(ranks: Sequence[RankAffinity]) -> Iterator[Misplaced]:
    """Yield every thread whose memory is in another NUMA domain than the thread."""
    for rank in ranks:
        for number, thread in enumerate(rank.threads):
            far = sum(count for domain, count in thread.pages.items() if domain not in thread.domains)
            if far > FAR_SHARE * sum(thread.pages.values()):
                elsewhere = _shown(set(thread.pages) - set(thread.domains))
                text = f"thread {number} of rank {rank.rank} ran in NUMA domain {_shown(thread.domains)}, and "
                yield Misplaced(rank.node, f"{text}{far} of {sum(thread.pages.values())} pages are in {elsewhere}")


def _threads(count: int) -> str:
    return "a thread" if count == 1 else f"{count} threads"


def _shown(numbers: object) -> str:
    """Return a list of numbers in the kernel's form: ``0-3,8``."""
    ordered = sorted(numbers)  # type: ignore[call-overload]
    parts: list[list[int]] = []
    for number in ordered:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


# Layout -> whether its ranks have threads, and whether they are scattered.
LAYOUTS = {
    "mpi_compact": (False, False), "mpi_scattered": (False, True),
    "hybrid_compact": (True, False), "hybrid_scattered": (True, True),
}  # fmt: skip
COMPARED = ("mpi_compact", "hybrid_compact")
UNBOUND = "unbound_"
SHOWN = 6
# Slurm's message about a node where it cannot bind a task.
_REFUSED = re.compile(
    r"^(?:srun: error: Task launch for StepId=\S+ failed on node |slurmstepd-)(?P<node>[\w.-]{1,200}): "
    r"(?P<why>Unable to satisfy cpu bind request|error: task_\w+_affinity: .{1,100})$",
    re.MULTILINE,
)


class LaidOut(OnEachNode, KappaCheck, special=True):
    """Run a step for each layout on every node, and compare the places of ranks and threads with the layout.

    MPI layouts have a rank on each core; hybrid layouts have two ranks on each node, with a thread on each of their
    cores. Compact layouts take cores in order; scattered layouts take them in turn from each NUMA domain
    (``base/scaled.py``). The job asks Slurm for exactly these CPUs, and OpenMP for a core for each thread. The own
    program (``kappa-measure affinity``) also runs the same kernel unbound, to measure the cost of missing binding.
    """

    needs_environ = ["sweep-build"]
    build = rfmb.fixture(MeasureProgram, scope="environment")
    layouts = tuple(LAYOUTS)
    compared = ()

    seconds = SiteVariable(0.2, "number", "s", "time for which the kernel runs on all cores, in each layout")
    mib_per_thread = SiteVariable(24, "whole number", "MiB", "size of the kernel's arrays")

    @rfmb.run_after("setup")
    def command_line(self):
        cores = self.masks("cores") or [1 << core for core in range(self.cores_per_node)]
        self.laid_out = {}
        for layout in self.layouts:
            hybrid, scattered = LAYOUTS[layout]
            ranks = ranks_of_node(hybrid, len(cores))
            self.laid_out[layout] = cores_of_ranks(ranks, scattered, cores, self.masks("numa_nodes"))
        self.nodes_used = self.num_tasks
        self.num_tasks_per_node, self.num_tasks = len(cores), len(cores) * self.nodes_used

    def masks(self, kind):
        """Return the masks of all cores or NUMA domains; empty if the site states no topology."""
        topology = self.current_partition.processor.topology or {}
        return [int(mask, 16) for mask in topology.get(kind, [])]

    def command_lines(self):
        bound = [self.step(layout, bound=True) for layout in self.layouts]
        return [*bound, *(self.step(layout, bound=False) for layout in self.compared)]

    def step(self, layout, *, bound):
        own = self.laid_out[layout]
        mask = ",".join(hex(sum(cores)) for cores in own)
        threads, cpus = len(own[0]), len(cpus_in(sum(own[0])))
        # Open MPI would bind in addition to Slurm.
        environment = ["OMPI_MCA_hwloc_base_binding_policy=none", f"OMP_NUM_THREADS={threads}"]
        environment += ["OMP_PROC_BIND=close", "OMP_PLACES=cores"] if bound else ["OMP_PROC_BIND=false"]
        options = [
            f"--ntasks={len(own) * self.nodes_used}", f"--ntasks-per-node={len(own)}", f"--cpus-per-task={cpus}",
            "--time=2", f"--cpu-bind={f'mask_cpu:{mask}' if bound else 'none'}",
        ]  # fmt: skip
        output = f"--output={'' if bound else UNBOUND}{layout}.json"
        program = [shlex.quote(self.program), "affinity", f"--seconds={self.seconds}", output]
        program.append(f"--mib-per-thread={self.mib_per_thread}")
        # If Slurm refuses a step on one node, this check reads the node from Slurm's message.
        return " ".join([*environment, self.launched(*options, *program), "|| exit 0"])

    def measured(self, layout, *, bound=True):
        told = self.output_text(str(self.stderr))
        if "built without OpenMP" in told:
            raise SanityError("kappa-measure is built without OpenMP; set a compiler that has it as `cxx`")
        if said := _REFUSED.search(told):
            self.suspects = [said["node"]]
            raise SanityError(f"{said['node']}: Slurm cannot bind ranks for the layout {layout}: {said['why']}")
        text = self.output_text(f"{'' if bound else UNBOUND}{layout}.json")
        return self.parsed(core_programs.affinity, text, expect_ranks=len(self.laid_out[layout]) * self.nodes_used)

    def refuse(self, found):
        """Return True if ``found`` is empty.

        :param found: (layout, ``Misplaced``) for each problem.
        :raises SanityError: there are problems; their nodes are suspects.
        """
        found = list(found)
        if found:
            self.suspects = sorted({each.node for _, each in found})
            more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            raise SanityError("; ".join([*(f"{each} ({layout})" for layout, each in found[:SHOWN]), *more]))
        return True


@rfm.simple_test
class Affinity(LaidOut):
    descr = (
        "Compares the CPUs of ranks and threads with compact and scattered layouts; finds wrong or missing binding by "
        "Slurm"
    )
    family = "compute/affinity"
    measured_s = 6
    needs_partition = ["binding"]
    tags = {"smoke"}
    informational = ["unbound_share_mpi", "unbound_share_hybrid"]
    hint = "check TaskPlugin (task/affinity) in slurm.conf, the node's cpusets, and tools that move processes"
    failure_means = (
        "A rank or thread may run on other cores than its layout asks for, so that jobs share cores and lose speed. If "
        "one node is named, repair its CPU sets; if all nodes are, repair Slurm's task affinity."
    )
    compared = COMPARED

    @rfmb.sanity_function
    def all_are_in_their_places(self):
        bound = {layout: self.measured(layout) for layout in self.layouts}
        self.shares = {}
        for layout in COMPARED:
            with_places, without = by_node(bound[layout]), by_node(self.measured(layout, bound=False))
            self.record_per_node(f"triad_{layout}", "MB/s", with_places)
            self.shares[layout] = statistics.median(without[node] / speed for node, speed in with_places.items())
        self.refuse(
            (layout, wrong)
            for layout, ranks in bound.items()
            for wrong in misplaced(ranks, [[*map(cpus_in, cores)] for cores in self.laid_out[layout]])
        )
        return self.require_all_nodes(with_places)

    metrics = {
        # Speed of the kernel unbound divided by its speed bound, on the median node.
        "unbound_share_mpi": ("", lambda self: self.shares["mpi_compact"]),
        "unbound_share_hybrid": ("", lambda self: self.shares["hybrid_compact"]),
    }


@rfm.simple_test
class NumaAffinity(LaidOut):
    descr = "Compares the NUMA domains of ranks and threads with those of their memory; finds memory in far domains"
    family = "compute/affinity-memory"
    estimated_s = 5
    needs_partition = ["binding", "numa_domains"]
    informational = ["near_share"]
    hint = "check the node's NUMA policy (`numactl --show`), zone_reclaim_mode, NUMA balancing, and its free memory"
    failure_means = (
        "Memory of a rank or thread lies in another NUMA domain than the one it runs in, so that each access is slow. "
        "Repair the memory policy of the named node, or its binding if Affinity fails there too."
    )
    layouts = COMPARED

    @rfmb.sanity_function
    def memory_is_near(self):
        found = {layout: self.measured(layout) for layout in self.layouts}
        threads = [thread for ranks in found.values() for rank in ranks for thread in rank.threads]
        if not all(thread.pages for thread in threads):
            raise SanityError("the kernel does not report the NUMA domain of memory (move_pages)")
        near = sum(count for each in threads for domain, count in each.pages.items() if domain in each.domains)
        self.near = near / sum(sum(each.pages.values()) for each in threads)
        return self.refuse((layout, far) for layout, ranks in found.items() for far in far_memory(ranks))

    metrics = {
        # Share of the pages of all threads that are in the thread's NUMA domain.
        "near_share": ("", lambda self: self.near),
    }


def by_node(ranks):
    """Return the sum of all threads of each node: node -> MB/s."""
    speeds = defaultdict(float)
    for rank in ranks:
        speeds[rank.node] += sum(thread.triad_mbps for thread in rank.threads)
    return dict(speeds)
