"""STREAM with local and with remote memory: every NUMA domain's cores on every NUMA domain's memory.

``numactl --cpunodebind=C --membind=M`` places cores and memory, and fails where it cannot. The slowest local and the
slowest remote pair are gated; the whole matrix shows which domain it is. ``processor/topology/numa_nodes`` of the site
says how many domains there are; LIKWID numbers its memory domains M0, M1, … as the kernel numbers its nodes.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled
from reframe_checks.compute.stream_base import StreamCheck


@rfm.simple_test
class StreamNuma(ManyNodes, Scaled, StreamCheck):
    descr = "STREAM triad on local and remote NUMA domains"
    family = "compute/stream-numa"
    estimated_s = 60
    needs_partition = ["compute", "numa_domains"]
    needs_environ = ["stream", "numactl"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    informational = ["remote_share"]
    time_limit = "1h"
    hint = "slow from all cores: memory modules of that domain; slow to all memory: its cores; else the socket link"
    executable = "numactl"

    @rfmb.run_after("setup")
    def command_line(self):
        topology = self.stated("processor/topology", self.current_partition.processor.topology)
        self.domains = len(topology.get("numa_nodes", []))
        if self.domains < 2:
            raise ReframeError(
                f"partition {self.current_partition.fullname}: processor/topology/numa_nodes has {self.domains} "
                "entries: remove the feature numa_domains"
            )
        self.threads = self.cores_per_node // self.domains
        self.programs = [*self.programs, "numactl"]
        # The job script's variables; see `for_each_pair`.
        binding = ["--cpunodebind=$cores", "--membind=$memory"]
        output = self.output_on("$cores", "$memory")
        self.executable_opts = [*binding, self.program, *self.arguments("M$cores"), f"> {output}"]

    @property
    def pairs(self):
        return [(cores, memory) for cores in range(self.domains) for memory in range(self.domains)]

    @staticmethod
    def output_on(cores, memory):
        return f"cores-{cores}-memory-{memory}.txt"

    @rfmb.run_before("run")
    def for_each_pair(self):
        domains = " ".join(map(str, range(self.domains)))
        loop = f"for cores in {domains}; do for memory in {domains}; do"
        self.prerun_cmds = [*self.prerun_cmds, loop]
        self.postrun_cmds = [*self.postrun_cmds, "done; done"]

    @rfmb.sanity_function
    def read_bandwidths(self):
        self.triads = {pair: self.triad_of(self.output_text(self.output_on(*pair))) for pair in self.pairs}
        cores, memory = ("NUMA domain of the cores", ""), ("NUMA domain of the memory", "")
        self.record_heat_map("triad", cores, memory, ("Triad", "MB/s"), self.triads)
        return True

    @rfmb.performance_function("MB/s")
    def local_triad(self):
        return self.slowest(local=True)

    @rfmb.performance_function("MB/s")
    def remote_triad(self):
        return self.slowest(local=False)

    @rfmb.performance_function("")
    def remote_share(self):
        """Slowest remote over slowest local bandwidth."""
        return self.slowest(local=False) / self.slowest(local=True)

    def slowest(self, *, local):
        return min(triad for (cores, memory), triad in self.triads.items() if (cores == memory) == local)
