"""What an application gets of a target, as a share of what IOR gets there: BT-IO's output against IOR's, in one job.

On the same ranks and nodes, in turn. In IOR each rank writes at each output what it writes in BT, as one piece
(MPI-IO, independent, one file); in BT the pieces are rows of the array, or a data type of them. Neither waits for the
disks, so that memory helps both alike. The share is of the medians.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.parsers import ior
from reframe_checks.storage.btio_base import ASSUMED_BYTES_S, CLASSES, BtIoRuns

# IOR fills its buffers with numbers of 8 bytes.
WHOLE_BYTES = 8


@rfm.simple_test
class BtIoShare(BtIoRuns):
    descr = "BT-IO's output as a share of what IOR gets on the same target, nodes and ranks"
    family = "storage/btio-share"
    relative = ["ior_share"]
    estimated_s = 90
    needs_environ = ["btio", "ior"]
    scale = rfmb.parameter(["one_node", "whole_partition"], loggable=True)
    modes = ("acceptance",)
    hint = "a small share is the application's pattern: compare subtype full with simple, and look at MPI-IO's hints"

    def classes_written(self):
        return 2 * self.repeats

    def expected_s(self):
        return super().expected_s() + self.repeats * CLASSES[self.problem_class].written_bytes / ASSUMED_BYTES_S

    # In place of the base's, which repeats BT alone.
    @rfmb.run_before("run")
    def repeat_command(self):
        bt = " ".join([self.launch_command(), self.executable, *self.executable_opts])
        first, *further = (self.ior_command(number) for number in range(self.repeats))
        self.prerun_cmds = [*self.prerun_cmds, first]
        self.postrun_cmds = [*self.postrun_cmds, *(step for one in further for step in (one, bt))]

    def ior_command(self, number):
        transfer, outputs = map(str, self.sizes())
        return " ".join([
            self.launch_command(), "ior", "-a", "MPIIO", "-w", "-t", transfer, "-b", transfer, "-s", outputs,
            "-o", '"$folder/ior"', "-O", "summaryFormat=JSON", "-O", f"summaryFile={self.summary(number)}",
        ])  # fmt: skip

    def sizes(self):
        """Bytes of a rank at each output, and outputs."""
        of_class = CLASSES[self.problem_class]
        return of_class.output_bytes // self.num_tasks // WHOLE_BYTES * WHOLE_BYTES, of_class.outputs

    @staticmethod
    def summary(number):
        return f"ior-{number + 1}.json"

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.result = self.median_run()
        self.ior_mb_s = statistics.median(self.ior_rate_of(number) for number in range(self.repeats))
        return True

    def ior_rate_of(self, number):
        """MB/s of IOR's output before a run of BT."""
        result = self.parsed(ior.parse, self.output_text(self.summary(number)))
        transfer, outputs = self.sizes()
        found = (result.api, result.tasks, result.transfer_bytes, result.block_bytes, result.segments, result.fsync)
        asked = ("MPIIO", self.num_tasks, transfer, transfer, outputs, False)
        if found != asked or len(result.write_mb_s) != 1:
            raise SanityError(f"ior ran (interface, ranks, transfer, block, segments, -e) {found}, asked for {asked}")
        return result.write_mb_s[0]

    @rfmb.performance_function("MB/s")
    def io_rate(self):
        return self.result.mb_s

    @rfmb.performance_function("MB/s")
    def ior_rate(self):
        return self.ior_mb_s

    @rfmb.performance_function("")
    def ior_share(self):
        return self.result.mb_s / self.ior_mb_s
