"""IOR: bandwidth of a storage target from one node, two nodes and the whole partition, as in IO500's easy and hard.

Every rank writes its blocks, then reads those of another rank. The best of the repetitions counts. Data are compared
in a run of its own before, so that the comparison costs the measured one nothing.
"""

from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import ior

SUMMARY, VERIFIED = "ior.json", "ior-verified.json"
# IO500's: neither a page nor a stripe holds a whole number of them.
HARD_TRANSFER_BYTES = 47008
NOT_FROM_MEMORY = "fsync before close is part of the write (-e); each rank reads what another node wrote (-C)"


@dataclass(frozen=True)
class Pattern:
    api: str
    options: tuple[str, ...] = ()
    hard: bool = False


PATTERNS = {
    "file_per_process": Pattern("POSIX", ("-F",)),
    "shared_file": Pattern("POSIX"),
    "independent": Pattern("MPIIO"),
    "collective": Pattern("MPIIO", ("-c",)),
    "hard": Pattern("POSIX", hard=True),
    "hard_collective": Pattern("MPIIO", ("-c",), hard=True),
}


class IorCheck(OnStorage, Scaled, KappaCheck):
    family = "storage/ior"
    needs_environ = ["ior"]
    time_limit = "30m"
    hint = "compare with the same check on one node and with fio; look at striping, busy or degraded targets, locking"

    #: Of each rank, unless the pattern is hard; should exceed the node's memory per rank where reads may be cached.
    block_mib = rfmb.variable(int, value=1024)
    transfer_mib = rfmb.variable(int, value=4)
    #: Of each rank in a hard pattern, one transfer each.
    segments = rfmb.variable(int, value=10000)
    repetitions = rfmb.variable(int, value=3)
    tunable = {
        "block_mib": Tunable("whole number", "MiB", "of each rank, unless the pattern is hard"),
        "transfer_mib": Tunable("whole number", "MiB", "of each call, unless the pattern is hard"),
        "segments": Tunable("whole number", "", "of each rank in a hard pattern, one transfer each"),
        "repetitions": Tunable("whole number", "", "of which the best counts"),
    }

    @rfmb.run_after("setup")
    def command_line(self):
        self.chosen = PATTERNS[self.pattern]
        if self.chosen.hard:
            self.sizes = (HARD_TRANSFER_BYTES, HARD_TRANSFER_BYTES, self.segments)
        else:
            self.sizes = (self.transfer_mib << 20, self.block_mib << 20, 1)
        self.executable = "ior"
        self.executable_opts = [*self.options(*self.sizes, SUMMARY), "-e", "-i", str(self.repetitions)]

    @rfmb.run_before("run")
    def verify_data(self):
        transfer = self.sizes[0]
        small = self.options(transfer, transfer, 4, VERIFIED)
        launch = self.job.launcher.run_command(self.job)
        self.prerun_cmds = [*self.prerun_cmds, " ".join([launch, "ior", *small, "-W", "-R"])]

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
                f"asked for {self.chosen.api} on {self.num_tasks} with {self.sizes}"
            )
        missing = [option for option in self.not_from_memory() if option not in self.result.options.split()]
        if missing or not self.result.fsync:
            raise SanityError(f"ior ran without {' '.join(missing) or '-e'}: the figures may be those of memory")
        return True

    @rfmb.performance_function("MB/s")
    def write(self):
        return max(self.result.write_mb_s)

    @rfmb.performance_function("MB/s")
    def read(self):
        return max(self.result.read_mb_s)


@rfm.simple_test
class IorNode(IorCheck):
    descr = "IOR from one node, direct I/O, large transfers"
    estimated_s = 120
    scale = rfmb.parameter(["one_core", "one_node"], loggable=True)
    pattern = rfmb.parameter(["file_per_process", "shared_file"], loggable=True)
    cache_defeat = "direct I/O (--posix.odirect)"

    def not_from_memory(self):
        return ["--posix.odirect"]


@rfm.simple_test
class IorEasy(IorCheck):
    descr = "IOR from several nodes, large transfers"
    estimated_s = 120
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(["file_per_process", "shared_file", "independent", "collective"], loggable=True)
    cache_defeat = NOT_FROM_MEMORY


@rfm.simple_test
class IorHard(IorCheck):
    descr = "IOR from several nodes, small unaligned transfers interleaved in one file"
    estimated_s = 120
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    pattern = rfmb.parameter(["hard", "hard_collective"], loggable=True)
    cache_defeat = NOT_FROM_MEMORY
