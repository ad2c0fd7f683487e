"""STREAM: sustainable memory bandwidth of a node and of its NUMA domains (McCalpin 1995)."""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import memory_bandwidth


class StreamCheck(KappaCheck):
    """The base of the STREAM checks: the program, its command line, and the triad in its output.

    The environment names its program (``extras: {stream: stream | likwid-bench}``). Classic STREAM takes the best of
    its repeats; ``likwid-bench -t stream`` runs a triad over a working set of ``working_set``. By STREAM's rule, the
    working set must have at least four times the size of the last-level caches of all cores.
    """

    needs_partition = ["compute"]
    needs_environ = ["stream"]

    #: Working set of likwid-bench; classic STREAM has its array size built in.
    working_set = SiteVariable("4GB", "text", "", "working set of likwid-bench, for instance `4GB`")
    #: Threads of one run.
    threads = rfmb.variable(int, value=0)

    @rfmb.run_after("setup")
    def one_task_with_all_cores(self):
        self.num_tasks, self.num_tasks_per_node, self.num_cpus_per_task = 1, 1, self.cores_per_node
        self.threads = self.threads or self.cores_per_node

    @rfmb.run_after("setup")
    def choose_program(self):
        self.program = self.current_environ.extras.get("stream")
        if self.program not in ("stream", "likwid-bench"):
            raise ReframeError(
                f"environment {self.current_environ.name}: extras/stream must be stream or likwid-bench, "
                f"found {self.program!r}"
            )
        self.programs = [self.program]

    @rfmb.run_before("run")
    def set_threads(self):
        if self.program == "stream":
            self.env_vars = {**self.env_vars, "OMP_NUM_THREADS": self.threads, "OMP_PROC_BIND": "spread"}

    def arguments(self, domain="N"):
        """Return the program's arguments for a run on the threads of LIKWID's affinity domain."""
        if self.program == "stream":
            return []
        return ["-t", "stream", "-w", shlex.quote(f"{domain}:{self.working_set}:{self.threads}")]

    def triad_of(self, text):
        """Return the triad in MB/s.

        :raises SanityError: the program used another number of threads.
        """
        if self.program == "stream":
            result = self.parsed(memory_bandwidth.stream, text)
            if (result.threads or 1) != self.threads:
                raise SanityError(f"stream ran on {result.threads or 1} threads, expected {self.threads}")
            return result.triad.rate_mb_s
        result = self.parsed(memory_bandwidth.likwid, text)
        used = len(set(result.hwthreads))
        if used != self.threads:
            raise SanityError(f"likwid-bench ran on {used} hardware threads, expected {self.threads}")
        return result.bandwidth_mb_s


@rfm.simple_test
class Stream(ManyNodes, Scaled, StreamCheck):
    """Measure the sustainable memory bandwidth of a node with all cores, with STREAM (McCalpin 1995)."""

    descr = (
        "Measures the memory bandwidth of a node with STREAM's triad; finds missing memory modules and wrong NUMA "
        "settings"
    )
    family = "compute/stream"
    measured_s = 9
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    hint = "check for missing memory modules, NUMA settings, other jobs on the node, and the CPU frequency"
    failure_means = (
        "The node has less memory bandwidth than the bound allows. A loss of a quarter or a half is often a missing "
        "memory module; a loss of a few percent is often the clock or another process."
    )

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable, self.executable_opts = self.program, self.arguments()

    @rfmb.sanity_function
    def read_bandwidth(self):
        self.triad_mb_s = self.triad_of(self.output_text())
        return True

    metrics = {"triad": ("MB/s", lambda self: self.triad_mb_s)}


@rfm.simple_test
class StreamNuma(ManyNodes, Scaled, StreamCheck):
    """Run STREAM with local and remote memory: the cores of each NUMA domain with the memory of each domain.

    ``numactl --cpunodebind=C --membind=M`` places cores and memory, and fails if it cannot. The slowest local and the
    slowest remote pair have bounds; the whole matrix shows the domain. The site gives the number of domains in
    ``processor/topology/numa_nodes``. LIKWID's memory domains M0, M1, … have the kernel's numbers.
    """

    descr = "Measures STREAM's triad on local and remote NUMA domains; finds slow memory and slow socket links"
    family = "compute/stream-numa"
    estimated_s = 60
    needs_partition = ["compute", "numa_domains"]
    needs_environ = ["stream", "numactl"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    informational = ["remote_share"]
    time_limit = "1h"
    hint = (
        "if a domain's memory is slow from all cores, check its memory modules; if its cores are slow with all memory, "
        "check the cores; else check the socket link"
    )
    failure_means = (
        "Cores reach the memory of some NUMA domain too slowly. The heat map shows whether a domain's memory, a "
        "domain's cores or the link between two sockets is slow."
    )
    executable = "numactl"

    @rfmb.run_after("setup")
    def know_domains(self):
        topology = self.stated("processor/topology", self.current_partition.processor.topology)
        self.domains = len(topology.get("numa_nodes", []))
        if self.domains < 2:
            raise ReframeError(
                f"partition {self.current_partition.fullname}: processor/topology/numa_nodes has {self.domains} "
                "entries; remove the feature numa_domains"
            )
        self.threads = self.cores_per_node // self.domains
        self.programs = [*self.programs, "numactl"]

    def command_lines(self):
        return [
            self.launched(
                self.executable, f"--cpunodebind={cores}", f"--membind={memory}", self.program,
                *self.arguments(f"M{cores}"), ">", self.output_on(cores, memory),
            )
            for cores, memory in self.pairs
        ]  # fmt: skip

    @property
    def pairs(self):
        return [(cores, memory) for cores in range(self.domains) for memory in range(self.domains)]

    @staticmethod
    def output_on(cores, memory):
        return f"cores-{cores}-memory-{memory}.txt"

    @rfmb.sanity_function
    def read_bandwidths(self):
        self.triads = {pair: self.triad_of(self.output_text(self.output_on(*pair))) for pair in self.pairs}
        cores, memory = ("NUMA domain of the cores", ""), ("NUMA domain of the memory", "")
        self.record_heat_map("triad", cores, memory, ("Triad", "MB/s"), self.triads)
        return True

    metrics = {
        "local_triad": ("MB/s", lambda self: self.slowest(local=True)),
        "remote_triad": ("MB/s", lambda self: self.slowest(local=False)),
        # Slowest remote bandwidth divided by the slowest local one.
        "remote_share": ("", lambda self: self.slowest(local=False) / self.slowest(local=True)),
    }

    def slowest(self, *, local):
        return min(triad for (cores, memory), triad in self.triads.items() if (cores == memory) == local)
