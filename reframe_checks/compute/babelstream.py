"""BabelStream: memory bandwidth of every GPU of a node (Deakin et al., IJCSE 17(3), 2018).

The GPUs are measured one after the other. The arrays must exceed the caches: four times the last-level cache.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_gpus import OnGpus
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import babelstream


@rfm.simple_test
class BabelStream(ManyNodes, OnGpus, Scaled, KappaCheck):
    descr = "BabelStream triad: memory bandwidth of each GPU"
    family = "compute/gpu-memory"
    estimated_s = 60
    needs_partition = ["nvidia"]
    needs_environ = ["babelstream"]
    scale = rfmb.parameter(["one_node"], loggable=True)
    tags = {"smoke"}
    informational = ["spread"]
    hint = "look for ECC errors, retired pages and lowered clocks of the slowest GPU: nvidia-smi -q"
    executable = "cuda-stream"
    rank_for_each_gpu = False

    #: Numbers of 8 bytes in each of the three arrays; the program wants a multiple of 1024.
    elements = rfmb.variable(int, value=1 << 26)
    tunable = {
        "elements": Tunable("whole number", "", "numbers of 8 bytes in each array, a multiple of 1024"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        # One run for each GPU: the shell counts.
        self.executable_opts = ["--device", "$((gpu++))", "--arraysize", str(self.elements)]
        self.repeats = self.gpus_per_node

    @rfmb.sanity_function
    def read_bandwidths(self):
        complaint = babelstream.failed_validation(self.output_text(str(self.stderr)))
        if complaint:
            raise SanityError(f"a GPU computes wrong results: {complaint}")
        results = self.parsed(babelstream.parse, self.output_text(), expect_runs=self.gpus_per_node)
        self.triads_mb_s = [result.triad.rate_mb_s for result in results]
        slowest = self.triads_mb_s.index(min(self.triads_mb_s))
        self.hint = f"GPU {slowest} ({results[slowest].device}) is the slowest; {self.hint}"
        return True

    @rfmb.performance_function("MB/s")
    def slowest_gpu_triad(self):
        return min(self.triads_mb_s)

    @rfmb.performance_function("")
    def spread(self):
        """Difference of the fastest and the slowest GPU, as a share of the fastest."""
        return 1 - min(self.triads_mb_s) / max(self.triads_mb_s)
