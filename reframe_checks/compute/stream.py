"""STREAM: sustainable memory bandwidth of a node, all cores (McCalpin 1995).

The environment says which program it has (``extras: {stream: stream | likwid-bench}``). Classic STREAM
counts the best of its repeats; ``likwid-bench -t stream`` is a triad over a working set of ``working_set``.
The working set must exceed the caches: four times the last-level cache of every core is STREAM's own rule.
"""

import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import likwid, stream


@rfm.simple_test
class Stream(Scaled, KappaCheck):
    descr = "STREAM triad: memory bandwidth of a node"
    family = "compute/stream"
    needs_partition = ["compute"]
    needs_environ = ["stream"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    hint = "look for missing memory modules, NUMA settings, other jobs on the node and CPU frequency"

    #: Working set of likwid-bench; classic STREAM has its array size built in.
    working_set = rfmb.variable(str, value="4GB")
    tunable = ["working_set"]

    @rfmb.run_after("setup")
    def one_task_with_all_cores(self):
        self.num_tasks, self.num_tasks_per_node, self.num_cpus_per_task = 1, 1, self.cores_per_node

    @rfmb.run_after("setup")
    def command_line(self):
        self.program = self.current_environ.extras.get("stream")
        if self.program == "likwid-bench":
            self.executable_opts = ["-t", "stream", "-w", shlex.quote(f"N:{self.working_set}:{self.cores_per_node}")]
        elif self.program == "stream":
            self.env_vars = {"OMP_NUM_THREADS": self.cores_per_node, "OMP_PROC_BIND": "spread"}
        else:
            raise ReframeError(
                f"environment {self.current_environ.name}: extras/stream must be stream or likwid-bench, "
                f"found {self.program!r}"
            )
        self.executable = self.program

    @rfmb.sanity_function
    def read_bandwidth(self):
        if self.program == "stream":
            self.triad_mb_s = self.parsed(stream.parse, self.output_text()).triad.best_rate_mb_s
            return True
        result = self.parsed(likwid.parse, self.output_text())
        used = len(set(result.hwthreads))
        if used != self.cores_per_node:
            raise SanityError(f"likwid-bench ran on {used} hardware threads, asked for {self.cores_per_node}")
        self.triad_mb_s = result.bandwidth_mb_s
        return True

    @rfmb.performance_function("MB/s")
    def triad(self):
        return self.triad_mb_s
