"""IOzone: one process reads and writes a storage target over file size and request size, with and without O_SYNC.

``Iozone`` uses direct I/O. ``IozoneBuffered`` uses buffered I/O, as applications do. There, reads come from memory, so
their metrics are called ``read_memory`` and ``reread_memory``; writes include flush and close (-e -c).

The bound applies to the median over the cells of the map, because a single odd cell does not move it. The report shows
the whole map.

IOzone has no stonewall. Direct I/O avoids memory, so files can be small. Small requests use files of at most
``most_requests`` requests: at 1 ms per request, as with O_SYNC on rotating disks, a cell needs a minute.
"""

import itertools
import statistics
from typing import ClassVar

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.scales import SCALES
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.parsers import file_benchmarks

# Time of a request, all four operations together, only to estimate the time of a case; not a target.
OPERATIONS_S = 0.002
# The start of the job.
BESIDES_S = 5
SYNC = {"plain": [], "o_sync": ["-o"]}


class IozoneCheck(ManyNodes, OnStorage, KappaCheck):
    family = "storage/iozone"
    needs_environ = ["iozone"]
    executable = "iozone"
    sync = rfmb.parameter(SYNC, loggable=True)
    time_limit = "1h"
    #: True for direct I/O (-I).
    direct = True
    #: Operation -> name of its metric, if it differs from the operation.
    metric_names: ClassVar[dict[str, str]] = {}
    hint = "check the heat map: a slow row means a slow request size, a slow column a slow file size"
    failure_means = (
        "One process reads or writes the target more slowly than the bound allows, on the median of file and request "
        "sizes. If Fio passes on the same target, look at the sizes that are slow in the heat map."
    )

    file_sizes_mib = SiteVariable([64, 256, 1024], "whole numbers", "MiB", "sizes of the files")
    request_sizes_kib = SiteVariable([4, 64, 1024, 16384], "whole numbers", "KiB", "sizes of the requests")
    most_requests = SiteVariable(
        16384, "whole number", "", "most requests of a file; larger files are left out for small requests"
    )

    def chosen_scale(self):
        return SCALES["one_core"]

    @rfmb.run_after("init")
    def declare_metrics(self):
        self.declare({
            self.metric_of(name): ("MB/s", lambda self, name=name: statistics.median(self.rates[name].values()))
            for name in file_benchmarks.IOZONE_OPERATIONS
        })

    def metric_of(self, operation):
        return self.metric_names.get(operation, operation)

    @rfmb.run_after("setup")
    def require_cells(self):
        if not self.cells():
            sizes = f"{self.file_sizes_mib} MiB by {self.request_sizes_kib} KiB"
            raise ReframeError(
                f"{self.check_class}: no cell of {sizes} has at most {self.most_requests} requests; raise most_requests"
            )

    def command_lines(self):
        return [
            self.launched(self.executable, *self.options(*one), ">", self.output_of(number))
            for number, one in enumerate(self.maps())
        ]

    @staticmethod
    def output_of(number):
        return f"iozone-{number + 1}.txt"

    def options(self, sizes_mib, requests_kib):
        return [
            "-i", "0", "-i", "1", *(["-I"] if self.direct else []), "-e", "-c", *SYNC[self.sync],
            *(word for size in sizes_mib for word in ("-s", f"{size}m")),
            *(word for request in requests_kib for word in ("-r", f"{request}k")),
            "-f", '"$folder/iozone"',
        ]  # fmt: skip

    def cells(self):
        """Return the cells of the map: (file size, request size) in KiB."""
        sizes_kib = [size << 10 for size in self.file_sizes_mib]
        asked = itertools.product(sizes_kib, self.request_sizes_kib)
        return {(size, request) for size, request in asked if size <= request * self.most_requests}

    def maps(self):
        """Return the runs that together fill the cells: file sizes in MiB, and their common request sizes in KiB."""
        of_sizes = {}
        for request in self.request_sizes_kib:
            if sizes := tuple(size for size in self.file_sizes_mib if (size << 10, request) in self.cells()):
                of_sizes.setdefault(sizes, []).append(request)
        return list(of_sizes.items())

    def expected_s(self):
        return BESIDES_S + sum(OPERATIONS_S * size / request for size, request in self.cells())

    def most_bytes(self):
        # Each cell writes its file twice.
        return sum(2 * size << 10 for size, _ in self.cells())

    @rfmb.sanity_function
    def read_map(self):
        self.require_striping()
        self.rates = {operation: {} for operation in file_benchmarks.IOZONE_OPERATIONS}
        for number, (sizes_mib, requests) in enumerate(self.maps()):
            cells = {(size << 10, request) for size in sizes_mib for request in requests}
            text = self.output_text(self.output_of(number))
            result = self.parsed(file_benchmarks.iozone, text, expect_cells=cells)
            if not (result.fsync and result.close):
                raise SanityError("IOzone ran without -e or -c: the data may be in the page cache only")
            if result.direct != self.direct:
                raise SanityError(f"IOzone's direct I/O is {result.direct}, expected {self.direct}")
            if result.sync != bool(SYNC[self.sync]):
                raise SanityError(f"IOzone's O_SYNC is {result.sync}, expected {self.sync}")
            for operation, rates in result.rates.items():
                self.rates[operation] |= rates
        for operation in file_benchmarks.IOZONE_OPERATIONS:
            axes = ("File size", "KiB"), ("Request size", "KiB"), ("Rate", "MB/s")
            self.record_heat_map(self.metric_of(operation), *axes, self.rates[operation])
            # The plot compares it with and without O_SYNC, on all targets.
            largest = max(self.request_sizes_kib)
            rates = {size << 10: rate for (size, request), rate in self.rates[operation].items() if request == largest}
            title = (f"Rate of a {operation} in requests of {largest} KiB", "MB/s")
            self.record_curve(self.metric_of(operation), ("File size", "B"), title, rates, {})
        return True


@rfm.simple_test
class Iozone(IozoneCheck):
    descr = "Measures direct I/O over file size and request size with IOzone; finds sizes at which a target is slow"
    estimated_s = 85
    cache_defeat = "direct I/O (-I), flush and close are part of the write (-e -c); read back from IOzone's header"


@rfm.simple_test
class IozoneBuffered(IozoneCheck):
    descr = "Measures buffered I/O over file size and request size with IOzone; finds slow write-back and page caches"
    estimated_s = 85
    modes = ("acceptance",)
    direct = False
    metric_names: ClassVar[dict[str, str]] = {"read": "read_memory", "reread": "reread_memory"}
    informational = ["read_memory", "reread_memory"]
    cache_defeat = "writes: flush and close are part of them (-e -c); reads: none, they come from memory"
