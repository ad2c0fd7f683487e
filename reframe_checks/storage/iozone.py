"""IOzone: one process reads and writes a storage target over file size and request size, with and without O_SYNC.

Gated is the median over the cells of the map, which no single odd cell moves; the report draws the whole map.
"""

import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from kappa.vocabulary.scales import SCALES
from kappa.vocabulary.tunables import Tunable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.parsers import iozone

SYNC = {"plain": [], "o_sync": ["-o"]}


@rfm.simple_test
class Iozone(OnStorage, KappaCheck):
    descr = "IOzone: file size x request size"
    family = "storage/iozone"
    estimated_s = 600
    needs_environ = ["iozone"]
    sync = rfmb.parameter(SYNC, loggable=True)
    time_limit = "1h"
    cache_defeat = "direct I/O (-I), flush and close are part of the write (-e -c); read back from IOzone's header"
    hint = "rows that are slow throughout point at the request size, columns at the file size: see the heat map"

    file_sizes_mib = rfmb.variable(typ.List[int], value=[64, 256, 1024, 4096])
    request_sizes_kib = rfmb.variable(typ.List[int], value=[4, 64, 1024, 16384])
    tunable = {
        "file_sizes_mib": Tunable("whole numbers", "MiB", "of the files"),
        "request_sizes_kib": Tunable("whole numbers", "KiB", "of the requests"),
    }

    def chosen_scale(self):
        return SCALES["one_core"]

    @rfmb.run_after("init")
    def declare_metrics(self):
        self.perf_variables = {
            operation: sn.make_performance_function(self.median_of(operation), "MB/s")
            for operation in iozone.OPERATIONS
        }

    @rfmb.deferrable
    def median_of(self, operation):
        return statistics.median(self.result.rates[operation].values())

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable = "iozone"
        self.executable_opts = [
            "-i", "0", "-i", "1", "-I", "-e", "-c", *SYNC[self.sync],
            *(word for size in self.file_sizes_mib for word in ("-s", f"{size}m")),
            *(word for size in self.request_sizes_kib for word in ("-r", f"{size}k")),
            "-f", '"$folder/iozone"',
        ]  # fmt: skip

    @rfmb.sanity_function
    def read_map(self):
        self.require_striping()
        cells = {(size << 10, request) for size in self.file_sizes_mib for request in self.request_sizes_kib}
        self.result = self.parsed(iozone.parse, self.output_text(), expect_cells=cells)
        if not (self.result.direct and self.result.fsync and self.result.close):
            raise SanityError("IOzone ran without -I, -e or -c: the figures may be those of memory")
        if self.result.sync != bool(SYNC[self.sync]):
            raise SanityError(f"IOzone's O_SYNC is {self.result.sync}, asked for {self.sync}")
        for operation in iozone.OPERATIONS:
            self.record_heat_map(
                operation, ("File size", "KiB"), ("Request size", "KiB"), ("Rate", "MB/s"), self.result.rates[operation]
            )
        return True
