"""mdtest: rates of metadata operations on a storage target, as in IO500's easy and hard.

``unique``: each rank has its own folder, with empty files. ``shared``: all ranks use one folder, with files of 3901
bytes. The best iteration counts. With several nodes, each rank works on files of another node (-N).

Folders and files are two runs: in one run, mdtest 4.0's stonewall also stops the creation of folders, and later mdtest
misses these folders. The creation of files ends at ``stonewall_s`` or at their number, whichever comes first. All other
operations end at the number: ``items`` of each rank, and at most ``most_items`` in total.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import mdtest

FILE_BYTES = 3901
FOLDERS = "folders.txt"
# Operations per second of a metadata server, only to estimate the time of a case; not a target.
ASSUMED_1_S = 5000
# The start of two runs.
BESIDES_S = 10
PATTERNS = {"unique": ["-u"], "shared": ["-w", str(FILE_BYTES), "-e", str(FILE_BYTES)]}
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
class Mdtest(ManyNodes, OnStorage, Scaled, KappaCheck):
    descr = "Measures rates of metadata operations with mdtest; finds slow or overloaded metadata servers"
    family = "storage/mdtest"
    estimated_s = 150
    needs_environ = ["mdtest"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(PATTERNS, loggable=True)
    time_limit = "30m"
    cache_defeat = "ranks work on files of the next node (-N ranks per node); within one node, caches may answer"
    hint = "check the metadata server's load, and the number of files on the target"
    failure_means = (
        "Files or folders are made, read or removed too slowly. If IorEasy passes on the same target, its metadata "
        "server is slow or busy, not its disks."
    )

    items = SiteVariable(2000, "whole number", "", "most files and folders of each rank")
    most_items = SiteVariable(16384, "whole number", "", "most files and folders of all ranks")
    stonewall_s = SiteVariable(10, "whole number", "s", "time after which no more files are made")
    iterations = SiteVariable(3, "whole number", "", "number of iterations; the best counts")

    metrics = {
        metric: ("1/s", lambda self, operation=operation: self.rates[operation].maximum)
        for metric, operation in OPERATIONS.items()
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "mdtest"
        self.executable_opts = ["-F", "-W", str(self.stonewall_s), *self.options()]

    def command_lines(self):
        return [self.launched("mdtest", "-D", *self.options(), ">", FOLDERS), *super().command_lines()]

    def options(self):
        return [
            "-n", str(self.items_of_a_rank()), "-i", str(self.iterations), "-d", '"$folder/mdtest"',
            *self.not_from_memory(), *PATTERNS[self.pattern],
        ]  # fmt: skip

    def items_of_a_rank(self):
        return max(min(self.items, self.most_items // self.num_tasks), 1)

    def expected_s(self):
        operations = len(OPERATIONS) * self.iterations * self.num_tasks * self.items_of_a_rank()
        return BESIDES_S + operations / ASSUMED_1_S

    def most_bytes(self):
        return self.iterations * self.num_tasks * self.items_of_a_rank() * self.bytes_of_a_file()

    def wrote_bytes(self):
        return self.files_made * self.bytes_of_a_file()

    def bytes_of_a_file(self):
        return FILE_BYTES if "-w" in PATTERNS[self.pattern] else 0

    def not_from_memory(self):
        return ["-N", str(self.num_tasks_per_node)] if self.num_nodes_used > 1 else []

    @rfmb.sanity_function
    def read_rates(self):
        self.require_striping()
        files = self.parsed(mdtest.parse, self.output_text())
        folders = self.parsed(mdtest.parse, self.output_text(FOLDERS))
        for result in (files, folders):
            self.require_what_was_asked(result)
        if f"'-W' '{self.stonewall_s}'" not in files.options:
            raise SanityError(f"mdtest made files without a stonewall of {self.stonewall_s} s")
        self.rates, self.files_made = folders.rates | files.rates, files.made
        return True

    def require_what_was_asked(self, result):
        found = (result.tasks, result.items, result.iterations)
        asked = (self.num_tasks, self.num_tasks * self.items_of_a_rank(), self.iterations)
        if found != asked:
            raise SanityError(f"mdtest ran (ranks, items, iterations) {found}, expected {asked}")
        # mdtest repeats its options, each in quotes.
        if " ".join(f"'{word}'" for word in self.not_from_memory()) not in result.options:
            raise SanityError(f"mdtest ran without {' '.join(self.not_from_memory())}: caches may have answered")
