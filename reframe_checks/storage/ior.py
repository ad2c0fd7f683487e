"""IOR: bandwidth of a storage target from one node, two nodes and the whole partition, as in IO500's easy and hard.

Every rank writes its blocks, then reads the blocks of another rank. The best repetition counts. A separate run before
compares the data, so the comparison does not slow the measured run.

A client's cache holds neither direct I/O nor data of another node, so files can be smaller than the nodes' memory.
Writing and reading end at a stonewall (``stonewall_s``, as in IO500, with wear-out: every rank then continues up to the
amount of the fastest rank) or with the whole file, whichever comes first. The file has ``node_mib`` per node, and at
least ``least_mib``. This limits the data that a fast file system gets in these seconds.
"""

from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import ior

SUMMARY, VERIFIED = "ior.json", "ior-verified.json"
# Transfers of each rank that are written and compared before the measurement.
VERIFIED_TRANSFERS = 4
# Start, comparison and removal.
BESIDES_S = 15
# As in IO500: no multiple of it fits a page or a stripe.
HARD_TRANSFER_BYTES = 47008
NOT_FROM_MEMORY = "fsync before close is part of the write (-e); each rank reads data of another node (-C)"


@dataclass(frozen=True)
class IorPattern:
    api: str
    options: tuple[str, ...] = ()
    hard: bool = False


PATTERNS = {
    "file_per_process": IorPattern("POSIX", ("-F",)),
    "shared_file": IorPattern("POSIX"),
    "independent": IorPattern("MPIIO"),
    "collective": IorPattern("MPIIO", ("-c",)),
    "hard": IorPattern("POSIX", hard=True),
    "hard_collective": IorPattern("MPIIO", ("-c",), hard=True),
}


class IorCheck(OnStorage, Scaled, KappaCheck):
    family = "storage/ior"
    needs_environ = ["ior"]
    estimated_s = 75
    time_limit = "30m"
    hint = "compare with the same check on one node and with fio; check striping, busy or degraded targets, locking"
    failure_means = (
        "The target is written or read more slowly than the bound allows, or IOR found wrong data. With wrong data, "
        "stop using the target until the cause is found. If Fio passes on the same target, look at striping, the "
        "servers and the network."
    )

    #: Data of each rank, unless the pattern is hard; 0: its share of the file.
    block_mib = SiteVariable(0, "whole number", "MiB", "data of each rank, unless the pattern is hard")
    transfer_mib = SiteVariable(4, "whole number", "MiB", "data of each call, unless the pattern is hard")
    #: Segments of each rank in a hard pattern, one transfer each; 0: its share of the file.
    segments = SiteVariable(0, "whole number", "", "segments of each rank in a hard pattern, one transfer each")
    repetitions = SiteVariable(3, "whole number", "", "number of repetitions; the best counts")
    stonewall_s = SiteVariable(10, "whole number", "s", "time after which writing or reading ends")
    node_mib = SiteVariable(
        1024, "whole number", "MiB", "size of the file for each node, unless the sizes of its ranks are given"
    )
    least_mib = SiteVariable(4096, "whole number", "MiB", "least size of the file, on few nodes")

    @rfmb.run_after("setup")
    def command_line(self):
        self.chosen = PATTERNS[self.pattern]
        if self.chosen.hard:
            segments = self.segments or self.transfers_of_a_rank(HARD_TRANSFER_BYTES)
            self.sizes = (HARD_TRANSFER_BYTES, HARD_TRANSFER_BYTES, segments)
        else:
            transfer = self.transfer_mib << 20
            self.sizes = (transfer, (self.block_mib << 20) or self.transfers_of_a_rank(transfer) * transfer, 1)
        self.executable = "ior"
        self.executable_opts = [
            *self.options(*self.sizes, SUMMARY), "-e", "-i", str(self.repetitions),
            "-D", str(self.stonewall_s), "-O", "stoneWallingWearOut=1",
        ]  # fmt: skip

    def transfers_of_a_rank(self, transfer_bytes):
        """Return a rank's share of the file, in whole transfers."""
        file_mib = max(self.node_mib * self.num_nodes_used, self.least_mib)
        return max((file_mib << 20) // (self.num_tasks * transfer_bytes), 1)

    def expected_s(self):
        return BESIDES_S + 2 * self.repetitions * self.stonewall_s

    def most_bytes(self):
        transfer, block, segments = self.sizes
        return self.num_tasks * (self.repetitions * block * segments + VERIFIED_TRANSFERS * transfer)

    def wrote_bytes(self):
        return self.result.written_bytes + self.num_tasks * VERIFIED_TRANSFERS * self.sizes[0]

    def command_lines(self):
        transfer = self.sizes[0]
        small = self.options(transfer, transfer, VERIFIED_TRANSFERS, VERIFIED)
        return [self.launched("ior", *small, "-W", "-R"), *super().command_lines()]

    def options(self, transfer, block, segments, summary):
        return [
            "-a", self.chosen.api, *self.chosen.options, *self.not_from_memory(), "-w", "-r",
            "-t", str(transfer), "-b", str(block), "-s", str(segments),
            "-o", '"$folder/ior"', "-O", "summaryFormat=JSON", "-O", f"summaryFile={summary}",
        ]  # fmt: skip

    def not_from_memory(self):
        return ["-C"]

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        verified = self.parsed(ior.parse, self.output_text(VERIFIED))
        if not (verified.check_write and verified.check_read):
            raise SanityError("ior did not compare the data that it wrote and read")
        self.result = self.parsed(ior.parse, self.output_text(SUMMARY))
        found = (self.result.transfer_bytes, self.result.block_bytes, self.result.segments)
        if (self.result.tasks, found, self.result.api) != (self.num_tasks, self.sizes, self.chosen.api):
            raise SanityError(
                f"ior ran {self.result.api} on {self.result.tasks} ranks with sizes {found}, "
                f"expected {self.chosen.api} on {self.num_tasks} with {self.sizes}"
            )
        if self.result.stonewall_s != self.stonewall_s or not self.result.wear_out:
            raise SanityError(f"ior ran with a stonewall of {self.result.stonewall_s} s, expected {self.stonewall_s}")
        missing = [option for option in self.not_from_memory() if option not in self.result.options.split()]
        if missing or not self.result.fsync:
            raise SanityError(f"ior ran without {' '.join(missing) or '-e'}: the data may come from the page cache")
        return True

    metrics = {
        "write": ("MB/s", lambda self: max(self.result.write_mb_s)),
        "read": ("MB/s", lambda self: max(self.result.read_mb_s)),
    }


@rfm.simple_test
class IorNode(ManyNodes, IorCheck):
    descr = "Measures large transfers of one node with IOR and direct I/O; finds slow storage targets and client links"
    scale = rfmb.parameter(["one_core", "one_node"], loggable=True)
    pattern = rfmb.parameter(["file_per_process", "shared_file"], loggable=True)
    cache_defeat = "direct I/O (--posix.odirect)"

    def not_from_memory(self):
        return ["--posix.odirect"]


@rfm.simple_test
class IorEasy(IorCheck):
    descr = "Measures large transfers of several nodes with IOR; finds slow or degraded targets and wrong striping"
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(["file_per_process", "shared_file", "independent", "collective"], loggable=True)
    cache_defeat = NOT_FROM_MEMORY


@rfm.simple_test
class IorHard(IorCheck):
    descr = "Measures small unaligned transfers of several nodes in one file with IOR; finds slow locking"
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(["hard", "hard_collective"], loggable=True)
    cache_defeat = NOT_FROM_MEMORY
