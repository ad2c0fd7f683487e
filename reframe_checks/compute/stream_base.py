"""What the STREAM checks share: the program, its command line, and the triad in its output.

The environment says which program it has (``extras: {stream: stream | likwid-bench}``). Classic STREAM
counts the best of its repeats; ``likwid-bench -t stream`` is a triad over a working set of ``working_set``.
The working set must exceed the caches: four times the last-level cache of every core is STREAM's own rule.
"""

import shlex

import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.parsers import likwid, stream


class StreamCheck(KappaCheck):
    needs_partition = ["compute"]
    needs_environ = ["stream"]

    #: Working set of likwid-bench; classic STREAM has its array size built in.
    working_set = rfmb.variable(str, value="4GB")
    tunable = {
        "working_set": Tunable("text", "", "of likwid-bench, as `4GB`"),
    }
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
        """The program's arguments for a run on the threads of LIKWID's affinity domain, as bash has to read it."""
        if self.program == "stream":
            return []
        return ["-t", "stream", "-w", domain + shlex.quote(f":{self.working_set}:{self.threads}")]

    def triad_of(self, text):
        """Triad in MB/s."""
        if self.program == "stream":
            result = self.parsed(stream.parse, text)
            if (result.threads or 1) != self.threads:
                raise SanityError(f"stream ran on {result.threads or 1} threads, asked for {self.threads}")
            return result.triad.best_rate_mb_s
        result = self.parsed(likwid.parse, text)
        used = len(set(result.hwthreads))
        if used != self.threads:
            raise SanityError(f"likwid-bench ran on {used} hardware threads, asked for {self.threads}")
        return result.bandwidth_mb_s
