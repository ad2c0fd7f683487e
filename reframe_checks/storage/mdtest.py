"""mdtest: rates of metadata operations on a storage target, as in IO500's easy and hard.

``unique``: every rank in a folder of its own, empty files. ``shared``: all ranks in one folder, files of 3901 bytes.
The best of the iterations counts. With several nodes each rank works on what another node has made (-N).
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import mdtest

PATTERNS = {"unique": ["-u"], "shared": ["-w", "3901", "-e", "3901"]}
# Metric -> mdtest's name of the operation.
OPERATIONS = {
    "file_create": "File creation",
    "file_stat": "File stat",
    "file_read": "File read",
    "file_remove": "File removal",
    "directory_create": "Directory creation",
    "directory_stat": "Directory stat",
    "directory_remove": "Directory removal",
}


@rfm.simple_test
class Mdtest(OnStorage, Scaled, KappaCheck):
    descr = "mdtest: rates of metadata operations"
    family = "storage/mdtest"
    estimated_s = 120
    needs_environ = ["mdtest"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(PATTERNS, loggable=True)
    time_limit = "30m"
    cache_defeat = "ranks work on what the next node has made (-N ranks per node); within one node memory may answer"
    hint = "look at the metadata server's load, and at how many files the target holds"

    #: Files and folders of each rank.
    items = rfmb.variable(int, value=2000)
    iterations = rfmb.variable(int, value=3)
    tunable = {
        "items": Tunable("whole number", "", "files and folders of each rank"),
        "iterations": Tunable("whole number", "", "of which the best counts"),
    }

    @rfmb.run_after("init")
    def declare_metrics(self):
        self.perf_variables = {
            metric: sn.make_performance_function(self.rate_of(operation), "1/s")
            for metric, operation in OPERATIONS.items()
        }

    @rfmb.deferrable
    def rate_of(self, operation):
        return self.result.rates[operation].maximum

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "mdtest"
        self.executable_opts = [
            "-n", str(self.items), "-i", str(self.iterations), "-d", '"$folder/mdtest"', *self.not_from_memory(),
            *PATTERNS[self.pattern],
        ]  # fmt: skip

    def not_from_memory(self):
        return ["-N", str(self.num_tasks_per_node)] if self.num_nodes_used > 1 else []

    @rfmb.sanity_function
    def read_rates(self):
        self.require_striping()
        self.result = self.parsed(mdtest.parse, self.output_text())
        found = (self.result.tasks, self.result.items, self.result.iterations)
        asked = (self.num_tasks, self.num_tasks * self.items, self.iterations)
        if found != asked:
            raise SanityError(f"mdtest ran (ranks, items, iterations) {found}, asked for {asked}")
        # mdtest repeats its options, each in quotes.
        if " ".join(f"'{word}'" for word in self.not_from_memory()) not in self.result.options:
            raise SanityError(f"mdtest ran without {' '.join(self.not_from_memory())}: memory may have answered")
        return True
